#include "profiler_service/judge/comparison.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/workload/definition.h"
#include "profiler_service/device/poison.h"
#include "profiler_service/judge/numerics/compare.h"

namespace sassay::judge {
namespace {

using sassay::v1::TensorSpec;
using sassay::worker::JudgeReply;

std::string PoisonPattern(uint64_t size, uint64_t seed) {
  std::string pattern(size, '\0');
  device::FillPoison(absl::MakeSpan(pattern.data(), pattern.size()), seed);
  return pattern;
}

std::string ElementName(const TensorSpec& spec, int64_t flat) {
  return absl::StrCat(spec.name(), "[", absl::StrJoin(IndexOf(spec, flat), ","), "]");
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
  const TensorSpec& spec = workload_.inputs(seen.tensor);
  const int64_t element = (first - before.begin()) / static_cast<int64_t>(DTypeBytes(spec.dtype()));
  sassay::v1::Finding* finding = reply.add_findings();
  finding->set_code(sassay::v1::VERDICT_CODE_INPUT_MODIFIED);
  finding->set_buffer(spec.name());
  finding->set_count(changed);
  finding->set_message(absl::StrCat("input ", spec.name(), " was written: ", changed, " bytes differ, the first in ",
                                    ElementName(spec, element), "; inputs must be left as they are"));
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
