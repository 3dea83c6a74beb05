// Hosts on this machine: network namespaces of their own, and a router between them that can drop what one sends to
// another. Nobody is told: no connection is closed, no error comes back, exactly as when a cable is pulled.
#ifndef SASSAY_TESTS_END_TO_END_NETWORK_H_
#define SASSAY_TESTS_END_TO_END_NETWORK_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "common/base/fd.h"

namespace sassay::testing {

// One host. A value.
struct Host {
  std::string address;              // IPv4
  std::vector<std::string> inside;  // what a command line begins with to run there
};

// The router and its hosts. What was started on a host keeps it alive; the namespaces go with their last process.
//
// Life cycle: Enter at the very beginning of main, once; Make; AddHost; Cut and Mend. Threads: thread-safe.
// Failure: PERMISSION_DENIED where this process may not make namespaces (that takes root, and not in every container);
// NOT_FOUND where `ip` or `nsenter` is missing.
class Network {
 public:
  // Puts this process itself onto a host that has nothing but a loopback device so far: that is where clients are. No
  // other thread may run yet. What Make says if it failed; then nothing was changed.
  static void Enter();

  // The router, and the way to it from here.
  static absl::StatusOr<std::unique_ptr<Network>> Make();
  // Takes the way from here away, so that there can be another network.
  ~Network();

  absl::StatusOr<Host> AddHost();
  // The host that this process is on.
  const Host& here() const { return here_; }

  // From now on nothing that `from` sends reaches `to`. Cutting twice is cutting once.
  absl::Status Cut(const Host& from, const Host& to);
  absl::Status Mend(const Host& from, const Host& to);

 private:
  explicit Network(UniqueFd router) : router_(std::move(router)) {}
  absl::Status AtRouter(const std::string& commands) const;
  // A device for a host with this namespace, and its place in the router's tables.
  absl::StatusOr<Host> Connect(const std::string& name_space, std::vector<std::string> inside)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Route(const char* verb, const Host& from, const Host& to) const;

  const UniqueFd router_;  // its namespace
  Host here_;
  absl::Mutex mutex_;
  std::vector<UniqueFd> hosts_ ABSL_GUARDED_BY(mutex_);  // theirs
  int devices_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace sassay::testing

#endif  // SASSAY_TESTS_END_TO_END_NETWORK_H_
