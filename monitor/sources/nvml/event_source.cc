#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"
#include "monitor/sources/nvml/reader.h"
#include "monitor/sources/nvml/sources.h"

namespace sassay::monitor::nvml {
namespace {

// A timing is final once what was told up to its end has been heard: the wait is part of that delay.
constexpr unsigned kWaitMs = 200;
constexpr int kMostAtOnce = 64;

class EventSource : public Source {
 public:
  explicit EventSource(std::shared_ptr<XidFilter> filter) : filter_(std::move(filter)) {}

  std::string name() const override { return "nvml_events"; }
  absl::Duration period() const override { return absl::ZeroDuration(); }
  absl::Duration deadline() const override { return absl::Seconds(3); }

  absl::StatusOr<std::vector<Sample>> Read() override {
    if (set_ == nullptr) RETURN_IF_ERROR(Subscribe());
    std::vector<Sample> samples;
    unsigned patience_ms = kWaitMs;
    for (int i = 0; i < kMostAtOnce; ++i) {
      Event event = {};
      const int result = session_.library().EventSetWait(set_, &event, patience_ms);
      if (result == kTimeout) break;
      if (result != kSuccess) {
        // Whatever the reason, asking again at once would spin.
        if (samples.empty()) absl::SleepFor(absl::Milliseconds(kWaitMs));
        if (samples.empty()) return absl::UnknownError("nvmlEventSetWait: " + session_.library().Describe(result));
        break;
      }
      patience_ms = 0;
      Take(event, samples);
    }
    return samples;
  }

 private:
  absl::Status Subscribe() {
    RETURN_IF_ERROR(Wait(session_.Open()));
    const Library& nvml = session_.library();
    const bool complete =
        nvml.EventSetCreate != nullptr && nvml.DeviceRegisterEvents != nullptr && nvml.EventSetWait != nullptr;
    EventSet set = nullptr;
    if (!complete || nvml.EventSetCreate(&set) != kSuccess) {
      return Wait(absl::UnavailableError("this driver tells of no events"));
    }
    int registered = 0;
    for (const Gpu& gpu : session_.gpus())
      registered += nvml.DeviceRegisterEvents(gpu.device, kEventXid, set) == kSuccess;
    if (registered == 0) return Wait(absl::UnavailableError("no GPU here tells of Xids"));
    set_ = set;
    return absl::OkStatus();
  }

  // A source without a period must take its time where there is nothing to wait for.
  static absl::Status Wait(absl::Status status) {
    if (!status.ok()) absl::SleepFor(absl::Seconds(1));
    return status;
  }

  void Take(const Event& event, std::vector<Sample>& samples) {
    if ((event.type & kEventXid) == 0) return;
    for (const Gpu& gpu : session_.gpus()) {
      if (gpu.device != event.device) continue;
      const int code = static_cast<int>(event.data);
      const absl::Time now = SteadyNow();
      if (filter_->IsNew(gpu.uuid, code, "nvml", now)) {
        samples.push_back({now, gpu.uuid, "gpu.xid", static_cast<double>(code), absl::StrCat("NVML: Xid ", code)});
      }
    }
  }

  const std::shared_ptr<XidFilter> filter_;
  Session session_;
  EventSet set_ = nullptr;
};

}  // namespace

std::unique_ptr<Source> MakeEventSource(std::shared_ptr<XidFilter> filter) {
  return std::make_unique<EventSource>(std::move(filter));
}

}  // namespace sassay::monitor::nvml
