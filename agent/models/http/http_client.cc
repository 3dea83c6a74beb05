#include "agent/models/http/http_client.h"

#include <curl/curl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "agent/models/http/transfer.h"
#include "common/base/fd.h"
#include "common/base/steady_time.h"

namespace sassay::agent {
namespace {

constexpr long kKeptConnections = 512;

void InitializeCurl() {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_ALL); });
}

// libcurl knows where Debian keeps them; a package that travels asks the machine.
std::string FindCertificateAuthorities() {
  const char* named = getenv("SSL_CERT_FILE");
  if (named != nullptr && access(named, R_OK) == 0) return named;
  for (const char* path : {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                           "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"}) {
    if (access(path, R_OK) == 0) return path;
  }
  return "";
}

}  // namespace

// The thread and everything that only it touches.
class HttpClient::Loop {
 public:
  explicit Loop(std::string ca_file)
      : ca_file_(std::move(ca_file)),
        multi_(curl_multi_init(), [](CURLM* multi) { curl_multi_cleanup(multi); }),
        epoll_(epoll_create1(EPOLL_CLOEXEC)),
        wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    curl_multi_setopt(multi_.get(), CURLMOPT_SOCKETFUNCTION, &Loop::OnSocket);
    curl_multi_setopt(multi_.get(), CURLMOPT_SOCKETDATA, this);
    curl_multi_setopt(multi_.get(), CURLMOPT_TIMERFUNCTION, &Loop::OnTimer);
    curl_multi_setopt(multi_.get(), CURLMOPT_TIMERDATA, this);
    curl_multi_setopt(multi_.get(), CURLMOPT_MAXCONNECTS, kKeptConnections);
    Watch(wake_.get(), EPOLLIN);
    thread_ = std::thread([this] { Run(); });
  }

  ~Loop() {
    {
      absl::MutexLock lock(&mutex_);
      ending_ = true;
    }
    Wake();
    thread_.join();
    // It closes connections, and tells of each through OnSocket.
    multi_.reset();
  }

  HttpOutcome Perform(const HttpRequest& request, HttpReceiver& receiver, Stopper& stopper) {
    HttpTransfer transfer(request, ca_file_, receiver);
    const uint64_t number = Start(transfer);
    const Stopper::Callback cancel(stopper, [this, number] { Cancel(number); });
    return transfer.Await();
  }

  uint64_t wakeups() const { return wakeups_.load(std::memory_order_relaxed); }

 private:
  // What callers want of the thread.
  struct Orders {
    std::vector<std::pair<uint64_t, HttpTransfer*>> starting;
    std::vector<uint64_t> cancelled;
  };

  uint64_t Start(HttpTransfer& transfer) {
    uint64_t number = 0;
    {
      absl::MutexLock lock(&mutex_);
      number = ++last_number_;
      orders_.starting.emplace_back(number, &transfer);
    }
    Wake();
    return number;
  }

  // By number: the transfer may be gone already, and another one in its place.
  void Cancel(uint64_t number) {
    {
      absl::MutexLock lock(&mutex_);
      orders_.cancelled.push_back(number);
    }
    Wake();
  }

  void Wake() {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof one);
  }

  // The kernel forgets a descriptor that is closed, so whether it is known already is asked of the kernel.
  void Watch(int fd, uint32_t events) {
    epoll_event event = {};
    event.events = events;
    event.data.fd = fd;
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) != 0) epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
  }

  static int OnSocket(CURL*, curl_socket_t fd, int what, void* self, void*) {
    Loop& loop = *static_cast<Loop*>(self);
    if (what == CURL_POLL_REMOVE) {
      epoll_ctl(loop.epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
    } else {
      loop.Watch(fd, ((what & CURL_POLL_IN) != 0 ? EPOLLIN : 0u) | ((what & CURL_POLL_OUT) != 0 ? EPOLLOUT : 0u));
    }
    return 0;
  }

  static int OnTimer(CURLM*, long milliseconds, void* self) {
    static_cast<Loop*>(self)->curl_timer_ =
        milliseconds < 0 ? absl::InfiniteFuture() : SteadyNow() + absl::Milliseconds(milliseconds);
    return 0;
  }

  void Run() {
    // OpenSSL writes to sockets that may be closed; signals are the other threads' business.
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    while (TakeOrders()) {
      WaitForEvents();
      if (SteadyNow() >= curl_timer_) {
        curl_timer_ = absl::InfiniteFuture();
        SocketAction(CURL_SOCKET_TIMEOUT, 0);
      }
      HurryUp();
      FinishWhatIsLate();
      FinishWhatIsDone();
    }
  }

  // Starts and cancels as callers asked; false when the client goes away.
  bool TakeOrders() {
    Orders orders;
    {
      absl::MutexLock lock(&mutex_);
      if (ending_) return false;
      orders = std::exchange(orders_, {});
    }
    for (const auto& [number, transfer] : orders.starting) {
      transfer->number = number;
      active_[number] = transfer;
      transfer->hurried = &hurried_;
      LookAtDeadline(*transfer);
      curl_multi_add_handle(multi_.get(), transfer->handle());
    }
    for (const uint64_t number : orders.cancelled) {
      const auto found = active_.find(number);
      if (found != active_.end()) Remove(*found->second, CURLE_OK, absl::CancelledError("stopped"));
    }
    return true;
  }

  void WaitForEvents() {
    absl::Time next = curl_timer_;
    if (!by_deadline_.empty()) next = std::min(next, by_deadline_.begin()->first);
    std::array<epoll_event, 64> events;
    const int count = epoll_wait(epoll_.get(), events.data(), events.size(), MillisecondsUntil(next));
    wakeups_.fetch_add(1, std::memory_order_relaxed);
    for (int i = 0; i < count; ++i) {
      if (events[i].data.fd == wake_.get()) {
        uint64_t ignored;
        [[maybe_unused]] const ssize_t got = read(wake_.get(), &ignored, sizeof ignored);
        continue;
      }
      const uint32_t bits = events[i].events;
      SocketAction(events[i].data.fd, ((bits & (EPOLLIN | EPOLLHUP)) != 0 ? CURL_CSELECT_IN : 0) |
                                          ((bits & EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0) |
                                          ((bits & EPOLLERR) != 0 ? CURL_CSELECT_ERR : 0));
    }
  }

  static int MillisecondsUntil(absl::Time next) {
    if (next == absl::InfiniteFuture()) return -1;
    const absl::Duration left = std::max(next - SteadyNow(), absl::ZeroDuration());
    return static_cast<int>(
        absl::ToInt64Milliseconds(std::min(absl::Ceil(left, absl::Milliseconds(1)), absl::Hours(1))));
  }

  void SocketAction(curl_socket_t fd, int bits) {
    int running = 0;
    curl_multi_socket_action(multi_.get(), fd, bits, &running);
  }

  void LookAtDeadline(HttpTransfer& transfer) {
    transfer.next_look = transfer.deadline();
    by_deadline_.emplace(transfer.next_look, &transfer);
  }

  void HurryUp() {
    for (HttpTransfer* transfer : std::exchange(hurried_, {})) {
      by_deadline_.erase({transfer->next_look, transfer});
      LookAtDeadline(*transfer);
    }
  }

  // Most deadlines move on with every piece; the set learns of it only when one comes up.
  void FinishWhatIsLate() {
    const absl::Time now = SteadyNow();
    while (!by_deadline_.empty() && by_deadline_.begin()->first <= now) {
      HttpTransfer* transfer = by_deadline_.begin()->second;
      by_deadline_.erase(by_deadline_.begin());
      if (transfer->deadline() > now) {
        LookAtDeadline(*transfer);
      } else {
        Remove(*transfer, CURLE_OK, transfer->AtDeadline());
      }
    }
  }

  void FinishWhatIsDone() {
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      HttpTransfer* transfer = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
      Remove(*transfer, message->data.result, absl::OkStatus());
    }
  }

  void Remove(HttpTransfer& transfer, CURLcode code, const absl::Status& because) {
    curl_multi_remove_handle(multi_.get(), transfer.handle());
    active_.erase(transfer.number);
    by_deadline_.erase({transfer.next_look, &transfer});
    transfer.Finish(code, because);
  }

  const std::string ca_file_;
  std::unique_ptr<CURLM, void (*)(CURLM*)> multi_;
  const UniqueFd epoll_;
  const UniqueFd wake_;
  std::atomic<uint64_t> wakeups_ = 0;

  // The thread's own.
  absl::Time curl_timer_ = absl::InfiniteFuture();
  std::map<uint64_t, HttpTransfer*> active_;
  std::set<std::pair<absl::Time, HttpTransfer*>> by_deadline_;
  std::vector<HttpTransfer*> hurried_;

  absl::Mutex mutex_;
  Orders orders_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_number_ ABSL_GUARDED_BY(mutex_) = 0;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

HttpClient::HttpClient(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}
HttpClient::~HttpClient() = default;

absl::StatusOr<std::unique_ptr<HttpClient>> HttpClient::Create(const HttpClientOptions& options) {
  InitializeCurl();
  if (!options.ca_file.empty() && access(options.ca_file.c_str(), R_OK) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("--model-ca-file ", options.ca_file, " cannot be read; it must be a PEM file."));
  }
  const std::string ca_file = options.ca_file.empty() ? FindCertificateAuthorities() : options.ca_file;
  return std::unique_ptr<HttpClient>(new HttpClient(std::make_unique<Loop>(ca_file)));
}

HttpOutcome HttpClient::Perform(const HttpRequest& request, HttpReceiver& receiver, Stopper& stopper) {
  return loop_->Perform(request, receiver, stopper);
}

uint64_t HttpClient::wakeups() const { return loop_->wakeups(); }

}  // namespace sassay::agent
