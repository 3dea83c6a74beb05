// What references need besides products: norms, softmax, and the backward pass's rows. The formulas and their noise are
// those of reference/attention_reference.h and gemm_reference.cc.
#ifndef SASSAY_PROFILER_SERVICE_JUDGE_GPU_KERNELS_ATTENTION_CUH_
#define SASSAY_PROFILER_SERVICE_JUDGE_GPU_KERNELS_ATTENTION_CUH_

#include "profiler_service/judge/gpu/kernels/elements.cuh"

namespace sassay::judge::gpu {

__device__ inline double BlockSum(double value) {
  ReduceBlock(value, [](double& a, double b) { a += b; });
  return value;
}

__device__ inline double BlockMaximum(double value) {
  ReduceBlock(value, [](double& a, double b) { a = fmax(a, b); });
  return value;
}

extern "C" __global__ void __launch_bounds__(kThreads) sassay_convert(ConvertArguments a) {
  for (int64_t i = First(); i < static_cast<int64_t>(a.count); i += Stride()) {
    const double value = Load(a.from, a.source, i);
    Store(a.to, a.destination, i, a.factor * (a.root ? sqrt(fmax(0.0, value)) : value));
  }
}

extern "C" __global__ void __launch_bounds__(kThreads) sassay_square(SquareArguments a) {
  for (int64_t i = First(); i < a.count; i += Stride()) {
    const double value = Load(a.element, a.source, i);
    const double factor = a.factors == 0 ? 1 : At<const double>(a.factors, i / a.columns);
    At<float>(a.destination, i) = static_cast<float>(factor * factor * value * value);
  }
}

extern "C" __global__ void __launch_bounds__(kThreads) sassay_survey(SurveyArguments a) {
  SurveyPartial partial{0, 0, UINT64_MAX};
  for (int64_t i = First(); i < static_cast<int64_t>(a.count); i += Stride()) {
    const double value = Load(a.element, a.source, i);
    if (Finite(value)) {
      partial.squares += value * value;
      ++partial.finite;
    } else {
      partial.first_not_finite = min(partial.first_not_finite, static_cast<uint64_t>(i));
    }
  }
  ReduceBlock(partial, [](SurveyPartial& x, const SurveyPartial& y) {
    x.squares += y.squares;
    x.finite += y.finite;
    x.first_not_finite = min(x.first_not_finite, y.first_not_finite);
  });
  if (threadIdx.x == 0) At<SurveyPartial>(a.partials, blockIdx.x) = partial;
}

extern "C" __global__ void __launch_bounds__(kThreads) sassay_rounding(RoundingArguments a) {
  for (int64_t i = First(); i < static_cast<int64_t>(a.count); i += Stride()) {
    const double ulp = UlpAt(a.output, Load(a.values_element, a.values, i));
    const double rms = At<const double>(a.row_norms, i / a.columns) / sqrt(static_cast<double>(a.columns));
    At<float>(a.noise, i) = static_cast<float>(hypot(ulp / sqrt(12.0), a.fraction * rms));
  }
}

// One warp for each row.
extern "C" __global__ void __launch_bounds__(kThreads) sassay_row_norms(RowNormsArguments a) {
  const int lane = threadIdx.x % 32;
  for (int64_t row = First() / 32; row < a.rows; row += Stride() / 32) {
    double squares = 0;
    for (int64_t column = lane; column < a.columns; column += 32) {
      const double value = Load(a.element, a.source, row * a.columns + column);
      if (Finite(value)) squares += value * value;
    }
    for (int half = 16; half > 0; half /= 2) squares += __shfl_xor_sync(~0u, squares, half);
    if (lane == 0) At<double>(a.norms, row) = sqrt(squares);
  }
}

// One block for each group.
extern "C" __global__ void __launch_bounds__(kThreads) sassay_largest(LargestArguments a) {
  double largest = 0;
  for (int64_t i = threadIdx.x; i < a.rows; i += kThreads) {
    largest = fmax(largest, At<const double>(a.source, blockIdx.x * a.rows + i));
  }
  largest = BlockMaximum(largest);
  if (threadIdx.x == 0) At<double>(a.largest, blockIdx.x) = largest;
}

extern "C" __global__ void __launch_bounds__(kThreads) sassay_outer(OuterArguments a) {
  for (int64_t i = First(); i < a.m * a.n; i += Stride()) {
    const double rows = At<const double>(a.rows, i / a.n), columns = At<const double>(a.columns, i % a.n);
    At<float>(a.noise, i) = static_cast<float>(a.unit * rows * columns);
  }
}

// One row of one head: blockIdx.x is the row among those worked on, blockIdx.y the head.
struct RowPlace {
  int64_t row;      // in the sequence
  int64_t visible;  // keys it sees
  int64_t written;  // up to where products read it
  int64_t matrix;   // its first element in a matrix of rows
  int64_t flat;     // head and row, in [heads, sequence]
};

__device__ inline RowPlace PlaceOf(const AttentionRows& at) {
  RowPlace place;
  place.row = at.first_row + blockIdx.x;
  const int64_t tile_end = at.first_row + (blockIdx.x / kProductTile + 1) * kProductTile;
  place.visible = at.causal ? min(at.keys, place.row + 1) : at.keys;
  place.written = at.causal ? min(at.keys, tile_end) : at.keys;
  place.matrix = (blockIdx.y * at.rows + blockIdx.x) * at.pitch;
  place.flat = blockIdx.y * at.sequence + place.row;
  return place;
}

// Relative error of a row of P (attention_reference.h).
__device__ inline double RowError(const AttentionRows& at, double q_norm, double largest_key) {
  return hypot(at.bf16_rms, at.f32_error * at.scale * q_norm * largest_key);
}

extern "C" __global__ void __launch_bounds__(kThreads) sassay_softmax(SoftmaxArguments a) {
  extern __shared__ double shared[];
  const RowPlace place = PlaceOf(a.at);
  double* scores = reinterpret_cast<double*>(a.scores) + place.matrix;
  double* row = a.at.row_in_shared ? shared : scores;
  double top = -HUGE_VAL;
  for (int64_t j = threadIdx.x; j < place.visible; j += kThreads) {
    row[j] = scores[j] * a.at.scale;
    top = fmax(top, row[j]);
  }
  top = BlockMaximum(top);
  double sum = 0;
  for (int64_t j = threadIdx.x; j < place.visible; j += kThreads) sum += row[j] = exp(row[j] - top);
  sum = BlockSum(sum);
  const double q_norm = At<const double>(a.q_norms, place.flat);
  const double largest_key = At<const double>(a.key_norms, blockIdx.y);
  const double error = RowError(a.at, q_norm, largest_key);
  double squares = 0;
  for (int64_t j = threadIdx.x; j < place.written; j += kThreads) {
    const double p = j < place.visible ? row[j] / sum : 0;
    squares += p * p;
    scores[j] = p;
    if (a.squares != 0) At<float>(a.squares, place.matrix + j) = static_cast<float>(error * error * p * p);
  }
  squares = BlockSum(squares);
  if (threadIdx.x != 0) return;
  const double lse = top + log(sum);
  At<double>(a.lse, place.flat) = lse;
  if (a.lse_noise == 0) return;
  const double noise =
      error * sqrt(squares) + a.at.f32_error * (a.at.scale * q_norm * largest_key + fmax(1.0, fabs(lse)));
  At<float>(a.lse_noise, place.flat) = static_cast<float>(noise);
}

extern "C" __global__ void __launch_bounds__(kThreads) sassay_backward_rows(BackwardRowsArguments a) {
  const RowPlace place = PlaceOf(a.at);
  double delta = 0;
  for (int64_t d = threadIdx.x; d < a.columns; d += kThreads) {
    delta += Load(a.o_element, a.o, place.flat * a.columns + d) *
             Load(a.grad_o_element, a.grad_o, place.flat * a.columns + d);
  }
  delta = BlockSum(delta);
  const double error =
      RowError(a.at, At<const double>(a.q_norms, place.flat), At<const double>(a.largest_key, blockIdx.y));
  const double reach = fmax(At<const double>(a.largest_value, blockIdx.y), At<const double>(a.o_norms, place.flat));
  const double cancelled = a.at.f32_error * At<const double>(a.grad_o_norms, place.flat) * reach;
  const double lse = Load(a.lse_element, a.lse, place.flat);
  for (int64_t j = threadIdx.x; j < place.written; j += kThreads) {
    const int64_t at = place.matrix + j;
    const bool seen = j < place.visible;
    const double p = seen ? exp(At<const double>(a.scores, at) * a.at.scale - lse) : 0;
    const double ds = seen ? p * (At<const double>(a.gradients, at) - delta) : 0;
    At<double>(a.scores, at) = p;
    At<double>(a.gradients, at) = ds;
    At<float>(a.p_squares, at) = static_cast<float>(error * error * p * p);
    At<float>(a.ds_squares, at) = static_cast<float>(error * error * ds * ds + cancelled * cancelled * p * p);
  }
}

}  // namespace sassay::judge::gpu

#endif  // SASSAY_PROFILER_SERVICE_JUDGE_GPU_KERNELS_ATTENTION_CUH_
