#include "monitor/sources/host_source.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/types/optional.h"
#include "common/base/files.h"
#include "common/base/steady_time.h"

namespace sassay::monitor {
namespace {

constexpr uint64_t kMostBytes = 1 << 20;

// What an unprivileged process may still write.
absl::optional<double> DiskFree(const std::filesystem::path& folder) {
  struct statvfs disk = {};
  if (statvfs(folder.c_str(), &disk) != 0 || disk.f_blocks == 0) return absl::nullopt;
  return static_cast<double>(disk.f_bavail) / static_cast<double>(disk.f_blocks);
}

// "MemTotal:       24630780 kB".
absl::optional<double> Kilobytes(absl::string_view meminfo, absl::string_view key) {
  for (absl::string_view line : absl::StrSplit(meminfo, '\n')) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    double value = 0;
    if (words.size() >= 2 && words[0] == key && absl::SimpleAtod(words[1], &value)) return value;
  }
  return absl::nullopt;
}

class HostSource : public Source {
 public:
  explicit HostSource(HostOptions options) : options_(std::move(options)) {}

  std::string name() const override { return "host"; }
  absl::Duration period() const override { return 5 * kBeat; }
  // A network file system may hang.
  absl::Duration deadline() const override { return absl::Seconds(5); }

  absl::StatusOr<std::vector<Sample>> Read() override {
    std::vector<Sample> samples;
    ReadDisk(samples);
    ReadMemory(samples);
    ReadLoad(samples);
    return samples;
  }

 private:
  void Add(std::vector<Sample>& samples, const char* signal, double value, std::string text = "") const {
    samples.push_back({SteadyNow(), "", signal, value, std::move(text)});
  }

  void ReadDisk(std::vector<Sample>& samples) const {
    absl::optional<double> least;
    std::string where;
    for (const std::filesystem::path& folder : options_.folders) {
      const absl::optional<double> free = DiskFree(folder);
      if (!free || (least && *least <= *free)) continue;
      least = free;
      where = folder.string();
    }
    if (least) Add(samples, "host.disk_free_ratio", *least, where);
  }

  void ReadMemory(std::vector<Sample>& samples) const {
    const std::string meminfo = ReadFile(options_.proc / "meminfo", kMostBytes).value_or("");
    const absl::optional<double> total = Kilobytes(meminfo, "MemTotal:");
    const absl::optional<double> available = Kilobytes(meminfo, "MemAvailable:");
    if (total && available && *total > 0) Add(samples, "host.memory_available_ratio", *available / *total);
  }

  void ReadLoad(std::vector<Sample>& samples) const {
    const std::string loadavg = ReadFile(options_.proc / "loadavg", kMostBytes).value_or("");
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    double load = 0;
    const bool good = cpus > 0 && absl::SimpleAtod(loadavg.substr(0, loadavg.find(' ')), &load);
    if (good) Add(samples, "host.load_per_cpu", load / static_cast<double>(cpus));
  }

  const HostOptions options_;
};

}  // namespace

std::unique_ptr<Source> MakeHostSource(HostOptions options) { return std::make_unique<HostSource>(std::move(options)); }

}  // namespace sassay::monitor
