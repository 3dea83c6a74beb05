// The life of a candidate inside the service. Top to bottom: JobRun::Run is the story, the functions below it are its
// chapters, each one stage.
#include "profiler_service/pipeline/pipeline.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "profiler_service/evaluate/evaluate.h"
#include "profiler_service/evaluate/judge_case.h"
#include "profiler_service/evidence/evidence.h"
#include "profiler_service/pipeline/cancel_watch.h"
#include "profiler_service/pipeline/cases.h"
#include "profiler_service/verdict/verdict.h"

namespace sassay::pipeline {
namespace {

using sassay::v1::Stage;
using sassay::v1::StageReport;
using verdict::Failure;

constexpr absl::Duration kProbeTimeout = absl::Seconds(60);
constexpr absl::Duration kShortestEmulatedDeadline = absl::Seconds(20);
constexpr absl::Duration kLongestEmulatedDeadline = absl::Minutes(5);

// What a CPU reference surely makes in a second, and the longest it may take (--reference-seconds).
constexpr EmulatorSpeed kReferenceSpeed{1e9, 1e9};
constexpr absl::Duration kReferenceLimit = absl::Seconds(60);

Failure Refusal(sassay::v1::VerdictCode code, absl::string_view reason) { return {code, std::string(reason), {}, {}}; }

// One job from bytes to verdict. Lives on the job's thread.
class JobRun {
 public:
  JobRun(const PipelineParts& parts, BarredDigests& barred, const Job& job, JobObserver& observer)
      : parts_(parts), barred_(barred), job_(job), observer_(observer) {}

  sassay::v1::Verdict Run() {
    const CancelWatch watch(observer_, kill_switch_);
    RunStage(sassay::v1::STAGE_ADMISSION, true, [this](StageReport& report) { Admit(report); });
    if (bundle_.has_value()) {
      RunStage(sassay::v1::STAGE_EVALUATE, Goes(), [this](StageReport& report) { Evaluate(report); });
      RunStage(sassay::v1::STAGE_SANITIZE, WantsSanitize(), [this](StageReport& report) { Sanitize(report); });
      RunStage(sassay::v1::STAGE_EVIDENCE, WantsMore(sassay::v1::STAGE_EVIDENCE),
               [this](StageReport& report) { CollectEvidence(report); });
      RunStage(sassay::v1::STAGE_TIMING, WantsMore(sassay::v1::STAGE_TIMING),
               [this](StageReport& report) { Time(report); });
    }
    if (lane_ != nullptr) --lane_->jobs();
    seen_.cancelled = observer_.cancelled();
    return verdict::Decide(seen_);
  }

 private:
  // ---- which stages run ----

  // Evaluate always runs: without it nothing that the others say means anything.
  bool Asked(Stage stage) const {
    const auto& stages = job_.request.stages();
    return stages.empty() || std::find(stages.begin(), stages.end(), stage) != stages.end();
  }

  bool Goes() const { return !observer_.cancelled(); }

  // For failures too, as diagnosis: patched code must not decide what a plain run can, but it says why.
  bool WantsSanitize() const {
    if (!Goes()) return false;
    const Failure* failure = EvaluateFailure();
    if (failure == nullptr) return Asked(sassay::v1::STAGE_SANITIZE);
    return SanitizeCanExplain(*failure) && (Asked(sassay::v1::STAGE_SANITIZE) || IsMisuse(*failure));
  }

  // Nothing is measured on a candidate that is not right and clean.
  bool WantsMore(Stage stage) const {
    const bool convicted = seen_.sanitize.has_value() && !seen_.sanitize->convicting.empty();
    return Goes() && Asked(stage) && EvaluateFailure() == nullptr && !convicted;
  }

  const Failure* EvaluateFailure() const {
    return seen_.evaluate.has_value() && seen_.evaluate->failure.has_value() ? &*seen_.evaluate->failure : nullptr;
  }

  template <typename Body>
  void RunStage(Stage stage, bool wanted, const Body& body) {
    StageReport report;
    report.set_stage(stage);
    report.set_outcome(StageReport::SKIPPED);
    if (wanted) {
      const absl::Time start = absl::Now();
      observer_.StageStarted(stage, lane_ == nullptr ? "" : DeviceLabel());
      report.set_outcome(StageReport::PASSED);
      body(report);
      report.set_wall_ns(static_cast<uint64_t>(absl::ToInt64Nanoseconds(absl::Now() - start)));
      observer_.StageFinished(report);
    }
    seen_.stages.push_back(report);
  }

