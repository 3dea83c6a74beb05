// The rows of profiler-service. A row that is not in ServiceMetrics() is not exported; a test sees to it that all are.
#ifndef SASSAY_COMMON_METRICS_SERVICE_METRICS_H_
#define SASSAY_COMMON_METRICS_SERVICE_METRICS_H_

#include "common/metrics/metric.h"

namespace sassay::metrics {

// The queue.
inline constexpr Metric kQueueDepth = {"sassay_queue_depth", Type::kGauge, "", "Submissions that wait", {}};
inline constexpr Metric kSubmissionsRunning = {
    "sassay_submissions_running", Type::kGauge, "", "Submissions that run", {}};
inline constexpr Metric kSubmissionsAccepted = {
    "sassay_submissions_accepted_total", Type::kCounter, "", "Submissions that became durable", {}};
inline constexpr Metric kSubmissionsReused = {
    "sassay_submissions_reused_total", Type::kCounter, "", "Submissions that were answered by an earlier verdict", {}};
inline constexpr Metric kSubmissionsRetried = {
    "sassay_submissions_retried_total", Type::kCounter, "", "Attempts that did not count and were made again", {}};
inline constexpr Metric kSubmissionsFinished = {
    "sassay_submissions_finished_total", Type::kCounter, "", "Verdicts by status", {"status"}};
inline constexpr Metric kStageSeconds = {"sassay_stage_seconds",
                                         Type::kHistogram,
                                         "seconds",
                                         "Wall time of a stage that ran, in attempts that did not count, too",
                                         {"stage"}};
inline constexpr Metric kStagesUnavailable = {"sassay_stages_unavailable_total",
                                              Type::kCounter,
                                              "",
                                              "Stages that were asked for and could not run, by stage",
                                              {"stage"}};
inline constexpr Metric kGpuSeconds = {"sassay_gpu_seconds_total",
                                       Type::kCounter,
                                       "seconds",
                                       "Time for which stages held a device, in attempts that did not count, too",
                                       {"stage"}};
inline constexpr Metric kPaused = {
    "sassay_paused", Type::kGauge, "", "1 while nothing is started anywhere, else 0", {}};

// The monitor's hand in it.
inline constexpr Metric kTurnsExcluded = {
    "sassay_turns_excluded_total",
    Type::kCounter,
    "",
    "Attempts that do not count because of an incident on their GPU; rerun: yes, no "
    "(it was excluded too often)",
    {"rerun"}};
inline constexpr Metric kTimingsSettled = {
    "sassay_timings_settled_total",
    Type::kCounter,
    "",
    "PROVISIONAL timings that became final; watched: yes, no (nobody vouched for the "
    "GPU up to their end)",
    {"watched"}};
inline constexpr Metric kTimingsProvisional = {
    "sassay_timings_provisional", Type::kGauge, "", "Timings that are not final yet", {}};
inline constexpr Metric kMonitorWatching = {
    "sassay_monitor_watching", Type::kGauge, "", "1 while a monitor has spoken within ten seconds, else 0", {}};
inline constexpr Metric kGpuHeld = {
    "sassay_gpu_held",
    Type::kGauge,
    "",
    "1 while the holder keeps the GPU from taking work, else 0; holder: operator, monitor",
    {"UUID", "modelName", "holder"}};

// Workers.
inline constexpr Metric kJudgeDeaths = {
    "sassay_judge_deaths_total", Type::kCounter, "", "Judges that ended by themselves or could not start", {}};
inline constexpr Metric kRunnerDeaths = {"sassay_runner_deaths_total",
                                         Type::kCounter,
                                         "",
                                         "Runners that could not start, and spares that died while they waited",
                                         {}};
inline constexpr Metric kRunnersStarted = {"sassay_runners_started_total",
                                           Type::kCounter,
                                           "",
                                           "Processes that opened a device to run something there, by mode",
                                           {"mode"}};
inline constexpr Metric kJudgeStates = {
    "sassay_judge_states_total",
    Type::kCounter,
    "",
    "Cases whose inputs and right outputs the judge had kept from an earlier one (kept) or had to make (made)",
    {"origin"}};

// The api.
inline constexpr Metric kRpcsRefused = {
    "sassay_rpcs_refused_total", Type::kCounter, "", "Calls that did not end with OK, by status", {"code"}};
inline constexpr Metric kOpenStreams = {"sassay_open_streams", Type::kGauge, "", "Open streams", {}};

// What is kept.
inline constexpr Metric kStoreErrors = {
    "sassay_store_errors_total", Type::kCounter, "", "Times that the database could not be read or written", {}};
inline constexpr Metric kBlobBytes = {
    "sassay_blob_bytes", Type::kGauge, "bytes", "Kept for tenants, uploads under way included", {}};

inline constexpr const Metric* kServiceMetrics[] = {&kQueueDepth,
                                                    &kSubmissionsRunning,
                                                    &kSubmissionsAccepted,
                                                    &kSubmissionsFinished,
                                                    &kSubmissionsReused,
                                                    &kSubmissionsRetried,
                                                    &kStageSeconds,
                                                    &kStagesUnavailable,
                                                    &kGpuSeconds,
                                                    &kTurnsExcluded,
                                                    &kTimingsSettled,
                                                    &kTimingsProvisional,
                                                    &kMonitorWatching,
                                                    &kGpuHeld,
                                                    &kPaused,
                                                    &kJudgeDeaths,
                                                    &kRunnerDeaths,
                                                    &kRunnersStarted,
                                                    &kJudgeStates,
                                                    &kRpcsRefused,
                                                    &kOpenStreams,
                                                    &kStoreErrors,
                                                    &kBlobBytes};

}  // namespace sassay::metrics

#endif  // SASSAY_COMMON_METRICS_SERVICE_METRICS_H_
