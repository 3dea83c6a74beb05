#include "profiler_service/judge/comparison.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "profiler_service/device/poison.h"
#include "profiler_service/judge/numerics/compare.h"

namespace sassay::judge {
namespace {

using sassay::worker::JudgeReply;

std::string PoisonPattern(uint64_t size, uint64_t seed) {
  std::string pattern(size, '\0');
  device::FillPoison(absl::MakeSpan(pattern.data(), pattern.size()), seed);
  return pattern;
}

}  // namespace

absl::Status Comparison::Run(const std::atomic<bool>* stop, JudgeReply& reply) const {
  ASSIGN_OR_RETURN(const std::vector<Expected>* expected, state_->ExpectedOutputs(stop));
  sassay::v1::Numerics& numerics = *reply.mutable_numerics();
  numerics.set_passed(true);
  numerics.set_peer_rule_passed(true);
  numerics.add_distributions(distribution_);
  numerics.set_worst_distribution(distribution_);
  for (const SeenTensor& seen : tensors_) {
    if (stop != nullptr && *stop) return absl::CancelledError("nobody waits for the comparison any more");
    if (seen.damage.has_value()) *reply.add_findings() = *seen.damage;
    if (!seen.output) CheckInput(seen, reply);
    if (seen.output) CheckOutput(seen, (*expected)[seen.tensor], reply);
  }
  if (numerics.outputs_size() == workload_.outputs_size()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(workload_.name(), " has ", workload_.outputs_size(),
                                                 " outputs, the plan declares ", numerics.outputs_size()));
}

void Comparison::CheckInput(const SeenTensor& seen, JudgeReply& reply) const {
  const std::string& before = state_->inputs()[seen.tensor];
  const auto [first, ignored] = std::mismatch(before.begin(), before.end(), seen.bytes.begin());
  if (first == before.end()) return;
  uint64_t changed = 0;
  for (size_t i = 0; i < before.size(); ++i) changed += before[i] != seen.bytes[i];
  *reply.add_findings() =
      ModifiedInput(workload_.inputs(seen.tensor), changed, static_cast<uint64_t>(first - before.begin()));
}

void Comparison::CheckOutput(const SeenTensor& seen, const Expected& expected, JudgeReply& reply) const {
  const std::string poison = PoisonPattern(seen.bytes.size(), seen.poison_seed);
  const Compared compared =
      CompareOutput(workload_.outputs(seen.tensor), expected, seen.bytes, poison, state_->tolerance(seen.tensor));
  sassay::v1::Numerics& numerics = *reply.mutable_numerics();
  *numerics.add_outputs() = compared.report;
  numerics.set_passed(numerics.passed() && compared.passed);
  numerics.set_peer_rule_passed(numerics.peer_rule_passed() && compared.peer_rule_passed);
}

}  // namespace sassay::judge
