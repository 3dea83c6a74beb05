#include "agent/batch/record_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "agent/batch/line_reader.h"
#include "common/base/json_depth.h"
#include "common/base/proto_json.h"
#include "common/base/random.h"
#include "common/base/status_macros.h"
#include "nlohmann/json.hpp"

namespace sassay::agent {
namespace {

using Json = nlohmann::json;

std::string TextOf(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

uint64_t NumberOf(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
}

// Verdicts that say nothing about the candidate are asked for again.
bool IsJudged(const Json& record) {
  if (record.contains("no_candidate")) return true;
  const auto verdict = record.find("verdict");
  if (verdict == record.end() || !verdict->is_object() || verdict->contains("excluded")) return false;
  const std::string status = TextOf(*verdict, "status");
  return !status.empty() && status != "INFRA_ERROR" && status != "CANCELLED";
}

}  // namespace

std::string NewBatchId() { return absl::StrCat("batch-", RandomHex(16)); }

absl::StatusOr<std::unique_ptr<RecordFile>> RecordFile::Open(const std::filesystem::path& path) {
  UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!fd.valid()) return absl::ErrnoToStatus(errno, absl::StrCat("could not open ", path.string()));
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(path.string(), " is being written by another process; wait for its end, or give another file."));
  }
  std::unique_ptr<RecordFile> file(new RecordFile(path, std::move(fd)));
  RETURN_IF_ERROR(file->Read());
  if (file->batch_id_.empty()) file->batch_id_ = NewBatchId();
  return file;
}

absl::Status RecordFile::Read() {
  LineReader reader(file_.get(), size_t{256} << 20);
  const off_t size = lseek(file_.get(), 0, SEEK_END);
  lseek(file_.get(), 0, SEEK_SET);
  for (;;) {
    ASSIGN_OR_RETURN(const std::optional<std::string> line, reader.Next());
    if (!line.has_value()) break;
    // The last line of a process that was killed.
    const bool ours = reader.line() > 1 || absl::StartsWith(*line, "{\"id\":");
    if (ours && bytes_ + line->size() == static_cast<uint64_t>(size)) break;
    RETURN_IF_ERROR(Take(*line, reader.line()));
    bytes_ += line->size() + 1;
  }
  bytes_ = std::min<uint64_t>(bytes_, static_cast<uint64_t>(size));
  if (ftruncate(file_.get(), static_cast<off_t>(bytes_)) != 0)
    return absl::ErrnoToStatus(errno, absl::StrCat("could not cut a torn line off ", path_.string()));
  return absl::OkStatus();
}

absl::Status RecordFile::Take(absl::string_view untrusted_line, uint64_t line) {
  const Json record = JsonIsTooDeep(untrusted_line)
                          ? Json()
                          : Json::parse(untrusted_line.begin(), untrusted_line.end(), nullptr, false);
  if (!record.is_object() || TextOf(record, "id").empty() ||
      record.contains("verdict") + record.contains("failure") + record.contains("no_candidate") != 1) {
    return absl::FailedPreconditionError(
        absl::StrCat(path_.string(), ":", line,
                     " is no record of a batch; nothing was changed. Give another file, or mend this one."));
  }
  const std::string request_id = TextOf(record, "request_id");
  if (batch_id_.empty() && absl::StartsWith(request_id, "batch-"))
    batch_id_ = request_id.substr(0, request_id.find('/'));
  Known& known = known_[{TextOf(record, "id"), TextOf(record, "item_sha256")}];
  // Request ids end with their number; a record that corrects another repeats it.
  unsigned number = 0;
  if (!request_id.empty() && absl::SimpleAtoi(request_id.substr(request_id.rfind('/') + 1), &number))
    known.attempts = std::max(known.attempts, number + 1);
  known.judged = IsJudged(record);
  if (known.judged && record.contains("verdict")) {
    const Json& verdict = record["verdict"];
    NoteVerdict(TextOf(verdict, "submission_id"), NumberOf(verdict, "attempt"), TextOf(verdict, "decided_at"),
                {TextOf(record, "id"), TextOf(record, "item_sha256")});
  }
  known.correct = known.judged && record.contains("verdict") && TextOf(record["verdict"], "status") == "CORRECT";
  return absl::OkStatus();
}

const RecordFile::Known* RecordFile::Find(const std::string& id, const std::string& item_sha256) const {
  const auto found = known_.find({id, item_sha256});
  return found == known_.end() ? nullptr : &found->second;
}

void RecordFile::NoteVerdict(const std::string& submission_id, uint64_t attempt, const std::string& decided_at,
                             const Item& item) {
  // Of several records of an item the last one counts.
  const auto earlier = attempt_of_.find(item);
  if (earlier != attempt_of_.end()) item_of_.erase(earlier->second);
  attempt_of_[item] = {submission_id, attempt};
  item_of_[{submission_id, attempt}] = item;
  absl::Time decided;
  if (absl::ParseTime(absl::RFC3339_full, decided_at, &decided, nullptr)) oldest_ = std::min(oldest_, decided);
}

void RecordFile::Exclude(const v1::Event& exclusion) {
  const auto found = item_of_.find({exclusion.submission_id(), exclusion.excluded().attempt()});
  if (found == item_of_.end()) return;
  Known& known = known_[found->second];
  if (!known.judged) return;  // told twice
  known.judged = known.correct = false;
  if (exclusion.excluded().rerun() && known.attempts > 0) --known.attempts;
}

absl::Status RecordFile::Append(const v1::BatchRecord& record) {
  const std::string line = ToJson(record, -1) + "\n";
  size_t written = 0;
  while (written < line.size()) {
    const ssize_t wrote =
        pwrite(file_.get(), line.data() + written, line.size() - written, static_cast<off_t>(bytes_ + written));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) {
      const absl::Status status = absl::ErrnoToStatus(errno, absl::StrCat("could not write ", path_.string()));
      [[maybe_unused]] const int cut = ftruncate(file_.get(), static_cast<off_t>(bytes_));
      return absl::UnavailableError(status.message());
    }
    written += static_cast<size_t>(wrote);
  }
  bytes_ += line.size();
  return absl::OkStatus();
}

}  // namespace sassay::agent
