// The life of a candidate inside the service. Top to bottom: JobRun::Run is the story, the functions below it are its
// chapters, each one stage.
#include "profiler_service/pipeline/pipeline.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <map>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/proto_json.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"
#include "profiler_service/evaluate/evaluate.h"
#include "profiler_service/evaluate/judge_case.h"
#include "profiler_service/evidence/evidence.h"
#include "profiler_service/pipeline/admit_on_lanes.h"
#include "profiler_service/pipeline/cancel_watch.h"
#include "profiler_service/pipeline/cases.h"
#include "profiler_service/pipeline/chapters/baseline_chapter.h"
#include "profiler_service/pipeline/chapters/chapter.h"
#include "profiler_service/pipeline/chapters/diagnose_chapter.h"
#include "profiler_service/pipeline/chapters/evidence_chapter.h"
#include "profiler_service/pipeline/chapters/sanitize_chapter.h"
#include "profiler_service/pipeline/chapters/timing_chapter.h"
#include "profiler_service/pipeline/memory_need.h"
#include "profiler_service/pipeline/witness.h"
#include "profiler_service/reference_kernels/reference_kernels.h"
#include "profiler_service/verdict/verdict.h"
#include "profiler_service/wire/runner_client.h"

namespace sassay::pipeline {
namespace {

using sassay::v1::Stage;
using sassay::v1::StageReport;
using verdict::Failure;

constexpr absl::Duration kShortestEmulatedDeadline = absl::Seconds(20);
constexpr absl::Duration kLongestEmulatedDeadline = absl::Minutes(5);
// What the job may be held up by when nobody wants the disassembly in the end.
constexpr absl::Duration kDisassemblyAhead = absl::Seconds(5);

// What a CPU reference surely makes in a second, and the longest it may take (--reference-seconds).
constexpr EmulatorSpeed kReferenceSpeed{1e9, 1e9};
constexpr absl::Duration kReferenceLimit = absl::Seconds(60);

Failure Refusal(sassay::v1::VerdictCode code, absl::string_view reason) { return {code, std::string(reason), {}, {}}; }

// One job from bytes to verdict. Lives on the job's thread.
class JobRun {
 public:
  JobRun(Pipeline& pipeline, const Job& job, JobObserver& observer)
      : parts_(pipeline.parts()),
        lanes_(pipeline.lanes()),
        barred_(pipeline.barred()),
        baseline_history_(pipeline.baseline_history()),
        job_(job),
        deadline_(SteadyDeadline(job.deadline)),
        observer_(observer),
        witness_(pipeline.parts().telemetry, job.submission_id) {}

  sassay::v1::Verdict Run() {
    const CancelWatch watch([this] { return !Goes(); }, kill_switch_);
    RunStage(sassay::v1::STAGE_ADMISSION, true, [this](StageReport& report) { Admit(report); });
    if (bundle_.has_value()) {
      RunStage(sassay::v1::STAGE_EVALUATE, Goes(), [this](StageReport& report) { Evaluate(report); });
      RunStage(sassay::v1::STAGE_SANITIZE, WantsSanitize(), [this](StageReport& report) { Sanitize(report); });
      RunStage(sassay::v1::STAGE_EVIDENCE, WantsMore(sassay::v1::STAGE_EVIDENCE),
               [this](StageReport& report) { CollectEvidence(report); });
      RunStage(sassay::v1::STAGE_TIMING, WantsMore(sassay::v1::STAGE_TIMING),
               [this](StageReport& report) { Time(report); });
      hold_.reset();
      // Not among the stages of those who did not ask for it.
      if (Goes() && job_.request.diagnose_size() > 0) {
        RunStage(sassay::v1::STAGE_DIAGNOSE, true, [this](StageReport& report) { Diagnose(report); });
      }
    }
    seen_.cancelled = observer_.cancelled();
    if (const absl::Status lost = WhyLost(); !lost.ok()) {
      seen_.lost = Failure{sassay::v1::VERDICT_CODE_RUNNER_LOST, std::string(lost.message()), {}, {}};
    }
    return verdict::Decide(seen_);
  }

