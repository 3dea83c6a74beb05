#include "monitor/sources/kernel_log/source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <deque>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "common/base/fd.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"
#include "monitor/sources/kernel_log/kernel_record.h"
#include "spdlog/spdlog.h"

namespace sassay::monitor {
namespace {

constexpr int kMostAtOnce = 4096;
constexpr size_t kLongestRecord = 8192;  // the kernel's CONSOLE_EXT_LOG_MAX
constexpr absl::Duration kPatience = absl::Seconds(10);

// The kernel's clock of its log, which is what since_boot counts.
absl::Duration SinceBoot() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return absl::DurationFromTimespec(now);
}

class KernelLogSource : public Source {
 public:
  KernelLogSource(KernelLogOptions options, std::shared_ptr<nvml::Directory> directory,
                  std::shared_ptr<XidFilter> filter)
      : options_(std::move(options)), directory_(std::move(directory)), filter_(std::move(filter)) {}

  std::string name() const override { return "kernel_log"; }
  // A timing is final once what was logged up to its end has been heard.
  absl::Duration period() const override { return kBeat; }
  absl::Duration deadline() const override { return absl::Seconds(3); }

  absl::StatusOr<std::vector<Sample>> Read() override {
    if (!fd_.valid()) {
      const absl::Status opened = Open();
      if (!opened.ok()) absl::SleepFor(absl::Seconds(1));
      RETURN_IF_ERROR(opened);
    }
    RETURN_IF_ERROR(ReadRecords());
    return TakeKnown();
  }

 private:
  struct Waiting {
    absl::Time at;
    XidLine xid;
    std::string text;
  };

  absl::Status Open() {
    fd_.reset(open(options_.device.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (!fd_.valid()) {
      return absl::UnavailableError(absl::StrCat(options_.device.string(), ": ", strerror(errno),
                                                 "; give the monitor CAP_SYSLOG to hear of Xids from the kernel"));
    }
    boot_id_ = std::string(absl::StripAsciiWhitespace(ReadFile(options_.boot_id_file, 4096).value_or("")));
    known_ = RememberedPosition();
    if (!known_) lseek(fd_.get(), 0, SEEK_END);
    return absl::OkStatus();
  }

  absl::optional<uint64_t> RememberedPosition() const {
    if (options_.position_file.empty()) return absl::nullopt;
    const std::string text = ReadFile(options_.position_file, 4096).value_or("");
    const std::vector<std::string> parts = absl::StrSplit(absl::StripAsciiWhitespace(text), ' ');
    uint64_t sequence = 0;
    const bool good = parts.size() == 2 && parts[0] == boot_id_ && absl::SimpleAtoi(parts[1], &sequence);
    return good ? absl::optional<uint64_t>(sequence) : absl::nullopt;
  }

  // Reading a record that was overwritten meanwhile gives EPIPE, and the next one is the oldest that is left.
  absl::Status ReadRecords() {
    char bytes[kLongestRecord];
    for (int i = 0; i < kMostAtOnce; ++i) {
      const ssize_t count = read(fd_.get(), bytes, sizeof(bytes));
      if (count > 0) {
        Take(absl::string_view(bytes, count));
      } else if (count == 0 || errno == EAGAIN) {
        return absl::OkStatus();
      } else if (errno != EPIPE && errno != EINTR) {
        const std::string why = absl::StrCat("reading ", options_.device.string(), ": ", strerror(errno));
        fd_.reset();
        absl::SleepFor(absl::Seconds(1));
        return absl::UnavailableError(why);
      }
    }
    return absl::OkStatus();
  }

  void Take(absl::string_view bytes) {
    const absl::optional<KernelRecord> record = ParseKernelRecord(bytes);
    if (!record || !record->from_kernel || (known_ && record->sequence <= *known_)) return;
    if (const absl::optional<GpuLine> gpu = ParseGpuLine(record->text)) directory_->Learn(gpu->pci, gpu->uuid);
    absl::optional<XidLine> xid = ParseXidLine(record->text);
    if (!xid) return;
    known_ = record->sequence;
    const absl::Time at = SteadyNow() - std::max(absl::ZeroDuration(), SinceBoot() - record->since_boot);
    if (waiting_.size() < kMostAtOnce) waiting_.push_back({at, *std::move(xid), record->text});
    Remember();
  }

  void Remember() const {
    if (options_.position_file.empty()) return;
    const absl::Status written =
        WriteFileAtomically(options_.position_file, absl::StrCat(boot_id_, " ", *known_, "\n"));
    if (!written.ok()) spdlog::warn("{}", std::string(written.message()));
  }

  std::vector<Sample> TakeKnown() {
    std::vector<Sample> samples;
    std::deque<Waiting> still;
    const absl::Time now = SteadyNow();
    if (!waiting_.empty() && waiting_since_ == absl::InfiniteFuture()) waiting_since_ = now;
    for (Waiting& line : waiting_) {
      const std::string uuid = directory_->UuidAt(line.xid.pci);
      if (!uuid.empty()) {
        const bool is_new = filter_->IsNew(uuid, line.xid.code, name(), line.at);
        if (is_new) samples.push_back({line.at, uuid, "gpu.xid", static_cast<double>(line.xid.code), line.text});
      } else if (now - waiting_since_ < kPatience) {
        still.push_back(std::move(line));
      } else {
        spdlog::warn("an Xid of a GPU that NVML does not know: {}", line.text);
      }
    }
    waiting_ = std::move(still);
    if (waiting_.empty()) waiting_since_ = absl::InfiniteFuture();
    return samples;
  }

  const KernelLogOptions options_;
  const std::shared_ptr<nvml::Directory> directory_;
  const std::shared_ptr<XidFilter> filter_;
  UniqueFd fd_;
  std::string boot_id_;
  absl::optional<uint64_t> known_;  // sequence of the last Xid that was told
  std::deque<Waiting> waiting_;
  absl::Time waiting_since_ = absl::InfiniteFuture();
};

}  // namespace

std::unique_ptr<Source> MakeKernelLogSource(KernelLogOptions options, std::shared_ptr<nvml::Directory> directory,
                                            std::shared_ptr<XidFilter> filter) {
  return std::make_unique<KernelLogSource>(std::move(options), std::move(directory), std::move(filter));
}

}  // namespace sassay::monitor
