#include "profiler_service/judge/workload_state.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"
#include "common/workload/definition.h"
#include "common/workload/expression.h"
#include "common/workload/safetensors.h"
#include "profiler_service/judge/inputs/indices.h"
#include "profiler_service/judge/inputs/inputs.h"
#include "profiler_service/judge/numerics/element.h"
#include "profiler_service/judge/parallel.h"
#include "profiler_service/judge/reference/matrix.h"

namespace sassay::judge {
namespace {

using sassay::v1::Workload;

double Rms(absl::Span<const double> values) {
  double squares = 0;
  for (double value : values) squares += std::isfinite(value) ? value * value : 0;
  return values.empty() ? 0 : std::sqrt(squares / static_cast<double>(values.size()));
}

std::string KeyOf(const Workload& workload, uint64_t seed, absl::string_view distribution) {
  return absl::StrCat(workload.definition_sha256(), "/", workload.name(), "/", seed, "/", distribution);
}

bool IsBuiltin(const Workload& workload) { return absl::StartsWith(workload.reference(), "builtin:"); }

}  // namespace

double MeasureMultiplyAdds(int threads) {
  constexpr int64_t kRows = 64, kDepth = 512, kColumns = 256;
  const std::vector<double> a(kRows * kDepth, 1.5), b(kDepth * kColumns, 0.5);
  const absl::Time start = SteadyNow();
  ParallelFor(threads, threads, [&](int64_t) {
    std::vector<double> c(kRows * kColumns);
    Multiply(RowMajor(a.data(), kRows, kDepth), RowMajor(b.data(), kDepth, kColumns), c.data(), kColumns, false);
  });
  const double seconds = std::max(1e-6, absl::ToDoubleSeconds(SteadyNow() - start));
  return static_cast<double>(kRows * kDepth * kColumns) * threads / seconds;
}

absl::StatusOr<double> ReferenceSeconds(const Workload& workload, const StateOptions& options) {
  if (!IsBuiltin(workload)) return 0.0;
  ASSIGN_OR_RETURN(const std::unique_ptr<Reference> reference, MakeReference(workload));
  return reference->MultiplyAdds() / options.multiply_adds_per_second;
}

absl::StatusOr<std::shared_ptr<WorkloadState>> WorkloadState::Create(const Workload& workload, uint64_t seed,
                                                                     absl::string_view distribution,
                                                                     const StateOptions& options,
                                                                     const std::atomic<bool>* stop) {
  ASSIGN_OR_RETURN(const double seconds, ReferenceSeconds(workload, options));
  if (seconds > options.reference_limit_seconds) {
    return absl::OutOfRangeError(absl::StrFormat(
        "the CPU reference of %s would take about %.0f s on this machine, more than the %.0f s of --reference-seconds",
        workload.name(), seconds, options.reference_limit_seconds));
  }
  const Definition* definition = options.catalog->FindDefinition(workload.definition());
  if (definition == nullptr || definition->sha256 != workload.definition_sha256()) {
    return absl::FailedPreconditionError(absl::StrCat("definition ", workload.definition(),
                                                      " is not the one that this judge was started with; restart it"));
  }
  const std::shared_ptr<WorkloadState> state(new WorkloadState(workload, options));
  state->ReadTolerances(*definition);
  if (definition->reference_kind == ReferenceKind::kGolden && distribution != "decoy") {
    RETURN_IF_ERROR(state->LoadGolden(options.catalog->GoldenPath(*definition).string()));
    return state;
  }
  RETURN_IF_ERROR(state->Generate(*definition, seed, distribution, stop));
  if (stop != nullptr && *stop) return absl::CancelledError("nobody waits for these inputs any more");
  state->Count();
  return state;
}

void WorkloadState::ReadTolerances(const Definition& definition) {
  for (const sassay::v1::TensorSpec& output : workload_.outputs()) {
    tolerances_.push_back(ToleranceOf(definition, output.name()));
    noise_of_rms_.push_back(NoiseOfRms(definition, output.name()));
  }
}

absl::Status WorkloadState::Generate(const Definition& definition, uint64_t seed, absl::string_view distribution,
                                     const std::atomic<bool>* stop) {
  ASSIGN_OR_RETURN(const Distribution values, ParseDistribution(distribution));
  if (IsBuiltin(workload_)) {
    ASSIGN_OR_RETURN(reference_, MakeReference(workload_));
  }
  const std::map<std::string, int64_t> axes(workload_.axes().begin(), workload_.axes().end());
  ASSIGN_OR_RETURN(auto indices, GenerateIndices(definition, workload_, seed, values));
  for (int i = 0; i < workload_.inputs_size(); ++i) {
    if (workload_.inputs(i).scalar()) {
      ASSIGN_OR_RETURN(const double value, ScalarValue(definition, workload_.inputs(i), axes));
      inputs_.push_back(EncodeDoubles(workload_.inputs(i).dtype(), {value}));
      continue;
    }
    if (const auto index = indices.find(i); index != indices.end()) {
      inputs_.push_back(std::move(index->second));
      continue;
    }
    ASSIGN_OR_RETURN(const IntegerRange range, RangeOf(definition, workload_.inputs(i), axes));
    inputs_.push_back(GenerateTensor(workload_.inputs(i), seed, i, values, threads_, range));
  }
  return reference_ ? reference_->Complete(inputs_, {threads_, stop}) : absl::OkStatus();
}

absl::Status WorkloadState::LoadGolden(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string file, ReadFile(path, uint64_t{8} << 30));
  ASSIGN_OR_RETURN(const auto tensors, ParseSafetensors(file));
  for (const sassay::v1::TensorSpec& input : workload_.inputs()) {
    ASSIGN_OR_RETURN(std::string bytes, input.scalar() ? GoldenScalar(tensors, input) : TakeTensor(tensors, input));
    inputs_.push_back(std::move(bytes));
  }
  std::vector<std::string> outputs;
  for (const sassay::v1::TensorSpec& output : workload_.outputs()) {
    ASSIGN_OR_RETURN(std::string bytes, TakeTensor(tensors, output));
    outputs.push_back(std::move(bytes));
  }
  return AdoptOutputs(outputs);
}

