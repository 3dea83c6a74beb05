#include "profiler_service/wire/started_runners.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/proto_json.h"

namespace sassay::wire {

void StartedRunners::Add(absl::string_view device, sassay::worker::RunMode mode) {
  absl::MutexLock lock(&mutex_);
  ++counts_[{std::string(device), mode}];
}

uint64_t StartedRunners::Total(sassay::worker::RunMode mode) const {
  absl::MutexLock lock(&mutex_);
  uint64_t total = 0;
  for (const auto& [key, count] : counts_) total += key.second == mode ? count : 0;
  return total;
}

std::string StartedRunners::Describe() const {
  absl::MutexLock lock(&mutex_);
  std::map<std::string, std::vector<std::string>> modes;
  std::map<std::string, uint64_t> totals;
  for (const auto& [key, count] : counts_) {
    modes[key.first].push_back(absl::StrCat(count, " ", EnumName(key.second)));
    totals[key.first] += count;
  }
  std::vector<std::string> lines;
  for (const auto& [device, parts] : modes) {
    lines.push_back(absl::StrCat(device, ": ", totals[device], " runners started: ", absl::StrJoin(parts, ", ")));
  }
  return absl::StrJoin(lines, "\n");
}

}  // namespace sassay::wire
