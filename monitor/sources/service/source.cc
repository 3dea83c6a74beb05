#include "monitor/sources/service/source.h"

#include <deque>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"
#include "common/rpc/grpc_status.h"
#include "common/rpc/stopper.h"
#include "monitor/sources/service/telemetry.h"
#include "sassay/v1/control.grpc.pb.h"

namespace sassay::monitor {
namespace {

constexpr absl::Duration kReconnectPause = absl::Milliseconds(500);
constexpr absl::Duration kReconnectAfter = absl::Seconds(5);
constexpr absl::Duration kListEvery = absl::Seconds(4);  // ten beats
constexpr absl::Duration kHeardLately = absl::Seconds(2);
constexpr absl::Duration kListTimeout = absl::Milliseconds(500);
constexpr absl::Duration kIntroduceEvery = absl::Minutes(1);
constexpr size_t kMostWaiting = 16384;

bool Refused(const grpc::Status& status) {
  switch (status.error_code()) {
    case grpc::UNAUTHENTICATED:
    case grpc::PERMISSION_DENIED:
    case grpc::UNIMPLEMENTED:
      return true;
    default:
      return false;
  }
}

const char* Hint(const grpc::Status& status) {
  return status.error_code() == grpc::FAILED_PRECONDITION ? "" : "; is --token-file an admin's?";
}

class ServiceSource : public Source {
 public:
  ServiceSource(SecureChannel channel, std::shared_ptr<OurProcesses> ours, std::shared_ptr<Stakes> stakes,
                std::shared_ptr<HoldLedger> ledger)
      : channel_(std::move(channel)),
        stub_(v1::Control::NewStub(channel_.channel())),
        ours_(std::move(ours)),
        stakes_(std::move(stakes)),
        ledger_(std::move(ledger)),
        heard_(SteadyNow()),
        follower_([this] { FollowForever(); }) {}

  ~ServiceSource() override {
    stopper_.Stop();
    follower_.join();
  }

  std::string name() const override { return "service"; }
  absl::Duration period() const override { return kBeat; }
  absl::Duration deadline() const override { return absl::Seconds(2); }

  absl::StatusOr<std::vector<Sample>> Read() override {
    std::vector<Sample> samples;
    absl::Duration silent;
    {
      absl::MutexLock lock(&mutex_);
      if (!refusal_.empty()) return absl::FailedPreconditionError(refusal_);
      samples.assign(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(waiting_.end()));
      waiting_.clear();
      silent = SteadyNow() - heard_;
      if (silent > kReconnectAfter && context_ != nullptr && SteadyNow() - opened_ > kReconnectAfter)
        context_->TryCancel();
    }
    if (silent < kHeardLately && SteadyNow() + kBeat / 2 >= listed_ + kListEvery) ListGpus(samples);
    samples.push_back({SteadyNow(), "", "service.silent_seconds", absl::ToDoubleSeconds(silent), ""});
    return samples;
  }

 private:
  void FollowForever() {
    while (!stopper_.stopped()) {
      const grpc::Status ended = Follow();
      {
        absl::MutexLock lock(&mutex_);
        refusal_ = Refused(ended) ? absl::StrCat("the service at ", channel_.service(),
                                                 " lets no monitor in: ", PlainCause(ended), Hint(ended))
                                  : "";
      }
      stopper_.Sleep(kReconnectPause);
    }
  }

  grpc::Status Follow() {
    const std::unique_ptr<grpc::ClientContext> context = channel_.NewContext(absl::InfiniteDuration());
    // A call that failed at once would leave nobody to see the channel connect but gRPC's poller, every five seconds.
    context->set_wait_for_ready(true);
    const Stopper::Scope scope(stopper_, *context);
    SetContext(context.get());
    v1::StreamTelemetryRequest request;
    request.set_monitor("reliability-monitor");
    const auto stream = stub_->StreamTelemetry(context.get(), request);
    sequence_ = 0;
    for (v1::Telemetry message; stream->Read(&message);) Take(message);
    SetContext(nullptr);
    return stream->Finish();
  }

  void SetContext(grpc::ClientContext* context) {
    absl::MutexLock lock(&mutex_);
    context_ = context;
    opened_ = SteadyNow();
  }

