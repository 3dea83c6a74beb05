#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"
#include "monitor/sources/nvml/sources.h"

namespace sassay::monitor::nvml {
namespace {

constexpr int kMostAtOnce = 64;

class EventSource : public Source {
 public:
  EventSource(std::shared_ptr<Session> session, std::shared_ptr<XidFilter> filter)
      : session_(std::move(session)), filter_(std::move(filter)) {}

  std::string name() const override { return "nvml_events"; }
  // A timing is final once what was told up to its end has been heard.
  absl::Duration period() const override { return kBeat; }
  absl::Duration deadline() const override { return absl::Seconds(3); }

  absl::StatusOr<std::vector<Sample>> Read() override {
    if (set_ == nullptr) RETURN_IF_ERROR(Subscribe());
    std::vector<Sample> samples;
    for (int i = 0; i < kMostAtOnce; ++i) {
      Event event = {};
      const int result = session_->library().EventSetWait(set_, &event, 0);
      if (result == kTimeout) break;
      if (result != kSuccess && samples.empty()) {
        return absl::UnknownError("nvmlEventSetWait: " + session_->library().Describe(result));
      }
      if (result != kSuccess) break;
      Take(event, samples);
    }
    return samples;
  }

 private:
  absl::Status Subscribe() {
    RETURN_IF_ERROR(session_->Open());
    const Library& nvml = session_->library();
    const bool complete =
        nvml.EventSetCreate != nullptr && nvml.DeviceRegisterEvents != nullptr && nvml.EventSetWait != nullptr;
    if (!complete || (created_ == nullptr && nvml.EventSetCreate(&created_) != kSuccess)) {
      return absl::UnavailableError("this driver tells of no events");
    }
    int registered = 0;
    for (const Gpu& gpu : session_->gpus())
      registered += nvml.DeviceRegisterEvents(gpu.device, kEventXid, created_) == kSuccess;
    if (registered == 0) return absl::UnavailableError("no GPU here tells of Xids");
    set_ = created_;
    return absl::OkStatus();
  }

  void Take(const Event& event, std::vector<Sample>& samples) {
    if ((event.type & kEventXid) == 0) return;
    for (const Gpu& gpu : session_->gpus()) {
      if (gpu.device != event.device) continue;
      const int code = static_cast<int>(event.data);
      const absl::Time now = SteadyNow();
      if (filter_->IsNew(gpu.uuid, code, "nvml", now)) {
        samples.push_back({now, gpu.uuid, "gpu.xid", static_cast<double>(code), absl::StrCat("NVML: Xid ", code)});
      }
    }
  }

  const std::shared_ptr<Session> session_;
  const std::shared_ptr<XidFilter> filter_;
  EventSet created_ = nullptr;
  EventSet set_ = nullptr;  // the same, once a GPU tells of its Xids there
};

}  // namespace

std::unique_ptr<Source> MakeEventSource(std::shared_ptr<Session> session, std::shared_ptr<XidFilter> filter) {
  return std::make_unique<EventSource>(std::move(session), std::move(filter));
}

}  // namespace sassay::monitor::nvml