// The file may leave a scalar out; one that it holds must be what run() gets.
absl::StatusOr<std::string> WorkloadState::GoldenScalar(const std::map<std::string, StoredTensor>& tensors,
                                                        const sassay::v1::TensorSpec& scalar) const {
  ASSIGN_OR_RETURN(const double value, ScalarValue(workload_, scalar));
  std::string bytes = EncodeDoubles(scalar.dtype(), {value});
  const auto stored = tensors.find(scalar.name());
  if (stored == tensors.end() || stored->second.bytes == bytes) return bytes;
  return absl::InvalidArgumentError(absl::StrCat("the golden file holds another ", scalar.name(), " than the ", value,
                                                 " of sassay.scalars in ", workload_.definition()));
}

absl::StatusOr<const std::vector<Expected>*> WorkloadState::ExpectedOutputs(const std::atomic<bool>* stop) {
  absl::MutexLock lock(&mutex_);
  if (!expected_.empty()) return &expected_;
  if (reference_ == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat("the reference ", workload_.reference(), " of ", workload_.name(),
                                                      " has not run for these inputs"));
  }
  const Effort effort(threads_, stop);
  ASSIGN_OR_RETURN(std::vector<Expected> computed, reference_->Compute(inputs_, effort));
  if (effort.stopped()) return absl::CancelledError("nobody waits for the reference any more");
  RETURN_IF_ERROR(CheckFinite(computed));
  expected_ = std::move(computed);
  Count();
  return &expected_;
}

// The inputs are ours, and so is what comes of them: a candidate could not give anything right.
absl::Status WorkloadState::CheckFinite(const std::vector<Expected>& computed) const {
  for (size_t output = 0; output < computed.size(); ++output) {
    const std::vector<double>& values = computed[output].values;
    const auto bad = std::find_if(values.begin(), values.end(), [](double value) { return !std::isfinite(value); });
    if (bad == values.end()) continue;
    const sassay::v1::TensorSpec& spec = workload_.outputs(static_cast<int>(output));
    return absl::InternalError(absl::StrCat("the reference ", workload_.reference(), " of ", workload_.name(),
                                            " gives ", *bad, " for ", spec.name(), "[",
                                            absl::StrJoin(IndexOf(spec, bad - values.begin()), ","), "]"));
  }
  return absl::OkStatus();
}

