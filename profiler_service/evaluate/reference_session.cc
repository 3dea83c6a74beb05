#include "profiler_service/evaluate/reference_session.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "profiler_service/verdict/verdict.h"

namespace sassay::evaluate {
namespace {

MaybeFailure Ours(MaybeFailure failure) {
  if (!failure.has_value() || verdict::IsInfrastructure(failure->code) ||
      failure->code == sassay::v1::VERDICT_CODE_CANCELLED_BY_CLIENT) {
    return failure;
  }
  failure->code = sassay::v1::VERDICT_CODE_INTERNAL;
  failure->reason = absl::StrCat("the workload's reference kernel failed: ", failure->reason);
  return failure;
}

}  // namespace

ReferenceSession::ReferenceSession(const StageContext& context, const Seeds& seeds)
    : context_{*context.reference,      context.workers,           context.deadline,
               context.device_deadline, context.faults_need_proof, nullptr},
      seeds_(seeds),
      session_(context_, sassay::worker::RUN_MODE_PLAIN) {}

MaybeFailure ReferenceSession::Open() { return Ours(session_.Open(seeds_.Get("decoy", 0), seeds_.Get("poison", 0))); }

MaybeFailure ReferenceSession::Answer(uint64_t seed, const std::string& distribution) {
  if (MaybeFailure failure = session_.Fill(seed, distribution)) return Ours(std::move(failure));
  if (MaybeFailure failure = session_.Steady(seed)) return Ours(std::move(failure));
  return Ours(session_.Adopt());
}

}  // namespace sassay::evaluate
