#include "profiler_service/judge/gpu/examiner.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/workload/definition.h"
#include "profiler_service/judge/gpu/bytes.h"
#include "profiler_service/judge/gpu/compare.h"
#include "profiler_service/judge/gpu/operations.h"
#include "profiler_service/judge/inputs/indices.h"
#include "profiler_service/judge/inputs/inputs.h"
#include "profiler_service/judge/numerics/element.h"

namespace sassay::judge::gpu {
namespace {

using sassay::v1::TensorSpec;
using sassay::v1::Workload;
using sassay::worker::JudgeReply;

std::string KeyOf(const Workload& workload, uint64_t seed, absl::string_view distribution) {
  return absl::StrCat(workload.definition_sha256(), "/", workload.name(), "/", seed, "/", distribution);
}

struct Survey {
  double squares = 0;
  uint64_t first_not_finite = UINT64_MAX;
};

absl::StatusOr<Survey> SurveyOf(Kernels& kernels, device::DeviceAddress values, Element element, uint64_t count) {
  const SurveyArguments arguments{values, count, 0, element};
  ASSIGN_OR_RETURN(const auto partials, kernels.Gather<SurveyPartial>("sassay_survey", count, arguments));
  Survey survey;
  for (const SurveyPartial& partial : partials) {
    survey.squares += partial.squares;
    survey.first_not_finite = std::min(survey.first_not_finite, partial.first_not_finite);
  }
  return survey;
}

}  // namespace

uint64_t State::bytes() const {
  uint64_t total = 0;
  for (const DeviceMemory& input : inputs_) total += input.size_bytes();
  for (const ExpectedOutput& expected : expected_) total += expected.bytes();
  return total;
}

absl::StatusOr<std::unique_ptr<Examiner>> Examiner::Create(std::unique_ptr<Kernels> kernels,
                                                           const ExaminerOptions& options) {
  return std::unique_ptr<Examiner>(new Examiner(std::move(kernels), options));
}

bool Examiner::Takes(const Workload& workload) const {
  const std::string& name = workload.reference();
  if (absl::StartsWith(name, "bundle:") || absl::StartsWith(name, "kernel:")) return true;
  const auto reference = MakeReference(workload);
  return reference.ok() && *reference != nullptr;
}

absl::StatusOr<const Definition*> Examiner::DefinitionOf(const Workload& workload) const {
  const Definition* definition = options_.catalog->FindDefinition(workload.definition());
  if (definition != nullptr && definition->sha256 == workload.definition_sha256()) return definition;
  return absl::FailedPreconditionError(absl::StrCat("definition ", workload.definition(),
                                                    " is not the one that this judge was started with; restart it"));
}

absl::StatusOr<std::shared_ptr<State>> Examiner::Get(const Workload& workload, uint64_t seed,
                                                     absl::string_view distribution) {
  const std::string key = KeyOf(workload, seed, distribution);
  const auto found =
      std::find_if(states_.begin(), states_.end(), [&](const Entry& entry) { return entry.first == key; });
  if (found != states_.end()) {
    states_.splice(states_.begin(), states_, found);
    return states_.front().second;
  }
  std::shared_ptr<State> state;
  RETURN_IF_ERROR(WithRoom([&]() -> absl::Status {
    ASSIGN_OR_RETURN(state, Make(workload, seed, distribution));
    return absl::OkStatus();
  }));
  states_.emplace_front(key, state);
  Trim(options_.budget_bytes);
  return state;
}

absl::StatusOr<std::shared_ptr<State>> Examiner::Make(const Workload& workload, uint64_t seed,
                                                      absl::string_view distribution) {
  ASSIGN_OR_RETURN(const Definition* definition, DefinitionOf(workload));
  auto state = std::make_shared<State>();
  state->workload_ = workload;
  state->key_ = KeyOf(workload, seed, distribution);
  state->distribution_ = std::string(distribution);
  ASSIGN_OR_RETURN(state->reference_, MakeReference(workload));
  RETURN_IF_ERROR(Generate(*state, *definition, seed));
  return state;
}

absl::Status Examiner::Generate(State& state, const Definition& definition, uint64_t seed) {
  std::vector<device::DeviceAddress> buffers;
  for (const TensorSpec& spec : state.workload_.inputs()) {
    state.inputs_.emplace_back();
    if (!spec.scalar()) {
      ASSIGN_OR_RETURN(state.inputs_.back(), kernels_->Allocate(TensorBytes(spec), spec.name()));
    }
    buffers.push_back(state.inputs_.back().address());
  }
  return GenerateAt(state.workload_, definition, seed, state.distribution_, buffers, state.reference_.get());
}

absl::Status Examiner::GenerateAt(const Workload& workload, const Definition& definition, uint64_t seed,
                                  absl::string_view distribution, absl::Span<const device::DeviceAddress> buffers,
                                  const Reference* reference) {
  ASSIGN_OR_RETURN(const Distribution values, ParseDistribution(distribution));
  const std::map<std::string, int64_t> axes(workload.axes().begin(), workload.axes().end());
  ASSIGN_OR_RETURN(const auto indices, GenerateIndices(definition, workload, seed, values));
  std::vector<Tensor> tensors;
  for (int i = 0; i < workload.inputs_size(); ++i) {
    const TensorSpec& spec = workload.inputs(i);
    Tensor& tensor = tensors.emplace_back();
    ASSIGN_OR_RETURN(tensor.element, ElementOf(spec.dtype()));
    if (spec.scalar()) continue;
    tensor.address = buffers[static_cast<size_t>(i)];
    if (const auto index = indices.find(i); index != indices.end()) {
      RETURN_IF_ERROR(kernels_->device().Write(tensor.address, index->second));
      continue;
    }
    ASSIGN_OR_RETURN(const IntegerRange range, RangeOf(definition, spec, axes));
    RETURN_IF_ERROR(GenerateTensor(*kernels_, spec, seed, static_cast<uint32_t>(i), values, range, tensor.address));
  }
  RETURN_IF_ERROR(kernels_->Finish());
  return reference == nullptr ? absl::OkStatus() : reference->Complete(*kernels_, tensors);
}

absl::Status Examiner::WriteInputs(const Workload& workload, uint64_t seed, absl::string_view distribution,
                                   absl::Span<const device::DeviceAddress> buffers) {
  ASSIGN_OR_RETURN(const Definition* definition, DefinitionOf(workload));
  ASSIGN_OR_RETURN(const std::unique_ptr<Reference> reference, MakeReference(workload));
  return WithRoom([&] { return GenerateAt(workload, *definition, seed, distribution, buffers, reference.get()); });
}

absl::Status Examiner::WriteInput(const State& state, int tensor, device::DeviceAddress buffer) {
  const DeviceMemory& input = state.inputs_[tensor];
  return kernels_->device().Copy(buffer, input.address(), input.size_bytes());
}

absl::Status Examiner::Expect(State& state) {
  if (!state.expected_.empty()) return state.library_.may_end_otherwise ? AskLibrary(state) : absl::OkStatus();
  if (state.reference_ == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat("the reference ", state.workload_.reference(), " of ",
                                                      state.workload_.name(), " has not run for these inputs"));
  }
  std::vector<Tensor> tensors;
  for (int i = 0; i < state.workload_.inputs_size(); ++i) {
    ASSIGN_OR_RETURN(const Element element, ElementOf(state.workload_.inputs(i).dtype()));
    tensors.push_back({state.inputs_[i].address(), element});
  }
  RETURN_IF_ERROR(WithRoom([&]() -> absl::Status {
    ASSIGN_OR_RETURN(state.expected_, state.reference_->Compute(*kernels_, tensors));
    return absl::OkStatus();
  }));
  absl::Status known = CheckFinite(state);
  if (known.ok()) known = AskLibrary(state);
  if (!known.ok()) state.expected_.clear();
  return known;
}