 private:
  // ---- which stages run ----

  // Evaluate always runs: without it nothing that the others say means anything.
  bool Asked(Stage stage) const {
    const auto& stages = job_.request.stages();
    return stages.empty() || std::find(stages.begin(), stages.end(), stage) != stages.end();
  }

  // From any thread.
  bool Goes() const { return !observer_.cancelled() && WhyLost().ok(); }

  absl::Status WhyLost() const {
    const Lanes::Seat* seat = seated_;
    return seat == nullptr ? absl::OkStatus() : seat->lost();
  }

  // For failures too: patched code decides nothing that a plain run can, but says why, unless that is known (0011).
  bool WantsSanitize() const {
    if (!Goes() || Policy() == sassay::v1::SANITIZE_POLICY_NONE) return false;
    const Failure* failure = EvaluateFailure();
    if (failure == nullptr) return Asked(sassay::v1::STAGE_SANITIZE);
    if (seen_.evaluate->wrong_by_itself) return false;
    return SanitizeCanExplain(*failure) && (Asked(sassay::v1::STAGE_SANITIZE) || IsMisuse(*failure));
  }

  // Nothing is measured on a candidate that is not right and clean.
  bool WantsMore(Stage stage) const {
    const bool unclean =
        seen_.sanitize.has_value() && (!seen_.sanitize->convicting.empty() || seen_.sanitize->lost.has_value());
    return Goes() && Asked(stage) && EvaluateFailure() == nullptr && !unclean;
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
      const absl::Time start = SteadyNow();
      observer_.StageStarted(stage, lane_ == nullptr ? "" : lane_->label());
      report.set_outcome(StageReport::PASSED);
      body(report);
      report.set_wall_ns(static_cast<uint64_t>(absl::ToInt64Nanoseconds(SteadyNow() - start)));
      observer_.StageFinished(report);
      witness_.StageEnded(report);
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
    seen_.against_itself = AgainstItself();
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
    if (auto refusal = CheckProvenance()) return refusal;
    if (auto refusal = TakeSeat()) return refusal;
    if (auto refusal = LoadReference()) return refusal;
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

  absl::optional<Failure> AdmitBundle() {
    AdmittedOnLanes result = AdmitOnLanes(lanes_, job_.bundle_bytes, workload_, parts_.limits, parts_.driver_cuda);
    if (result.admitted.empty()) return result.refusal;
    admitted_ = std::move(result.admitted);
    bundle_ = admitted_.begin()->second;
    if (const auto vendor = parts_.vendor_kernel(bundle_->bundle()); vendor.has_value()) {
      return Refusal(vendor->code, vendor->Line());
    }
    return absl::nullopt;
  }

  // A place on one of the lanes that take it; held until the job ends.
  absl::optional<Failure> TakeSeat() {
    Pause(parts_.retry_pause * static_cast<int64_t>(job_.earlier_devices.size()));
    std::vector<size_t> fitting;
    for (const auto& [index, bundle] : admitted_) fitting.push_back(index);
    auto seat = lanes_.Take(fitting, job_.earlier_devices, deadline_, [this] { return !Goes(); });
    if (absl::IsAborted(seat.status())) observer_.FoundNoOpenGpu(seat.status().message());
    if (!seat.ok()) return NoDevice(seat.status());
    seat_.emplace(*std::move(seat));
    seated_ = &*seat_;
    lane_ = &seat_->lane();
    observer_.SeatTaken(lane_->gpu());
    witness_.Seated(lane_->gpu());
    bundle_ = admitted_.at(seat_->index());
    admitted_.clear();
    return absl::nullopt;
  }

  void Pause(absl::Duration pause) const {
    const absl::Time end = std::min(deadline_, SteadyNow() + pause);
    while (Goes() && SteadyNow() < end) absl::SleepFor(std::min(end - SteadyNow(), absl::Milliseconds(50)));
  }

  static Failure NoDevice(const absl::Status& status) {
    return evaluate::TroubleOf(status, absl::IsDeadlineExceeded(status) ? sassay::v1::VERDICT_CODE_QUEUE_DEADLINE
                                                                        : sassay::v1::VERDICT_CODE_DEVICE_LOST);
  }

  // A reference that is a kernel is a bundle that an operator approved, or one of our own; it passes the same door.
  absl::optional<Failure> LoadReference() {
    const bool ours = definition_->reference_kind == ReferenceKind::kKernel;
    if (!ours && definition_->reference_kind != ReferenceKind::kBundle) return absl::nullopt;
    const auto bytes = ours ? reference_kernels::BundleFor(workload_, lane_->device().arch())
                            : parts_.trusted_bundle(definition_->reference_name);
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

  absl::optional<Failure> CheckProvenance() {
    const admission::ProvenanceResult provenance = parts_.provenance(*bundle_, deadline_, [this] { return !Goes(); });
    seen_.provenance = provenance.provenance;
    if (!provenance.reason.empty()) {
      seen_.notes.push_back(absl::StrCat("provenance: ", EnumName(provenance.provenance), ": ", provenance.reason));
    }
    if (SteadyNow() < deadline_ || !Goes()) return absl::nullopt;
    return Refusal(sassay::v1::VERDICT_CODE_QUEUE_DEADLINE,
                   "run_deadline passed while ptxas checked where the cubin comes from; ask for a longer one");
  }

  void DescribeBundle() {
    seen_.bundle_sha256 = bundle_->digest();
    seen_.capture_profile = bundle_->plan().profile();
    seen_.warnings.assign(bundle_->plan().warnings().begin(), bundle_->plan().warnings().end());
    for (const std::string& warning : bundle_->warnings()) seen_.warnings.push_back(warning);
    for (const std::string& caveat : CaveatsOf(*lane_)) seen_.notes.push_back(caveat);
    seen_.versions = VersionsOf(*lane_);
    seen_.versions.set_toolkit(bundle_->bundle().compilation().toolkit_version());
  }

  // An emulated run that cannot end in time is refused at once: with a size that fits, or, where it is only that this
  // submission has little time, asking for more.
  absl::optional<Failure> CheckSize() {
    if (!lane_->emulated()) return absl::nullopt;
    call_estimate_ = EstimateCall(workload_, bundle_->bundle().ptx(), parts_.emulator_speed);
    const EmulatedRun run{call_estimate_, kLongestEmulatedDeadline, deadline_ - SteadyNow(), parts_.usual_run_deadline};
    return RefuseSlowRun(run, workload_, *parts_.catalog, bundle_->bundle().ptx(), lane_->specification(),
                         parts_.emulator_speed);
  }

  // ---- evaluate: is it right? ----

  evaluate::StageContext Context(evaluate::Workers& workers) const {
    evaluate::StageContext context{*bundle_, workers, deadline_, DeviceDeadline(), !lane_->emulated(), nullptr};
    context.reference = reference_.has_value() ? &*reference_ : nullptr;
    return context;
  }

  absl::Duration DeviceDeadline() const {
    if (!lane_->emulated()) return parts_.device_deadline;
    return std::clamp(4 * call_estimate_, kShortestEmulatedDeadline, kLongestEmulatedDeadline);
  }

  // A hang slows down whoever shares the device, and has to be seen again anyway: beside others it is stopped early.
  absl::Duration FirstDeadline() const { return lane_->emulated() ? DeviceDeadline() : DeviceDeadline() / 4; }

  // Beside other candidates, as a rule. What may be the device's fault is run again with nobody else there, unless a
  // tool names what the candidate did; so is what earlier attempts failed with on other devices.
  void Evaluate(StageReport& report) {
    auto evaluation = EvaluateOnce(/*alone=*/!lane_->emulated() && !job_.earlier_devices.empty(), nullptr);
    if (evaluation.ok() && evaluation->needs_proof() && !ToolConvicts(*evaluation)) {
      seen_.notes.push_back(
          absl::StrCat("evaluate: run again alone on the device: ", evaluation->seen().failure->reason));
      evaluation = EvaluateOnce(/*alone=*/true, &*evaluation);
    }
    if (!evaluation.ok()) return FailEvaluate(NoDevice(evaluation.status()), report);
    report.set_device_ns(evaluation->device_ns());
    evaluated_ = absl::Nanoseconds(evaluation->device_ns());
    seen_.evaluate = evaluation->seen();
    if (evaluation->passed() || !WantsSanitize()) {
      ahead_.reset();  // they diagnosed a failure that is none, or is not the candidate's
      seen_.sanitize.reset();
    }
    SuggestSize(*seen_.evaluate);
    for (const std::string& note : evaluation->notes()) seen_.notes.push_back(note);
    if (!evaluation->passed()) Finish(report, StageReport::FAILED, EvaluateFailure()->reason);
  }

  // A finding that names access, thread and line says more than a second fault, and costs one process instead of two.
  bool ToolConvicts(const evaluate::Evaluation& first) {
    seen_.evaluate = first.seen();
    evaluated_ = absl::Nanoseconds(first.device_ns());
    if (!WantsSanitize()) return false;
    ahead_.emplace();
    RunTools(*ahead_);
    if (seen_.sanitize->convicting.empty()) return false;
    witness_.Failed(*first.seen().failure, /*proven=*/true, troubled_);
    return true;
  }

  // `first` is what needs proof; null otherwise. A Status tells why the device could not be had.
  absl::StatusOr<evaluate::Evaluation> EvaluateOnce(bool alone, const evaluate::Evaluation* first) {
    ASSIGN_OR_RETURN(const DeviceLease::Held lease,
                     Lease(alone ? DeviceLease::Mode::kExclusive : DeviceLease::Mode::kShared));
    if (alone) RETURN_IF_ERROR(ProbeDevice());
    const auto workers = lane_->MakeWorkers(kill_switch_);
    evaluate::StageContext context = Context(*workers);
    if (!alone) context.device_deadline = FirstDeadline();
    evaluate::EvaluatePlan plan = CasesFor(*definition_, workload_, lane_->emulated());
    plan.repeat_wrong = !lane_->emulated() && Policy() == sassay::v1::SANITIZE_POLICY_FAST;
    if (Asked(sassay::v1::STAGE_EVIDENCE)) plan.leaving_out = LeavingOut(plan, lane_->emulated(), parts_.leaving_out);
    evaluate::Evaluation evaluation =
        first == nullptr ? evaluate::Evaluate(context, *seeds_, plan) : evaluate::Prove(context, *seeds_, plan, *first);
    if (!evaluation.passed()) LookAfterDevice(evaluation, alone);
    if (!evaluation.passed() && Goes()) {
      troubled_ = workers->troubled_runner();
      witness_.Failed(*evaluation.seen().failure, first != nullptr || !evaluation.needs_proof(), troubled_);
    }
    return evaluation;
  }

  // Whether the device works. A lane whose device does not takes no job until it does.
  absl::Status ProbeDevice() {
    if (lane_->emulated()) return absl::OkStatus();
    const absl::Status alive = lane_->Probe(SteadyNow() + Lane::kProbeTimeout, &kill_switch_);
    if (alive.ok() || absl::IsCancelled(alive)) return alive;
    if (!Goes()) return absl::CancelledError("given up while the device was looked at");
    lanes_.Sick(seat_->index(), alive);
    const std::string why = absl::StrCat(lane_->device().uuid(), " takes no runner: ", alive.message());
    seen_.notes.push_back(why);
    return absl::UnavailableError(why);
  }

  // A digest is held responsible only for a device that was well just before, had nobody else on it, and on which the
  // digest's own launches were running.
  // What is run again alone begins with a look at the device.
  void LookAfterDevice(const evaluate::Evaluation& evaluation, bool alone) {
    if (!MayBeTheDevices(*evaluation.seen().failure) || (!alone && evaluation.needs_proof())) return;
    const absl::Status alive = ProbeDevice();
    if (alive.ok() || absl::IsCancelled(alive)) return;
    if (alone && evaluation.launched()) barred_.Wedged(bundle_->digest(), lane_->device().uuid());
  }

  // The judge refuses a reference that would take it too long. What the emulator refuses is the candidate's own
  // slowness, which it has measured: a size for the reference would say nothing about that.
  void SuggestSize(verdict::EvaluateSeen& seen) {
    if (!seen.failure.has_value() || seen.failure->code != sassay::v1::VERDICT_CODE_TOO_LARGE_FOR_DEVICE) return;
    if (absl::StrContains(seen.failure->reason, "too large for the emulated device")) return;
    const std::string fits = SizeThatFits(workload_, *parts_.catalog, "", kReferenceLimit, kReferenceSpeed);
    if (!fits.empty()) absl::StrAppend(&seen.failure->reason, "; ", fits, " fits");
  }

  void FailEvaluate(Failure failure, StageReport& report) {
    Finish(report, StageReport::FAILED, failure.reason);
    seen_.evaluate.emplace().failure = std::move(failure);
  }

  absl::StatusOr<DeviceLease::Held> Lease(DeviceLease::Mode mode) {
    if (parts_.exclusive) mode = DeviceLease::Mode::kExclusive;
    const uint64_t need = MemoryNeed(*bundle_, reference_.has_value() ? &*reference_ : nullptr, lane_->emulated());
    return lane_->lease().Acquire(mode, need, deadline_, [this] { return !Goes(); });
  }

  // ---- sanitize: is it safe? ----

  void Sanitize(StageReport& report) {
    // nvdisasm takes about as long as the sanitizer, and no GPU.
    if (WantsMore(sassay::v1::STAGE_EVIDENCE) && !lane_->emulated()) DisassembleAhead();
    if (ahead_.has_value()) {
      report.set_device_ns(ahead_->device_ns());
    } else {
      RunTools(report);
    }
    const verdict::SanitizeSeen& seen = *seen_.sanitize;
    for (const sassay::v1::SanitizerReport& tool : seen.reports) {
      const std::string name =
          tool.tool() == "emulator" ? tool.tool() : absl::StrCat("compute-sanitizer ", tool.version());
      if (!tool.version().empty() || name == "emulator") {
        (*seen_.versions.mutable_libraries())["sanitizer"] = name;
      }
    }
    if (!seen.convicting.empty()) return Finish(report, StageReport::FAILED, seen.convicting.front().message());
    if (!seen.unavailable.empty()) Finish(report, StageReport::UNAVAILABLE, seen.unavailable);
  }

  void RunTools(StageReport& report) {
    const SanitizeWish wish{Policy(), SmallBundle(), 2 * DeviceDeadline(), EvaluateFailure() == nullptr, evaluated_};
    seen_.sanitize = RunSanitize(ThisJob(), wish, report);
    seen_.sanitize->diagnostic = EvaluateFailure() != nullptr;
  }

  // Evidence finds the result in the disassembler's memory.
  void DisassembleAhead() {
    disassembly_ = std::async(std::launch::async, [this] {
      parts_.disassemble(bundle_->bundle().cubin(), kDisassemblyAhead).status().IgnoreError();
    });
  }

  sassay::v1::SanitizePolicy Policy() const {
    return job_.request.sanitize() == sassay::v1::SANITIZE_POLICY_UNSPECIFIED ? parts_.default_sanitize
                                                                              : job_.request.sanitize();
  }

  // The bundle's plan for the definition's sanitize shape. Nobody has promised that there is one.
  absl::optional<admission::AdmittedBundle> SmallBundle() const {
    if (Policy() != sassay::v1::SANITIZE_POLICY_FULL || lane_->emulated()) return absl::nullopt;
    const auto shape = SanitizeShape(*definition_, workload_);
    if (!shape.has_value()) return absl::nullopt;
    auto result = admission::Admit(job_.bundle_bytes, *shape, parts_.limits, FactsOf(*lane_));
    auto* admitted = std::get_if<admission::AdmittedBundle>(&result);
    return admitted == nullptr ? absl::nullopt : absl::make_optional(std::move(*admitted));
  }

  Chapter ThisJob() {
    return {*lane_,
            *bundle_,
            *seeds_,
            FirstDistribution(*definition_),
            deadline_,
            kill_switch_,
            [this](DeviceLease::Mode mode) { return Lease(mode); },
            [this] { return Goes(); },
            seen_.notes};
  }

  // ---- evidence: which instructions executed? ----

  void CollectEvidence(StageReport& report) {
    const auto lease = Lease(DeviceLease::Mode::kShared);
    if (!lease.ok()) return Finish(report, StageReport::UNAVAILABLE, lease.status().message());
    // Where others are about, they need spares more than this job needs none to be under way when it is timed.
    if (WantsMore(sassay::v1::STAGE_TIMING) && lanes_.jobs(seat_->index()) == 1) hold_ = lane_->HoldRefill();
    const Chapter chapter = ThisJob();
    const evidence::ExecutedEvidence result =
        CountExecuted(chapter, {*definition_, parts_.disassemble, DeviceDeadline()});
    report.set_device_ns(result.device_ns());
    seen_.evidence = result.evidence();
    AddDroppedLaunches(chapter, *seen_.evaluate, *seen_.evidence);
    hot_ = result.hot();
    if (result.evidence().status() == sassay::v1::Evidence::UNAVAILABLE) {
      Finish(report, StageReport::UNAVAILABLE, result.evidence().reason());
    }
  }

  // ---- timing: how fast? Alone on the device. ----

  void Time(StageReport& report) {
    const auto timed = TryTime(report);
    verdict::TimingSeen& seen = seen_.timing.emplace();
    if (timed.ok()) seen = *timed;
    if (!timed.ok()) seen.timing = NoTime(timed.status().message());
    if (seen.failure.has_value()) return Finish(report, StageReport::FAILED, seen.failure->reason);
    if (seen.timing.status() == sassay::v1::Timing::UNAVAILABLE) {
      Finish(report, StageReport::UNAVAILABLE, seen.timing.reason());
    }
  }

  static sassay::v1::Timing NoTime(absl::string_view reason) {
    sassay::v1::Timing timing;
    timing.set_status(sassay::v1::Timing::UNAVAILABLE);
    timing.set_reason(std::string(reason));
    return timing;
  }

  // A fault or a hang while timed is proven as evaluate's; the device is this job's alone already. A lost worker is
  // given one more chance.
  absl::StatusOr<verdict::TimingSeen> TryTime(StageReport& report) {
    if (lane_->emulated()) return absl::UnavailableError("emulated device");
    ASSIGN_OR_RETURN(const DeviceLease::Held lease, Lease(DeviceLease::Mode::kExclusive));
    const absl::Time since = SteadyNow();
    const absl::Cleanup tell = [&] { report.set_device_ns(absl::ToInt64Nanoseconds(SteadyNow() - since)); };
    absl::StatusOr<verdict::TimingSeen> first_try = TimeOnce();
    if (absl::IsUnavailable(first_try.status()) && Goes()) {
      seen_.notes.push_back(absl::StrCat("timing began again: ", first_try.status().message()));
      first_try = TimeOnce();
    }
    ASSIGN_OR_RETURN(verdict::TimingSeen seen, std::move(first_try));
    if (!seen.failure.has_value() || !evaluate::NeedsProof(*seen.failure)) return seen;
    witness_.Failed(*seen.failure, /*proven=*/false, lane_->troubled_runner());
    const std::string first = seen.failure->reason;
    seen_.notes.push_back(absl::StrCat("timing: run again: ", first));
    RETURN_IF_ERROR(ProbeDevice());
    ASSIGN_OR_RETURN(seen, TimeOnce());
    if (seen.failure.has_value()) {
      if (Goes()) witness_.Failed(*seen.failure, /*proven=*/true, lane_->troubled_runner());
      if (MayBeTheDevices(*seen.failure)) ProbeDevice().IgnoreError();
    } else {
      seen.timing = NoTime(absl::StrCat("a fault while timed (", first, ") did not happen again in a fresh runner"));
    }
    return seen;
  }

  absl::StatusOr<verdict::TimingSeen> TimeOnce() {
    const BaselineSources baselines{*definition_,          workload_,
                                    AgainstItself(),       reference_.has_value() ? &*reference_ : nullptr,
                                    parts_.trusted_bundle, parts_.limits};
    ASSIGN_OR_RETURN(verdict::TimingSeen seen,
                     TimeAgainstBaseline(ThisJob(), {baselines, parts_.seeds, evaluated_, parts_.timing_budget,
                                                     DeviceDeadline(), baseline_history_}));
    witness_.Timed(seen.timing);
    return seen;
  }

  bool AgainstItself() const { return job_.request.baseline() == sassay::v1::BASELINE_CHOICE_ITSELF; }

  // ---- diagnose: what else was asked for ----

  void Diagnose(StageReport& report) {
    DiagnoseGiven given;
    given.failure = EvaluateFailure();
    if (given.failure == nullptr && seen_.timing.has_value() && seen_.timing->failure.has_value()) {
      given.failure = &*seen_.timing->failure;
    }
    given.hot = hot_;
    given.device_deadline = DeviceDeadline();
    given.plain = evaluated_;
    given.why_not_hot = seen_.evidence.has_value() && !seen_.evidence->reason().empty()
                            ? seen_.evidence->reason()
                            : "no executed instruction was counted; ask for the evidence stage, too";
    seen_.diagnose = RunDiagnoses(ThisJob(), job_, given);
    std::string missing;
    for (const sassay::v1::DiagnosisReport& diagnosis : seen_.diagnose.reports) {
      if (diagnosis.outcome() == sassay::v1::DiagnosisReport::DONE) continue;
      absl::StrAppend(&missing, missing.empty() ? "" : "; ", sassay::v1::Diagnosis_Name(diagnosis.kind()), ": ",
                      diagnosis.reason());
    }
    if (!missing.empty()) Finish(report, StageReport::UNAVAILABLE, missing);
    // A kernel has hung again.
    if (given.failure != nullptr && MayBeTheDevices(*given.failure)) ProbeDevice().IgnoreError();
  }

  const PipelineParts& parts_;
  Lanes& lanes_;
  BarredDigests& barred_;
  timing::BaselineHistory& baseline_history_;
  const Job& job_;
  const absl::Time deadline_;  // the job's, by the steady clock
  JobObserver& observer_;
  Witness witness_;
  wire::KillSwitch kill_switch_;

  sassay::v1::Workload workload_;
  const Definition* definition_ = nullptr;
  absl::optional<evaluate::Seeds> seeds_;
  std::map<size_t, admission::AdmittedBundle> admitted_;  // by lane, until one is chosen
  absl::optional<admission::AdmittedBundle> bundle_, reference_;
  absl::optional<Lanes::Seat> seat_;
  std::atomic<const Lanes::Seat*> seated_ = nullptr;  // the same, for any thread
  Lane* lane_ = nullptr;                              // the seat's
  absl::Duration call_estimate_;
  absl::optional<StageReport> ahead_;          // of the tools that ran before evaluate was over
  absl::Duration evaluated_;                   // device time of all its calls
  uint32_t troubled_ = 0;                      // process of the runner on which it went wrong; 0 if unknown
  std::vector<evidence::HotInstruction> hot_;  // as evidence counted them
  verdict::Observations seen_;
  std::unique_ptr<wire::RunnerPool::NoRefill> hold_;  // from evidence to the end of timing, of a job that is alone
  std::future<void> disassembly_;                     // last: it reads the bundle
};

}  // namespace

sassay::v1::Verdict Pipeline::Run(const Job& job, JobObserver& observer) { return JobRun(*this, job, observer).Run(); }

}  // namespace sassay::pipeline
