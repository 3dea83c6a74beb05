#include "monitor/journal/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/fd.h"
#include "common/base/files.h"
#include "common/base/sha256.h"
#include "common/base/status_macros.h"

namespace sassay::monitor {
namespace {

constexpr absl::string_view kMagic = "SASSAYJ1";
constexpr size_t kHead = 12;
constexpr uint32_t kLargestRecord = 64 << 20;
constexpr uint64_t kSmall = 4 << 20;

std::string LittleEndian(uint32_t value) {
  std::string bytes(4, '\0');
  for (int i = 0; i < 4; ++i) bytes[i] = static_cast<char>(value >> (8 * i));
  return bytes;
}

uint32_t ReadLittleEndian(absl::string_view bytes) {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value |= static_cast<uint32_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return value;
}

std::string Checksum(absl::string_view length, absl::string_view content) {
  const auto digest = Sha256(absl::StrCat(length, content));
  return std::string(reinterpret_cast<const char*>(digest.data()), 8);
}

std::string Record(const v1::JournalEntry& entry) {
  const std::string content = entry.SerializeAsString();
  const std::string length = LittleEndian(static_cast<uint32_t>(content.size()));
  return absl::StrCat(length, Checksum(length, content), content);
}

absl::Status SystemError(absl::string_view what, const std::filesystem::path& path) {
  const int code = errno;
  const std::string message = absl::StrCat(what, " ", path.string(), ": ", strerror(code));
  if (code == ENOSPC || code == EDQUOT) return absl::ResourceExhaustedError(message);
  return absl::UnavailableError(message);
}

absl::Status WriteAll(int fd, absl::string_view bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return SystemError("cannot write", path);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

absl::Time BeganAt(const v1::Incident& incident) {
  return absl::FromUnixSeconds(incident.from().seconds()) + absl::Nanoseconds(incident.from().nanos());
}

// The newest revision of each, in the order in which they first appeared.
std::vector<v1::Incident> Newest(const std::vector<v1::JournalEntry>& entries) {
  std::map<std::string, size_t> places;
  std::vector<v1::Incident> incidents;
  for (const v1::JournalEntry& entry : entries) {
    if (!entry.has_incident()) continue;
    const auto [place, is_new] = places.emplace(entry.incident().id(), incidents.size());
    if (is_new) {
      incidents.push_back(entry.incident());
    } else if (entry.incident().revision() >= incidents[place->second].revision()) {
      incidents[place->second] = entry.incident();
    }
  }
  return incidents;
}

// Makes the folder's entry durable, too.
absl::Status SyncFolder(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.parent_path().empty() ? "." : file.parent_path();
  const UniqueFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid() || fsync(fd.get()) != 0) return SystemError("cannot sync", folder);
  return absl::OkStatus();
}

}  // namespace

JournalContent ReadJournal(absl::string_view bytes) {
  JournalContent content;
  if (!absl::StartsWith(bytes, kMagic)) {
    if (!bytes.empty()) content.damage = "it does not begin as a journal does";
    return content;
  }
  content.good_bytes = kMagic.size();
  while (content.good_bytes < bytes.size()) {
    const absl::string_view rest = bytes.substr(content.good_bytes);
    const uint32_t length = rest.size() < kHead ? 0 : ReadLittleEndian(rest);
    if (rest.size() < kHead || length > kLargestRecord || rest.size() - kHead < length) {
      content.damage = absl::StrCat("the last record is torn: ", rest.size(), " bytes at ", content.good_bytes);
      return content;
    }
    const absl::string_view body = rest.substr(kHead, length);
    v1::JournalEntry entry;
    if (Checksum(rest.substr(0, 4), body) != rest.substr(4, 8) ||
        !entry.ParseFromArray(body.data(), static_cast<int>(body.size()))) {
      content.damage = absl::StrCat("a record is damaged: ", rest.size(), " bytes from ", content.good_bytes, " on");
      return content;
    }
    content.entries.push_back(std::move(entry));
    content.good_bytes += kHead + length;
  }
  return content;
}

Journal::Journal(std::filesystem::path path, int fd, uint64_t size)
    : path_(std::move(path)), fd_(fd), size_(size), compacted_size_(size) {}

Journal::~Journal() {
  close(fd_);
  close(lock_);
}

namespace {

// A file beside the journal, as compaction replaces the journal itself.
absl::StatusOr<UniqueFd> Lock(const std::filesystem::path& path) {
  const std::string beside = path.string() + ".lock";
  UniqueFd fd(open(beside.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd.valid()) return SystemError("cannot open", beside);
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        path.string(), " belongs to another monitor that runs: stop it, or give this one a folder of its own"));
  }
  return fd;
}

