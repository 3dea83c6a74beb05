#include "profiler_service/wire/runner_client.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"

namespace sassay::wire {
namespace {

constexpr size_t kMaxLineBytes = 4 << 10;
// Names that are held against the cubin's own: templates of templates make them longer than any line.
constexpr size_t kMaxNameBytes = 32 << 10;

void Cut(std::string& text, size_t most = kMaxLineBytes) {
  if (text.size() <= most) return;
  text.resize(most);
  text += "… (cut)";
}

template <typename Field>
void Shorten(Field& field, int most) {
  if (field.size() > most) field.DeleteSubrange(most, field.size() - most);
}

void Bound(sassay::v1::ThreadLocation& where) {
  Cut(*where.mutable_kernel());
  Cut(*where.mutable_source_line());
  Cut(*where.mutable_source_text());
  Cut(*where.mutable_ptx_text());
}

void Bound(sassay::v1::Finding& finding) {
  Cut(*finding.mutable_message());
  Cut(*finding.mutable_buffer());
  if (finding.has_where()) Bound(*finding.mutable_where());
  if (finding.has_other()) Bound(*finding.mutable_other());
}

// Which opcodes were counted; what they mean is the evidence stage's to say.
void Bound(sassay::v1::Evidence& evidence) {
  Shorten(*evidence.mutable_opcodes(), RunnerClient::kMaxOpcodes);
  for (auto& opcode : *evidence.mutable_opcodes()) {
    Cut(*opcode.mutable_kernel());
    Cut(*opcode.mutable_opcode());
    opcode.clear_family();
  }
  evidence.clear_family_thread_counts();
  evidence.clear_tensor_core_flop_share_reason();
  evidence.clear_launches();
  evidence.clear_dropped_launches();
  Cut(*evidence.mutable_reason());
}

// How many numbers there may be is bounded by the message's size.
void Bound(sassay::worker::SassCounts& counts) {
  Cut(*counts.mutable_unavailable());
  Shorten(*counts.mutable_launches(), RunnerClient::kMaxCountedLaunches);
  for (auto& launch : *counts.mutable_launches()) {
    Cut(*launch.mutable_kernel(), kMaxNameBytes);
    Shorten(*launch.mutable_functions(), RunnerClient::kMaxCountedFunctions);
    for (auto& function : *launch.mutable_functions()) Cut(*function.mutable_function(), kMaxNameBytes);
  }
}

void Bound(sassay::v1::Versions& versions) {
  versions.clear_libraries();
  for (std::string* text : {versions.mutable_rules(), versions.mutable_sassay(), versions.mutable_device(),
                            versions.mutable_driver(), versions.mutable_toolkit()}) {
    Cut(*text);
  }
}

void Bound(sassay::worker::RunnerReply& reply) {
  Shorten(*reply.mutable_findings(), RunnerClient::kMaxFindings);
  Shorten(*reply.mutable_warps(), RunnerClient::kMaxFindings);
  Shorten(*reply.mutable_placements(), RunnerClient::kMaxPlacements);
  Cut(*reply.mutable_message(), RunnerClient::kMaxTextBytes);
  Cut(*reply.mutable_device_output(), RunnerClient::kMaxTextBytes);
  for (auto& finding : *reply.mutable_findings()) Bound(finding);
  for (auto& warp : *reply.mutable_warps()) {
    Cut(*warp.mutable_state());
    if (warp.has_where()) Bound(*warp.mutable_where());
  }
  for (auto& placement : *reply.mutable_placements()) Cut(*placement.mutable_buffer());
  if (reply.has_evidence()) Bound(*reply.mutable_evidence());
  if (reply.has_sass_counts()) Bound(*reply.mutable_sass_counts());
  if (reply.block().samples_ns_size() > RunnerClient::kMaxSamples) {
    reply.mutable_block()->mutable_samples_ns()->Truncate(RunnerClient::kMaxSamples);
  }
  if (reply.has_versions()) Bound(*reply.mutable_versions());
}

}  // namespace

void BoundReply(sassay::worker::RunnerReply& reply) { Bound(reply); }

absl::Status RunnerClient::WaitReady(absl::Time deadline) {
  sassay::worker::RunnerReply reply;
  auto descriptors = process_->Receive(reply, deadline);
  BoundReply(reply);
  absl::Status ready = descriptors.status();
  if (ready.ok() && !reply.ready()) {
    ready = absl::UnavailableError(absl::StrCat("the runner could not start: ", reply.message()));
  }
  if (!ready.ok() && !absl::IsCancelled(ready) && entry_ != nullptr) {
    entry_->Lost(Happening::kFailedToStart, ready.message());
  }
  RETURN_IF_ERROR(ready);
  if (!descriptors->empty()) ended_ = std::move(descriptors->front());
  versions_ = reply.versions();
  if (entry_ != nullptr) entry_->Ready(ended_);
  return absl::OkStatus();
}

absl::Status RunnerClient::ProveAlive(absl::Time deadline) {
  sassay::worker::RunnerRequest request;
  request.mutable_prove_alive()->set_seed(static_cast<uint64_t>(absl::GetCurrentTimeNanos()));
  ASSIGN_OR_RETURN(const sassay::worker::RunnerReply reply, Ask(request, {}, deadline - SteadyNow()));
  if (reply.outcome() == worker::RUN_OUTCOME_OK) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("a runner that waited cannot use its device: ", reply.message()));
}