  static void Finish(StageReport& report, StageReport::Outcome outcome, absl::string_view reason) {
    report.set_outcome(outcome);
    report.set_reason(std::string(reason));
  }

  // ---- admission: hostile bytes become an AdmittedBundle, or a refusal that names the field ----

  void Admit(StageReport& report) {
    seen_.bundle_sha256 = job_.request.bundle_sha256();
    seen_.workload = job_.request.workload();
    if (absl::optional<Failure> refusal = TryAdmit(); refusal.has_value()) {
      Finish(report, StageReport::FAILED, refusal->reason);
      seen_.refused = std::move(refusal);
      bundle_.reset();
    }
  }

  absl::optional<Failure> TryAdmit() {
    if (const auto why = barred_.WhyBarred(job_.request.bundle_sha256()); why.has_value()) {
      return Refusal(sassay::v1::VERDICT_CODE_DIGEST_BARRED, *why);
    }
    auto workload = parts_.catalog->Resolve(job_.request.workload());
    if (!workload.ok()) return Refusal(sassay::v1::VERDICT_CODE_WORKLOAD_UNKNOWN, workload.status().message());
    workload_ = *std::move(workload);
    definition_ = parts_.catalog->FindDefinition(workload_.definition());
    seen_.workload = workload_.name();
    seen_.definition_sha256 = absl::BytesToHexString(workload_.definition_sha256());
    if (definition_->reference_kind == ReferenceKind::kNone) {
      return Refusal(
          sassay::v1::VERDICT_CODE_NO_REFERENCE,
          absl::StrCat(workload_.definition(), " names no reference, so nothing can say what is right; add one to ",
                       "its sassay section"));
    }
    if (auto refusal = TakeSeeds()) return refusal;
    if (auto refusal = AdmitBundle()) return refusal;
    if (auto refusal = LoadReference()) return refusal;
    CheckProvenance();
    DescribeBundle();
    return CheckSize();
  }

  absl::optional<Failure> TakeSeeds() {
    if (job_.request.replay_id().empty()) {
      seeds_ = parts_.seeds.Fresh();
      return absl::nullopt;
    }
    auto replayed = parts_.seeds.Replay(job_.request.replay_id());
    if (!replayed.ok()) return Refusal(sassay::v1::VERDICT_CODE_BUNDLE_MALFORMED, replayed.status().message());
    seeds_ = *std::move(replayed);
    seen_.replayed = true;
    return absl::nullopt;
  }

  // On the emptiest lane that takes it. A bundle for another architecture may fit another lane.
  absl::optional<Failure> AdmitBundle() {
    std::vector<Lane*> lanes;
    for (const auto& lane : parts_.lanes) lanes.push_back(lane.get());
    std::stable_sort(lanes.begin(), lanes.end(), [](Lane* a, Lane* b) { return a->jobs() < b->jobs(); });
    absl::optional<Failure> refusal;
    for (Lane* lane : lanes) {
      auto result = admission::Admit(job_.bundle_bytes, workload_, parts_.limits, FactsOf(*lane));
      if (auto* admitted = std::get_if<admission::AdmittedBundle>(&result); admitted != nullptr) {
        bundle_ = std::move(*admitted);
        lane_ = lane;
        ++lane_->jobs();
        return absl::nullopt;
      }
      const auto& rejection = std::get<admission::Rejection>(result);
      if (!refusal.has_value()) refusal = Refusal(rejection.code, rejection.Line());
    }
    return refusal;
  }

  // A reference that is a kernel is a bundle that an operator approved; it passes the same door.
  absl::optional<Failure> LoadReference() {
    if (definition_->reference_kind != ReferenceKind::kBundle) return absl::nullopt;
    const auto bytes = parts_.trusted_bundle(definition_->reference_name);
    if (!bytes.ok()) return Refusal(sassay::v1::VERDICT_CODE_NO_REFERENCE, bytes.status().message());
    auto result = admission::Admit(*bytes, workload_, parts_.limits, FactsOf(*lane_));
    if (const auto* rejection = std::get_if<admission::Rejection>(&result); rejection != nullptr) {
      return Refusal(
          sassay::v1::VERDICT_CODE_NO_REFERENCE,
          absl::StrCat("the reference kernel of ", workload_.definition(), " was refused: ", rejection->Line()));
    }
    reference_ = std::get<admission::AdmittedBundle>(std::move(result));
    return absl::nullopt;
  }

