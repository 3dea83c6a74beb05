// Cluster's handlers for work: leases, their events and their ends.
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "common/base/utf8.h"
#include "profiler_service/api/ports/cluster/cluster_port.h"
#include "profiler_service/cluster/convert.h"
#include "profiler_service/queue/bounded.h"
#include "spdlog/spdlog.h"

namespace sassay::api {
namespace {

using cluster::FromProto;
using cluster::ToProto;
using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;
using sassay::v1::Event;
using store::Lease;

constexpr absl::Duration kLongestLease = absl::Minutes(5);
constexpr int kMostEvents = 1000;
constexpr int kMostLeases = 10'000;
constexpr size_t kMostReasonBytes = 4096;
// An attempt's last event and what follows it at once.
constexpr int kEventsOfAnEnd = 16;

// A longer one is cut: whoever dies must not keep its work for hours.
absl::StatusOr<absl::Duration> LeaseOf(uint64_t lease_ns) {
  if (lease_ns == 0) return absl::InvalidArgumentError("lease_ns: expected more than 0, got 0");
  const auto longest = static_cast<uint64_t>(absl::ToInt64Nanoseconds(kLongestLease));
  return absl::Nanoseconds(std::min(lease_ns, longest));
}

absl::Status CheckCount(absl::string_view field, int count, int most) {
  if (count <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field, ": expected at most ", most, ", got ", count));
}

absl::Status CheckEvents(const sassay::v1::AppendRequest& request) {
  RETURN_IF_ERROR(CheckCount("events", request.events_size(), kMostEvents));
  for (const sassay::v1::EventOfLease& each : request.events()) {
    if (each.event().has_stage_started() || each.event().has_stage_finished()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("events: a node appends stage_started and stage_finished; got kind ", each.event().what_case()));
  }
  return absl::OkStatus();
}

// The answers to one AppendRequest; replied to with the last.
struct Answers {
  std::atomic<int> left;
  std::atomic<bool> unavailable{false};
};

void Note(const absl::StatusOr<Event>& appended, store::Store& store, const std::string& id,
          sassay::v1::Appended& answer) {
  answer.set_code(static_cast<uint32_t>(appended.status().code()));
  if (appended.ok()) return answer.set_sequence(appended->sequence());
  answer.set_message(std::string(appended.status().message()));
  if (!absl::IsOutOfRange(appended.status())) return;
  const auto progress = store.Progress({id});
  if (progress.ok() && !progress->empty()) answer.set_sequence(progress->front().last_sequence);
}

// What a call whose answer was lost had written: from the first event after `after` that `is_it` on.
std::vector<Event> WrittenBefore(store::Store& store, const std::string& id, uint64_t after,
                                 const std::function<bool(const Event&)>& is_it) {
  if (after == 0) return {};
  const auto events = store.Events(id, after, kEventsOfAnEnd);
  if (!events.ok()) return {};
  for (auto event = events->begin(); event != events->end(); ++event) {
    if (!is_it(*event)) continue;
    auto end = event + 1;
    if (end != events->end() && end->has_excluded()) ++end;
    return {event, end};
  }
  return {};
}

bool SameVerdict(const sassay::v1::Verdict& left, const sassay::v1::Verdict& right) {
  return left.SerializeAsString() == right.SerializeAsString();
}

uint64_t GpusFor(const std::string& arch, const cluster::Node& node) {
  const auto runs = [&](const sassay::v1::NodeGpu& gpu) {
    const auto& archs = gpu.device().archs();
    return std::find(archs.begin(), archs.end(), arch) != archs.end();
  };
  return static_cast<uint64_t>(std::count_if(node.facts.gpus().begin(), node.facts.gpus().end(), runs));
}

}  // namespace