bool RunnerClient::KillAndAwaitEnd(absl::Time deadline) {
  Kill();
  pollfd ended{ended_.get(), POLLIN, 0};
  int ready = 0;
  do {
    const absl::Duration left = std::max(deadline - SteadyNow(), absl::ZeroDuration());
    ready = ended_.valid() ? poll(&ended, 1, static_cast<int>(absl::ToInt64Milliseconds(left))) : 0;
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

absl::StatusOr<sassay::worker::RunnerReply> RunnerClient::Ask(const sassay::worker::RunnerRequest& request,
                                                              absl::Span<const int> descriptors, absl::Duration due,
                                                              absl::Duration grace) {
  sassay::worker::RunnerReply reply;
  const absl::Time now = SteadyNow();
  if (entry_ != nullptr) entry_->Asked(now + due);
  const absl::Status called = process_->Call(request, descriptors, reply, now + due + grace).status();
  if (entry_ != nullptr) entry_->Asked(absl::InfiniteFuture());
  if (!called.ok()) NoteLoss(called);
  RETURN_IF_ERROR(called);
  BoundReply(reply);
  const bool wrong = reply.outcome() == worker::RUN_OUTCOME_FAULT || reply.outcome() == worker::RUN_OUTCOME_TIMEOUT;
  if (entry_ != nullptr && wrong) entry_->Troubled();
  return reply;
}

void RunnerClient::NoteLoss(const absl::Status& status) {
  if (entry_ == nullptr || absl::IsCancelled(status)) return;
  entry_->Lost(absl::IsDeadlineExceeded(status) ? Happening::kKilledSilent : Happening::kDied, status.message());
}

absl::StatusOr<sassay::worker::RunnerReply> RunnerClient::Load(const sassay::v1::Bundle& bundle,
                                                               sassay::worker::RunMode mode) {
  sassay::worker::RunnerRequest request;
  *request.mutable_load()->mutable_bundle() = bundle;
  request.mutable_load()->set_mode(mode);
  return Ask(request, {}, kRunnerLoadTimeout);
}

absl::StatusOr<sassay::worker::RunnerReply> RunnerClient::Bind(absl::Span<const sassay::worker::SharedRegion> regions,
                                                               absl::Span<const int> descriptors, uint32_t set) {
  sassay::worker::RunnerRequest request;
  request.mutable_bind()->mutable_regions()->Assign(regions.begin(), regions.end());
  request.mutable_bind()->set_set(set);
  return Ask(request, descriptors, kRunnerGrace);
}

absl::StatusOr<sassay::worker::RunnerReply> RunnerClient::Setup(uint64_t poison_seed, absl::Duration device_deadline) {
  sassay::worker::RunnerRequest request;
  request.mutable_setup()->set_poison_seed(poison_seed);
  request.mutable_setup()->set_deadline_ns(static_cast<uint64_t>(absl::ToInt64Nanoseconds(device_deadline)));
  return Ask(request, {}, device_deadline, kRunnerGrace);
}

absl::StatusOr<sassay::worker::RunnerReply> RunnerClient::Steady(uint64_t poison_seed, absl::Duration device_deadline,
                                                                 absl::optional<uint32_t> left_out) {
  sassay::worker::RunnerRequest request;
  if (left_out.has_value()) request.mutable_steady()->set_left_out_launch_plus_one(*left_out + 1);
  request.mutable_steady()->set_poison_seed(poison_seed);
  request.mutable_steady()->set_deadline_ns(static_cast<uint64_t>(absl::ToInt64Nanoseconds(device_deadline)));
  return Ask(request, {}, device_deadline, kRunnerGrace);
}

absl::StatusOr<sassay::worker::RunnerReply> RunnerClient::WarmUp(const sassay::worker::WarmUp& warm_up) {
  sassay::worker::RunnerRequest request;
  *request.mutable_warm_up() = warm_up;
  return Ask(request, {}, absl::Nanoseconds(warm_up.deadline_ns()), kRunnerGrace);
}

absl::StatusOr<sassay::worker::RunnerReply> RunnerClient::Time(const sassay::worker::TimeBlock& block) {
  sassay::worker::RunnerRequest request;
  *request.mutable_block() = block;
  return Ask(request, {}, absl::Nanoseconds(block.deadline_ns()), kRunnerGrace);
}

absl::StatusOr<sassay::v1::Bundle> WithOnlyPlan(const sassay::v1::Bundle& bundle, absl::string_view workload) {
  std::vector<std::string> names;
  for (const auto& plan : bundle.plans()) {
    names.push_back(plan.workload());
    if (plan.workload() != workload) continue;
    sassay::v1::Bundle one;
    one.set_format_version(bundle.format_version());
    one.set_source_sha256(bundle.source_sha256());
    *one.mutable_compilation() = bundle.compilation();
    one.set_cubin(bundle.cubin());
    one.set_ptx(bundle.ptx());
    *one.mutable_kernels() = bundle.kernels();
    *one.mutable_sources() = bundle.sources();
    *one.add_plans() = plan;
    return one;
  }
  return absl::NotFoundError(
      absl::StrCat("the bundle has no plan for ", workload, "; it has plans for: ", absl::StrJoin(names, ", ")));
}

}  // namespace sassay::wire
