#include "profiler_service/api/builder/builder_server.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "common/base/files.h"
#include "common/metrics/builder_metrics.h"

namespace sassay::api {
namespace {

using sassay::v1::BuildJob;
using sassay::v1::BuildJobOutcome;
using sassay::v1::BuildRequest;
using sassay::v1::BuildResponse;
using testing::HasSubstr;

using Stop = std::function<bool()>;

// What a client heard.
struct Heard {
  grpc::Status status;
  std::vector<sassay::v1::BuildProgress::State> states;
  sassay::v1::BuildResult result;
  std::string bundle;
};

// One call, part by part.
class Call {
 public:
  // Without `protocol` it tells none, as the versions before that had one.
  Call(sassay::v1::Builder::StubInterface& stub, const std::string& token, const std::string& protocol) {
    if (!token.empty()) context_.AddMetadata("authorization", "Bearer " + token);
    if (!protocol.empty()) context_.AddMetadata("sassay-protocol", protocol);
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    stream_ = stub.Build(&context_);
  }
  void SendSettings() {
    BuildRequest part;
    part.mutable_settings()->add_workloads()->set_name("gemm/M=1");
    stream_->Write(part);
  }
  void SendSource(const std::string& path = "kernel.cu", const std::string& content = "text") {
    BuildRequest part;
    part.mutable_source()->set_path(path);
    part.mutable_source()->set_content(content);
    stream_->Write(part);
  }
  void SendAll() {
    SendSettings();
    SendSource();
    stream_->WritesDone();
  }
  bool Read() { return stream_->Read(&response_); }
  const BuildResponse& response() const { return response_; }
  void Cancel() { context_.TryCancel(); }
  Heard HearAll() {
    Heard heard;
    while (Read()) {
      if (response_.has_progress()) heard.states.push_back(response_.progress().state());
      if (response_.has_result()) heard.result = response_.result();
      heard.bundle += response_.bundle();
    }
    heard.status = stream_->Finish();
    return heard;
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriterInterface<BuildRequest, BuildResponse>> stream_;
  BuildResponse response_;
};

class BuilderServerTest : public testing::Test {
 protected:
  BuilderServerTest() {
    options_.role = ServiceRole::kBuilder;
    options_.listen = "127.0.0.1:0";
    options_.metrics = "";
    options_.drain = absl::ZeroDuration();
    options_.build.places = 1;
    options_.build.max_builds = 3;
    options_.build.max_builds_per_tenant = 2;
  }
  void Start(BuildJobRunner run, absl::Duration upload_deadline = absl::Minutes(2)) {
    auto server = BuilderServer::Start(options_, std::move(run), "13.0.88", upload_deadline);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    stub_ = sassay::v1::Builder::NewStub(grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials()));
  }
  // One that runs until it is told to stop.
  BuildJobRunner Hangs() {
    return [this](const BuildJob&, absl::string_view, const Stop& stop) -> absl::StatusOr<BuildJobOutcome> {
      ++running_;
      while (!stop()) absl::SleepFor(absl::Milliseconds(1));
      ++stopped_;
      return absl::CancelledError("ended");
    };
  }
  std::unique_ptr<Call> NewCall(const std::string& token = "", const std::string& protocol = "") {
    return std::make_unique<Call>(*stub_, token, protocol);
  }
  // A call whose build runs and hangs.
  std::unique_ptr<Call> HangingCall(const std::string& token = "") {
    auto call = NewCall(token);
    call->SendAll();
    while (call->Read() && call->response().progress().state() != sassay::v1::BuildProgress::BUILDING) {
    }
    EXPECT_EQ(call->response().progress().state(), sassay::v1::BuildProgress::BUILDING);
    return call;
  }
  void WaitUntil(const std::function<bool()>& condition) {
    while (!condition()) absl::SleepFor(absl::Milliseconds(1));
  }
  std::string AddToken(const std::string& name, Role role) {
    options_.token_file = directory_.path() / "tokens";
    return *sassay::api::AddToken(options_.token_file, name, role);
  }