  void CheckProvenance() {
    const admission::ProvenanceResult provenance = parts_.provenance(*bundle_);
    seen_.provenance = provenance.provenance;
    if (!provenance.reason.empty()) seen_.notes.push_back(absl::StrCat("provenance: CLAIMED: ", provenance.reason));
  }

  void DescribeBundle() {
    seen_.bundle_sha256 = bundle_->digest();
    seen_.capture_profile = bundle_->plan().profile();
    seen_.warnings.assign(bundle_->plan().warnings().begin(), bundle_->plan().warnings().end());
    for (const std::string& warning : bundle_->warnings()) seen_.warnings.push_back(warning);
    seen_.versions.set_device(lane_->device().model());
    seen_.versions.set_driver(lane_->device().driver_version());
    seen_.versions.set_toolkit(bundle_->bundle().compilation().toolkit_version());
  }

  // An emulated run that cannot end in time is refused at once, with a size that fits.
  absl::optional<Failure> CheckSize() {
    if (!lane_->emulated()) return absl::nullopt;
    call_estimate_ = EstimateCall(workload_, bundle_->bundle().ptx(), parts_.emulator_speed);
    const absl::Duration total = call_estimate_ * kEmulatedCalls, left = job_.deadline - absl::Now();
    if (total <= left && call_estimate_ <= kLongestEmulatedDeadline) return absl::nullopt;
    const absl::Duration limit = std::min(left / kEmulatedCalls, kLongestEmulatedDeadline);
    const std::string fits =
        SizeThatFits(workload_, *parts_.catalog, bundle_->bundle().ptx(), limit, parts_.emulator_speed);
    return Refusal(
        sassay::v1::VERDICT_CODE_TOO_LARGE_FOR_DEVICE,
        absl::StrCat("would take about ", Rough(total), " on ", lane_->specification(), ", the deadline is in ",
                     Rough(left), fits.empty() ? "" : absl::StrCat("; ", fits, " fits")));
  }

  static std::string Rough(absl::Duration duration) {
    if (duration < absl::Minutes(2)) return absl::StrFormat("%d s", std::max<int64_t>(0, duration / absl::Seconds(1)));
    if (duration < absl::Hours(2)) return absl::StrFormat("%d min", duration / absl::Minutes(1));
    return absl::StrFormat("%d h", duration / absl::Hours(1));
  }

  // ---- evaluate: is it right? ----

  evaluate::StageContext Context(evaluate::Workers& workers) const {
    evaluate::StageContext context{*bundle_, workers, job_.deadline, DeviceDeadline(), !lane_->emulated(), nullptr};
    context.reference = reference_.has_value() ? &*reference_ : nullptr;
    return context;
  }

  absl::Duration DeviceDeadline() const {
    if (!lane_->emulated()) return parts_.device_deadline;
    return std::clamp(4 * call_estimate_, kShortestEmulatedDeadline, kLongestEmulatedDeadline);
  }

  void Evaluate(StageReport& report) {
    const auto lease = Lease(DeviceLease::Mode::kShared, report);
    if (!lease.ok())
      return FailEvaluate(evaluate::TroubleOf(lease.status(), sassay::v1::VERDICT_CODE_QUEUE_DEADLINE), report);
    const auto workers = lane_->MakeWorkers(kill_switch_);
    const evaluate::Evaluation evaluation =
        evaluate::Evaluate(Context(*workers), *seeds_, CasesFor(*definition_, workload_, lane_->emulated()));
    report.set_device_ns(evaluation.device_ns());
    seen_.evaluate = evaluation.seen();
    SuggestSize(*seen_.evaluate);
    for (const std::string& note : evaluation.notes()) seen_.notes.push_back(note);
    if (evaluation.passed()) return;
    Finish(report, StageReport::FAILED, EvaluateFailure()->reason);
    NoteWedge(*EvaluateFailure());
  }

