#include "profiler_service/evaluate/judge_case.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/steady_time.h"

namespace sassay::evaluate {
namespace {

using sassay::worker::JudgeReply;
using sassay::worker::JudgeRequest;

// What the judge may take beyond the job's deadline: a reference has its own limit.
constexpr absl::Duration kJudgeGrace = absl::Seconds(120);

sassay::worker::PrepareCase Preparation(const admission::AdmittedBundle& bundle, uint64_t seed) {
  sassay::worker::PrepareCase prepare;
  *prepare.mutable_workload() = bundle.workload();
  prepare.set_seed(seed);
  prepare.set_distribution("decoy");
  for (int i = 0; i < bundle.plan().buffers_size(); ++i) {
    const sassay::v1::Buffer& buffer = bundle.plan().buffers(i);
    const bool output = buffer.kind() == sassay::v1::BUFFER_KIND_OUTPUT;
    if (!output && buffer.kind() != sassay::v1::BUFFER_KIND_INPUT) continue;
    sassay::worker::BufferNeed* need = prepare.add_needs();
    need->set_buffer(i);
    need->set_tensor(buffer.name());
    need->set_size_bytes(buffer.size_bytes());
    need->set_output(output);
  }
  return prepare;
}

// What the judge's trouble means for the candidate.
sassay::v1::VerdictCode CodeOf(sassay::worker::JudgeTrouble trouble) {
  switch (trouble) {
    case sassay::worker::JUDGE_TROUBLE_REFERENCE_TOO_LONG:
      return sassay::v1::VERDICT_CODE_TOO_LARGE_FOR_DEVICE;
    case sassay::worker::JUDGE_TROUBLE_NO_REFERENCE:
      return sassay::v1::VERDICT_CODE_NO_REFERENCE;
    case sassay::worker::JUDGE_TROUBLE_NO_CASE:
      return sassay::v1::VERDICT_CODE_JUDGE_LOST;
    default:
      return sassay::v1::VERDICT_CODE_INTERNAL;
  }
}

}  // namespace

verdict::Failure TroubleOf(const absl::Status& status, sassay::v1::VerdictCode lost) {
  verdict::Failure failure;
  failure.reason = std::string(status.message());
  switch (status.code()) {
    case absl::StatusCode::kCancelled:
      failure.code = sassay::v1::VERDICT_CODE_CANCELLED_BY_CLIENT;
      break;
    case absl::StatusCode::kFailedPrecondition:
      failure.code = sassay::v1::VERDICT_CODE_SANDBOX_UNAVAILABLE;
      break;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kDeadlineExceeded:
      failure.code = lost;
      break;
    default:
      failure.code = sassay::v1::VERDICT_CODE_INTERNAL;
  }
  return failure;
}

bool IsLostWorker(const verdict::Failure& failure) {
  return failure.code == sassay::v1::VERDICT_CODE_RUNNER_LOST || failure.code == sassay::v1::VERDICT_CODE_JUDGE_LOST;
}

JudgeCase::~JudgeCase() {
  // A case whose preparation nobody waited for may exist all the same.
  if (id_ != 0) judge_.Drop(id_);
}

MaybeFailure JudgeCase::Prepare(uint64_t decoy_seed, absl::Span<JudgeCase* const> twins) {
  std::vector<JudgeCase*> cases = {this};
  cases.insert(cases.end(), twins.begin(), twins.end());
  for (JudgeCase* made : cases) made->id_ = judge_.NewCase();
  JudgeRequest request;
  *request.mutable_prepare() = Preparation(bundle_, decoy_seed);
  for (JudgeCase* twin : twins) request.mutable_prepare()->add_twins(twin->id_);
  JudgeReply reply;
  std::vector<UniqueFd> descriptors;
  if (MaybeFailure failure = Ask(request, reply, descriptors)) return failure;
  const auto memory = std::make_shared<const std::vector<UniqueFd>>(std::move(descriptors));
  const auto each = static_cast<std::ptrdiff_t>(reply.regions_size()) / static_cast<std::ptrdiff_t>(cases.size());
  for (size_t i = 0; i < cases.size(); ++i) {
    const auto first = reply.regions().begin() + each * static_cast<std::ptrdiff_t>(i);
    cases[i]->regions_.assign(first, first + each);
    cases[i]->memory_ = memory;
  }
  return absl::nullopt;
}

MaybeFailure JudgeCase::Fill(uint64_t seed, absl::string_view distribution) { return Refill({}, seed, distribution); }

MaybeFailure JudgeCase::FillAnew(uint64_t seed, absl::string_view distribution) {
  sassay::worker::RefillCase refill;
  refill.set_new_guards(true);
  return Refill(std::move(refill), seed, distribution);
}

MaybeFailure JudgeCase::FillForOnce(uint64_t seed, absl::string_view distribution) {
  sassay::worker::RefillCase refill;
  refill.set_passing(true);
  return Refill(std::move(refill), seed, distribution);
}

MaybeFailure JudgeCase::KeepAs(JudgeCase& kept) {
  if (kept.id_ == 0) kept.id_ = judge_.NewCase();
  JudgeRequest request;
  request.mutable_keep()->set_as(kept.id_);
  JudgeReply reply;
  return Ask(request, reply);
}

MaybeFailure JudgeCase::Refill(sassay::worker::RefillCase refill, uint64_t seed, absl::string_view distribution) {
  refill.set_seed(seed);
  refill.set_distribution(std::string(distribution));
  JudgeRequest request;
  *request.mutable_refill() = std::move(refill);
  JudgeReply reply;
  return Ask(request, reply);
}

MaybeFailure JudgeCase::Compare(JudgeReply& reply) {
  JudgeRequest request;
  request.mutable_compare();
  return Ask(request, reply);
}

MaybeFailure JudgeCase::Adopt() {
  JudgeRequest request;
  request.mutable_adopt();
  JudgeReply reply;
  return Ask(request, reply);
}

std::vector<int> JudgeCase::descriptors() const {
  std::vector<int> descriptors;
  if (memory_ == nullptr) return descriptors;
  for (const UniqueFd& fd : *memory_) descriptors.push_back(fd.get());
  return descriptors;
}

MaybeFailure JudgeCase::Ask(JudgeRequest request, JudgeReply& reply) {
  std::vector<UniqueFd> none;
  return Ask(std::move(request), reply, none);
}

MaybeFailure JudgeCase::Ask(JudgeRequest request, JudgeReply& reply, std::vector<UniqueFd>& descriptors) {
  request.set_case_id(id_);
  auto answered = judge_.Ask(request, descriptors, std::max(deadline_, SteadyNow()) + kJudgeGrace);
  if (!answered.ok()) return TroubleOf(answered.status(), sassay::v1::VERDICT_CODE_JUDGE_LOST);
  reply = *std::move(answered);
  if (reply.error().empty()) return absl::nullopt;
  verdict::Failure failure;
  failure.code = CodeOf(reply.trouble());
  failure.reason = absl::StrCat("judge: ", reply.error());
  return failure;
}

}  // namespace sassay::evaluate