absl::Status WorkloadState::AdoptOutputs(const std::vector<std::string>& outputs) {
  std::vector<Expected> adopted;
  for (int i = 0; i < workload_.outputs_size(); ++i) {
    if (i >= static_cast<int>(outputs.size()) || outputs[i].size() != TensorBytes(workload_.outputs(i))) {
      return absl::InvalidArgumentError(absl::StrCat("reference output ", workload_.outputs(i).name(), " of ",
                                                     workload_.name(), " is missing or of another size"));
    }
    Expected expected{DecodeDoubles(workload_.outputs(i).dtype(), outputs[i]), {}};
    AddRounding(i, expected);
    if (!IsFloating(workload_.outputs(i).dtype())) expected.exact = outputs[i];
    adopted.push_back(std::move(expected));
  }
  absl::MutexLock lock(&mutex_);
  expected_ = std::move(adopted);
  Count();
  return absl::OkStatus();
}

void WorkloadState::AddRounding(int output, Expected& expected) const {
  const sassay::v1::DType dtype = workload_.outputs(output).dtype();
  if (!IsFloating(dtype)) return;
  const auto columns = static_cast<size_t>(RowLength(workload_.outputs(output)));
  const std::vector<double>& values = expected.values;
  expected.noise.resize(values.size());
  for (size_t row = 0; row < values.size(); row += columns) {
    const double constant = noise_of_rms_[output] * Rms(absl::MakeConstSpan(values).subspan(row, columns));
    for (size_t i = row; i < std::min(values.size(), row + columns); ++i) {
      expected.noise[i] = static_cast<float>(std::hypot(UlpAt(dtype, values[i]) / std::sqrt(12.0), constant));
    }
  }
}

void WorkloadState::Count() {
  uint64_t total = 0;
  for (const std::string& input : inputs_) total += input.size();
  for (const Expected& expected : expected_) {
    total += expected.values.size() * sizeof(double) + expected.noise.size() * sizeof(float) + expected.exact.size();
  }
  bytes_ = total;
}

std::shared_ptr<WorkloadState> StateCache::FindLocked(const std::string& key) {
  const auto found = index_.find(key);
  if (found == index_.end()) return nullptr;
  order_.splice(order_.begin(), order_, found->second);
  return found->second->second;
}

std::shared_ptr<WorkloadState> StateCache::Find(const Workload& workload, uint64_t seed,
                                                absl::string_view distribution) {
  absl::MutexLock lock(&mutex_);
  return FindLocked(KeyOf(workload, seed, distribution));
}

absl::StatusOr<std::shared_ptr<WorkloadState>> StateCache::Get(const Workload& workload, uint64_t seed,
                                                               absl::string_view distribution,
                                                               const std::atomic<bool>* stop) {
  const std::string key = KeyOf(workload, seed, distribution);
  if (std::shared_ptr<WorkloadState> found = Find(workload, seed, distribution); found != nullptr) return found;
  ASSIGN_OR_RETURN(std::shared_ptr<WorkloadState> state,
                   WorkloadState::Create(workload, seed, distribution, options_, stop));
  absl::MutexLock lock(&mutex_);
  if (std::shared_ptr<WorkloadState> first = FindLocked(key); first != nullptr) return first;
  order_.emplace_front(key, state);
  index_[key] = order_.begin();
  TrimLocked();
  return state;
}

void StateCache::Trim() {
  absl::MutexLock lock(&mutex_);
  TrimLocked();
}

// A state that somebody holds takes its memory anyway; forgetting it would only have it made twice.
void StateCache::TrimLocked() {
  uint64_t total = 0;
  for (const Entry& entry : order_) total += entry.second->bytes();
  for (auto oldest = order_.end(); total > budget_bytes_ && oldest != order_.begin();) {
    --oldest;
    if (oldest == order_.begin() || oldest->second.use_count() > 1) continue;
    total -= oldest->second->bytes();
    index_.erase(oldest->first);
    oldest = order_.erase(oldest);
  }
}

}  // namespace sassay::judge