  // The judge refuses a reference that would take it too long.
  void SuggestSize(verdict::EvaluateSeen& seen) {
    if (!seen.failure.has_value() || seen.failure->code != sassay::v1::VERDICT_CODE_TOO_LARGE_FOR_DEVICE) return;
    const std::string fits = SizeThatFits(workload_, *parts_.catalog, "", kReferenceLimit, kReferenceSpeed);
    if (!fits.empty()) absl::StrAppend(&seen.failure->reason, "; ", fits, " fits");
  }

  void FailEvaluate(Failure failure, StageReport& report) {
    Finish(report, StageReport::FAILED, failure.reason);
    seen_.evaluate.emplace().failure = std::move(failure);
  }

  // After a hang: does the device still take a fresh runner?
  void NoteWedge(const Failure& failure) {
    if (lane_->emulated() || !MayHaveWedged(failure) || observer_.cancelled()) return;
    const absl::Status alive = lane_->Probe(absl::Now() + kProbeTimeout);
    if (alive.ok()) return;
    barred_.Wedged(bundle_->digest(), lane_->device().uuid());
    seen_.notes.push_back(absl::StrCat(lane_->device().uuid(), " takes no runner since: ", alive.message()));
  }

  absl::StatusOr<DeviceLease::Held> Lease(DeviceLease::Mode mode, StageReport& report) {
    return lane_->lease().Acquire(mode, job_.deadline, [this] { return observer_.cancelled(); });
  }

  // ---- sanitize: is it safe? ----

  void Sanitize(StageReport& report) {
    verdict::SanitizeSeen& seen = seen_.sanitize.emplace();
    seen.diagnostic = EvaluateFailure() != nullptr;
    const absl::Status status = TrySanitize(seen, report);
    if (!status.ok()) seen.unavailable = std::string(status.message());
    if (!seen.convicting.empty()) return Finish(report, StageReport::FAILED, seen.convicting.front().message());
    if (!seen.unavailable.empty()) Finish(report, StageReport::UNAVAILABLE, seen.unavailable);
  }

  absl::Status TrySanitize(verdict::SanitizeSeen& seen, StageReport& report) {
    const auto lease = Lease(DeviceLease::Mode::kShared, report);
    if (!lease.ok()) return lease.status();
    const auto workers = lane_->MakeWorkers(kill_switch_);
    CandidateBuffers buffers(*bundle_, workers->judge(), job_.deadline, *seeds_);
    if (absl::Status status = buffers.Prepare(); !status.ok()) return status;
    sanitize::SanitizeRequest request;
    Lend(buffers, request);
    request.poison_seed = seeds_->Get("poison sanitize", 0);
    request.deadline = SanitizeDeadline();
    const auto result = lane_->Sanitize(request);
    if (!result.ok()) return result.status();
    report.set_device_ns(result->last_reply.device_ns());
    Take(*result, seen);
    return absl::OkStatus();
  }

  // What every stage that runs the candidate needs: the device, the plan, and the judge's buffers for it.
  template <typename Request>
  void Lend(CandidateBuffers& buffers, Request& request) {
    request.device = lane_->specification();
    request.bundle = &buffers.bundle();
    request.regions = buffers.regions();
    request.descriptors = buffers.descriptors();
    request.refill_after_setup = [&buffers] { return buffers.Refill(); };
    request.kill_switch = &kill_switch_;
  }

  absl::Duration SanitizeDeadline() const {
    const absl::Duration wanted = lane_->emulated() ? 2 * DeviceDeadline() : absl::Seconds(60);
    return std::clamp(job_.deadline - absl::Now(), absl::Milliseconds(1), wanted);
  }

  void Take(const sanitize::Sanitization& result, verdict::SanitizeSeen& seen) {
    seen.convicting = result.findings;
    seen.advisory = result.advisory;
    seen.device_output = result.last_reply.device_output();
    if (result.status == sanitize::Sanitization::Status::kUnavailable) seen.unavailable = result.reason;
    if (!result.tool.empty()) (*seen_.versions.mutable_libraries())["sanitizer"] = result.tool;
  }

  // ---- evidence: which instructions executed? ----

