// What host and device code of the judge's kernels agree on: one plain struct of arguments for each kernel, and the
// partial results that kernels leave for the host to add up. Included by nvcc and by the host's compiler.
//
// Addresses are device addresses. Sums are partial, one entry per block, and added by the host in the blocks' order, so
// that the same bytes always give the same answer.
#ifndef SASSAY_PROFILER_SERVICE_JUDGE_GPU_KERNEL_ARGUMENTS_H_
#define SASSAY_PROFILER_SERVICE_JUDGE_GPU_KERNEL_ARGUMENTS_H_

#include <cstdint>

#ifdef __CUDACC__
#define SASSAY_HOST_DEVICE __host__ __device__
#else
#define SASSAY_HOST_DEVICE
#endif

namespace sassay::judge::gpu {

// An element type, as kernels know it.
enum class Element : uint32_t {
  kFloat64,
  kFloat32,
  kFloat16,
  kBfloat16,
  kE4m3,
  kE5m2,
  kInt64,
  kInt32,
  kInt16,
  kInt8,
  kUint8,
  kBool,
};

// Bytes of one.
SASSAY_HOST_DEVICE constexpr uint32_t WidthOf(Element element) {
  switch (element) {
    case Element::kFloat64:
    case Element::kInt64:
      return 8;
    case Element::kFloat32:
    case Element::kInt32:
      return 4;
    case Element::kFloat16:
    case Element::kBfloat16:
    case Element::kInt16:
      return 2;
    default:
      return 1;
  }
}

// Threads of a block, in every kernel.
inline constexpr uint32_t kThreads = 256;
// Blocks of kernels that walk over an array, each with one partial result.
inline constexpr uint32_t kPartials = 1024;
inline constexpr int kMaxAxes = 8;
// Rows and columns that one block of a product makes.
inline constexpr int64_t kProductTile = 128;
inline constexpr uint32_t kProductSharedBytes = 2 * 2 * 128 * 20 * 8;

// sassay_generate: elements of an input tensor, as inputs.cc makes them.
struct GenerateArguments {
  uint64_t destination, count, seed, normal_table;
  int64_t columns, minimum, extent;
  uint32_t stream, distribution;
  Element element;
  uint32_t floating;
};

// sassay_pattern_fill and sassay_pattern_check: bytes [offset, offset + bytes) of the pattern of poison.h.
struct PatternArguments {
  uint64_t memory, bytes, seed, offset, result;
};

// sassay_difference: how `bytes` bytes differ from those at `expected`.
struct DifferenceArguments {
  uint64_t expected, actual, bytes, result;
};

// What the two above find. The host puts {0, UINT64_MAX, 0} there first.
struct ByteDifference {
  uint64_t count, first, last;
};

// sassay_convert: destination[i] = factor * source[i], or factor * sqrt(max(0, source[i])).
struct ConvertArguments {
  uint64_t source, destination, count;
  double factor;
  Element from, to;
  uint32_t root;
};

// sassay_survey: sum of squares of finite values, and the first that is not finite.
struct SurveyArguments {
  uint64_t source, count, partials;
  Element element;
};
struct SurveyPartial {
  double squares;
  uint64_t finite, first_not_finite;
};

// sassay_rounding: noise[i] = hypot(ulp(values[i]) / sqrt(12), fraction * row_norms[i / columns] / sqrt(columns)).
struct RoundingArguments {
  uint64_t values, noise, count, row_norms;
  int64_t columns;
  double fraction;
  Element values_element, output;
};

// sassay_row_norms: Euclidean norms of the finite values of rows, fp64. sassay_largest: the largest of each group of
// `rows`.
struct RowNormsArguments {
  uint64_t source, norms;
  int64_t rows, columns;
  Element element;
};
struct LargestArguments {
  uint64_t source, largest;
  int64_t rows;
};

// sassay_outer: noise[i, j] = unit * rows[i] * columns[j].
struct OuterArguments {
  uint64_t rows, columns, noise;
  int64_t m, n;
  double unit;
};

// sassay_square: destination[i] = factors[i / columns]^2 * source[i]^2, fp32; without factors they are 1.
struct SquareArguments {
  uint64_t source, factors, destination;
  int64_t count, columns;
  Element element;
};

// What of a product is known to be zero, or is not needed, where queries see only keys up to themselves.
enum class Triangle : uint32_t {
  kNone,
  kResult,  // C[i, j] with j > first_row + i is not needed
  kRows,    // A[i, k] is zero where k > first_row + i
  kDepth,   // A[j, i] (a transposed matrix of rows i) is zero where j > first_row + i
};

// sassay_product: C[b] (+)= A[b] B[b], accumulated in fp64. Strides count elements; columns of C are adjacent.
struct ProductArguments {
  uint64_t a, b, c;
  int64_t m, n, k;
  int64_t a_row, a_depth, b_depth, b_column, c_row;
  int64_t a_batch, b_batch, c_batch;
  int64_t first_row;
  Element a_element, b_element, c_element;  // a, b: fp64, fp32 or bf16; c: fp64 or fp32
  Triangle triangle;
  uint32_t accumulate;
};

// Rows of attention that are worked on together: `heads` times `rows` rows of a matrix whose rows are `pitch` apart.
struct AttentionRows {
  int64_t first_row, rows, keys, pitch, sequence;
  double scale, bf16_rms, f32_error;
  uint32_t causal, row_in_shared;
};

// sassay_softmax: scores become probabilities.
struct SoftmaxArguments {
  AttentionRows at;
  uint64_t scores;              // fp64, in and out
  uint64_t squares;             // fp32: squared errors of P; 0 for none
  uint64_t lse;                 // fp64 [heads, sequence]
  uint64_t lse_noise;           // fp32 [heads, sequence]; 0 for none
  uint64_t q_norms, key_norms;  // fp64 [heads, sequence], [heads]; the latter the largest
};

// sassay_backward_rows: scores and dP become P and dS, and the squares of their errors.
struct BackwardRowsArguments {
  AttentionRows at;
  uint64_t scores, gradients;               // fp64, in and out
  uint64_t p_squares, ds_squares;           // fp32
  uint64_t o, grad_o;                       // [heads, sequence, columns]
  uint64_t lse;                             // [heads, sequence]
  uint64_t q_norms, o_norms, grad_o_norms;  // fp64 [heads, sequence]
  uint64_t largest_key, largest_value;      // fp64 [heads]
  int64_t columns;
  Element o_element, grad_o_element, lse_element;
};

// One output's memory, for the two below.
struct OutputArguments {
  uint64_t actual, values, noise, exact, wrong, count;
  Element output, values_element;
};

// sassay_compare: the rule of compare.h.
struct CompareArguments {
  OutputArguments of;
  uint64_t partials, poison_seed;
  double element_multiple, peer_tolerance, relative_error_floor;
  uint32_t floating;
};
struct ComparePartial {
  double error_squares, noise_squares, reference_squares, max_abs_error, max_relative_error;
  double worst_badness, worst_error;
  int64_t worst;
  uint64_t finite, wrong, non_finite, unwritten, peer_rule_wrong;
};

// sassay_error_facts: where wrong elements lie and what they add up to (pattern.h).
struct ErrorFactsArguments {
  OutputArguments of;
  uint64_t partials;
  uint64_t hits;  // one byte for each index of each axis, axis after axis
  int64_t shape[kMaxAxes];
  int32_t rank;
};
struct ErrorFactsPartial {
  double reference_squares, product, expected_squares, actual_squares, difference;
  uint64_t wrong, first, nan, not_finite, above, below;
  int64_t low_row, high_row, low_column, high_column;
};

// sassay_error_guesses: how many wrong elements each explanation fits.
struct ErrorGuessesArguments {
  OutputArguments of;
  uint64_t partials;
  double first, factor, factor_slack, offset, likeness;
  int64_t columns;  // of the last axis
  uint32_t square;  // the last two axes are equal
  uint32_t use_factor;
};
inline constexpr int kShifts = 4;  // by a column forth and back, by a row forth and back
struct ErrorGuessesPartial {
  uint64_t like_first, transposed, factor, offset;
  uint64_t shifted[kShifts], shiftable[kShifts];
};

// The canary (canary.h): numbers that both sides know. A is 16 x 16, each B_j 16 x 8, C what the sums begin with; all
// small enough for every sum to be exact.
inline constexpr int kCanaryChains = 4;
SASSAY_HOST_DEVICE constexpr int CanaryA(int row, int k) { return (row * 5 + k * 3) % 7 - 3; }
SASSAY_HOST_DEVICE constexpr int CanaryB(int j, int k, int column) { return (k * 2 + column * 5 + j * 3) % 5 - 2; }
SASSAY_HOST_DEVICE constexpr int CanaryC(int row, int column) { return row * 8 + column; }
// What an element of the answer adds to the check sum.
SASSAY_HOST_DEVICE constexpr uint64_t CanaryWeighted(int j, int row, int column, int64_t value) {
  return static_cast<uint64_t>(value) * static_cast<uint64_t>(1 + j * 128 + row * 8 + column);
}
SASSAY_HOST_DEVICE constexpr uint64_t CanaryWord(uint64_t index) { return (index + 1) * 0x9E3779B97F4A7C15; }

// sassay_canary_tensor: `rounds` times 2 kCanaryChains products of each warp, and kCanaryChains more.
struct CanaryTensorArguments {
  uint64_t partials;
  uint32_t rounds;
};
// sassay_canary_fill: CanaryWord everywhere.
struct CanaryFillArguments {
  uint64_t memory, words;
};
// sassay_canary_copy: to[i] = from[i] + added, `passes` times.
struct CanaryCopyArguments {
  uint64_t from, to, words, added, partials;
  uint32_t passes;
};
// One for each block.
struct CanaryPartial {
  uint64_t sum, begin_ns, end_ns;
};

}  // namespace sassay::judge::gpu

#endif  // SASSAY_PROFILER_SERVICE_JUDGE_GPU_KERNEL_ARGUMENTS_H_
