#include "profiler_service/store/directory_blobs.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/fd.h"
#include "common/base/sha256.h"
#include "common/base/status_macros.h"

namespace sassay::store {
namespace fs = std::filesystem;
namespace {

constexpr uint64_t kHashPieceBytes = 1 << 20;

absl::Status DiskFailure(absl::string_view what, const fs::path& path, int error) {
  std::string message = absl::StrCat("blob store: ", what, " ", path.filename().string(), ": ", strerror(error));
  if (error == ENOSPC || error == EDQUOT) absl::StrAppend(&message, "; free space on the disk with --state");
  return absl::UnavailableError(message);
}

absl::Status MakeDirectories(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  return error ? DiskFailure("cannot create", path, error.value()) : absl::OkStatus();
}

absl::Status SyncDirectory(const fs::path& path) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid() || fsync(fd.get()) != 0) return DiskFailure("cannot sync", path, errno);
  return absl::OkStatus();
}

absl::StatusOr<UniqueFd> OpenFile(const fs::path& path, int flags) {
  UniqueFd fd(open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.valid()) return DiskFailure("cannot open", path, errno);
  return fd;
}

// Quotas and uploads under way are in this process's memory.
absl::StatusOr<UniqueFd> LockForThisProcess(const fs::path& path) {
  ASSIGN_OR_RETURN(UniqueFd fd, OpenFile(path, O_RDWR | O_CREAT));
  if (flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
  return absl::FailedPreconditionError(
      absl::StrCat(path.string(),
                   " is locked: another profiler-service keeps its blobs there; several of them share blobs with "
                   "--blobs postgres or postgres+dir:PATH"));
}

absl::StatusOr<uint64_t> SizeOf(int fd, const fs::path& path) {
  struct stat info;
  if (fstat(fd, &info) != 0) return DiskFailure("cannot stat", path, errno);
  return static_cast<uint64_t>(info.st_size);
}

absl::Status WriteAt(int fd, absl::string_view data, uint64_t offset, const fs::path& path) {
  while (!data.empty()) {
    const ssize_t written = pwrite(fd, data.data(), data.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return DiskFailure("cannot write", path, errno);
    data.remove_prefix(static_cast<size_t>(written));
    offset += static_cast<uint64_t>(written);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadAt(int fd, uint64_t offset, uint64_t size, const fs::path& path) {
  std::string bytes(size, '\0');
  uint64_t done = 0;
  while (done < size) {
    const ssize_t got = pread(fd, bytes.data() + done, size - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return DiskFailure("cannot read", path, errno);
    if (got == 0) break;
    done += static_cast<uint64_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

absl::StatusOr<std::string> HashFile(int fd, uint64_t size, const fs::path& path) {
  Sha256Stream stream;
  for (uint64_t offset = 0; offset < size; offset += kHashPieceBytes) {
    ASSIGN_OR_RETURN(const std::string piece, ReadAt(fd, offset, std::min(kHashPieceBytes, size - offset), path));
    stream.Update(piece);
  }
  return absl::BytesToHexString(stream.Finish());
}

std::optional<struct stat> StatOf(const fs::path& path) {
  struct stat info;
  if (lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  return info;
}

absl::Time ModifiedAt(const struct stat& info) { return absl::TimeFromTimespec(info.st_mtim); }

// (directory name, file name, stat) of every file two levels below `root`.
struct Entry {
  std::string directory, file;
  struct stat info;
};

std::vector<Entry> Entries(const fs::path& root) {
  std::vector<Entry> entries;
  std::error_code error;
  for (const fs::directory_entry& directory : fs::directory_iterator(root, error)) {
    for (const fs::directory_entry& file : fs::directory_iterator(directory.path(), error)) {
      const std::optional<struct stat> info = StatOf(file.path());
      if (info.has_value()) {
        entries.push_back({directory.path().filename().string(), file.path().filename().string(), *info});
      }
    }
  }
  return entries;
}

}  // namespace

// What an upload has. `mutex` serialises the streams that feed it, whatever size they declare: a client that reconnects
// may meet the remains of its old stream, and nobody may write while the bytes are hashed and published.
struct DirectoryBlobs::Upload {
  absl::Mutex mutex;
  uint64_t committed = 0;
  bool done = false;  // published or dropped: open it anew
};

DirectoryBlobs::DirectoryBlobs(UniqueFd lock, fs::path directory, const BlobLimits& limits)
    : lock_(std::move(lock)), directory_(std::move(directory)), limits_(limits) {}

absl::StatusOr<std::unique_ptr<BlobStore>> DirectoryBlobs::Open(const fs::path& directory, const BlobLimits& limits) {
  RETURN_IF_ERROR(MakeDirectories(directory));
  ASSIGN_OR_RETURN(UniqueFd lock, LockForThisProcess(directory / "lock"));
  for (const char* part : {"blobs", "tenants", "partial"}) RETURN_IF_ERROR(MakeDirectories(directory / part));
  std::unique_ptr<DirectoryBlobs> store(new DirectoryBlobs(std::move(lock), directory, limits));
  RETURN_IF_ERROR(store->Scan());
  return store;
}

absl::Status DirectoryBlobs::Scan() {
  absl::MutexLock lock(&mutex_);
  for (const Entry& entry : Entries(directory_ / "tenants")) {
    held_[entry.directory] += BlobCharge(static_cast<uint64_t>(entry.info.st_size));
  }
  for (const Entry& entry : Entries(directory_ / "partial")) {
    // Published by a process that ended before it could drop the name: writing to it would change the blob.
    if (entry.info.st_nlink > 1) {
      unlink(PartialPath({entry.directory, entry.file}).c_str());
      continue;
    }
    const uint64_t charge = BlobCharge(static_cast<uint64_t>(entry.info.st_size));
    held_[entry.directory] += charge;
    reserved_[{entry.directory, entry.file}] = charge;
  }
  return absl::OkStatus();
}

fs::path DirectoryBlobs::PartialPath(const Key& key) const { return directory_ / "partial" / key.first / key.second; }
fs::path DirectoryBlobs::TenantPath(const Key& key) const { return directory_ / "tenants" / key.first / key.second; }
fs::path DirectoryBlobs::BlobPath(absl::string_view sha256) const {
  return directory_ / "blobs" / std::string(sha256.substr(0, 2)) / std::string(sha256);
}

bool DirectoryBlobs::Has(absl::string_view tenant, absl::string_view sha256) const {
  return IsSha256Hex(sha256) && StatOf(TenantPath({absl::BytesToHexString(tenant), std::string(sha256)})).has_value();
}

absl::StatusOr<uint64_t> DirectoryBlobs::Size(absl::string_view tenant, absl::string_view sha256) const {
  RETURN_IF_ERROR(CheckBlobDigest(sha256));
  const std::optional<struct stat> info = StatOf(TenantPath({absl::BytesToHexString(tenant), std::string(sha256)}));
  if (!info.has_value()) return NoSuchBlob(sha256);
  return static_cast<uint64_t>(info->st_size);
}

absl::StatusOr<WriteStatus> DirectoryBlobs::Status(absl::string_view tenant, absl::string_view sha256) const {
  RETURN_IF_ERROR(CheckBlobDigest(sha256));
  const Key key(absl::BytesToHexString(tenant), std::string(sha256));
  if (const auto whole = StatOf(TenantPath(key)); whole.has_value()) {
    return WriteStatus{static_cast<uint64_t>(whole->st_size), true};
  }
  const auto partial = StatOf(PartialPath(key));
  if (!partial.has_value()) return NoSuchBlob(sha256);
  return WriteStatus{static_cast<uint64_t>(partial->st_size), false};
}

absl::Status DirectoryBlobs::CheckRoom(const Key& key, uint64_t bytes) const {
  const auto held = held_.find(key.first);
  const auto reserved = reserved_.find(key);
  const uint64_t others =
      (held == held_.end() ? 0 : held->second) - (reserved == reserved_.end() ? 0 : reserved->second);
  return CheckBlobRoom(limits_, others, bytes);
}

absl::StatusOr<std::shared_ptr<DirectoryBlobs::Upload>> DirectoryBlobs::Begin(const Key& key, uint64_t total_bytes) {
  absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(CheckRoom(key, total_bytes));
  const auto known = uploads_.find(key);
  std::shared_ptr<Upload> upload = known == uploads_.end() ? nullptr : known->second;
  if (upload == nullptr) {
    upload = std::make_shared<Upload>();
    RETURN_IF_ERROR(MakeDirectories(PartialPath(key).parent_path()));
    ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(PartialPath(key), O_RDWR | O_CREAT));
    ASSIGN_OR_RETURN(upload->committed, SizeOf(fd.get(), PartialPath(key)));
  }
  uploads_[key] = upload;
  return upload;
}

absl::Status DirectoryBlobs::Reserve(const Key& key, uint64_t bytes) {
  absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(CheckRoom(key, bytes));
  uint64_t& reserved = reserved_[key];
  const uint64_t more = BlobCharge(bytes) - std::min(reserved, BlobCharge(bytes));
  held_[key.first] += more;
  reserved += more;
  return absl::OkStatus();
}

void DirectoryBlobs::Forget(const Key& key) {
  absl::MutexLock lock(&mutex_);
  uploads_.erase(key);
  const auto reserved = reserved_.find(key);
  if (reserved == reserved_.end()) return;
  held_[key.first] -= reserved->second;
  reserved_.erase(reserved);
}

absl::StatusOr<WriteStatus> DirectoryBlobs::Write(absl::string_view tenant, absl::string_view sha256,
                                                  uint64_t total_bytes, uint64_t offset, absl::string_view data) {
  RETURN_IF_ERROR(CheckBlobDigest(sha256));
  RETURN_IF_ERROR(CheckBlobChunk(limits_, total_bytes, offset, data.size()));
  const Key key(absl::BytesToHexString(tenant), std::string(sha256));
  if (const auto whole = StatOf(TenantPath(key)); whole.has_value()) {
    return WriteStatus{static_cast<uint64_t>(whole->st_size), true};
  }
  ASSIGN_OR_RETURN(const std::shared_ptr<Upload> upload, Begin(key, total_bytes));
  absl::MutexLock lock(&upload->mutex);
  if (upload->done) return Status(tenant, sha256);
  if (offset > upload->committed) return BlobGap(upload->committed, offset);
  RETURN_IF_ERROR(Reserve(key, offset + data.size()));
  ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(PartialPath(key), O_RDWR));
  const uint64_t known = std::min<uint64_t>(upload->committed - offset, data.size());  // written before
  RETURN_IF_ERROR(WriteAt(fd.get(), data.substr(known), offset + known, PartialPath(key)));
  upload->committed = std::max(upload->committed, offset + data.size());
  if (upload->committed < total_bytes) return WriteStatus{upload->committed, false};
  upload->done = true;
  const absl::Status published = Publish(key, upload->committed, total_bytes, fd.get());
  unlink(PartialPath(key).c_str());
  Forget(key);
  RETURN_IF_ERROR(published);
  {
    absl::MutexLock held_lock(&mutex_);
    held_[key.first] += BlobCharge(total_bytes);
  }
  return WriteStatus{total_bytes, true};
}

absl::Status DirectoryBlobs::Publish(const Key& key, uint64_t committed, uint64_t total, int fd) {
  const fs::path partial = PartialPath(key);
  ASSIGN_OR_RETURN(const std::string actual, HashFile(fd, committed, partial));
  if (committed != total || actual != key.second) return WrongBlobBytes(total, key.second, committed, actual);
  if (fsync(fd) != 0) return DiskFailure("cannot sync", partial, errno);
  return LinkForTenant(key, partial);
}

absl::Status DirectoryBlobs::LinkForTenant(const Key& key, const fs::path& source) {
  const fs::path blob = BlobPath(key.second), visible = TenantPath(key);
  RETURN_IF_ERROR(MakeDirectories(blob.parent_path()));
  RETURN_IF_ERROR(MakeDirectories(visible.parent_path()));
  {
    absl::MutexLock lock(&mutex_);
    if (link(source.c_str(), blob.c_str()) != 0 && errno != EEXIST) return DiskFailure("cannot link", blob, errno);
    utimensat(AT_FDCWD, blob.c_str(), nullptr, 0);
    if (link(blob.c_str(), visible.c_str()) != 0 && errno != EEXIST) return DiskFailure("cannot link", visible, errno);
  }
  RETURN_IF_ERROR(SyncDirectory(blob.parent_path()));
  return SyncDirectory(visible.parent_path());
}

absl::StatusOr<std::string> DirectoryBlobs::Read(absl::string_view tenant, absl::string_view sha256, uint64_t offset,
                                                 uint64_t limit) const {
  ASSIGN_OR_RETURN(const uint64_t size, Size(tenant, sha256));
  if (offset > size) return PastBlobEnd(offset, size);
  const fs::path path = TenantPath({absl::BytesToHexString(tenant), std::string(sha256)});
  ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path, O_RDONLY));
  return ReadAt(fd.get(), offset, std::min(limit, size - offset), path);
}

absl::StatusOr<std::string> DirectoryBlobs::ReadAll(absl::string_view tenant, absl::string_view sha256) {
  ASSIGN_OR_RETURN(std::string bytes, Read(tenant, sha256, 0, UINT64_MAX));
  if (Sha256Hex(bytes) == sha256) return bytes;
  DropEverywhere(sha256);
  return absl::DataLossError(absl::StrCat("blob ", sha256, " was damaged on the disk and dropped; upload it again"));
}

void DirectoryBlobs::DropEverywhere(absl::string_view sha256) {
  const std::vector<Entry> entries = Entries(directory_ / "tenants");
  absl::MutexLock lock(&mutex_);
  for (const Entry& entry : entries) {
    if (entry.file != sha256 || unlink(TenantPath({entry.directory, entry.file}).c_str()) != 0) continue;
    held_[entry.directory] -= BlobCharge(static_cast<uint64_t>(entry.info.st_size));
  }
  unlink(BlobPath(sha256).c_str());
}

absl::Status DirectoryBlobs::Touch(absl::string_view tenant, absl::string_view sha256, absl::Time now) {
  absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(Size(tenant, sha256).status());
  const fs::path path = TenantPath({absl::BytesToHexString(tenant), std::string(sha256)});
  const struct timespec times[2] = {absl::ToTimespec(now), absl::ToTimespec(now)};
  if (utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW) != 0)
    return DiskFailure("cannot touch", path, errno);
  return absl::OkStatus();
}

absl::Status DirectoryBlobs::ExpirePartials(absl::Time before) {
  for (const Entry& entry : Entries(directory_ / "partial")) {
    if (ModifiedAt(entry.info) >= before) continue;
    const Key key(entry.directory, entry.file);
    if (unlink(PartialPath(key).c_str()) != 0) return DiskFailure("cannot remove", PartialPath(key), errno);
    Forget(key);
  }
  return absl::OkStatus();
}

absl::Status DirectoryBlobs::ExpireBlobs(absl::Time before) {
  for (const Entry& entry : Entries(directory_ / "tenants")) {
    const Key key(entry.directory, entry.file);
    absl::MutexLock lock(&mutex_);
    const std::optional<struct stat> info = StatOf(TenantPath(key));  // it may have been touched meanwhile
    if (!info.has_value() || ModifiedAt(*info) >= before) continue;
    if (unlink(TenantPath(key).c_str()) != 0) return DiskFailure("cannot remove", TenantPath(key), errno);
    held_[key.first] -= BlobCharge(static_cast<uint64_t>(info->st_size));
  }
  for (const Entry& entry : Entries(directory_ / "blobs")) {
    absl::MutexLock lock(&mutex_);
    const std::optional<struct stat> info = StatOf(BlobPath(entry.file));
    if (info.has_value() && info->st_nlink == 1) unlink(BlobPath(entry.file).c_str());
  }
  return absl::OkStatus();
}

absl::Status DirectoryBlobs::Expire(absl::Time partial_before, absl::Time blob_before) {
  RETURN_IF_ERROR(ExpirePartials(partial_before));
  return ExpireBlobs(blob_before);
}

absl::StatusOr<uint64_t> DirectoryBlobs::TenantBytes(absl::string_view tenant) const {
  absl::MutexLock lock(&mutex_);
  const auto held = held_.find(absl::BytesToHexString(tenant));
  return held == held_.end() ? 0 : held->second;
}

absl::StatusOr<uint64_t> DirectoryBlobs::TotalBytes() const {
  absl::MutexLock lock(&mutex_);
  uint64_t total = 0;
  for (const auto& [tenant, bytes] : held_) total += bytes;
  return total;
}

}  // namespace sassay::store
