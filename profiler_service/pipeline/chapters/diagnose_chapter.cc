#include "profiler_service/pipeline/chapters/diagnose_chapter.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/steady_time.h"
#include "profiler_service/diagnose/hotspots.h"
#include "profiler_service/verdict/verdict.h"
#include "profiler_service/wire/tool_run.h"

namespace sassay::pipeline {
namespace {

using diagnose::Diagnosed;
using sassay::v1::DiagnosisReport;
using verdict::Failure;

// What the profiler may take at most.
constexpr absl::Duration kLongestRun = absl::Minutes(1);

class DiagnoseChapter {
 public:
  DiagnoseChapter(const Chapter& chapter, const Job& job, const DiagnoseGiven& given)
      : chapter_(chapter), job_(job), given_(given), failure_(given.failure) {}

  verdict::DiagnoseSeen Run() {
    for (const int kind : job_.request.diagnose()) {
      if (!chapter_.goes()) break;
      const absl::Time start = SteadyNow();
      Diagnosed diagnosed = Ask(static_cast<sassay::v1::Diagnosis>(kind));
      diagnosed.report.set_kind(static_cast<sassay::v1::Diagnosis>(kind));
      Keep(diagnosed);
      diagnosed.report.set_wall_ns(static_cast<uint64_t>(absl::ToInt64Nanoseconds(SteadyNow() - start)));
      seen_.warps.insert(seen_.warps.end(), diagnosed.warps.begin(), diagnosed.warps.end());
      seen_.reports.push_back(std::move(diagnosed.report));
    }
    return std::move(seen_);
  }

 private:
  bool FailedAs(sassay::v1::VerdictStatus status) const {
    return failure_ != nullptr && verdict::StatusOf(failure_->code) == status;
  }
  bool FaultedOrHung() const {
    return FailedAs(sassay::v1::VERDICT_STATUS_RUNTIME_ERROR) || FailedAs(sassay::v1::VERDICT_STATUS_TIMEOUT);
  }
  // Misused memory is often a fault of the plain run, too (a misaligned address always is); the dump tells.
  bool MayFault() const { return FaultedOrHung() || FailedAs(sassay::v1::VERDICT_STATUS_SANITIZER_ERROR); }

  // Empty if it can be done.
  std::string WhyNot(sassay::v1::Diagnosis kind) const {
    if (chapter_.lane.emulated()) return "the device is emulated; findings and warps tell what it saw";
    if (kind == sassay::v1::DIAGNOSIS_DEBUG) {
      return MayFault() ? "" : "no kernel faulted or hung: there is nothing to debug";
    }
    if (FaultedOrHung()) return absl::StrCat("the candidate does not run to its end: ", failure_->reason);
    if (failure_ != nullptr && verdict::IsInfrastructure(failure_->code)) return failure_->reason;
    return "";
  }

  Diagnosed Ask(sassay::v1::Diagnosis kind) {
    if (const std::string why = WhyNot(kind); !why.empty()) return diagnose::Unavailable(why);
    if (kind == sassay::v1::DIAGNOSIS_HOTSPOTS) {
      return diagnose::Hotspots(given_.hot, given_.why_not_hot, chapter_.bundle.bundle());
    }
    absl::StatusOr<Diagnosed> diagnosed = AskAlone(kind);
    return diagnosed.ok() ? *std::move(diagnosed) : diagnose::Unavailable(diagnosed.status().message());
  }

  // Counters, and a core dump, belong to one process at a time; nobody is timed or counted meanwhile.
  absl::StatusOr<Diagnosed> AskAlone(sassay::v1::Diagnosis kind) {
    const auto lease = chapter_.lease(DeviceLease::Mode::kExclusive);
    if (!lease.ok()) return lease.status();
    const auto workers = chapter_.lane.MakeWorkers(chapter_.kill_switch);
    CandidateBuffers buffers(chapter_.bundle, workers->judge(), chapter_.deadline, chapter_.seeds,
                             chapter_.distribution);
    if (absl::Status status = buffers.Prepare(); !status.ok()) return status;
    wire::CandidateRun run;
    Lend(chapter_, buffers, run);
    run.poison_seed = chapter_.seeds.Get("poison diagnose", static_cast<uint64_t>(kind));
    const absl::Duration wanted = kind == sassay::v1::DIAGNOSIS_DEBUG
                                      ? given_.device_deadline
                                      : wire::LongestUnderTool(kLongestRun, given_.plain);
    run.deadline = std::clamp(chapter_.deadline - SteadyNow(), absl::Milliseconds(1), wanted);
    return chapter_.lane.Diagnose(kind, run);
  }

  void Keep(Diagnosed& diagnosed) {
    for (const diagnose::File& file : diagnosed.files) {
      const auto sha256 =
          job_.keep_artifact ? job_.keep_artifact(file.bytes) : absl::UnimplementedError("this service keeps no files");
      if (!sha256.ok()) {
        diagnosed.report.add_summary(absl::StrCat("the file was not kept: ", sha256.status().message()));
        continue;
      }
      sassay::v1::Artifact& artifact = *diagnosed.report.add_artifacts();
      artifact.set_name(absl::StrCat(job_.submission_id, file.suffix));
      artifact.set_sha256(*sha256);
      artifact.set_size_bytes(file.bytes.size());
    }
  }

  const Chapter& chapter_;
  const Job& job_;
  const DiagnoseGiven& given_;
  const Failure* const failure_;
  verdict::DiagnoseSeen seen_;
};

}  // namespace

verdict::DiagnoseSeen RunDiagnoses(const Chapter& chapter, const Job& job, const DiagnoseGiven& given) {
  return DiagnoseChapter(chapter, job, given).Run();
}

}  // namespace sassay::pipeline