absl::Status Examiner::AskLibrary(State& state) {
  std::vector<device::DeviceAddress> inputs;
  for (const DeviceMemory& input : state.inputs_) {
    if (input) inputs.push_back(input.address());
  }
  return WithRoom([&]() -> absl::Status {
    ASSIGN_OR_RETURN(state.library_,
                     libraries_.Measure(*kernels_, state.workload_, state.key_, inputs, state.expected_));
    return absl::OkStatus();
  });
}

// The inputs are ours, and so is what comes of them: a candidate could not give anything right.
absl::Status Examiner::CheckFinite(const State& state) {
  for (int i = 0; i < state.workload_.outputs_size(); ++i) {
    const ExpectedOutput& expected = state.expected_[i];
    const TensorSpec& spec = state.workload_.outputs(i);
    ASSIGN_OR_RETURN(const Survey survey,
                     SurveyOf(*kernels_, expected.values.address(), expected.values_element, ElementCount(spec)));
    if (survey.first_not_finite == UINT64_MAX) continue;
    const std::vector<int64_t> index = IndexOf(spec, static_cast<int64_t>(survey.first_not_finite));
    return absl::InternalError(absl::StrCat("the reference ", state.workload_.reference(), " of ",
                                            state.workload_.name(), " gives no number for ", spec.name(), "[",
                                            absl::StrJoin(index, ","), "]"));
  }
  return absl::OkStatus();
}

