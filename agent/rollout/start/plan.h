// From settings, or from a folder, to a run: what run.json says, and where every trajectory begins.
#ifndef SASSAY_AGENT_ROLLOUT_START_PLAN_H_
#define SASSAY_AGENT_ROLLOUT_START_PLAN_H_

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/config/settings.h"
#include "agent/knowledge/knowledge.h"
#include "agent/models/factory.h"
#include "agent/rollout/spending.h"
#include "agent/rollout/trajectory_worker.h"
#include "agent/trajectory/run_folder.h"
#include "common/workload/catalog.h"
#include "sassay/v1/profiler.pb.h"

namespace sassay::agent {

// A new run's manifest. INVALID_ARGUMENT names the setting that is missing or cannot be.
absl::StatusOr<v1::RunManifest> MakeManifest(const Settings& settings, const ModelIdentity& model,
                                             const std::vector<v1::Workload>& workloads, absl::Time now);

// "0.5,2", "0.5,0.05,2" or "0.5,0.05,0.6,2": dollars for a million tokens, as PROMPT,COMPLETION,
// PROMPT,CACHED_PROMPT,COMPLETION or PROMPT,CACHED_PROMPT,CACHE_WRITE,COMPLETION.
absl::StatusOr<v1::Prices> ParsePrices(absl::string_view text);

// The settings of a run that goes on: those that shape its record as they were when it began, the others as they are
// now. INVALID_ARGUMENT if a flag wants one of the former to be different. FAILED_PRECONDITION if nothing but the
// folder, which may be somebody else's, says which program is executed, or that a key goes to a server that is neither
// this machine nor a provider that we know.
absl::StatusOr<Settings> SettingsOf(const v1::RunManifest& manifest, const Settings& now,
                                    const std::map<std::string, std::string>& environment,
                                    const std::filesystem::path& working_directory);

// FAILED_PRECONDITION if the service has devices and none of them runs what is compiled for `arch`: whatever a model
// writes would be refused.
absl::Status CheckArch(const v1::GetCapabilitiesResponse& capabilities, absl::string_view arch);

// The workloads of the `workload` setting; at least one.
absl::StatusOr<std::vector<v1::Workload>> WorkloadsOf(const Settings& settings, const WorkloadCatalog& catalog);

// The first messages for one workload, and own words that follow the task.
absl::StatusOr<Prompt> PromptFor(const Settings& settings, const v1::Workload& workload, absl::string_view own_words);

// The words of the `prompt` setting's files, in order; one empty text without any.
absl::StatusOr<std::vector<std::string>> OwnWords(const Settings& settings);

// What a run works on.
struct RunPlan {
  // In order; the specs point into it.
  std::vector<v1::Workload> workloads;
  std::vector<TrajectorySpec> specs;
  // Submissions whose verdicts the logs hold.
  std::set<std::string> judged;
};

// Every trajectory, in the order of their names: for each workload, for each prompt, so many. Those that a log tells of
// begin as they did; what it tells of spending is added. `own_words` are the manifest's prompts. FAILED_PRECONDITION if
// a definition is another one now than the log says.
absl::StatusOr<RunPlan> MakePlan(const Settings& settings, RunFolder& folder, std::vector<v1::Workload> workloads,
                                 const std::vector<std::string>& own_words, Spending& spending);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_ROLLOUT_START_PLAN_H_
