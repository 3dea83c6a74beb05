#include "profiler_service/judge/serve.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <deque>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "common/base/fd.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"
#include "common/workload/definition.h"

namespace sassay::judge {
namespace {

static_assert(kMaxTensorsInMemory <= wire::kMaxDescriptors, "every tensor of a case travels as a descriptor");

using sassay::worker::JudgeReply;
using sassay::worker::JudgeRequest;

constexpr absl::Duration kSendTimeout = absl::Seconds(30);
constexpr int kComputingThreads = 4;

absl::Status Send(wire::Channel& channel, const JudgeReply& reply, absl::Span<const int> descriptors) {
  return channel.Send(reply, descriptors, SteadyNow() + kSendTimeout);
}

// Threads that compute references and comparisons. What they made waits in a queue; `fd` is readable while it is not
// empty. Orders that were withdrawn give no result.
class Workshop {
 public:
  struct Result {
    uint64_t ticket;
    std::shared_ptr<const void> made;
  };

  explicit Workshop(int threads) : wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
  }
  ~Workshop() {
    {
      absl::MutexLock lock(&mutex_);
      closed_ = true;
      orders_.clear();
      for (auto& [ticket, stop] : stops_) *stop = true;
    }
    for (std::thread& thread : threads_) thread.join();
  }

  int fd() const { return wake_.get(); }

  void Order(uint64_t ticket, Judge::Work work) {
    absl::MutexLock lock(&mutex_);
    orders_.push_back({ticket, std::move(work), stops_[ticket] = std::make_shared<std::atomic<bool>>(false)});
  }

  void Withdraw(uint64_t ticket) {
    absl::MutexLock lock(&mutex_);
    if (const auto stop = stops_.find(ticket); stop != stops_.end()) *stop->second = true;
  }

  std::vector<Result> Collect() {
    eventfd_t count;
    eventfd_read(wake_.get(), &count);
    absl::MutexLock lock(&mutex_);
    return std::exchange(results_, {});
  }

 private:
  struct Ordered {
    uint64_t ticket;
    Judge::Work work;
    std::shared_ptr<std::atomic<bool>> stop;
  };

  void Run() {
    while (absl::optional<Ordered> order = Next()) {
      Result result{order->ticket, *order->stop ? nullptr : order->work(*order->stop)};
      absl::MutexLock lock(&mutex_);
      stops_.erase(order->ticket);
      if (*order->stop) continue;
      results_.push_back(std::move(result));
      eventfd_write(wake_.get(), 1);
    }
  }

  // Waits for an order; none once the workshop closes.
  absl::optional<Ordered> Next() {
    absl::MutexLock lock(&mutex_);
    const auto ready = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return closed_ || !orders_.empty(); };
    mutex_.Await(absl::Condition(&ready));
    if (closed_) return absl::nullopt;
    Ordered order = std::move(orders_.front());
    orders_.pop_front();
    return order;
  }

  const UniqueFd wake_;
  absl::Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<Ordered> orders_ ABSL_GUARDED_BY(mutex_);
  // Of orders that wait or are worked on.
  std::map<uint64_t, std::shared_ptr<std::atomic<bool>>> stops_ ABSL_GUARDED_BY(mutex_);
  std::vector<Result> results_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;
};

class Server {
 public:
  Server(Judge& judge, wire::Channel channel) : judge_(judge), channel_(std::move(channel)) {}

  absl::Status Run() {
    RETURN_IF_ERROR(Send(channel_, judge_.Ready(), {}));
    while (true) {
      pollfd events[2] = {{channel_.fd(), POLLIN, 0}, {workshop_.fd(), POLLIN, 0}};
      if (poll(events, 2, -1) < 0) continue;
      if (events[1].revents != 0) RETURN_IF_ERROR(FinishReady());
      if (events[0].revents == 0) continue;
      JudgeRequest request;
      const auto received = channel_.Receive(request, absl::InfiniteFuture());
      if (absl::IsUnavailable(received.status())) return absl::OkStatus();
      RETURN_IF_ERROR(received.status());
      RETURN_IF_ERROR(Take(request));
    }
  }

 private:
  // One request of a case at a time: whatever comes meanwhile means that nobody waits for the earlier one any more.
  absl::Status Take(const JudgeRequest& request) {
    RETURN_IF_ERROR(Forget(request.case_id()));
    Judge::Work work = judge_.Prework(request);
    if (work == nullptr) return Answer(request);
    waiting_.emplace(++tickets_, request);
    workshop_.Order(tickets_, std::move(work));
    return absl::OkStatus();
  }

  absl::Status Forget(uint64_t case_id) {
    for (auto entry = waiting_.begin(); entry != waiting_.end(); ++entry) {
      if (entry->second.case_id() != case_id) continue;
      workshop_.Withdraw(entry->first);
      waiting_.erase(entry);
      JudgeReply reply;
      reply.set_case_id(case_id);
      reply.set_error("another request of the case came before this one was answered");
      reply.set_trouble(sassay::worker::JUDGE_TROUBLE_SUPERSEDED);
      return Send(channel_, reply, {});
    }
    return absl::OkStatus();
  }

  absl::Status FinishReady() {
    for (const Workshop::Result& result : workshop_.Collect()) {
      const auto entry = waiting_.find(result.ticket);
      if (entry == waiting_.end()) continue;
      const JudgeRequest request = std::move(entry->second);
      waiting_.erase(entry);
      RETURN_IF_ERROR(Answer(request));
    }
    return absl::OkStatus();
  }

  absl::Status Answer(const JudgeRequest& request) {
    std::vector<int> descriptors;
    const JudgeReply reply = judge_.Handle(request, descriptors);
    if (!judge_.usable()) {
      return absl::AbortedError(
          absl::StrCat("the device's context is lost, so that another judge must be started: ", reply.error()));
    }
    return Send(channel_, reply, descriptors);
  }

  Judge& judge_;
  wire::Channel channel_;
  uint64_t tickets_ = 0;
  std::map<uint64_t, JudgeRequest> waiting_;  // by ticket
  Workshop workshop_{kComputingThreads};
};

}  // namespace

absl::Status Serve(Judge& judge, wire::Channel channel) { return Server(judge, std::move(channel)).Run(); }

absl::Status Refuse(const absl::Status& why, wire::Channel channel) {
  JudgeReply reply;
  reply.set_ready(true);
  reply.set_error(std::string(why.message()));
  reply.set_trouble(sassay::worker::JUDGE_TROUBLE_OTHER);
  return Send(channel, reply, {});
}

}  // namespace sassay::judge
