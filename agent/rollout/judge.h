// What a trajectory asks for a verdict. The service stands behind it; tests stand something else there.
#ifndef SASSAY_AGENT_ROLLOUT_JUDGE_H_
#define SASSAY_AGENT_ROLLOUT_JUDGE_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/rpc/stopper.h"
#include "sassay/v1/bundle.pb.h"
#include "sassay/v1/trajectory.pb.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::agent {

// One candidate.
struct JudgeJob {
  const v1::Workload* workload = nullptr;
  std::string source;
  // "kernel.cu" or "kernel.py"; what it ends in says what it is written in.
  std::string source_name;
  // The same one again finds the same submission, whoever sent it.
  std::string request_id;
  // Instead of `source`: the files of one candidate.
  std::vector<v1::SourceFile> files = {};
  // Instead of either: a bundle in canonical bytes.
  std::string bundle = {};
};

// What happens to it, told from the thread that called Judge. A failure that a listener returns ends the judging.
struct JudgeListener {
  // "waiting to compile", "compile", "capture", "upload", "queued", "evaluate", …
  std::function<void(absl::string_view step)> on_step = [](absl::string_view) {};
  // The bundle exists and nothing has been sent yet; `turn` is not filled in.
  std::function<absl::Status(const v1::Submitted&)> on_built = [](const v1::Submitted&) { return absl::OkStatus(); };
  // The monitor excluded an attempt and the service runs the candidate again; `turn` is not filled in.
  std::function<void(const v1::AttemptExcluded&)> on_excluded = [](const v1::AttemptExcluded&) {};
  // The submission has a name.
  std::function<void(absl::string_view id)> on_accepted = [](absl::string_view) {};
  // "connection lost, attaching again".
  std::function<void(absl::string_view)> on_note = [](absl::string_view) {};
};

// What became of it.
struct Judgement {
  v1::Verdict verdict;
  // Time in the service's queue.
  absl::Duration queued;
};

// Judges candidates.
//
// Threads: safe; blocks. Failure: the machine's, the caller's or the service's trouble as a Status, as Builder and
// Submission give it; CANCELLED by the stopper. What is wrong with the candidate is a verdict; so is INFRA_ERROR.
class Judge {
 public:
  virtual ~Judge() = default;
  virtual absl::StatusOr<Judgement> Run(const JudgeJob& job, const JudgeListener& listener, Stopper& stopper) = 0;
  // No thread waits inside for its turn any more, and none will.
  virtual void Close() = 0;
};

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_ROLLOUT_JUDGE_H_
