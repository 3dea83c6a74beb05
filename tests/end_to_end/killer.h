// Keeps a service running and kills it, its runners and its judge with SIGKILL at random moments.
#ifndef SASSAY_TESTS_END_TO_END_KILLER_H_
#define SASSAY_TESTS_END_TO_END_KILLER_H_

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "tests/end_to_end/service_fixture.h"

namespace sassay::testing {

// What to kill, how often.
struct KillPlan {
  uint64_t seed = 0;
  int services = 0, runners = 0, judges = 0;
  // A kill follows after 1 to this many events that clients have seen, or when a second has passed without one.
  int most_events_between = 20;
  // And up to this much later, so that it also falls into the middle of a stage.
  absl::Duration jitter = absl::Milliseconds(80);
};

// What was done and how long it took to get over it.
struct KillReport {
  int services = 0, starting_services = 0, runners = 0, judges = 0, orphans = 0;
  // From the SIGKILL to the next service that listens, and to the next event that a client saw.
  std::vector<absl::Duration> until_ready, until_event;
  // From the SIGKILL to the death of the last process that the service had started.
  std::vector<absl::Duration> until_no_orphan;
};

// Life cycle: Start gives a service that is ready and begins to kill; Rest ends the killing and leaves a service that
// is ready. The service keeps one address. Threads: thread-safe. Failure: what went wrong while killing is in Rest's
// status: a service that did not start again, or an orphan that lives on.
class Killer {
 public:
  // `state` and `arguments` are the service's. This process must have called AdoptOrphans.
  static absl::StatusOr<std::unique_ptr<Killer>> Start(const std::string& state,
                                                       const std::vector<std::string>& arguments, const KillPlan& plan);
  ~Killer();

  const std::string& address() const { return address_; }
  // Waits while the service is down. False if it does not come back.
  bool WaitUntilUp() ABSL_LOCKS_EXCLUDED(mutex_);
  // A client has seen an event.
  void OnEvent() ABSL_LOCKS_EXCLUDED(mutex_);

  absl::Status Rest() ABSL_LOCKS_EXCLUDED(mutex_);
  // After Rest.
  Service& service() { return *service_; }
  const KillReport& report() const { return report_; }

 private:
  Killer(const std::string& state, const std::vector<std::string>& arguments, const KillPlan& plan)
      : state_(state), arguments_(arguments), left_(plan), random_(plan.seed) {}

  void Run();
  bool WaitForTheMoment() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status KillSomething();
  void KillWorker(const char* name, int& left, int& killed);
  absl::Status KillService();
  absl::Status Restart(absl::Time killed_at);
  absl::Status CountOrphans(absl::Time killed_at);
  int Random(int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_); }
  absl::Duration RandomUpTo(absl::Duration most) {
    return most * std::uniform_real_distribution<double>(0, 1)(random_);
  }

  const std::string state_;
  const std::vector<std::string> arguments_;
  std::string address_;
  KillPlan left_;
  std::mt19937_64 random_;
  std::unique_ptr<Service> service_;
  KillReport report_;
  absl::Status status_;

  absl::Mutex mutex_;
  bool up_ ABSL_GUARDED_BY(mutex_) = true;
  bool resting_ ABSL_GUARDED_BY(mutex_) = false;
  bool failed_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t events_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Time waiting_since_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  std::thread thread_;
};

}  // namespace sassay::testing

#endif  // SASSAY_TESTS_END_TO_END_KILLER_H_