  void CollectEvidence(StageReport& report) {
    const auto lease = Lease(DeviceLease::Mode::kShared, report);
    if (!lease.ok()) return Finish(report, StageReport::UNAVAILABLE, lease.status().message());
    const auto workers = lane_->MakeWorkers(kill_switch_);
    const auto family = definition_->required_sass.find(lane_->device().arch());
    const evidence::ExecutedEvidence result =
        evidence::CollectEvidence(Context(*workers), *seeds_, lane_->device().kind(),
                                  family == definition_->required_sass.end() ? "" : family->second);
    report.set_device_ns(result.device_ns());
    seen_.evidence = result.evidence();
    if (result.evidence().status() == sassay::v1::Evidence::UNAVAILABLE) {
      Finish(report, StageReport::UNAVAILABLE, result.evidence().reason());
    }
  }

  // ---- timing: how fast? Alone on the device. ----

  void Time(StageReport& report) {
    auto timing = TryTime(report);
    verdict::TimingSeen& seen = seen_.timing.emplace();
    if (timing.ok()) {
      seen.timing = *std::move(timing);
    } else {
      seen.timing.set_status(sassay::v1::Timing::UNAVAILABLE);
      seen.timing.set_reason(std::string(timing.status().message()));
    }
    if (timed_failure_.has_value() && !verdict::IsInfrastructure(timed_failure_->code)) {
      seen.failure = timed_failure_;
      return Finish(report, StageReport::FAILED, seen.failure->reason);
    }
    if (seen.timing.status() == sassay::v1::Timing::UNAVAILABLE) {
      Finish(report, StageReport::UNAVAILABLE, seen.timing.reason());
    }
  }

  // Only a reference that computes knows what is right for inputs of our choice.
  void CheckTimedCalls(CandidateBuffers& buffers, timing::TimingRequest& request) {
    if (definition_->reference_kind != ReferenceKind::kBuiltin) return;
    const std::vector<std::string> cases = CasesFor(*definition_, workload_, lane_->emulated()).distributions;
    request.check_seed = seeds_->Get("timing check", 0);
    request.refill_for_check = [&buffers, cases, index = cases.size()]() mutable {
      index = (index - 1) % cases.size();
      return buffers.RefillAs(index, cases[index]);
    };
    request.check = [this, &buffers]() -> absl::StatusOr<bool> {
      timed_failure_ = buffers.CheckTimedCall();
      if (!timed_failure_.has_value()) return true;
      if (verdict::IsInfrastructure(timed_failure_->code)) return absl::UnavailableError(timed_failure_->reason);
      return false;
    };
  }

  absl::StatusOr<sassay::v1::Timing> TryTime(StageReport& report) {
    if (lane_->emulated()) return absl::UnavailableError("emulated device");
    const auto lease = Lease(DeviceLease::Mode::kExclusive, report);
    if (!lease.ok()) return lease.status();
    const auto workers = lane_->MakeWorkers(kill_switch_);
    CandidateBuffers buffers(*bundle_, workers->judge(), job_.deadline, *seeds_);
    if (absl::Status status = buffers.Prepare(); !status.ok()) return status;
    timing::TimingRequest request;
    Lend(buffers, request);
    request.poison_seed = seeds_->Get("poison timing", 0);
    request.deadline = std::clamp(job_.deadline - absl::Now(), absl::Milliseconds(1), absl::Seconds(60));
    CheckTimedCalls(buffers, request);
    return lane_->Time(request);
  }

  std::string DeviceLabel() const { return absl::StrCat(lane_->device().model(), " ", lane_->device().uuid()); }

  const PipelineParts& parts_;
  BarredDigests& barred_;
  const Job& job_;
  JobObserver& observer_;
  wire::KillSwitch kill_switch_;

  sassay::v1::Workload workload_;
  const Definition* definition_ = nullptr;
  absl::optional<evaluate::Seeds> seeds_;
  absl::optional<admission::AdmittedBundle> bundle_, reference_;
  Lane* lane_ = nullptr;
  absl::Duration call_estimate_;
  absl::optional<Failure> timed_failure_;
  verdict::Observations seen_;
};

}  // namespace

sassay::v1::Verdict Pipeline::Run(const Job& job, JobObserver& observer) {
  return JobRun(parts_, barred_, job, observer).Run();
}

}  // namespace sassay::pipeline
