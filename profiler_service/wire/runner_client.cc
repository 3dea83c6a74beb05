#include "profiler_service/wire/runner_client.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "common/base/status_macros.h"

namespace sassay::wire {
namespace {

void Cut(std::string& text) {
  if (text.size() <= RunnerClient::kMaxTextBytes) return;
  text.resize(RunnerClient::kMaxTextBytes);
  text += "… (cut)";
}

template <typename Field>
void Shorten(Field& field) {
  if (field.size() <= RunnerClient::kMaxFindings) return;
  field.DeleteSubrange(RunnerClient::kMaxFindings, field.size() - RunnerClient::kMaxFindings);
}

void Bound(sassay::worker::RunnerReply& reply) {
  Shorten(*reply.mutable_findings());
  Shorten(*reply.mutable_warps());
  Cut(*reply.mutable_message());
  Cut(*reply.mutable_device_output());
  for (auto& finding : *reply.mutable_findings()) Cut(*finding.mutable_message());
}

}  // namespace

absl::Status RunnerClient::WaitReady(absl::Time deadline) {
  sassay::worker::RunnerReply reply;
  RETURN_IF_ERROR(process_->Receive(reply, deadline).status());
  Bound(reply);
  if (!reply.ready()) return absl::UnavailableError(absl::StrCat("the runner could not start: ", reply.message()));
  versions_ = reply.versions();
  return absl::OkStatus();
}

absl::StatusOr<sassay::worker::RunnerReply> RunnerClient::Ask(const sassay::worker::RunnerRequest& request,
                                                              absl::Span<const int> descriptors,
                                                              absl::Duration timeout) {
  sassay::worker::RunnerReply reply;
  RETURN_IF_ERROR(process_->Call(request, descriptors, reply, absl::Now() + timeout).status());
  Bound(reply);
  return reply;
}

absl::StatusOr<sassay::worker::RunnerReply> RunnerClient::Load(const sassay::v1::Bundle& bundle,
                                                               sassay::worker::RunMode mode) {
  sassay::worker::RunnerRequest request;
  *request.mutable_load()->mutable_bundle() = bundle;
  request.mutable_load()->set_mode(mode);
  return Ask(request, {}, kRunnerLoadTimeout);
}

absl::StatusOr<sassay::worker::RunnerReply> RunnerClient::Bind(absl::Span<const sassay::worker::SharedRegion> regions,
                                                               absl::Span<const int> descriptors) {
  sassay::worker::RunnerRequest request;
  request.mutable_bind()->mutable_regions()->Assign(regions.begin(), regions.end());
  return Ask(request, descriptors, kRunnerGrace);
}

absl::StatusOr<sassay::worker::RunnerReply> RunnerClient::Setup(uint64_t poison_seed, absl::Duration device_deadline) {
  sassay::worker::RunnerRequest request;
  request.mutable_setup()->set_poison_seed(poison_seed);
  request.mutable_setup()->set_deadline_ns(static_cast<uint64_t>(absl::ToInt64Nanoseconds(device_deadline)));
  return Ask(request, {}, device_deadline + kRunnerGrace);
}

absl::StatusOr<sassay::worker::RunnerReply> RunnerClient::Steady(uint64_t poison_seed, absl::Duration device_deadline,
                                                                 uint32_t samples, uint32_t warmups) {
  sassay::worker::RunnerRequest request;
  auto& steady = *request.mutable_steady();
  steady.set_poison_seed(poison_seed);
  steady.set_deadline_ns(static_cast<uint64_t>(absl::ToInt64Nanoseconds(device_deadline)));
  steady.set_samples(samples);
  steady.set_warmups(warmups);
  return Ask(request, {}, device_deadline + kRunnerGrace);
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
