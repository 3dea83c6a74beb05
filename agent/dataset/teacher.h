// Asks other models for what the runs do not hold: a repair of a failure that no later turn repaired, and the reasoning
// before a solution. A repair counts only after the service has judged it CORRECT and scorable.
#ifndef SASSAY_AGENT_DATASET_TEACHER_H_
#define SASSAY_AGENT_DATASET_TEACHER_H_

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "agent/dataset/completer.h"
#include "agent/dataset/example.h"
#include "agent/models/model.h"
#include "common/rpc/stopper.h"

namespace sassay::agent {

// A candidate and what it is judged for.
struct JudgeRequest {
  std::string workload;
  std::string arch;
  std::string language;
  std::string source;
};

// Compiles, captures and submits; returns the verdict that counts. Infrastructure trouble is a Status. Called from
// several threads.
using JudgeRepair = std::function<absl::StatusOr<v1::Verdict>(const JudgeRequest&)>;

// Whom to ask. A model that is null is not asked.
struct TeacherOptions {
  Model* teacher = nullptr;
  std::string teacher_name;
  Model* reasoning_model = nullptr;
  std::string reasoning_name;
  JudgeRepair judge;
  // Answers and verdicts are kept here by content, so that a data set that is made again, or goes on after an
  // interruption, pays for nothing twice and comes out the same.
  std::filesystem::path cache;
  // Conversations at once.
  uint32_t parallel = 4;
  v1::Sampling sampling;
};

// Fills examples in. Life cycle: one object for one data set. Threads: Complete runs its own.
class Teacher : public Completer {
 public:
  explicit Teacher(TeacherOptions options) : options_(std::move(options)) {}

  // Repairs those without a solution, then explains those without reasoning. What a model cannot do leaves an example
  // as it is. Failure: the first trouble with a model, the service or the cache that retrying did not mend.
  absl::Status Complete(std::vector<Example>& examples, Stopper& stopper) override;

  const TeacherCounts& counts() const override { return counts_; }

 private:
  absl::Status ForEach(std::vector<Example>& examples, Stopper& stopper,
                       const std::function<absl::Status(Example&)>& work);
  absl::Status Repair(Example& example, Stopper& stopper);
  absl::Status Explain(Example& example, Stopper& stopper);
  absl::StatusOr<v1::Answered> Ask(Model& model, const std::string& name, const std::vector<ChatMessage>& messages,
                                   Stopper& stopper);
  absl::StatusOr<v1::Verdict> JudgeOnce(const JudgeRequest& request);
  void Count(uint64_t TeacherCounts::*which) ABSL_LOCKS_EXCLUDED(mutex_);

  const TeacherOptions options_;
  absl::Mutex mutex_;
  TeacherCounts counts_;
};

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_DATASET_TEACHER_H_