absl::StatusOr<absl::optional<Lease>> ClusterPort::TakenBefore(const std::string& owner, absl::Time expires_at) {
  ASSIGN_OR_RETURN(std::vector<Lease> leases, port_.store.LeasesOf(owner));
  for (Lease& lease : leases) {
    if (lease.owner != owner) continue;  // of number 12, asked for 1
    ASSIGN_OR_RETURN(const std::vector<store::Renewal> renewed, port_.store.Renew({lease}, expires_at));
    if (renewed.front() == store::Renewal::kLost) continue;
    lease.expires_at = expires_at;
    return std::move(lease);
  }
  return absl::optional<Lease>();
}

absl::StatusOr<store::Submission> ClusterPort::Leased(const NodeCaller& caller, const sassay::v1::LeaseId& id) {
  return port_.store.Leased(caller.LeaseOf(id));
}

absl::Status ClusterPort::TakeBackOfPredecessor(const NodeCaller& caller, sassay::v1::Predecessor predecessor) {
  if (predecessor == sassay::v1::PREDECESSOR_UNSPECIFIED) return absl::OkStatus();
  const auto how = predecessor == sassay::v1::PREDECESSOR_CRASHED ? queue::PreviousProcess::kCrashed
                                                                  : queue::PreviousProcess::kEndedOrWasKilled;
  ASSIGN_OR_RETURN(const int count, port_.queue.TakeBackOf(absl::StrCat(caller.name, "/"), caller.owner, how));
  if (count > 0) spdlog::info("node {}: {} submissions that its earlier process ran wait again", caller.name, count);
  return absl::OkStatus();
}

// An Acquire that a network delivers late, or whose answer it loses, leases a submission to a node that has gone on.
// Numbers order what a node says and what it was given, so that a sign of life that comes late itself takes nothing
// from it.
absl::Status ClusterPort::TakeBackUnheard(const NodeCaller& caller, const sassay::v1::HeldLeases& held) {
  RETURN_IF_ERROR(CheckCount("held.leases", held.leases_size(), kMostLeases));
  std::set<std::pair<std::string, uint64_t>> known;
  for (const sassay::v1::LeaseId& id : held.leases()) known.emplace(id.submission_id(), id.epoch());
  const auto unheard = [&](const Lease& lease) {
    uint64_t number = 0;
    return absl::SimpleAtoi(absl::StripPrefix(lease.owner, caller.owner), &number) && number <= held.settled_number() &&
           known.count({lease.submission.id, lease.epoch}) == 0;
  };
  const absl::StatusOr<int> count = port_.queue.TakeBackUnheard(caller.owner, unheard);
  // Looked at again with its next sign of life, which is heard all the same.
  if (!count.ok()) {
    spdlog::warn("node {}: cannot see what it was given: {}", caller.name, count.status().ToString());
  } else if (*count > 0) {
    spdlog::info("node {}: {} submissions that it was given and never heard of wait again", caller.name, *count);
  }
  return absl::OkStatus();
}

// What the node registered says what it can run; how large each pool is, what all living nodes registered.
store::Asker ClusterPort::AskerOf(const NodeCaller& caller, const sassay::v1::AcquireRequest& request) {
  store::Asker asker(absl::StrCat(caller.owner, request.number()));
  asker.node = caller.name;
  std::set<std::string> archs, models;
  for (const sassay::v1::NodeGpu& gpu : caller.node->facts.gpus()) {
    archs.insert(gpu.device().archs().begin(), gpu.device().archs().end());
    models.insert(gpu.device().model());
  }
  asker.models = {models.begin(), models.end()};
  if (!request.models().empty()) {
    const std::set<std::string> free(request.models().begin(), request.models().end());
    asker.models.erase(std::remove_if(asker.models.begin(), asker.models.end(),
                                      [&](const std::string& model) { return free.count(model) == 0; }),
                       asker.models.end());
  }
  const auto states = std::min<int>(request.states_size(), store::Asker::kMostStates);
  asker.states = {request.states().begin(), request.states().begin() + states};
  const std::vector<cluster::NodeRegistry::NodePtr> living = parts_.nodes.Living();
  for (const std::string& arch : archs) {
    store::AskedPool pool{arch, 0, {}};
    for (const cluster::NodeRegistry::NodePtr& node : living) {
      const uint64_t gpus = GpusFor(arch, *node);
      pool.gpus += gpus;
      if (gpus > 0 && !node->draining) pool.living.push_back(node->name);
    }
    pool.gpus = std::max<uint64_t>(1, pool.gpus);
    asker.pools.push_back(std::move(pool));
  }
  return asker;
}

