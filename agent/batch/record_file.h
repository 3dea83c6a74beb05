// A batch's output file: what was judged once is not judged again.
#ifndef SASSAY_AGENT_BATCH_RECORD_FILE_H_
#define SASSAY_AGENT_BATCH_RECORD_FILE_H_

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/fd.h"
#include "sassay/v1/agent.pb.h"
#include "sassay/v1/events.pb.h"

namespace sassay::agent {

// BatchRecords, one JSON line each, append-only. Of several records of one item the last one counts.
//
// Life cycle: Open makes the file or reads what is there, cuts a torn last line off, and holds the file alone until
// destruction. Threads: Find from any; Append from one at a time. Failure: FAILED_PRECONDITION if another process holds
// it or if it holds anything else than records (nobody's file is overwritten); a record that could not be written whole
// is taken back.
class RecordFile {
 public:
  // What the file knows of an item.
  struct Known {
    // Request ids that it was submitted under.
    unsigned attempts = 0;
    // A verdict about the candidate is there; whether it is CORRECT.
    bool judged = false;
    bool correct = false;
  };

  static absl::StatusOr<std::unique_ptr<RecordFile>> Open(const std::filesystem::path& path);

  // Null if there is no record of this item with this content.
  const Known* Find(const std::string& id, const std::string& item_sha256) const;
  // A verdict that was excluded after its record was written counts no more: its item is judged again, or, where the
  // service has run it again by itself, asked for under the same request id. Not while others call Find.
  void Exclude(const v1::Event& exclusion);
  // When the oldest verdict was decided; the infinite future if there is none.
  absl::Time oldest() const { return oldest_; }
  // What request ids of this batch begin with; of a file that was empty it is drawn.
  const std::string& batch_id() const { return batch_id_; }
  absl::Status Append(const v1::BatchRecord& record);

 private:
  RecordFile(std::filesystem::path path, UniqueFd file) : path_(std::move(path)), file_(std::move(file)) {}
  absl::Status Read();
  absl::Status Take(absl::string_view untrusted_line, uint64_t line);
  using Item = std::pair<std::string, std::string>;  // id and content
  void NoteVerdict(const std::string& submission_id, uint64_t attempt, const std::string& decided_at, const Item& item);

  const std::filesystem::path path_;
  const UniqueFd file_;
  uint64_t bytes_ = 0;
  std::string batch_id_;
  std::map<Item, Known> known_;
  using Attempt = std::pair<std::string, uint64_t>;  // submission and number
  std::map<Attempt, Item> item_of_;                  // of the verdicts that count
  std::map<Item, Attempt> attempt_of_;
  absl::Time oldest_ = absl::InfiniteFuture();
};

// "batch-" and 128 random bits in hex.
std::string NewBatchId();

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_BATCH_RECORD_FILE_H_
