#include "profiler_service/runner/runner.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/proto_json.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"
#include "common/base/utf8.h"
#include "profiler_service/device/poison.h"

namespace sassay::runner {
namespace {

using sassay::worker::RunnerReply;

constexpr size_t kMaxFindings = 64;
constexpr size_t kProofBytes = 64 << 10;

absl::Time DeadlineIn(uint64_t nanoseconds) {
  return SteadyNow() + absl::Nanoseconds(std::min<uint64_t>(nanoseconds, 24ull * 3600 * 1'000'000'000));
}

}  // namespace

void ReportStatus(const absl::Status& status, RunnerReply& reply) {
  if (status.ok()) {
    if (reply.outcome() == worker::RUN_OUTCOME_UNSPECIFIED) reply.set_outcome(worker::RUN_OUTCOME_OK);
    return;
  }
  reply.set_message(std::string(status.message()));
  if (absl::IsInvalidArgument(status)) {
    reply.set_outcome(worker::RUN_OUTCOME_REFUSED);
    reply.set_code(v1::VERDICT_CODE_LAUNCH_REFUSED);
  } else if (absl::IsUnimplemented(status)) {
    reply.set_outcome(worker::RUN_OUTCOME_INFRA);
    reply.set_code(v1::VERDICT_CODE_EMULATOR_LACKS);
  } else {
    reply.set_outcome(worker::RUN_OUTCOME_INFRA);
    reply.set_code(absl::IsUnavailable(status) ? v1::VERDICT_CODE_DEVICE_LOST : v1::VERDICT_CODE_INTERNAL);
  }
}

RunnerReply NotReady(const absl::Status& status) {
  RunnerReply reply;
  ReportStatus(status, reply);
  reply.set_outcome(worker::RUN_OUTCOME_INFRA);
  return reply;
}

Runner::Runner(device::Device& device, worker::RunMode mode, absl::AnyInvocable<std::string()> take_output)
    : device_(device), mode_(mode), take_output_(std::move(take_output)), replay_(device, mode) {}

RunnerReply Runner::Ready() const {
  RunnerReply reply;
  reply.set_outcome(worker::RUN_OUTCOME_OK);
  reply.set_ready(true);
  reply.mutable_versions()->set_sassay(SASSAY_VERSION);
  reply.mutable_versions()->set_device(device_.info().model);
  reply.mutable_versions()->set_driver(device_.info().driver_version);
  return reply;
}

RunnerReply Runner::Answer(const worker::RunnerRequest& request, const std::vector<UniqueFd>& descriptors) {
  RunnerReply reply;
  absl::Status status;
  switch (request.request_case()) {
    case worker::RunnerRequest::kLoad:
      status = Load(request.load(), reply);
      break;
    case worker::RunnerRequest::kBind:
      status = replay_.Bind(
          std::vector<worker::SharedRegion>(request.bind().regions().begin(), request.bind().regions().end()),
          descriptors, request.bind().set());
      break;
    case worker::RunnerRequest::kSetup:
      status = Setup(request.setup(), reply);
      break;
    case worker::RunnerRequest::kSteady:
      status = Steady(request.steady(), reply);
      break;
    case worker::RunnerRequest::kWarmUp:
      status = WarmUp(request.warm_up(), reply);
      break;
    case worker::RunnerRequest::kBlock:
      status = Time(request.block(), reply);
      break;
    case worker::RunnerRequest::kProveAlive:
      status = ProveAlive(request.prove_alive());
      break;
    case worker::RunnerRequest::REQUEST_NOT_SET:
      status = absl::InternalError("a request asked for nothing");
      break;
  }
  ReportStatus(status, reply);
  return reply;
}

absl::Status Runner::ProveAlive(const worker::ProveAlive& prove) {
  if (replay_.loaded()) return absl::FailedPreconditionError("the proof was asked for after the candidate had come");
  std::string expected(kProofBytes, '\0'), read(kProofBytes, '\0');
  device::FillPoison(absl::MakeSpan(expected), prove.seed());
  ASSIGN_OR_RETURN(const device::DeviceAddress address, device_.Allocate(kProofBytes, "proof"));
  RETURN_IF_ERROR(device_.Poison(address, kProofBytes, prove.seed()));
  RETURN_IF_ERROR(device_.Read(absl::MakeSpan(read), address));
  RETURN_IF_ERROR(device_.Free(address));
  if (read == expected) return absl::OkStatus();
  return absl::UnavailableError("the device gave back other bytes than a kernel was to write");
}

absl::Status Runner::Load(const worker::LoadCandidate& load, RunnerReply& reply) {
  if (load.mode() != mode_) {
    return absl::InternalError(
        absl::StrCat("this runner was started for ", EnumName(mode_), ", not for ", EnumName(load.mode())));
  }
  RETURN_IF_ERROR(replay_.Load(load.bundle()));
  return TakeSassCounts(reply);
}

absl::Status Runner::TakeSassCounts(RunnerReply& reply) {
  if (mode_ != worker::RUN_MODE_COUNTED) return absl::OkStatus();
  absl::StatusOr<worker::SassCounts> counts = device_.CollectSassCounts();
  if (absl::IsUnimplemented(counts.status())) return absl::OkStatus();
  RETURN_IF_ERROR(counts.status());
  *reply.mutable_sass_counts() = *std::move(counts);
  return absl::OkStatus();
}

absl::Status Runner::Setup(const worker::RunSetup& setup, RunnerReply& reply) {
  ASSIGN_OR_RETURN(device::Execution execution, replay_.Setup(setup.poison_seed(), DeadlineIn(setup.deadline_ns())));
  Report(std::move(execution), reply);
  return absl::OkStatus();
}

absl::Status Runner::WarmUp(const worker::WarmUp& warm_up, RunnerReply& reply) {
  device::StretchLength length;
  length.calls = static_cast<int>(std::min<uint32_t>(warm_up.calls(), 1 << 20));
  length.at_least = absl::Nanoseconds(warm_up.at_least_ns());
  length.at_most = absl::Nanoseconds(warm_up.at_most_ns());
  ASSIGN_OR_RETURN(device::Stretch stretch, replay_.WarmUp(length, DeadlineIn(warm_up.deadline_ns())));
  reply.mutable_block()->set_calls(static_cast<uint32_t>(stretch.calls));
  reply.mutable_block()->set_clock_mhz(stretch.clock_mhz);
  Report(std::move(stretch.execution), reply);
  return absl::OkStatus();
}

absl::Status Runner::Time(const worker::TimeBlock& block, RunnerReply& reply) {
  const std::vector<uint32_t> sets(block.sets().begin(), block.sets().end());
  ASSIGN_OR_RETURN(device::SampledBlock sampled,
                   replay_.Time(block.poison_seed(), sets, DeadlineIn(block.deadline_ns())));
  reply.mutable_block()->mutable_samples_ns()->Assign(sampled.samples_ns.begin(), sampled.samples_ns.end());
  reply.mutable_block()->set_clock_mhz(sampled.clock_mhz);
  reply.mutable_block()->set_calls(static_cast<uint32_t>(sets.size()));
  reply.mutable_block()->set_late(sampled.late);
  reply.mutable_block()->set_held(replay_.held_while_timed());
  Report(std::move(sampled.execution), reply);
  return absl::OkStatus();
}

absl::Status Runner::Steady(const worker::RunSteady& steady, RunnerReply& reply) {
  const absl::Time deadline = DeadlineIn(steady.deadline_ns());
  absl::optional<uint32_t> left_out;
  if (steady.left_out_launch_plus_one() > 0) left_out = steady.left_out_launch_plus_one() - 1;
  ASSIGN_OR_RETURN(device::Execution execution, replay_.Steady(steady.poison_seed(), deadline, left_out));
  const bool ended_well = execution.outcome == worker::RUN_OUTCOME_OK;
  Report(std::move(execution), reply);
  if (mode_ == worker::RUN_MODE_COUNTED && ended_well) {
    RETURN_IF_ERROR(TakeSassCounts(reply));
    if (!reply.has_sass_counts()) {
      ASSIGN_OR_RETURN(*reply.mutable_evidence(), device_.CollectEvidence());
    }
  }
  return absl::OkStatus();
}

void Runner::Report(device::Execution execution, RunnerReply& reply) {
  reply.set_outcome(execution.outcome);
  reply.set_code(execution.code);
  reply.set_message(std::move(execution.message));
  execution.findings.resize(std::min(execution.findings.size(), kMaxFindings));
  execution.warps.resize(std::min(execution.warps.size(), kMaxFindings));
  reply.mutable_findings()->Assign(execution.findings.begin(), execution.findings.end());
  reply.mutable_warps()->Assign(execution.warps.begin(), execution.warps.end());
  reply.set_device_output(execution.device_output + take_output_());
  reply.set_device_ns(execution.device_ns);
  if (mode_ != worker::RUN_MODE_CHECKED) return;
  const std::vector<worker::Placement> placements = replay_.Placements();
  reply.mutable_placements()->Assign(placements.begin(), placements.end());
}

absl::Status Serve(wire::Channel& channel, Runner& runner) {
  for (;;) {
    worker::RunnerRequest request;
    const auto descriptors = channel.Receive(request, absl::InfiniteFuture());
    if (absl::IsUnavailable(descriptors.status())) return absl::OkStatus();
    RETURN_IF_ERROR(descriptors.status());
    RunnerReply reply = runner.Answer(request, *descriptors);
    // A candidate prints and asserts what it likes; nobody shall fail to read the reply because of it.
    MakeTextValid(reply);
    RETURN_IF_ERROR(channel.Send(reply, {}, SteadyNow() + absl::Seconds(60)));
  }
}

}  // namespace sassay::runner