ServerUnaryReactor* ClusterPort::Acquire(CallbackServerContext* context, const sassay::v1::AcquireRequest* request,
                                         sassay::v1::AcquireResponse* response) {
  const auto act = [this, request, response](const NodeCaller& caller, const Reply& reply) {
    const absl::StatusOr<absl::Duration> lease = LeaseOf(request->lease_ns());
    if (!lease.ok()) return reply(lease.status());
    const absl::Time now = parts_.now();
    const store::Asker asker = AskerOf(caller, *request);
    const auto answer = [this, name = caller.name, now, response, reply,
                         number = request->number()](const absl::StatusOr<absl::optional<Lease>>& taken) {
      if (taken.ok() && taken->has_value()) {
        held_.Add(name, (*taken)->submission.id);
        *response->mutable_leased() = ToProto(**taken, number, now);
      }
      reply(taken.status());
    };
    if (request->repeated()) {
      const absl::StatusOr<absl::optional<Lease>> before = TakenBefore(asker.owner, now + *lease);
      if (!before.ok() || before->has_value()) return answer(before);
    }
    port_.store.Acquire(asker, now, now + *lease, answer);
  };
  return Serve(*context, request->node(), act);
}

ServerUnaryReactor* ClusterPort::Append(CallbackServerContext* context, const sassay::v1::AppendRequest* request,
                                        sassay::v1::AppendResponse* response) {
  const auto act = [this, request, response](const NodeCaller& caller, const Reply& reply) {
    if (const absl::Status status = CheckEvents(*request); !status.ok()) return reply(status);
    if (request->events().empty()) return reply(absl::OkStatus());
    const auto answers = std::make_shared<Answers>();
    answers->left = request->events_size();
    for (int i = 0; i < request->events_size(); ++i) response->add_appended();
    for (int i = 0; i < request->events_size(); ++i) {
      Event event = request->events(i).event();
      queue::BoundTexts(event);
      const Lease lease = caller.LeaseOf(request->events(i).lease());
      port_.store.Append(lease, std::move(event),
                         [this, answers, reply, id = lease.submission.id,
                          answer = response->mutable_appended(i)](const absl::StatusOr<Event>& appended) {
                           Note(appended, port_.store, id, *answer);
                           if (absl::IsUnavailable(appended.status())) answers->unavailable = true;
                           if (--answers->left > 0) return;
                           reply(answers->unavailable ? absl::UnavailableError("the store failed; repeat the call")
                                                      : absl::OkStatus());
                         });
    }
  };
  return Serve(*context, request->node(), act);
}

absl::Status ClusterPort::CheckEnding(const NodeCaller& caller, const sassay::v1::EndingFacts& ending) const {
  return ending.gpu().empty() ? absl::OkStatus() : caller.CheckGpu("ending.gpu", ending.gpu());
}

ServerUnaryReactor* ClusterPort::Finish(CallbackServerContext* context, const sassay::v1::FinishRequest* request,
                                        sassay::v1::FinishResponse* response) {
  const auto act = [this, request, response](const NodeCaller& caller, const Reply& reply) {
    absl::Status good = CheckEnding(caller, request->ending());
    if (good.ok()) good = CheckTime("verdict.decided_at", TimeOf(request->verdict().decided_at()));
    if (!good.ok()) return reply(good);
    const Lease lease = caller.LeaseOf(request->lease());
    sassay::v1::Verdict verdict = request->verdict();
    verdict.set_submission_id(lease.submission.id);
    queue::BoundVerdict(verdict);
    port_.store.Finish(lease, verdict, FromProto(request->ending()),
                       [this, request, response, reply, verdict, name = caller.name,
                        id = lease.submission.id](absl::StatusOr<std::vector<Event>> events) {
                         if (absl::IsAborted(events.status())) {
                           std::vector<Event> before =
                               WrittenBefore(port_.store, id, request->after_sequence(), [&](const Event& event) {
                                 return event.has_verdict() && SameVerdict(event.verdict(), verdict);
                               });
                           if (!before.empty()) events = std::move(before);
                         }
                         if (events.ok() || absl::IsAborted(events.status())) held_.Remove(name, id);
                         if (events.ok()) *response->mutable_events() = {events->begin(), events->end()};
                         reply(events.status());
                       });
  };
  return Serve(*context, request->node(), act);
}

