// What a node may not do, and what it may repeat.
#include "profiler_service/api/ports/cluster/cluster_port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/base/random.h"
#include "common/base/sha256.h"
#include "profiler_service/api/ports/cluster/testing/front_end_fixture.h"
#include "profiler_service/queue/bounded.h"
#include "profiler_service/store/sqlite/sqlite_store.h"

namespace sassay::api {
namespace {

using sassay::v1::Cluster;
using store::Await;
using store::Callback;

// One process of one node, which says what the test wants.
class Node {
 public:
  Node(const std::string& address, const std::string& token, const std::string& name)
      : token_(token), stub_(Cluster::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()))) {
    id.set_name(name);
    id.set_instance(RandomHex(16));
  }

  template <typename Request, typename Response>
  grpc::Status Call(grpc::Status (Cluster::Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                    Request request, Response* response) {
    *request.mutable_node() = id;
    grpc::ClientContext context;
    Prepare(context);
    return (stub_.get()->*method)(&context, request, response);
  }
  void Prepare(grpc::ClientContext& context) const {
    context.AddMetadata("authorization", absl::StrCat("Bearer token-of-", token_));
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(1));
  }

  grpc::StatusCode Register(const std::vector<std::string>& gpus, absl::Time now = kClusterTestNow,
                            sassay::v1::Predecessor predecessor = sassay::v1::PREDECESSOR_UNSPECIFIED) {
    sassay::v1::RegisterRequest request;
    request.set_predecessor(predecessor);
    for (const std::string& gpu : gpus) {
      request.mutable_facts()->add_gpus()->set_uuid(gpu);
      request.mutable_facts()->mutable_gpus()->rbegin()->mutable_device()->set_model("model of " + gpu);
    }
    request.mutable_facts()->set_host(id.name());
    SetTimestamp(now, *request.mutable_now());
    sassay::v1::RegisterResponse response;
    return Call(&Cluster::Stub::Register, request, &response).error_code();
  }
  sassay::v1::Leased Acquire(uint64_t number, bool repeated = false) {
    sassay::v1::AcquireRequest request;
    request.set_number(number);
    request.set_lease_ns(30'000'000'000);
    request.set_repeated(repeated);
    sassay::v1::AcquireResponse response;
    EXPECT_TRUE(Call(&Cluster::Stub::Acquire, request, &response).ok());
    return response.leased();
  }
  // "" if there is nothing for it.
  std::string AcquireFor(uint64_t number, const std::vector<std::string>& models,
                         const std::vector<std::string>& states) {
    sassay::v1::AcquireRequest request;
    request.set_number(number);
    request.set_lease_ns(30'000'000'000);
    *request.mutable_models() = {models.begin(), models.end()};
    *request.mutable_states() = {states.begin(), states.end()};
    sassay::v1::AcquireResponse response;
    EXPECT_TRUE(Call(&Cluster::Stub::Acquire, request, &response).ok());
    return response.leased().lease().submission_id();
  }
  grpc::StatusCode Append(const sassay::v1::LeaseId& lease, const sassay::v1::Event& event) {
    sassay::v1::AppendRequest request;
    *request.add_events()->mutable_lease() = lease;
    *request.mutable_events(0)->mutable_event() = event;
    sassay::v1::AppendResponse response;
    const grpc::Status status = Call(&Cluster::Stub::Append, request, &response);
    return status.ok() ? static_cast<grpc::StatusCode>(response.appended(0).code()) : status.error_code();
  }
  sassay::v1::FinishRequest Verdict(const sassay::v1::LeaseId& lease) const {
    sassay::v1::FinishRequest request;
    *request.mutable_lease() = lease;
    request.mutable_verdict()->set_status(sassay::v1::VERDICT_STATUS_CORRECT);
    SetTimestamp(kClusterTestNow, *request.mutable_verdict()->mutable_decided_at());
    request.set_after_sequence(1);
    return request;
  }
  grpc::Status Finish(const sassay::v1::FinishRequest& request, sassay::v1::FinishResponse* response) {
    return Call(&Cluster::Stub::Finish, request, response);
  }
  grpc::StatusCode Finish(const sassay::v1::FinishRequest& request) {
    sassay::v1::FinishResponse response;
    return Finish(request, &response).error_code();
  }
  grpc::Status ReadBundle(const sassay::v1::LeaseId& lease, std::string& bytes) {
    sassay::v1::ReadBundleRequest request;
    *request.mutable_node() = id;
    *request.mutable_lease() = lease;
    grpc::ClientContext context;
    Prepare(context);
    const auto stream = stub_->ReadBundle(&context, request);
    sassay::v1::ReadBundleResponse chunk;
    while (stream->Read(&chunk)) bytes += chunk.data();
    return stream->Finish();
  }

  sassay::v1::NodeId id;

 private:
  const std::string token_;
  const std::unique_ptr<Cluster::Stub> stub_;
};

class ClusterPortTest : public testing::Test {
 protected:
  ClusterPortTest() {
    EXPECT_EQ(honest_.Register({"GPU-1"}), grpc::OK);
    EXPECT_EQ(liar_.Register({"GPU-2"}), grpc::OK);
  }
  void Submit(const std::string& id, const std::string& bundle = "", const std::string& model = "",
              const std::string& workload = "") {
    store::NewSubmission submission{
        id, "ann", {}, kClusterTestNow, kClusterTestNow + absl::Hours(1), absl::Minutes(1), {100, 100}};
    submission.request.set_request_id(id);
    submission.request.set_bundle_sha256(bundle);
    submission.request.set_gpu_model(model);
    submission.request.set_workload(workload);
    ASSERT_TRUE(Await<store::Submitted>([&](Callback<store::Submitted> done) {
                  store_->Submit(submission, std::move(done));
                }).ok());
  }
  static sassay::v1::Event Started() {
    sassay::v1::Event event;
    event.mutable_stage_started()->set_stage(sassay::v1::STAGE_EVALUATE);
    return event;
  }

  TemporaryDirectory directory_ = *TemporaryDirectory::Create("cluster_port_test");
  const std::unique_ptr<store::Store> store_ =
      *store::OpenSqliteStore(directory_.path() / "db", store::Hears::kEverybody);
  FrontEndFixture front_end_{directory_.path(), *store_, *store_};
  Node honest_{front_end_.address(), "pool", "honest"};
  Node liar_{front_end_.address(), "pool", "liar"};
};

TEST_F(ClusterPortTest, OnlyNodesMayCall) {
  EXPECT_EQ(Node(front_end_.address(), "ann", "n").Register({"GPU-3"}), grpc::PERMISSION_DENIED);
  EXPECT_EQ(Node(front_end_.address(), "nobody", "n").Register({"GPU-3"}), grpc::UNAUTHENTICATED);
  EXPECT_EQ(Node(front_end_.address(), "other", "n").Register({"GPU-3"}), grpc::OK);
}

TEST_F(ClusterPortTest, ANodeGetsWhatItsFreeModelsCanRunAndRatherWhatItHoldsTheStateOf) {
  Node node(front_end_.address(), "pool", "two");
  ASSERT_EQ(node.Register({"x", "y"}), grpc::OK);
  Submit("for-x", "", "model of x", "w1");
  Submit("for-any-1", "", "", "w1");
  Submit("for-any-2", "", "", "w2");
  Submit("for-others", "", "model of GPU-1", "w2");
  EXPECT_EQ(node.AcquireFor(1, {"model of y"}, {"w2"}), "for-any-2") << "it holds w2, and x is taken";
  EXPECT_EQ(node.AcquireFor(2, {"model of y"}, {}), "for-any-1");
  EXPECT_EQ(node.AcquireFor(3, {"model of y"}, {}), "");
  EXPECT_EQ(node.AcquireFor(4, {"model of GPU-1"}, {}), "") << "it has registered none of that model";
  EXPECT_EQ(node.AcquireFor(5, {}, {}), "for-x") << "an older node does not say which are free";
}

TEST_F(ClusterPortTest, WhatANodesEarlierProcessRanComesBackAtOnceWhereItKnowsHowThatEnded) {
  for (const auto& [name, predecessor, losses] : {std::tuple("k", sassay::v1::PREDECESSOR_ENDED_OR_KILLED, 0u),
                                                  std::tuple("c", sassay::v1::PREDECESSOR_CRASHED, 1u)}) {
    Submit(name);
    Node before(front_end_.address(), "pool", name), after(front_end_.address(), "pool", name);
    ASSERT_EQ(before.Register({}), grpc::INVALID_ARGUMENT);
    ASSERT_EQ(before.Register({absl::StrCat("GPU-", name)}), grpc::OK);
    const auto lost = before.Acquire(1);
    ASSERT_EQ(lost.lease().submission_id(), name);
    sassay::v1::LeaveRequest leave;
    sassay::v1::LeaveResponse left;
    ASSERT_TRUE(before.Call(&Cluster::Stub::Leave, leave, &left).ok());  // else its name is taken for ten seconds
    ASSERT_EQ(after.Register({absl::StrCat("GPU-", name)}, kClusterTestNow), grpc::OK);
    EXPECT_EQ(store_->Get("ann", name)->state, store::State::kLeased) << "it did not say";
    ASSERT_EQ(after.Register({absl::StrCat("GPU-", name)}, kClusterTestNow, predecessor), grpc::OK);
    EXPECT_EQ(store_->Get("ann", name)->state, store::State::kQueued);
    const auto again = after.Acquire(1);
    EXPECT_EQ(again.lease().submission_id(), name);
    EXPECT_EQ(again.losses(), losses);
    ASSERT_EQ(after.Register({absl::StrCat("GPU-", name)}, kClusterTestNow, predecessor), grpc::OK);
    EXPECT_EQ(store_->Get("ann", name)->state, store::State::kLeased) << "its own leases are none of that";
  }
}

TEST_F(ClusterPortTest, WhoIsNotRegisteredIsToldSo) {
  Node stranger(front_end_.address(), "pool", "stranger");
  EXPECT_EQ(stranger.Append({}, Started()), grpc::NOT_FOUND);
  Node namesake(front_end_.address(), "pool", "honest");
  EXPECT_EQ(namesake.Append({}, Started()), grpc::NOT_FOUND) << "another process of that name";
  EXPECT_EQ(namesake.Register({"GPU-9"}), grpc::ALREADY_EXISTS);
}

TEST_F(ClusterPortTest, AClockThatIsWrongIsRefused) {
  Node late(front_end_.address(), "pool", "late");
  EXPECT_EQ(late.Register({"GPU-3"}, kClusterTestNow - absl::Minutes(2)), grpc::FAILED_PRECONDITION);
}

TEST_F(ClusterPortTest, AnothersLeaseCannotBeWrittenAbout) {
  Submit("id-1", Sha256Hex("bundle"));
  ASSERT_TRUE(front_end_.blobs().Write("ann", Sha256Hex("bundle"), 6, 0, "bundle").ok());
  const sassay::v1::LeaseId lease = honest_.Acquire(1).lease();
  EXPECT_EQ(liar_.Append(lease, Started()), grpc::ABORTED);
  EXPECT_EQ(liar_.Finish(liar_.Verdict(lease)), grpc::ABORTED);
  sassay::v1::RenewRequest renew;
  *renew.add_leases() = lease;
  renew.set_lease_ns(1'000'000'000);
  sassay::v1::RenewResponse renewed;
  ASSERT_TRUE(liar_.Call(&Cluster::Stub::Renew, renew, &renewed).ok());
  EXPECT_EQ(renewed.outcomes(0), sassay::v1::RENEWAL_OUTCOME_LOST);
  sassay::v1::ListEventsRequest list;
  *list.mutable_lease() = lease;
  list.set_limit(10);
  sassay::v1::ListEventsResponse events;
  EXPECT_EQ(liar_.Call(&Cluster::Stub::ListEvents, list, &events).error_code(), grpc::ABORTED);
  std::string stolen, own;
  EXPECT_EQ(liar_.ReadBundle(lease, stolen).error_code(), grpc::ABORTED);
  EXPECT_EQ(stolen, "");
  EXPECT_TRUE(honest_.ReadBundle(lease, own).ok());
  EXPECT_EQ(own, "bundle");
  EXPECT_EQ(honest_.Append(lease, Started()), grpc::OK) << "and its holder goes on";
}

TEST_F(ClusterPortTest, AnothersGpuCannotBeTouched) {
  Submit("id-1");
  sassay::v1::FinishRequest verdict = liar_.Verdict(liar_.Acquire(1).lease());
  verdict.mutable_ending()->set_gpu("GPU-1");
  EXPECT_EQ(liar_.Finish(verdict), grpc::PERMISSION_DENIED);
  sassay::v1::ExcludeRequest exclude;
  exclude.mutable_window()->set_gpu("GPU-1");
  exclude.mutable_window()->set_incident_id("i");
  SetTimestamp(kClusterTestNow, *exclude.mutable_at());
  sassay::v1::ExcludeResponse excluded;
  EXPECT_EQ(liar_.Call(&Cluster::Stub::Exclude, exclude, &excluded).error_code(), grpc::PERMISSION_DENIED);
  sassay::v1::PlaceHoldRequest place;
  place.set_gpu("GPU-1");
  place.mutable_hold()->set_holder("operator");
  sassay::v1::PlaceHoldResponse placed;
  EXPECT_EQ(liar_.Call(&Cluster::Stub::PlaceHold, place, &placed).error_code(), grpc::PERMISSION_DENIED);
  sassay::v1::KeepIncidentRequest keep;
  keep.mutable_incident()->set_id("i");
  keep.mutable_incident()->set_uuid("GPU-1");
  sassay::v1::KeepIncidentResponse kept;
  EXPECT_EQ(liar_.Call(&Cluster::Stub::KeepIncident, keep, &kept).error_code(), grpc::PERMISSION_DENIED);
  EXPECT_EQ(Node(front_end_.address(), "pool", "third").Register({"GPU-1"}), grpc::ALREADY_EXISTS);
}

TEST_F(ClusterPortTest, AHoldOfAllIsOneOfAllOfItsNodeAndTheClustersIsSeenAndNotLifted) {
  sassay::v1::PlaceHoldRequest place;
  place.mutable_hold()->set_holder("operator");
  sassay::v1::PlaceHoldResponse placed;
  ASSERT_TRUE(liar_.Call(&Cluster::Stub::PlaceHold, place, &placed).ok());
  ASSERT_TRUE(store_->PlaceHold({"", "operator", sassay::v1::GPU_STATE_PAUSED, "", "", kClusterTestNow, "root"}).ok());
  sassay::v1::ListHoldsResponse holds;
  ASSERT_TRUE(honest_.Call(&Cluster::Stub::ListHolds, sassay::v1::ListHoldsRequest(), &holds).ok());
  ASSERT_EQ(holds.holds_size(), 1);
  EXPECT_EQ(holds.holds(0).hold().holder(), "cluster operator");
  sassay::v1::LiftHoldRequest lift;
  lift.set_holder("cluster operator");
  sassay::v1::LiftHoldResponse lifted;
  EXPECT_EQ(honest_.Call(&Cluster::Stub::LiftHold, lift, &lifted).error_code(), grpc::PERMISSION_DENIED);
}

TEST_F(ClusterPortTest, ANodeAppendsWhatStagesDoAndNothingElse) {
  Submit("id-1");
  const sassay::v1::LeaseId lease = liar_.Acquire(1).lease();
  sassay::v1::Event event;
  event.mutable_verdict()->set_status(sassay::v1::VERDICT_STATUS_CORRECT);
  EXPECT_EQ(liar_.Append(lease, event), grpc::INVALID_ARGUMENT);
  event.mutable_accepted();
  EXPECT_EQ(liar_.Append(lease, event), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(liar_.Append(lease, sassay::v1::Event()), grpc::INVALID_ARGUMENT);
}

TEST_F(ClusterPortTest, LongTextsAreCutAndWildTimesRefused) {
  Submit("id-1");
  sassay::v1::FinishRequest verdict = liar_.Verdict(liar_.Acquire(1).lease());
  SetTimestamp(kClusterTestNow - absl::Hours(24), *verdict.mutable_verdict()->mutable_decided_at());
  EXPECT_EQ(liar_.Finish(verdict), grpc::INVALID_ARGUMENT) << "it would be forgotten before its time";
  SetTimestamp(kClusterTestNow, *verdict.mutable_verdict()->mutable_decided_at());
  verdict.mutable_verdict()->set_reason(std::string(2 << 20, 'x'));
  ASSERT_EQ(liar_.Finish(verdict), grpc::OK);
  EXPECT_LE(store_->Events("id-1", 1, 1)->front().verdict().reason().size(), queue::kMaxTextBytes);
}

TEST_F(ClusterPortTest, ALeaseWhoseAnswerWasLostIsGivenAgain) {
  Submit("id-1");
  Submit("id-2");
  const sassay::v1::Leased first = honest_.Acquire(1);
  const sassay::v1::Leased again = honest_.Acquire(1, /*repeated=*/true);
  EXPECT_EQ(again.lease().SerializeAsString(), first.lease().SerializeAsString());
  EXPECT_NE(honest_.Acquire(2, /*repeated=*/true).lease().submission_id(), first.lease().submission_id());
}

TEST_F(ClusterPortTest, AVerdictWhoseAnswerWasLostIsAnsweredAgainAndNoOther) {
  Submit("id-1");
  const sassay::v1::FinishRequest verdict = honest_.Verdict(honest_.Acquire(1).lease());
  sassay::v1::FinishResponse first, again;
  ASSERT_TRUE(honest_.Finish(verdict, &first).ok());
  ASSERT_TRUE(honest_.Finish(verdict, &again).ok());
  ASSERT_EQ(again.events_size(), 1);
  EXPECT_EQ(again.events(0).SerializeAsString(), first.events(0).SerializeAsString());
  sassay::v1::FinishRequest other = verdict;
  other.mutable_verdict()->set_status(sassay::v1::VERDICT_STATUS_TIMEOUT);
  EXPECT_EQ(honest_.Finish(other), grpc::ABORTED);
  EXPECT_EQ(store_->Events("id-1", 0, 10)->size(), 2u) << "accepted, and one verdict";
}

TEST_F(ClusterPortTest, AReasonThatIsCutStaysText) {
  Submit("id-1");
  sassay::v1::ReturnRequest request;
  *request.mutable_lease() = honest_.Acquire(1).lease();
  request.set_reason(std::string(4095, 'a') + "\u00e9");
  request.set_end(sassay::v1::ATTEMPT_END_STOPPED);
  SetTimestamp(kClusterTestNow, *request.mutable_at());
  sassay::v1::ReturnResponse response;
  ASSERT_TRUE(honest_.Call(&Cluster::Stub::Return, request, &response).ok());
  const auto events = store_->Events("id-1", 0, 10);
  ASSERT_TRUE(events.ok()) << events.status();
  EXPECT_EQ(events->back().retrying().reason(), std::string(4095, 'a') + "?");
  EXPECT_EQ(honest_.Finish(honest_.Verdict(honest_.Acquire(2).lease())), grpc::OK);
}

TEST_F(ClusterPortTest, AReturnWhoseAnswerWasLostIsAnsweredAgain) {
  Submit("id-1");
  sassay::v1::ReturnRequest request;
  *request.mutable_lease() = honest_.Acquire(1).lease();
  request.set_reason("the node stops");
  request.set_end(sassay::v1::ATTEMPT_END_STOPPED);
  SetTimestamp(kClusterTestNow, *request.mutable_at());
  request.set_after_sequence(1);
  sassay::v1::ReturnResponse first, again;
  ASSERT_TRUE(honest_.Call(&Cluster::Stub::Return, request, &first).ok());
  ASSERT_TRUE(honest_.Call(&Cluster::Stub::Return, request, &again).ok());
  EXPECT_EQ(again.SerializeAsString(), first.SerializeAsString());
  EXPECT_EQ(liar_.Acquire(1).failures(), 0u);
}

}  // namespace
}  // namespace sassay::api