absl::Status Examiner::Compare(State& state, absl::Span<const SeenTensor> seen, JudgeReply& reply) {
  RETURN_IF_ERROR(Expect(state));
  sassay::v1::Numerics& numerics = *reply.mutable_numerics();
  numerics.set_passed(true);
  numerics.set_peer_rule_passed(true);
  numerics.add_distributions(state.distribution_);
  numerics.set_worst_distribution(state.distribution_);
  numerics.set_library(state.library_.library);
  numerics.set_library_unavailable(state.library_.unavailable);
  for (const SeenTensor& tensor : seen) {
    RETURN_IF_ERROR(tensor.output ? CheckOutput(state, tensor, reply) : CheckInput(state, tensor, reply));
  }
  Trim(options_.budget_bytes);
  if (numerics.outputs_size() == state.workload_.outputs_size()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(state.workload_.name(), " has ", state.workload_.outputs_size(),
                                                 " outputs, the plan declares ", numerics.outputs_size()));
}

absl::Status Examiner::CheckInputs(const State& state, absl::Span<const SeenTensor> seen, JudgeReply& reply) {
  for (const SeenTensor& tensor : seen) {
    if (!tensor.output) RETURN_IF_ERROR(CheckInput(state, tensor, reply));
  }
  return absl::OkStatus();
}

absl::Status Examiner::CheckInput(const State& state, const SeenTensor& seen, JudgeReply& reply) {
  const DeviceMemory& before = state.inputs_[seen.tensor];
  ASSIGN_OR_RETURN(const ByteDifference difference,
                   Difference(*kernels_, before.address(), seen.address, before.size_bytes()));
  if (difference.count == 0) return absl::OkStatus();
  *reply.add_findings() = ModifiedInput(state.workload_.inputs(seen.tensor), difference.count, difference.first);
  return absl::OkStatus();
}

absl::Status Examiner::CheckOutput(const State& state, const SeenTensor& seen, JudgeReply& reply) {
  const TensorSpec& spec = state.workload_.outputs(seen.tensor);
  ASSIGN_OR_RETURN(const Definition* definition, DefinitionOf(state.workload_));
  const double ratio = state.library_.ratios.empty() ? 0 : state.library_.ratios[seen.tensor];
  const Tolerance tolerance = Scaled(ToleranceOf(*definition, spec.name()), ratio);
  Compared compared;
  RETURN_IF_ERROR(WithRoom([&]() -> absl::Status {
    ASSIGN_OR_RETURN(compared, CompareOutput(*kernels_, spec, state.expected_[seen.tensor], seen.address,
                                             seen.poison_seed, tolerance));
    return absl::OkStatus();
  }));
  sassay::v1::Numerics& numerics = *reply.mutable_numerics();
  compared.report.set_library_error_ratio(ratio);
  *numerics.add_outputs() = compared.report;
  numerics.set_passed(numerics.passed() && compared.passed);
  numerics.set_peer_rule_passed(numerics.peer_rule_passed() && compared.peer_rule_passed);
  return absl::OkStatus();
}