ServerUnaryReactor* ClusterPort::Return(CallbackServerContext* context, const sassay::v1::ReturnRequest* request,
                                        sassay::v1::ReturnResponse* response) {
  const auto act = [this, request, response](const NodeCaller& caller, const Reply& reply) {
    absl::Status good = CheckEnding(caller, request->ending());
    if (good.ok()) good = CheckTime("at", TimeOf(request->at()));
    const absl::StatusOr<store::Ended> ended = FromProto(request->end());
    if (good.ok()) good = ended.status();
    if (!good.ok()) return reply(good);
    const Lease lease = caller.LeaseOf(request->lease());
    const std::string reason = ToUtf8(absl::string_view(request->reason()).substr(0, kMostReasonBytes));
    port_.store.Return(lease, reason, *ended, FromProto(request->ending()), TimeOf(request->at()),
                       [this, request, response, reply, reason, name = caller.name,
                        id = lease.submission.id](absl::StatusOr<Event> event) {
                         if (absl::IsAborted(event.status())) {
                           const std::vector<Event> before =
                               WrittenBefore(port_.store, id, request->after_sequence(), [&](const Event& each) {
                                 return each.has_excluded() ||
                                        (each.has_retrying() && each.retrying().reason() == reason);
                               });
                           if (!before.empty()) event = before.front();
                         }
                         if (event.ok() || absl::IsAborted(event.status())) held_.Remove(name, id);
                         if (event.ok()) *response->mutable_event() = *event;
                         reply(event.status());
                       });
  };
  return Serve(*context, request->node(), act);
}

ServerUnaryReactor* ClusterPort::Renew(CallbackServerContext* context, const sassay::v1::RenewRequest* request,
                                       sassay::v1::RenewResponse* response) {
  const auto act = [this, request, response](const NodeCaller& caller) -> absl::Status {
    ASSIGN_OR_RETURN(const absl::Duration lease, LeaseOf(request->lease_ns()));
    RETURN_IF_ERROR(CheckCount("leases", request->leases_size(), kMostLeases));
    std::vector<Lease> leases;
    for (const sassay::v1::LeaseId& id : request->leases()) leases.push_back(caller.LeaseOf(id));
    ASSIGN_OR_RETURN(const std::vector<store::Renewal> renewals, port_.store.Renew(leases, parts_.now() + lease));
    for (size_t i = 0; i < renewals.size(); ++i) {
      const std::string& id = leases[i].submission.id;
      renewals[i] == store::Renewal::kLost ? held_.Remove(caller.name, id) : held_.Add(caller.name, id);
      response->add_outcomes(ToProto(renewals[i]));
    }
    return absl::OkStatus();
  };
  return Answer(*context, request->node(), act);
}

ServerUnaryReactor* ClusterPort::ListEvents(CallbackServerContext* context,
                                            const sassay::v1::ListEventsRequest* request,
                                            sassay::v1::ListEventsResponse* response) {
  const auto act = [this, request, response](const NodeCaller& caller) -> absl::Status {
    ASSIGN_OR_RETURN(const store::Submission submission, Leased(caller, request->lease()));
    const int limit = static_cast<int>(std::min<uint32_t>(request->limit(), kMostEvents));
    ASSIGN_OR_RETURN(const std::vector<Event> events,
                     port_.store.Events(submission.id, request->after_sequence(), limit));
    *response->mutable_events() = {events.begin(), events.end()};
    return absl::OkStatus();
  };
  return Answer(*context, request->node(), act);
}

}  // namespace sassay::api
