#include "profiler_service/emulator/pace/estimate.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"

namespace sassay::emulator {
namespace {

constexpr double kStandardErrors = 2;
constexpr double kCaution = 0.8;

struct Moments {
  double mean = 0, standard_error = 0;
};

Moments MomentsOf(const std::vector<BlockSample>& samples) {
  const double n = static_cast<double>(samples.size());
  double sum = 0, squares = 0;
  for (const BlockSample& sample : samples) sum += sample.seconds;
  for (const BlockSample& sample : samples) squares += (sample.seconds - sum / n) * (sample.seconds - sum / n);
  return {sum / n, std::sqrt(squares / (n - 1) / n)};
}

bool AllEnded(const std::vector<BlockSample>& samples) {
  return std::all_of(samples.begin(), samples.end(), [](const BlockSample& sample) { return sample.ended; });
}

uint64_t Mix(uint64_t value) {
  value = (value ^ (value >> 31)) * 0x9e3779b97f4a7c15u;
  value = (value ^ (value >> 29)) * 0xbf58476d1ce4e5b9u;
  return value ^ (value >> 32);
}

}  // namespace

std::vector<uint64_t> SpreadIndices(uint64_t first, uint64_t total, uint64_t count) {
  std::vector<uint64_t> indices;
  const uint64_t part = (total - first) / count;
  for (uint64_t i = 0; i < count; ++i) indices.push_back(first + i * part + Mix(i + 1) % part);
  return indices;
}

double LeastMeanSeconds(const std::vector<BlockSample>& samples) {
  if (samples.size() < kSampledBlocks) return 0;
  const Moments moments = MomentsOf(samples);
  return std::max(0.0, kCaution * (moments.mean - kStandardErrors * moments.standard_error));
}

double MostSeconds(const std::vector<BlockSample>& samples) {
  if (samples.size() < kSampledBlocks || !AllEnded(samples)) return std::numeric_limits<double>::infinity();
  const auto longest = std::max_element(
      samples.begin(), samples.end(), [](const BlockSample& a, const BlockSample& b) { return a.seconds < b.seconds; });
  return longest->seconds / kCaution;
}

absl::Duration LeastRest(const LaunchPace& pace) {
  const double block = LeastMeanSeconds(pace.samples) / pace.parallel;
  const double blocks =
      static_cast<double>(pace.blocks - pace.blocks_started) + pace.repeats * static_cast<double>(pace.blocks);
  return absl::Seconds(blocks * block) + pace.later;
}

std::string DescribeTooLarge(const LaunchPace& pace) {
  const absl::Duration given = pace.elapsed + pace.left;
  const double launches = 1 + pace.repeats;
  const double least = LeastMeanSeconds(pace.samples), most = MostSeconds(pace.samples);
  const auto ended = std::count_if(pace.samples.begin(), pace.samples.end(), [](const auto& s) { return s.ended; });
  std::string text = absl::StrCat("too large for the emulated device: all ", pace.blocks, " blocks",
                                  launches > 1 ? " of this and the launches that follow" : "", " would take at least ",
                                  Rough(pace.elapsed + LeastRest(pace)), ", ", Rough(given), " are given; of ",
                                  pace.samples.size(), " blocks tried ", ended, " ended, after ",
                                  Rough(absl::Seconds(MomentsOf(pace.samples).mean)), " on average");
  const double room = absl::ToDoubleSeconds(given) * pace.parallel / launches;
  if (std::isfinite(most) && most > 0) {
    const uint64_t fits = static_cast<uint64_t>(room / most * (1 + 1e-9));
    if (fits > 0) return absl::StrCat(text, "; ", fits, " blocks of this size would fit");
  }
  return absl::StrCat(text, "; fewer than ", static_cast<uint64_t>(room / least) + 1, " blocks of this size would fit");
}

std::string Rough(absl::Duration duration) {
  const absl::Duration unit = duration < absl::Seconds(10)  ? absl::Milliseconds(1)
                              : duration < absl::Minutes(2) ? absl::Seconds(1)
                                                            : absl::Minutes(1);
  return absl::FormatDuration(absl::Trunc(duration, unit));
}

}  // namespace sassay::emulator
