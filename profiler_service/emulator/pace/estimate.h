// How long the rest of a launch takes at least, told from a few of its blocks. An emulated run that cannot end in time
// is better refused after a second than timed out after a minute; but one that would have ended must not be refused. So
// everything here is a lower bound, and the size that is said to fit is what fits if every block is as long as the
// longest one seen.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_PACE_ESTIMATE_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_PACE_ESTIMATE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace sassay::emulator {

// Blocks that are run ahead of their turn, in short shares, so that all of them are known a little: the first blocks of
// a grid say nothing about the others (a causal mask makes them short; a tail block leaves at once).
inline constexpr uint64_t kSampledBlocks = 16;

// One sampled block. `seconds` is CPU time: a busy machine does not make a kernel look longer than it is.
struct BlockSample {
  double seconds = 0;
  bool ended = false;
};

// `count` different indices of [first, total), spread over it, one in each of `count` equal parts. Where in its part is
// pseudo-random, so that no regular pattern of blocks hides from it. Needs total - first >= count.
std::vector<uint64_t> SpreadIndices(uint64_t first, uint64_t total, uint64_t count);

// Seconds that the blocks of a grid take on average, at least: two standard errors under the samples' mean, less a
// fifth. Samples that have not ended count with what they have taken so far. Zero if there are too few samples.
double LeastMeanSeconds(const std::vector<BlockSample>& samples);
// Seconds that hardly a block exceeds: the longest sample's, and a quarter; infinity while a sample has not ended.
double MostSeconds(const std::vector<BlockSample>& samples);

// A launch that is under way.
struct LaunchPace {
  uint64_t blocks = 0, blocks_started = 0;
  int parallel = 1;              // blocks that run at once
  double repeats = 0;            // launches of the same shape that follow, each weighed by how alike it is
  absl::Duration later;          // what launches that follow take at least, as far as measured
  absl::Duration elapsed, left;  // of the time that is given
  std::vector<BlockSample> samples;
};

// What remains, at least: the blocks that have not started, and later launches.
absl::Duration LeastRest(const LaunchPace& pace);

// The refusal's words: what was measured, the estimate, what is given, and how many blocks fit if that is known.
std::string DescribeTooLarge(const LaunchPace& pace);

// "1.5s", "42s", "3h5m": what people can take in.
std::string Rough(absl::Duration duration);

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_PACE_ESTIMATE_H_