  const TemporaryDirectory directory_ = *TemporaryDirectory::Create("builder_server");
  ServiceOptions options_;
  std::atomic<int> running_ = 0, stopped_ = 0;
  std::unique_ptr<BuilderServer> server_;
  std::unique_ptr<sassay::v1::Builder::StubInterface> stub_;
};

TEST_F(BuilderServerTest, TellsHowFarItIsThenTheOutcomeThenTheBundleInPieces) {
  const std::string bundle(5 << 20, 'b');
  Start([&](const BuildJob& job, absl::string_view tenant, const Stop&) {
    EXPECT_EQ(job.sources(0).content(), "text");
    EXPECT_EQ(tenant, "local");
    BuildJobOutcome outcome;
    outcome.mutable_result()->mutable_built()->set_bundle_bytes(bundle.size());
    outcome.set_bundle(bundle);
    return outcome;
  });
  const auto call = NewCall();
  call->SendAll();
  const Heard heard = call->HearAll();
  EXPECT_TRUE(heard.status.ok()) << heard.status.error_message();
  EXPECT_THAT(heard.states,
              testing::ElementsAre(sassay::v1::BuildProgress::WAITING, sassay::v1::BuildProgress::BUILDING));
  EXPECT_EQ(heard.result.built().bundle_bytes(), bundle.size());
  EXPECT_EQ(heard.bundle, bundle);
  sassay::v1::GetBuilderResponse facts;
  grpc::ClientContext context;
  ASSERT_TRUE(stub_->GetBuilder(&context, {}, &facts).ok());
  EXPECT_EQ(facts.toolkit_version(), "13.0.88");
  EXPECT_EQ(facts.places(), 1u);
}

TEST_F(BuilderServerTest, ACandidatesFaultIsAnAnswerAndTheBuildersIsAnError) {
  bool broken = false;
  Start([&](const BuildJob&, absl::string_view, const Stop&) -> absl::StatusOr<BuildJobOutcome> {
    if (broken) return absl::InternalError("the compiler program ended without an answer");
    BuildJobOutcome outcome;
    outcome.mutable_result()->mutable_verdict()->set_reason("does not compile");
    return outcome;
  });
  auto call = NewCall();
  call->SendAll();
  Heard heard = call->HearAll();
  EXPECT_TRUE(heard.status.ok());
  EXPECT_EQ(heard.result.verdict().reason(), "does not compile");
  broken = true;
  call = NewCall();
  call->SendAll();
  heard = call->HearAll();
  EXPECT_EQ(heard.status.error_code(), grpc::INTERNAL);
  EXPECT_FALSE(heard.result.has_verdict());
}

TEST_F(BuilderServerTest, AMalformedPartEndsTheCallWithItsName) {
  Start(Hangs());
  const auto call = NewCall();
  call->SendSettings();
  call->SendSource("../../etc/passwd");
  const Heard heard = call->HearAll();
  EXPECT_EQ(heard.status.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_THAT(heard.status.error_message(), HasSubstr("etc/passwd"));
  EXPECT_EQ(running_, 0);
}

TEST_F(BuilderServerTest, WhoeverLeavesEndsTheBuildAndFreesItsPlace) {
  Start(Hangs());
  for (int i = 1; i <= 3; ++i) {
    const auto call = HangingCall();
    call->Cancel();
    WaitUntil([&] { return stopped_ == i; });
    EXPECT_EQ(call->HearAll().status.error_code(), grpc::CANCELLED);
  }
}

TEST_F(BuilderServerTest, WhatWaitsAndIsLeftNeverRunsAndGivesItsSeatBack) {
  Start(Hangs());
  const auto running = HangingCall();
  for (int left = 0; left < 5;) {
    const auto waiting = NewCall();
    waiting->SendAll();
    if (waiting->Read()) {
      EXPECT_EQ(waiting->response().progress().state(), sassay::v1::BuildProgress::WAITING);
      ++left;
      waiting->Cancel();
      EXPECT_EQ(waiting->HearAll().status.error_code(), grpc::CANCELLED);
    } else {
      // Its predecessor has left, and the server has not heard of it yet.
      ASSERT_EQ(waiting->HearAll().status.error_code(), grpc::RESOURCE_EXHAUSTED);
    }
  }
  WaitUntil([&] { return server_->MetricsText().find("sassay_builds_waiting 0") != std::string::npos; });
  EXPECT_EQ(running_, 1);
  running->Cancel();
}

TEST_F(BuilderServerTest, AFullBuilderSaysWhichLimit) {
  const std::string ann = AddToken("ann", Role::kTenant), bob = AddToken("bob", Role::kTenant);
  const std::string eve = AddToken("eve", Role::kTenant);
  Start(Hangs());
  const auto first = HangingCall(ann);
  const auto second = NewCall(ann);  // uploads, and does not end
  second->SendSettings();
  auto third = NewCall(ann);
  WaitUntil([&] {
    third = NewCall(ann);
    return third->HearAll().status.error_code() == grpc::RESOURCE_EXHAUSTED;
  });
  const auto bobs = NewCall(bob);
  bobs->SendAll();
  ASSERT_TRUE(bobs->Read());  // waits
  const Heard refused = NewCall(eve)->HearAll();
  EXPECT_EQ(refused.status.error_code(), grpc::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.status.error_message(), HasSubstr("--max-builds"));
  for (const auto* call : {&first, &second, &bobs}) (*call)->Cancel();
}

TEST_F(BuilderServerTest, TokensDecideWhoBuilds) {
  const std::string ann = AddToken("ann", Role::kTenant), node = AddToken("gpus", Role::kNode);
  Start(Hangs());
  EXPECT_EQ(NewCall()->HearAll().status.error_code(), grpc::UNAUTHENTICATED);
  EXPECT_EQ(NewCall("sassay_wrong")->HearAll().status.error_code(), grpc::UNAUTHENTICATED);
  EXPECT_EQ(NewCall(node)->HearAll().status.error_code(), grpc::PERMISSION_DENIED);
  const auto call = HangingCall(ann);
  ASSERT_TRUE(RevokeTokens(options_.token_file, "ann").ok());
  EXPECT_EQ(call->HearAll().status.error_code(), grpc::UNAUTHENTICATED);
  EXPECT_EQ(stopped_, 1);
}

TEST_F(BuilderServerTest, AClientThatIsTooOldIsRefusedWithBothVersions) {
  const std::string ann = AddToken("ann", Role::kTenant);
  options_.oldest_client = 2;
  Start([](const BuildJob&, absl::string_view, const Stop&) { return BuildJobOutcome(); });
  const auto refused = [](const grpc::Status& status) {
    EXPECT_EQ(status.error_code(), grpc::FAILED_PRECONDITION);
    EXPECT_THAT(status.error_message(), HasSubstr("protocol 1) is too old"));
    EXPECT_THAT(status.error_message(), HasSubstr("(Sassay " SASSAY_VERSION ", protocol 2) serves protocol 2"));
  };
  refused(NewCall(ann)->HearAll().status);
  grpc::ClientContext context;
  context.AddMetadata("authorization", "Bearer " + ann);
  sassay::v1::GetBuilderResponse facts;
  refused(stub_->GetBuilder(&context, {}, &facts));
  EXPECT_EQ(NewCall(ann, "two")->HearAll().status.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(NewCall("sassay_wrong")->HearAll().status.error_code(), grpc::UNAUTHENTICATED) << "strangers hear nothing";
  const auto current = NewCall(ann, "2");
  current->SendAll();
  EXPECT_TRUE(current->HearAll().status.ok());
}

TEST_F(BuilderServerTest, SourcesThatDoNotComeAreNotWaitedFor) {
  Start(Hangs(), absl::Milliseconds(50));
  const auto call = NewCall();
  call->SendSettings();
  EXPECT_EQ(call->HearAll().status.error_code(), grpc::DEADLINE_EXCEEDED);
}

TEST_F(BuilderServerTest, ADrainLetsWhatRunsEndAndSendsTheOthersElsewhere) {
  absl::Notification release;
  options_.drain = absl::Minutes(1);
  Start([&](const BuildJob&, absl::string_view, const Stop&) {
    release.WaitForNotification();
    BuildJobOutcome outcome;
    outcome.mutable_result()->mutable_verdict()->set_reason("in time");
    return outcome;
  });
  const auto running = HangingCall();
  const auto waiting = NewCall();
  waiting->SendAll();
  ASSERT_TRUE(waiting->Read());
  std::thread drain([&] { server_->Shutdown(); });
  EXPECT_EQ(waiting->HearAll().status.error_code(), grpc::UNAVAILABLE);
  EXPECT_EQ(NewCall()->HearAll().status.error_code(), grpc::UNAVAILABLE);
  release.Notify();
  const Heard heard = running->HearAll();
  EXPECT_TRUE(heard.status.ok()) << heard.status.error_message();
  EXPECT_EQ(heard.result.verdict().reason(), "in time");
  drain.join();
}

TEST_F(BuilderServerTest, WhatIsNotDoneAfterTheDrainIsKilled) {
  Start(Hangs());
  const auto call = HangingCall();
  std::thread drain([&] { server_->Shutdown(); });
  EXPECT_EQ(call->HearAll().status.error_code(), grpc::UNAVAILABLE);
  drain.join();
  EXPECT_EQ(stopped_, 1);
}

TEST_F(BuilderServerTest, EveryRowOfTheTableOfMetricsIsExported) {
  Start([](const BuildJob&, absl::string_view, const Stop&) -> absl::StatusOr<BuildJobOutcome> {
    return absl::DeadlineExceededError("too slow");
  });
  auto call = NewCall();
  call->SendAll();
  EXPECT_EQ(call->HearAll().status.error_code(), grpc::DEADLINE_EXCEEDED);
  const std::string text = server_->MetricsText();
  EXPECT_THAT(text, HasSubstr("sassay_builds_total{outcome=\"infrastructure\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("sassay_builds_total{outcome=\"candidate\"} 0\n"));
  std::set<std::string> exported, listed;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::ConsumePrefix(&line, "# TYPE sassay_")) exported.insert(std::string(line.substr(0, line.find(' '))));
  }
  for (const metrics::Metric* row : metrics::BuilderMetrics())
    listed.insert(std::string(absl::StripPrefix(row->name, "sassay_")));
  EXPECT_EQ(exported, listed);
}

}  // namespace
}  // namespace sassay::api
