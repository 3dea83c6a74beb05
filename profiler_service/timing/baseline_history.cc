#include "profiler_service/timing/baseline_history.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "common/base/files.h"
#include "nlohmann/json.hpp"
#include "profiler_service/timing/statistics.h"
#include "spdlog/spdlog.h"

namespace sassay::timing {
namespace {

using Json = nlohmann::json;

constexpr size_t kSlackLines = 4096;

bool IsTime(double ns) { return std::isfinite(ns) && ns > 0; }
bool IsClock(double mhz) { return std::isfinite(mhz) && mhz >= 0; }

// 0 where the clock is not known.
double Cycles(double ns, double clock_mhz) { return ns * clock_mhz / 1000; }

std::string Line(const std::string& key, double median_ns, double clock_mhz) {
  const Json line = {{"baseline", key}, {"median_ns", median_ns}, {"clock_mhz", clock_mhz}};
  return line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string HistoryKey(absl::string_view gpu_uuid, absl::string_view driver, const v1::Workload& workload,
                       absl::string_view distribution, const v1::BaselineProgram& program) {
  return absl::StrCat(gpu_uuid, ", driver ", driver, ": ", workload.name(), " (",
                      absl::BytesToHexString(workload.definition_sha256()).substr(0, 16), "), ", distribution, ": ",
                      program.library(), " ", program.version(), ", ", program.algorithm(), "; method ", kSampledAs);
}

std::string SlowerThanBefore(const v1::BaselineHistory& compared) {
  if (compared.measurements() < uint32_t{kFewestRemembered}) return "";
  const double by_time = compared.measured_ns() / compared.median_ns();
  const bool clocks = compared.median_cycles() > 0 && compared.measured_cycles() > 0;
  const double by_cycles = clocks ? compared.measured_cycles() / compared.median_cycles() : 0;
  const bool slower = clocks ? std::min(by_time, by_cycles) > kSlowerByBoth : by_time > kSlowerByTime;
  if (!slower) return "";
  return absl::StrFormat(
      "the baseline took %.2f us, %.2f times what it took in its last %d measurements on this GPU (%.2f us)%s; "
      "something slows it",
      compared.measured_ns() / 1000, by_time, compared.measurements(), compared.median_ns() / 1000,
      clocks ? absl::StrFormat(", and %.2f times their SM cycles", by_cycles) : "");
}

BaselineHistory::BaselineHistory(std::filesystem::path path) : path_(std::move(path)) {
  absl::MutexLock lock(&mutex_);
  if (path_.empty()) return;
  const absl::StatusOr<std::string> content = ReadFile(path_);
  if (!content.ok()) {
    if (!absl::IsNotFound(content.status())) spdlog::warn("{}", std::string(content.status().message()));
    return;
  }
  for (const absl::string_view line : absl::StrSplit(*content, '\n', absl::SkipEmpty())) ReadLine(line);
  // A line that a crash cut off must not take the next one with it.
  if (!content->empty() && content->back() != '\n') Rewrite();
}

void BaselineHistory::ReadLine(absl::string_view line) {
  ++lines_;
  const Json entry = Json::parse(line.begin(), line.end(), nullptr, /*allow_exceptions=*/false);
  if (!entry.is_object() || !entry.value("baseline", Json()).is_string()) return;
  const Json ns = entry.value("median_ns", Json()), mhz = entry.value("clock_mhz", Json());
  if (!ns.is_number() || !mhz.is_number() || !IsTime(ns) || !IsClock(mhz)) return;
  Remember(entry["baseline"], {ns, mhz});
}

v1::BaselineHistory BaselineHistory::Compare(const std::string& key, double median_ns, double clock_mhz) const {
  v1::BaselineHistory compared;
  compared.set_measured_ns(median_ns);
  compared.set_measured_cycles(Cycles(median_ns, clock_mhz));
  absl::MutexLock lock(&mutex_);
  const auto found = known_.find(key);
  if (found == known_.end()) return compared;
  std::vector<double> times, cycles;
  for (const Measured& measured : found->second.measured) {
    times.push_back(measured.median_ns);
    if (measured.clock_mhz > 0) cycles.push_back(Cycles(measured.median_ns, measured.clock_mhz));
  }
  compared.set_measurements(static_cast<uint32_t>(times.size()));
  compared.set_median_ns(Median(times));
  if (cycles.size() >= size_t{kFewestRemembered}) compared.set_median_cycles(Median(cycles));
  return compared;
}

void BaselineHistory::Add(const std::string& key, double median_ns, double clock_mhz) {
  if (!IsTime(median_ns) || !IsClock(clock_mhz)) return;
  absl::MutexLock lock(&mutex_);
  Remember(key, {median_ns, clock_mhz});
  Append(key, {median_ns, clock_mhz});
}

void BaselineHistory::Remember(const std::string& key, const Measured& measured) {
  const auto [known, is_new] = known_.try_emplace(key);
  if (!is_new) order_.erase(known->second.place);
  known->second.place = order_.insert(order_.begin(), key);
  known->second.measured.push_back(measured);
  if (known->second.measured.size() > kRemembered) known->second.measured.pop_front();
  if (known_.size() <= kKeys) return;
  known_.erase(order_.back());
  order_.pop_back();
}

void BaselineHistory::Append(const std::string& key, const Measured& measured) {
  if (path_.empty()) return;
  size_t remembered = 0;
  for (const auto& [name, known] : known_) remembered += known.measured.size();
  if (lines_ > remembered + kSlackLines) return Rewrite();
  std::ofstream file(path_, std::ios::app);
  file << Line(key, measured.median_ns, measured.clock_mhz) << std::flush;
  ++lines_;
  if (!file)
    spdlog::warn("{} cannot be written; what baselines took is remembered until the service ends", path_.string());
}

// The keys added to last come last, as if they had been appended.
void BaselineHistory::Rewrite() {
  std::string content;
  lines_ = 0;
  for (auto key = order_.rbegin(); key != order_.rend(); ++key) {
    for (const Measured& measured : known_[*key].measured) {
      content += Line(*key, measured.median_ns, measured.clock_mhz);
      ++lines_;
    }
  }
  const absl::Status written = WriteFileAtomically(path_, content);
  if (!written.ok()) spdlog::warn("{}: {}", path_.string(), std::string(written.message()));
}

}  // namespace sassay::timing
