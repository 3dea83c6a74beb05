#include "profiler_service/evidence/evidence.h"

#include <future>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"
#include "profiler_service/evidence/ptx_summary.h"
#include "profiler_service/evidence/sass_join.h"

namespace sassay::evidence {
namespace {

using evaluate::CandidateSession;
using evaluate::MaybeFailure;
using sassay::v1::Evidence;

constexpr absl::Duration kDisassemblyTimeout = absl::Seconds(60);

Evidence Unavailable(absl::string_view reason) {
  Evidence evidence;
  evidence.set_status(Evidence::UNAVAILABLE);
  evidence.set_reason(std::string(reason));
  return evidence;
}

// The candidate once, counted. What a runner has said about counting by the time it has loaded the module is believed:
// no code of the candidate has run there yet.
class CountedRun {
 public:
  CountedRun(const evaluate::StageContext& context, const evaluate::Seeds& seeds, const std::string& distribution)
      : seeds_(seeds), distribution_(distribution), session_(context, sassay::worker::RUN_MODE_COUNTED) {}

  MaybeFailure Open() { return session_.Open(seeds_.Get("decoy", 1), seeds_.Get("poison", 1)); }

  MaybeFailure Run() {
    if (MaybeFailure failure = session_.Fill(seeds_.Get("inputs", 0), distribution_)) return failure;
    const absl::Time start = SteadyNow();
    MaybeFailure failure = session_.Steady(seeds_.Get("poison", 2));
    elapsed_ = SteadyNow() - start;
    return failure;
  }

  // Whether the judge finds nothing wrong with the call. A kernel may know that it is counted, and these are the inputs
  // of evaluate's first case, whose reference is still there.
  absl::Status CheckOutputs() {
    sassay::worker::JudgeReply reply;
    if (const MaybeFailure failure = session_.Compare(reply)) {
      return absl::UnavailableError(absl::StrCat("the counted call's outputs were not compared: ", failure->reason));
    }
    const std::string wrong = evaluate::WrongIn(reply);
    if (wrong.empty()) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat("the counted call was not the one that was judged: ", wrong));
  }

  const CandidateSession& session() const { return session_; }
  // Of the call, seen from outside.
  absl::Duration elapsed() const { return elapsed_; }

 private:
  const evaluate::Seeds& seeds_;
  const std::string distribution_;
  CandidateSession session_;
  absl::Duration elapsed_;
};

struct SassEvidence {
  Evidence evidence;
  std::vector<HotInstruction> hot;
};

absl::StatusOr<SassEvidence> Join(const evaluate::StageContext& context, const EvidenceRequest& request,
                                  CountedRun& run, const absl::StatusOr<Disassembly>& code) {
  RETURN_IF_ERROR(code.status());
  const auto& counts = run.session().reply().sass_counts();
  if (!counts.unavailable().empty()) return absl::UnavailableError(counts.unavailable());
  RETURN_IF_ERROR(run.CheckOutputs());
  const CountedCall call{counts,
                         run.session().counting().cubin_crc(),
                         context.bundle.plan(),
                         *code,
                         BlocksPerCluster(context.bundle.cubin()),
                         MostWarpInstructions(request.device.multiprocessors(), absl::ToDoubleSeconds(run.elapsed()))};
  ASSIGN_OR_RETURN(const std::vector<ExecutedLaunch> launches, JoinCounts(call));
  SassEvidence joined;
  joined.evidence = SummarizeSass(launches, *code, context.bundle.workload().flop(), request.required_family);
  joined.evidence.set_cubin_crc(call.cubin_crc);
  joined.hot = HottestInstructions(launches, ExecutedEvidence::kMaxHot);
  return joined;
}

}  // namespace

ExecutedEvidence CollectEvidence(const evaluate::StageContext& context, const evaluate::Seeds& seeds,
                                 const EvidenceRequest& request) {
  ExecutedEvidence result;
  const bool emulated = request.device.kind() == "emulated";
  // The disassembler takes about as long as a runner takes to start.
  std::future<absl::StatusOr<Disassembly>> code;
  if (!emulated) {
    code = std::async(std::launch::async,
                      [&] { return request.disassemble(context.bundle.bundle().cubin(), kDisassemblyTimeout); });
  }
  CountedRun run(context, seeds, request.distribution);
  result.failure_ = run.Open();
  const std::string& trouble = run.session().counting().unavailable();
  if (!result.failure_ && trouble.empty()) result.failure_ = run.Run();
  result.device_ns_ = run.session().device_ns();
  if (result.failure_.has_value()) {
    result.evidence_ = Unavailable(absl::StrCat("the counted run did not end well: ", result.failure_->reason));
  } else if (!trouble.empty()) {
    result.evidence_ = Unavailable(trouble);
  } else if (emulated) {
    result.evidence_ = SummarizePtx(run.session().reply().evidence(), context.bundle.bundle().ptx(),
                                    context.bundle.workload().flop(), request.required_family);
  } else {
    auto joined = Join(context, request, run, code.get());
    result.evidence_ = joined.ok() ? std::move(joined->evidence) : Unavailable(joined.status().message());
    if (joined.ok()) result.hot_ = std::move(joined->hot);
  }
  return result;
}

}  // namespace sassay::evidence
