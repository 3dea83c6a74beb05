#include "profiler_service/timing/measurement.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace sassay::timing {
namespace {

// Blocks before a share of them says something.
constexpr int kFewBlocks = 10;

void Append(std::vector<double>& to, const std::vector<double>& values) {
  to.insert(to.end(), values.begin(), values.end());
}

}  // namespace

Rules AnchorRules() {
  Rules rules;
  rules.half_width = 0.0014;
  rules.budget = rules.time_cap;
  return rules;
}

BlockSize SizeFor(const Rules& rules, absl::Duration call, int sets) {
  BlockSize size;
  call = std::max(call, absl::Nanoseconds(1));
  const int64_t spare_sets = sets < 2 ? 0 : std::max(1, (sets - 1) / 2);
  size.dropped = static_cast<int>(
      std::min<int64_t>({rules.dropped_samples, static_cast<int64_t>(rules.long_block / (2 * call)), spare_sets}));
  const int64_t fit = std::min<int64_t>(rules.long_block / call, sets - size.dropped);
  size.kept = static_cast<int>(std::clamp<int64_t>(fit, 1, rules.block_samples));
  return size;
}

std::vector<Side> Measurement::NextRound() const {
  if (!paired_) return {Side::kCandidate};
  if (logs_.size() % 2 == 0) return {Side::kCandidate, Side::kBaseline};
  return {Side::kBaseline, Side::kCandidate};
}

void Measurement::Add(std::vector<Block> round) {
  bool counts = true;
  for (const Block& block : round) {
    ++blocks_;
    if (block.void_reason.empty()) continue;
    counts = false;
    ++void_blocks_;
    voided_samples_[block.void_reason] += static_cast<int>(block.samples_ns.size());
  }
  if (!counts) return;
  double log_ratio = 0;
  for (const Block& block : round) {
    const bool candidate = block.side == Side::kCandidate;
    Append(candidate ? candidate_ : baseline_, block.samples_ns);
    (candidate ? candidate_unevenness_ : baseline_unevenness_).push_back(block.mean_ns / Median(block.samples_ns));
    if (block.clock_mhz > 0) (candidate ? candidate_clocks_ : baseline_clocks_).push_back(block.clock_mhz);
    log_ratio += (candidate == paired_ ? -1 : 1) * std::log(Median(block.samples_ns));
  }
  logs_.push_back(log_ratio);
}

bool Measurement::is_void() const { return void_blocks_ > rules_.most_void * blocks_; }

bool Measurement::Enough(int samples) const {
  const auto enough = [samples](const std::vector<double>& side) { return static_cast<int>(side.size()) >= samples; };
  return enough(candidate_) && (!paired_ || enough(baseline_));
}

// With a single quadruple the pairs are the units; its interval is wide, but a candidate that is a hundred times slower
// is below it all the same.
bool Measurement::ClearlySlow() const { return paired_ && logs_.size() >= 2 && estimate().high < rules_.slow_ratio; }

Stop Measurement::Decide(absl::Duration elapsed) const {
  if (is_void() && (blocks_ >= kFewBlocks || elapsed >= rules_.time_cap)) return Stop::kVoid;
  const bool quadruples_are_whole = logs_.size() % 2 == 0;
  if (quadruples_are_whole && !is_void()) {
    if (Enough(rules_.samples) && estimate().half_width() <= rules_.half_width) return Stop::kPrecise;
    if (Enough(rules_.slow_samples) && ClearlySlow()) return Stop::kSlow;
    if (Enough(rules_.budget_samples) && elapsed >= rules_.budget) return Stop::kTimeCap;
  }
  return elapsed >= rules_.time_cap ? Stop::kTimeCap : Stop::kGoOn;
}

double Measurement::unevenness(Side side) const {
  const std::vector<double>& blocks = side == Side::kCandidate ? candidate_unevenness_ : baseline_unevenness_;
  if (blocks.empty()) return 1;
  return std::accumulate(blocks.begin(), blocks.end(), 0.0) / static_cast<double>(blocks.size());
}

double Measurement::clock_mhz(Side side) const {
  const std::vector<double>& clocks = side == Side::kCandidate ? candidate_clocks_ : baseline_clocks_;
  return clocks.empty() ? 0 : Median(clocks);
}

}  // namespace sassay::timing