absl::Status Examiner::AdoptOutputs(State& state, const std::vector<device::DeviceAddress>& outputs) {
  std::vector<ExpectedOutput> adopted;
  for (int i = 0; i < state.workload_.outputs_size(); ++i) {
    if (i >= static_cast<int>(outputs.size()) || outputs[i] == 0) {
      return absl::InvalidArgumentError(absl::StrCat("reference output ", state.workload_.outputs(i).name(), " of ",
                                                     state.workload_.name(), " is missing"));
    }
    RETURN_IF_ERROR(WithRoom([&]() -> absl::Status {
      ASSIGN_OR_RETURN(ExpectedOutput expected, Adopt(state, i, outputs[i]));
      adopted.push_back(std::move(expected));
      return absl::OkStatus();
    }));
  }
  state.expected_ = std::move(adopted);
  Trim(options_.budget_bytes);
  return absl::OkStatus();
}

// The reference's own rounding is noise, and what the definition adds for it.
absl::StatusOr<ExpectedOutput> Examiner::Adopt(const State& state, int output, device::DeviceAddress bytes) {
  const TensorSpec& spec = state.workload_.outputs(output);
  ASSIGN_OR_RETURN(const Definition* definition, DefinitionOf(state.workload_));
  ASSIGN_OR_RETURN(const Element element, ElementOf(spec.dtype()));
  const uint64_t count = ElementCount(spec);
  ExpectedOutput expected;
  expected.values_element = ValuesElement(element);
  ASSIGN_OR_RETURN(expected.values, kernels_->Allocate(count * WidthOf(expected.values_element), "adopted values"));
  const Tensor values{expected.values.address(), expected.values_element};
  RETURN_IF_ERROR(Convert(*kernels_, {bytes, element}, values, static_cast<int64_t>(count)));
  if (!IsFloating(spec.dtype())) {
    ASSIGN_OR_RETURN(expected.exact, kernels_->Allocate(TensorBytes(spec), "adopted bytes"));
    RETURN_IF_ERROR(kernels_->Finish());
    RETURN_IF_ERROR(kernels_->device().Copy(expected.exact.address(), bytes, TensorBytes(spec)));
    return expected;
  }
  const int64_t columns = RowLength(spec);
  ASSIGN_OR_RETURN(expected.noise, kernels_->Allocate(count * sizeof(float), "noise of adopted values"));
  ASSIGN_OR_RETURN(const DeviceMemory norms,
                   RowNorms(*kernels_, values, static_cast<int64_t>(count) / columns, columns));
  RETURN_IF_ERROR(
      kernels_->Walk("sassay_rounding", count,
                     RoundingArguments{values.address, expected.noise.address(), count, norms.address(), columns,
                                       NoiseOfRms(*definition, spec.name()), values.element, element}));
  RETURN_IF_ERROR(kernels_->Finish());
  return expected;
}

template <typename Work>
absl::Status Examiner::WithRoom(const Work& work) {
  const absl::Status first = work();
  if (!absl::IsResourceExhausted(first)) return first;
  RETURN_IF_ERROR(kernels_->Finish());
  Trim(0);
  return work();
}

// A reference works on a few tensors beside its matrices of scores.
uint64_t Examiner::reserved_bytes() const {
  return options_.budget_bytes + options_.libraries_bytes + kernels_->workspace_bytes() +
         kernels_->workspace_bytes() / 2;
}

uint64_t Examiner::bytes() const {
  uint64_t total = 0;
  for (const Entry& entry : states_) total += entry.second->bytes();
  return total;
}

// A state that somebody holds takes its memory anyway; forgetting it would only have it made twice.
void Examiner::Trim(uint64_t budget_bytes) {
  uint64_t total = bytes();
  for (auto oldest = states_.end(); total > budget_bytes && oldest != states_.begin();) {
    --oldest;
    if (oldest->second.use_count() > 1) continue;
    total -= oldest->second->bytes();
    oldest = states_.erase(oldest);
  }
}

}  // namespace sassay::judge::gpu