absl::StatusOr<std::string> ReadIfThere(const std::filesystem::path& path) {
  absl::StatusOr<std::string> bytes = ReadFile(path, uint64_t{4} << 30);
  if (absl::IsNotFound(bytes.status())) return std::string();
  return bytes;
}

// Cuts what is no record, and keeps it beside the file.
absl::Status CutTail(int fd, const std::filesystem::path& path, const std::string& bytes, uint64_t good) {
  const std::string beside = path.string() + ".cut";
  RETURN_IF_ERROR(WriteFileAtomically(beside, absl::string_view(bytes).substr(good), 0600));
  if (ftruncate(fd, static_cast<off_t>(good)) != 0) return SystemError("cannot cut", path);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Journal::Opened> Journal::Open(const std::filesystem::path& path) {
  std::error_code error;
  if (!path.parent_path().empty()) std::filesystem::create_directories(path.parent_path(), error);
  if (error)
    return absl::UnavailableError(absl::StrCat("cannot make ", path.parent_path().string(), ": ", error.message()));
  ASSIGN_OR_RETURN(UniqueFd lock, Lock(path));
  ASSIGN_OR_RETURN(const std::string bytes, ReadIfThere(path));
  UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!fd.valid()) return SystemError("cannot open", path);
  JournalContent content = ReadJournal(bytes);
  Opened opened;
  if (!content.damage.empty()) {
    RETURN_IF_ERROR(CutTail(fd.get(), path, bytes, content.good_bytes));
    opened.warning =
        absl::StrCat(path.string(), ": ", content.damage, "; it was cut off and lies in ", path.string(), ".cut");
  }
  if (content.good_bytes == 0) {
    RETURN_IF_ERROR(WriteAll(fd.get(), kMagic, path));
    content.good_bytes = kMagic.size();
  }
  if (fdatasync(fd.get()) != 0) return SystemError("cannot sync", path);
  RETURN_IF_ERROR(SyncFolder(path));
  opened.journal.reset(new Journal(path, fd.release(), content.good_bytes));
  opened.journal->lock_ = lock.release();
  opened.entries = std::move(content.entries);
  return opened;
}

absl::Status Journal::Append(const std::vector<v1::JournalEntry>& entries) {
  if (entries.empty()) return absl::OkStatus();
  std::string bytes;
  for (const v1::JournalEntry& entry : entries) bytes += Record(entry);
  absl::Status status = WriteAll(fd_, bytes, path_);
  if (status.ok() && fdatasync(fd_) != 0) status = SystemError("cannot sync", path_);
  if (!status.ok()) {
    // What was written of it would tear the next record off, too.
    if (ftruncate(fd_, static_cast<off_t>(size_)) != 0) return SystemError("cannot take back", path_);
    return status;
  }
  size_ += bytes.size();
  return absl::OkStatus();
}

bool Journal::Bulky() const { return size_ > kSmall && size_ > 2 * compacted_size_; }

absl::Status Journal::Compact(const std::vector<v1::JournalEntry>& snapshot, size_t keep_incidents) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path_, uint64_t{4} << 30));
  const std::vector<v1::Incident> incidents = Newest(ReadJournal(bytes).entries);
  std::string content(kMagic);
  const size_t skip = incidents.size() - std::min(incidents.size(), keep_incidents);
  for (size_t i = skip; i < incidents.size(); ++i) {
    v1::JournalEntry entry;
    *entry.mutable_incident() = incidents[i];
    content += Record(entry);
  }
  for (const v1::JournalEntry& entry : snapshot) content += Record(entry);
  RETURN_IF_ERROR(WriteFileAtomically(path_, content, 0600));
  const int fd = open(path_.c_str(), O_RDWR | O_APPEND | O_CLOEXEC);
  if (fd < 0) return SystemError("cannot open", path_);
  close(std::exchange(fd_, fd));
  size_ = compacted_size_ = content.size();
  return absl::OkStatus();
}

absl::StatusOr<std::vector<v1::Incident>> Journal::Incidents(absl::Time from) const {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path_, uint64_t{4} << 30));
  std::vector<v1::Incident> incidents = Newest(ReadJournal(bytes).entries);
  incidents.erase(std::remove_if(incidents.begin(), incidents.end(),
                                 [from](const v1::Incident& incident) { return BeganAt(incident) < from; }),
                  incidents.end());
  std::stable_sort(incidents.begin(), incidents.end(),
                   [](const v1::Incident& a, const v1::Incident& b) { return BeganAt(a) < BeganAt(b); });
  return incidents;
}

}  // namespace sassay::monitor
