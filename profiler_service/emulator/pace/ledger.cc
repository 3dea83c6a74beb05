#include "profiler_service/emulator/pace/ledger.h"

#include <algorithm>

namespace sassay::emulator {

void LaunchLedger::Expect(const std::string& shape) {
  Shape& known = shapes_[shape];
  ++known.waiting;
  ++expected_;
  later_ += known.Least();
}

void LaunchLedger::Begin(const std::string& shape) {
  Shape& known = shapes_[shape];
  if (known.waiting == 0) return;
  --known.waiting;
  later_ -= known.Least();
}

void LaunchLedger::End(const std::string& shape, absl::Duration cost) {
  Shape& known = shapes_[shape];
  later_ -= known.Least() * static_cast<double>(known.waiting);
  ++known.measured;
  ++ended_;
  known.sum += cost;
  known.last = cost;
  known.longest = std::max(known.longest, cost);
  later_ += known.Least() * static_cast<double>(known.waiting);
}

void LaunchLedger::Clear() {
  for (auto& [name, shape] : shapes_) shape.waiting = 0;
  later_ = absl::ZeroDuration();
  expected_ = ended_ = 0;
}

double LaunchLedger::Repeats(const std::string& shape) const {
  const auto known = shapes_.find(shape);
  if (known == shapes_.end() || known->second.measured > 0) return 0;
  return static_cast<double>(known->second.waiting) * kLikeness;
}

bool LaunchLedger::IsUsual(const std::string& shape, absl::Duration elapsed) const {
  const auto known = shapes_.find(shape);
  if (known == shapes_.end() || known->second.measured == 0) return false;
  return elapsed <= 2 * known->second.longest + absl::Seconds(1);
}

}  // namespace sassay::emulator
