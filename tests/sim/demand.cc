#include "tests/sim/demand.h"

#include <array>
#include <cmath>

namespace sassay::sim {
namespace {

constexpr Ns kMillisecond = kSecond / 1000;
// Percent, in the order of Kind (tests/gpu/turns.py: MIX).
constexpr std::array<double, 5> kMix = {28, 25, 18, 12, 17};

constexpr Ns kEvaluate = 215 * kMillisecond;
constexpr Ns kColdState = 3377 * kMillisecond;
constexpr Ns kMemcheck = 432 * kMillisecond;
constexpr Ns kEvidence = 26 * kMillisecond;
constexpr Ns kTiming = 806 * kMillisecond;
constexpr Ns kDeviceDeadline = 10 * kSecond;
constexpr double kSigma = 0.25;

}  // namespace

Kind Turns::DrawKind() {
  std::discrete_distribution<int> mix(kMix.begin(), kMix.end());
  return static_cast<Kind>(mix(random_));
}

Ns Turns::Spread(Ns median, double sigma) {
  return static_cast<Ns>(static_cast<double>(median) * std::exp(sigma * std::normal_distribution<double>()(random_)));
}

Ns Turns::Exponential(Ns mean) {
  return static_cast<Ns>(std::exponential_distribution<double>(1.0 / static_cast<double>(mean))(random_));
}

std::vector<Stage> Turns::DrawStages(Kind kind, bool cold) {
  if (kind == Kind::kRefused) return {};
  std::vector<Stage> stages;
  const auto add = [&](Ns median, bool exclusive) { stages.push_back({Spread(median, kSigma), exclusive}); };
  if (kind == Kind::kHang) {
    stages.push_back({(cold ? kColdState : 0) + kDeviceDeadline / 4, false});
    stages.push_back({kDeviceDeadline, true});
    return stages;
  }
  add(kEvaluate + (cold ? kColdState : 0), false);
  if (kind == Kind::kWrong || kind == Kind::kPoison) return stages;
  add(kMemcheck, false);
  if (kind == Kind::kFault) add(kEvaluate, true);
  if (kind != Kind::kRight) return stages;
  add(kEvidence, false);
  add(kTiming, true);
  return stages;
}

}  // namespace sassay::sim
