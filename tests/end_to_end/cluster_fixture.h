// A real cluster on this machine: front ends, nodes with emulated devices, and clients with tokens. Each is a process
// that can be killed, paused, drained and started again where it was.
#ifndef SASSAY_TESTS_END_TO_END_CLUSTER_FIXTURE_H_
#define SASSAY_TESTS_END_TO_END_CLUSTER_FIXTURE_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/submit/connection.h"
#include "agent/submit/retry.h"
#include "common/base/files.h"
#include "sassay/v1/events.pb.h"
#include "sassay/v1/verdict.pb.h"
#include "tests/end_to_end/network.h"
#include "tests/end_to_end/service_fixture.h"

namespace sassay::testing {

// Tries again soon, so that a cluster is not idle for long after a death.
inline constexpr agent::RetryPolicy kPatientClient = {absl::Milliseconds(50), absl::Milliseconds(500),
                                                      absl::Minutes(5)};

// Of every node, unless a test says otherwise. Short, so that a test does not wait for half a minute until a dead
// node's work goes on elsewhere.
inline constexpr absl::Duration kLease = absl::Seconds(6);

// One process of the cluster. It comes back at its address, with its state. Thread-compatible.
class Member {
 public:
  // `host`: the one it runs on; its address is empty where that is this process's own.
  Member(std::string state, std::vector<std::string> arguments, Placement where, Host host)
      : state_(std::move(state)), arguments_(std::move(arguments)), where_(std::move(where)), host_(std::move(host)) {}

  absl::Status Start();
  void Kill() { service_->Crash(); }
  void Pause();
  void Continue();
  // SIGTERM; its exit status.
  int Drain() { return service_->Stop(); }
  const std::string& address() const { return where_.listen; }
  const Host& host() const { return host_; }
  // From the next start on: programs of another version, in this folder; empty: of this build.
  void RunFrom(const std::string& programs) { where_.programs = programs; }
  // Of all its processes until now.
  std::string Log() const;

 private:
  const std::string state_;
  const std::vector<std::string> arguments_;
  Placement where_;
  const Host host_;
  std::unique_ptr<Service> service_;
  std::string earlier_logs_;
};

// What is submitted, and what it deserves.
struct Candidate {
  std::string source, status;
  std::string bundle = {};
};

// What a client saw of one submission.
struct Turn {
  std::string id;
  std::vector<sassay::v1::Event> events;
  sassay::v1::Verdict verdict;
  absl::Status status;
};

class Cluster {
 public:
  // `store`: of all front ends; empty for a database of the first one's own. Several front ends need one that is
  // shared. `network`: outlives it, and gives each member a host of its own.
  explicit Cluster(std::string store = "", Network* network = nullptr, absl::Duration lease = kLease);

  // Of members that are made from now on: programs of another version, in this folder.
  void RunFrom(const std::string& programs) { programs_ = programs; }
  // Makes a front end or a node, and starts it. A node is told of all front ends that there are by then.
  absl::StatusOr<Member*> AddFrontEnd(const std::vector<std::string>& arguments = {});
  absl::StatusOr<Member*> AddNode(const std::vector<std::string>& arguments = {});
  Member& front_end(size_t index) { return *front_ends_[index]; }
  Member& node(size_t index) { return *nodes_[index]; }
  size_t nodes() const { return nodes_.size(); }

  // Compiles it with the agent.
  absl::Status Compile(Candidate& candidate) const;

  // As a client of tenant `ann`: uploads and submits at one front end, follows at another to the end of the stream.
  // `on_event` is called with each event, on this thread.
  Turn Play(const Candidate& candidate, const std::string& request_id, const Member& submit_at, const Member& attach_at,
            absl::Duration run_deadline = absl::ZeroDuration(),
            const std::function<void(const sassay::v1::Event&)>& on_event = {}) const;
  // All events of a submission, as another client of the tenant sees them later.
  Turn Attach(const std::string& id, const Member& at) const;
  // Tokens: "ann" is a client, "root" an operator, "gpus" a node.
  std::string TokenFile(const std::string& name) const { return directory_.path() / (name + ".token"); }
  // Arguments for an agent's or an operator's command.
  std::vector<std::string> Connection(const Member& at, const std::string& who = "ann") const;

 private:
  absl::Status MakeToken(const std::string& name, const std::string& role) const;
  absl::StatusOr<std::unique_ptr<Member>> NewMember(const std::string& name, std::vector<std::string> arguments,
                                                    bool is_reached_by_others);

  const TemporaryDirectory directory_ = *TemporaryDirectory::Create("cluster");
  const std::string store_;
  Network* const network_;
  const absl::Duration lease_;
  std::string programs_;
  std::vector<std::unique_ptr<Member>> front_ends_, nodes_;
};

// That it has one verdict, which is the last event but for what settles a timing, that nothing is missing, and that it
// is what the candidate deserves. Adds failures to the running test.
void ExpectOneLife(const Turn& turn, const Candidate& candidate);

}  // namespace sassay::testing

#endif  // SASSAY_TESTS_END_TO_END_CLUSTER_FIXTURE_H_
