// A node's way to its front ends: whichever of several answers.
#ifndef SASSAY_PROFILER_SERVICE_CLUSTER_FRONT_ENDS_H_
#define SASSAY_PROFILER_SERVICE_CLUSTER_FRONT_ENDS_H_

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/steady_time.h"
#include "common/rpc/secure_channel.h"
#include "common/rpc/stopper.h"
#include "sassay/v1/cluster.grpc.pb.h"

namespace sassay::cluster {

struct FrontEndOptions {
  std::vector<std::string> addresses;  // HOST:PORT each
  ConnectionOptions connection;        // token and TLS; `service` is not read
  sassay::v1::NodeId node;
  sassay::v1::NodeFacts facts;
  // How the process that was this node before came to its end.
  sassay::v1::Predecessor predecessor = sassay::v1::PREDECESSOR_UNSPECIFIED;
  absl::Duration call_timeout = absl::Seconds(5);  // of one try
  std::function<absl::Time()> now = absl::Now;     // time of day
};

// Makes calls, again and again and at one address after the other, until one is answered; registers the node where it
// is not known. A token that is rotated is used from the next call on.
//
// Life cycle: Open (no traffic yet), Register, calls, Stop, destroy. Threads: thread-safe; a call blocks its caller.
// Failure: UNAVAILABLE when nobody answered in time: whether the last try took effect is not known, and every call of
// Cluster may be repeated. Any other status is a front end's answer.
class FrontEnds {
 public:
  using Stub = sassay::v1::Cluster::Stub;
  template <typename Request, typename Response>
  using Method = grpc::Status (Stub::*)(grpc::ClientContext*, const Request&, Response*);

  // INVALID_ARGUMENT for addresses and files that cannot be used; it names the flag.
  static absl::StatusOr<std::unique_ptr<FrontEnds>> Open(FrontEndOptions options);

  // Fills in `request.node` and, from the second try on, `request.repeated`. At least one try, also where `until`, of
  // SteadyNow, has passed.
  template <typename Request, typename Response>
  absl::Status Call(Method<Request, Response> method, Request request, Response& response, absl::Time until) {
    *request.mutable_node() = options_.node;
    return Repeat(until, [&](Stub& stub, grpc::ClientContext& context, bool again) {
      if constexpr (requires { request.set_repeated(true); }) request.set_repeated(request.repeated() || again);
      response.Clear();
      return (stub.*method)(&context, request, &response);
    });
  }
  // The same for a call of any other kind. `context` has a deadline of `call_timeout` for each try.
  using Try = std::function<grpc::Status(Stub&, grpc::ClientContext&, bool again)>;
  absl::Status Repeat(absl::Time until, const Try& attempt) { return Insist(until, attempt, IfUnknown::kRegister); }

  // Says what this node has. ALREADY_EXISTS while another process has its name or GPUs; others as Cluster.Register's.
  absl::StatusOr<sassay::v1::RegisterResponse> Register(absl::Time until) ABSL_LOCKS_EXCLUDED(mutex_);

  // One stream, at the address that answers at present, for as long as it lasts: `read` is called with a context
  // without deadline, which is cancelled when the node turns to another address or is stopped.
  grpc::Status Stream(const std::function<grpc::Status(Stub&, grpc::ClientContext&)>& read) ABSL_LOCKS_EXCLUDED(mutex_);

  // Ends the stream under way; there is no other after it.
  void EndStream() ABSL_LOCKS_EXCLUDED(mutex_);

  // Ends waits and calls under way; later ones get one try.
  void Stop() { stopper_.Stop(); }
  // False if it was stopped meanwhile.
  bool Sleep(absl::Duration duration) const { return stopper_.Sleep(duration); }
  bool stopped() const { return stopper_.stopped(); }

  const sassay::v1::NodeId& node() const { return options_.node; }
  absl::Time Now() const { return options_.now(); }

 private:
  struct Address {
    SecureChannel channel;
    std::unique_ptr<Stub> stub;
  };

  FrontEnds(FrontEndOptions options, std::vector<Address> addresses, std::string token_file_seen);
  // With the token of now: its file is read again when it looks different.
  std::unique_ptr<grpc::ClientContext> NewContext(absl::Duration timeout) ABSL_LOCKS_EXCLUDED(mutex_);
  // What to do where a front end does not know this node.
  enum class IfUnknown { kRegister, kGiveUp };
  absl::Status Insist(absl::Time until, const Try& attempt, IfUnknown if_unknown) ABSL_LOCKS_EXCLUDED(mutex_);
  size_t current() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Turns to the next address, unless another thread has done so since `from` was chosen.
  void TurnFrom(size_t from) ABSL_LOCKS_EXCLUDED(mutex_);
  grpc::Status TryAt(size_t address, const Try& attempt, bool again);
  absl::Status NobodyAnswered(size_t address, const grpc::Status& last) const;

  const FrontEndOptions options_;
  const std::vector<Address> addresses_;
  Stopper stopper_;
  mutable absl::Mutex mutex_;
  SecureChannel credentials_ ABSL_GUARDED_BY(mutex_);  // who makes contexts; the channels stay
  std::string token_file_seen_ ABSL_GUARDED_BY(mutex_);
  size_t current_ ABSL_GUARDED_BY(mutex_) = 0;  // counts on; modulo the number of addresses
  grpc::ClientContext* stream_ ABSL_GUARDED_BY(mutex_) = nullptr;
  bool stream_ended_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace sassay::cluster

#endif  // SASSAY_PROFILER_SERVICE_CLUSTER_FRONT_ENDS_H_