  void Take(const v1::Telemetry& message) {
    const absl::Time now = SteadyNow();
    std::vector<Sample> samples = SamplesOf(message, SteadyTimeOf(message, absl::Now(), now));
    if (sequence_ != 0 && message.sequence() > sequence_ + 1) {
      const double lost = static_cast<double>(message.sequence() - sequence_ - 1);
      samples.push_back({now, "", "service.telemetry_gap", lost, ""});
    }
    sequence_ = message.sequence();
    if (message.has_heartbeat()) Hear(message.heartbeat(), now, samples);
    absl::MutexLock lock(&mutex_);
    refusal_.clear();
    if (message.has_heartbeat()) heard_ = now;
    for (Sample& sample : samples) {
      if (waiting_.size() == kMostWaiting) waiting_.pop_front();
      waiting_.push_back(std::move(sample));
    }
  }

  void Hear(const v1::Heartbeat& heartbeat, absl::Time now, std::vector<Sample>& samples) {
    std::set<pid_t> workers;
    for (const v1::GpuPulse& gpu : heartbeat.gpus()) {
      if (gpu.judge_pid() != 0) workers.insert(static_cast<pid_t>(gpu.judge_pid()));
      workers.insert(gpu.runner_pids().begin(), gpu.runner_pids().end());
      stakes_->Set(gpu.uuid(), gpu.running() > 0, now);
    }
    ours_->Set(static_cast<pid_t>(heartbeat.pid()), std::move(workers));
    const bool another = !instance_.empty() && instance_ != heartbeat.instance();
    if (another) samples.push_back({now, "", "service.started", 1, heartbeat.instance()});
    instance_ = heartbeat.instance();
  }

  void ListGpus(std::vector<Sample>& samples) {
    const std::unique_ptr<grpc::ClientContext> context = channel_.NewContext(kListTimeout);
    const absl::Time asked = SteadyNow();
    v1::ListGpusResponse answer;
    const grpc::Status status = stub_->ListGpus(context.get(), v1::ListGpusRequest(), &answer);
    if (!status.ok()) return;
    const bool introduce =
        asked - introduced_ >= kIntroduceEvery || answer.gpus_size() != static_cast<int>(held_.size());
    for (const v1::Gpu& gpu : answer.gpus()) {
      if (introduce) samples.push_back({asked, gpu.uuid(), "gpu.model", 1, gpu.model()});
      CompareHolds(gpu, samples);
    }
    if (introduce) introduced_ = asked;
    listed_ = asked;
  }

  void CompareHolds(const v1::Gpu& gpu, std::vector<Sample>& samples) {
    bool held = false;
    for (const v1::Hold& hold : gpu.holds()) held = held || hold.holder() == "monitor";
    bool& before = held_[gpu.uuid()];
    // A resume of ours that was under way while the list before was made belongs to this one.
    const bool released = before && !held && !ledger_->ResumedSince(gpu.uuid(), listed_ - kListTimeout);
    if (released) samples.push_back({SteadyNow(), gpu.uuid(), "gpu.released", 1, "not by this monitor"});
    before = held;
  }

  const SecureChannel channel_;
  const std::unique_ptr<v1::Control::Stub> stub_;
  const std::shared_ptr<OurProcesses> ours_;
  const std::shared_ptr<Stakes> stakes_;
  const std::shared_ptr<HoldLedger> ledger_;
  // Of the reading thread.
  absl::Time listed_ = absl::InfinitePast();
  absl::Time introduced_ = absl::InfinitePast();
  std::map<std::string, bool> held_;
  // Of the following thread.
  uint64_t sequence_ = 0;
  std::string instance_;

  absl::Mutex mutex_;
  std::deque<Sample> waiting_ ABSL_GUARDED_BY(mutex_);
  absl::Time heard_ ABSL_GUARDED_BY(mutex_);
  std::string refusal_ ABSL_GUARDED_BY(mutex_);
  grpc::ClientContext* context_ ABSL_GUARDED_BY(mutex_) = nullptr;
  absl::Time opened_ ABSL_GUARDED_BY(mutex_);  // since when context_ is what it is
  Stopper stopper_;
  std::thread follower_;
};

}  // namespace

std::unique_ptr<Source> MakeServiceSource(SecureChannel channel, std::shared_ptr<OurProcesses> ours,
                                          std::shared_ptr<Stakes> stakes, std::shared_ptr<HoldLedger> ledger) {
  return std::make_unique<ServiceSource>(std::move(channel), std::move(ours), std::move(stakes), std::move(ledger));
}

}  // namespace sassay::monitor
