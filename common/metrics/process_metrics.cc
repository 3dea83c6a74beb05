#include "common/metrics/process_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/types/optional.h"
#include "common/base/files.h"

namespace sassay::metrics {
namespace {

double Seconds(const timeval& time) { return static_cast<double>(time.tv_sec) + 1e-6 * time.tv_usec; }

// The kernel's moment of boot, in seconds since 1970.
absl::optional<double> BootTime() {
  const absl::StatusOr<std::string> text = ReadFile("/proc/stat");
  if (!text.ok()) return absl::nullopt;
  double seconds = 0;
  for (absl::string_view line : absl::StrSplit(*text, '\n')) {
    if (absl::ConsumePrefix(&line, "btime ") && absl::SimpleAtod(line, &seconds)) return seconds;
  }
  return absl::nullopt;
}

// Field 22 of proc(5)'s stat, in ticks since boot; the name in field 2 may hold spaces and ends with the last ')'.
absl::optional<double> StartTime() {
  const absl::optional<double> boot = BootTime();
  const absl::StatusOr<std::string> text = ReadFile("/proc/self/stat");
  if (!boot.has_value() || !text.ok() || text->rfind(')') == std::string::npos) return absl::nullopt;
  const std::vector<std::string> fields = absl::StrSplit(text->substr(text->rfind(')') + 2), ' ');
  constexpr size_t kStartTime = 22 - 3;
  double ticks = 0;
  if (fields.size() <= kStartTime || !absl::SimpleAtod(fields[kStartTime], &ticks)) return absl::nullopt;
  return *boot + ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

absl::optional<double> ResidentBytes() {
  const absl::StatusOr<std::string> text = ReadFile("/proc/self/statm");
  if (!text.ok()) return absl::nullopt;
  const std::vector<std::string> words = absl::StrSplit(*text, ' ');
  double pages = 0;
  if (words.size() < 2 || !absl::SimpleAtod(words[1], &pages)) return absl::nullopt;
  return pages * static_cast<double>(sysconf(_SC_PAGESIZE));
}

absl::optional<double> OpenFds() {
  std::error_code error;
  std::filesystem::directory_iterator entries("/proc/self/fd", error);
  if (error) return absl::nullopt;
  double count = -1;  // the one that lists them
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) ++count;
  return count;
}

}  // namespace

void AddProcessMetrics(Families& families) {
  rusage usage = {};
  if (getrusage(RUSAGE_SELF, &usage) == 0) {
    families.Add(kProcessCpuSeconds, {}, Seconds(usage.ru_utime) + Seconds(usage.ru_stime));
  }
  if (const auto bytes = ResidentBytes()) families.Add(kProcessResidentMemory, {}, *bytes);
  if (const auto start = StartTime()) families.Add(kProcessStartTime, {}, *start);
  if (const auto count = OpenFds()) families.Add(kProcessOpenFds, {}, *count);
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    families.Add(kProcessMaxFds, {}, static_cast<double>(limit.rlim_cur));
  }
}

}  // namespace sassay::metrics
