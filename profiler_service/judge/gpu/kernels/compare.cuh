// The deciding rule and the facts that describe errors, as numerics/compare.cc and pattern.cc have them.
#ifndef SASSAY_PROFILER_SERVICE_JUDGE_GPU_KERNELS_COMPARE_CUH_
#define SASSAY_PROFILER_SERVICE_JUDGE_GPU_KERNELS_COMPARE_CUH_

#include "profiler_service/judge/gpu/kernels/elements.cuh"
#include "profiler_service/judge/gpu/kernels/memory.cuh"

namespace sassay::judge::gpu {

// The value after a trip through `element`, if that makes it infinite; as it is otherwise.
__device__ inline double Representable(Element element, double value) {
  if (element >= Element::kInt64 || element == Element::kFloat64) return value;
  if (element == Element::kFloat32) {
    const double single = static_cast<float>(value);
    return Finite(single) ? value : single;
  }
  const Format format = FormatOf(element);
  if (Finite(value) && fabs(value) <= LargestFinite(format)) return value;
  const double rounded = DecodeSmall(format, EncodeSmall(format, value));
  return Finite(rounded) ? value : rounded;
}

__device__ inline double Expected(const OutputArguments& of, int64_t i) {
  return Load(of.values_element, of.values, i);
}

__device__ inline void Consider(ComparePartial& partial, int64_t i, double badness, double error) {
  const bool worse = badness > partial.worst_badness ||
                     (badness == partial.worst_badness &&
                      (error > partial.worst_error || (error == partial.worst_error && i < partial.worst)));
  if (!worse) return;
  partial.worst_badness = badness;
  partial.worst_error = error;
  partial.worst = i;
}

__device__ inline bool StillPoison(const CompareArguments& a, int64_t i, uint32_t width) {
  const uint64_t byte = static_cast<uint64_t>(i) * width;
  const uint64_t word = PoisonWord(a.poison_seed, byte / 8) >> (byte % 8 * 8);
  const uint64_t mask = width == 8 ? ~uint64_t{0} : (uint64_t{1} << (width * 8)) - 1;
  return (word & mask) == Bits(width, a.of.actual, i);
}

__device__ inline void MarkWrong(const CompareArguments& a, ComparePartial& partial, int64_t i, uint32_t width) {
  At<uint8_t>(a.of.wrong, i) = 1;
  ++partial.wrong;
  if (StillPoison(a, i, width)) ++partial.unwritten;
}

__device__ inline void CompareElement(const CompareArguments& a, ComparePartial& partial, int64_t i, uint32_t width) {
  const double value = Expected(a.of, i), actual = Load(a.of.output, a.of.actual, i);
  const double expected = a.floating ? Representable(a.of.output, value) : value;
  At<uint8_t>(a.of.wrong, i) = 0;
  if (!Finite(expected) || !Finite(actual)) {
    if (NotANumber(expected) ? NotANumber(actual) : expected == actual) return;
    Consider(partial, i, HUGE_VAL, HUGE_VAL);
    MarkWrong(a, partial, i, width);
    if (Finite(expected)) ++partial.non_finite;
    ++partial.peer_rule_wrong;
    return;
  }
  double error = fabs(actual - expected);
  if (a.of.exact != 0 && Bits(width, a.of.exact, i) != Bits(width, a.of.actual, i)) error = fmax(1.0, error);
  const double ulp = UlpAt(a.of.output, value);
  const double before = a.of.noise == 0 ? 0.0 : At<const float>(a.of.noise, i);
  const double noise = sqrt(ulp * ulp / 12 + before * before);
  const double badness = noise > 0 ? error / noise : (error > 0 ? HUGE_VAL : 0);
  partial.error_squares += error * error;
  partial.noise_squares += noise * noise;
  partial.reference_squares += expected * expected;
  ++partial.finite;
  partial.max_abs_error = fmax(partial.max_abs_error, error);
  partial.max_relative_error = fmax(partial.max_relative_error, error / (fabs(expected) + a.relative_error_floor));
  Consider(partial, i, badness, error);
  if (badness > a.element_multiple) MarkWrong(a, partial, i, width);
  const double apart = fabs(actual - expected);
  if (!(apart <= a.peer_tolerance || apart <= a.peer_tolerance * fabs(expected))) ++partial.peer_rule_wrong;
}

extern "C" __global__ void __launch_bounds__(kThreads) sassay_compare(CompareArguments a) {
  ComparePartial partial{};
  partial.worst_badness = partial.worst_error = -1;
  const uint32_t width = WidthOf(a.of.output);
  for (int64_t i = First(); i < static_cast<int64_t>(a.of.count); i += Stride()) CompareElement(a, partial, i, width);
  ReduceBlock(partial, [](ComparePartial& x, const ComparePartial& y) {
    x.error_squares += y.error_squares;
    x.noise_squares += y.noise_squares;
    x.reference_squares += y.reference_squares;
    x.max_abs_error = fmax(x.max_abs_error, y.max_abs_error);
    x.max_relative_error = fmax(x.max_relative_error, y.max_relative_error);
    if (y.worst_badness >= 0) Consider(x, y.worst, y.worst_badness, y.worst_error);
    x.finite += y.finite;
    x.wrong += y.wrong;
    x.non_finite += y.non_finite;
    x.unwritten += y.unwritten;
    x.peer_rule_wrong += y.peer_rule_wrong;
  });
  if (threadIdx.x == 0) At<ComparePartial>(a.partials, blockIdx.x) = partial;
}

__device__ inline void Combine(ErrorFactsPartial& x, const ErrorFactsPartial& y) {
  x.reference_squares += y.reference_squares;
  x.product += y.product;
  x.expected_squares += y.expected_squares;
  x.actual_squares += y.actual_squares;
  x.difference += y.difference;
  x.wrong += y.wrong;
  x.first = min(x.first, y.first);
  x.nan += y.nan;
  x.not_finite += y.not_finite;
  x.above += y.above;
  x.below += y.below;
  x.low_row = min(x.low_row, y.low_row);
  x.high_row = max(x.high_row, y.high_row);
  x.low_column = min(x.low_column, y.low_column);
  x.high_column = max(x.high_column, y.high_column);
}

__device__ inline void NoteWrong(const ErrorFactsArguments& a, ErrorFactsPartial& partial, int64_t i, double expected) {
  const double actual = Load(a.of.output, a.of.actual, i);
  ++partial.wrong;
  partial.first = min(partial.first, static_cast<uint64_t>(i));
  partial.nan += NotANumber(actual);
  partial.not_finite += !Finite(actual) || !Finite(expected);
  partial.product += actual * expected;
  partial.expected_squares += expected * expected;
  partial.actual_squares += actual * actual;
  partial.difference += actual - expected;
  int64_t rest = i, column = 0, row = 0, axes_before = 0;
  for (int axis = 0; axis < a.rank; ++axis) axes_before += a.shape[axis];
  for (int axis = a.rank - 1; axis >= 0; --axis) {
    const int64_t coordinate = rest % a.shape[axis];
    rest /= a.shape[axis];
    axes_before -= a.shape[axis];
    At<uint8_t>(a.hits, axes_before + coordinate) = 1;
    if (axis == a.rank - 1) column = coordinate;
    if (axis == a.rank - 2) row = coordinate;
  }
  partial.above += column > row;
  partial.below += column < row;
  partial.low_row = min(partial.low_row, row);
  partial.high_row = max(partial.high_row, row);
  partial.low_column = min(partial.low_column, column);
  partial.high_column = max(partial.high_column, column);
}

extern "C" __global__ void __launch_bounds__(kThreads) sassay_error_facts(ErrorFactsArguments a) {
  ErrorFactsPartial partial{};
  partial.first = UINT64_MAX;
  partial.low_row = partial.low_column = INT64_MAX;
  partial.high_row = partial.high_column = -1;
  for (int64_t i = First(); i < static_cast<int64_t>(a.of.count); i += Stride()) {
    const double expected = Expected(a.of, i);
    if (Finite(expected)) partial.reference_squares += expected * expected;
    if (At<const uint8_t>(a.of.wrong, i)) NoteWrong(a, partial, i, expected);
  }
  ReduceBlock(partial, [](ErrorFactsPartial& x, const ErrorFactsPartial& y) { Combine(x, y); });
  if (threadIdx.x == 0) At<ErrorFactsPartial>(a.partials, blockIdx.x) = partial;
}

__device__ inline void Guess(const ErrorGuessesArguments& a, ErrorGuessesPartial& partial, int64_t i) {
  const double actual = Load(a.of.output, a.of.actual, i), expected = Expected(a.of, i);
  const auto alike = [&](double value) { return fabs(actual - value) <= a.likeness; };
  partial.like_first += actual == a.first;
  partial.factor += a.use_factor && fabs(actual - a.factor * expected) <= a.factor_slack;
  partial.offset += alike(expected + a.offset);
  if (a.square) {
    const int64_t n = a.columns, tile = n * n, row = i % tile / n, column = i % n;
    partial.transposed += alike(Expected(a.of, i / tile * tile + column * n + row));
  }
  const int64_t steps[kShifts] = {1, -1, a.columns, -a.columns};
#pragma unroll
  for (int shift = 0; shift < kShifts; ++shift) {
    const int64_t from = i + steps[shift];
    if (from < 0 || from >= static_cast<int64_t>(a.of.count)) continue;
    ++partial.shiftable[shift];
    partial.shifted[shift] += alike(Expected(a.of, from));
  }
}

extern "C" __global__ void __launch_bounds__(kThreads) sassay_error_guesses(ErrorGuessesArguments a) {
  ErrorGuessesPartial partial{};
  for (int64_t i = First(); i < static_cast<int64_t>(a.of.count); i += Stride()) {
    if (At<const uint8_t>(a.of.wrong, i)) Guess(a, partial, i);
  }
  ReduceBlock(partial, [](ErrorGuessesPartial& x, const ErrorGuessesPartial& y) {
    x.like_first += y.like_first;
    x.transposed += y.transposed;
    x.factor += y.factor;
    x.offset += y.offset;
    for (int shift = 0; shift < kShifts; ++shift) {
      x.shifted[shift] += y.shifted[shift];
      x.shiftable[shift] += y.shiftable[shift];
    }
  });
  if (threadIdx.x == 0) At<ErrorGuessesPartial>(a.partials, blockIdx.x) = partial;
}

}  // namespace sassay::judge::gpu

#endif  // SASSAY_PROFILER_SERVICE_JUDGE_GPU_KERNELS_COMPARE_CUH_
