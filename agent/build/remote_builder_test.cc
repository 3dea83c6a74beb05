#include "agent/build/remote_builder.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "absl/synchronization/notification.h"
#include "common/base/files.h"
#include "common/bundle/bundle.h"
#include "common/process/thread_stop.h"

namespace sassay::agent {
namespace {

using testing::HasSubstr;

// A builder that answers with what it was told to, and remembers what it was asked.
class ScriptedBuilder final : public v1::Builder::Service {
 public:
  grpc::Status Build(grpc::ServerContext* context,
                     grpc::ServerReaderWriter<v1::BuildResponse, v1::BuildRequest>* stream) override {
    asked_.clear();
    for (v1::BuildRequest request; stream->Read(&request);) asked_.push_back(request);
    ++calls_;
    if (hang_) {
      hanging_.Notify();
      while (!context->IsCancelled()) std::this_thread::yield();
      return grpc::Status::CANCELLED;
    }
    if (refusals_ > 0) {
      --refusals_;
      return refusal_;
    }
    v1::BuildResponse response;
    response.mutable_progress()->set_state(v1::BuildProgress::BUILDING);
    stream->Write(response);
    *response.mutable_result() = result_;
    stream->Write(response);
    for (size_t at = 0; at < bundle_.size(); at += 100) {
      response.set_bundle(bundle_.substr(at, 100));
      stream->Write(response);
    }
    return grpc::Status::OK;
  }

  std::vector<v1::BuildRequest> asked_;
  std::atomic<int> calls_ = 0;
  int refusals_ = 0;
  grpc::Status refusal_;
  bool hang_ = false;
  absl::Notification hanging_;
  v1::BuildResult result_;
  std::string bundle_;
};

class RemoteBuilderTest : public testing::Test {
 protected:
  RemoteBuilderTest() {
    grpc::ServerBuilder server;
    server.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    server.RegisterService(&service_);
    server_ = server.BuildAndStart();
    v1::SourceFile& file = input_.sources.emplace_back();
    file.set_path("kernel.cu");
    file.set_content(std::string(3 << 20, 'x'));
    v1::Workload& workload = input_.workloads.emplace_back();
    workload.set_name("gemm/M=1");
    workload.set_definition_json("{}");
  }

  void AnswerWithBundle() {
    v1::Bundle bundle;
    bundle.mutable_compilation()->set_arch("sm_90a");
    *bundle.add_sources() = input_.sources.front();
    bundle.set_source_sha256(SourceDigest(bundle.sources()));
    bundle.add_plans()->set_workload("gemm/M=1");
    service_.bundle_ = *SerializeBundle(bundle);
    service_.result_.mutable_built()->set_bundle_bytes(service_.bundle_.size());
    service_.result_.mutable_built()->set_bundle_sha256(BundleDigest(service_.bundle_));
  }

  absl::StatusOr<std::unique_ptr<Builder>> Make(std::map<std::string, std::string> flags = {}) {
    flags["builder"] = absl::StrCat("127.0.0.1:", port_);
    const auto settings = Settings::Resolve({flags, {}, directory_.path()});
    if (!settings.ok()) return settings.status();
    return Builder::Make(*settings, {});
  }
  absl::StatusOr<BuildOutcome> Build() {
    const auto builder = Make();
    if (!builder.ok()) return builder.status();
    return (*builder)->Build(input_);
  }

  const TemporaryDirectory directory_ = *TemporaryDirectory::Create("remote_builder");
  BuildInput input_;
  ScriptedBuilder service_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(RemoteBuilderTest, SendsSettingsThenSourcesInPiecesAndTakesTheBundle) {
  AnswerWithBundle();
  const auto outcome = Build();
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(std::get<BuiltBundle>(*outcome).bytes, service_.bundle_);
  ASSERT_EQ(service_.asked_.size(), 4u);
  EXPECT_EQ(service_.asked_[0].settings().arch(), "sm_90a");
  EXPECT_EQ(service_.asked_[0].settings().workloads(0).name(), "gemm/M=1");
  std::string content;
  for (size_t i = 1; i < 4; ++i) content += service_.asked_[i].source().content();
  EXPECT_EQ(content, input_.sources.front().content());
}

TEST_F(RemoteBuilderTest, AVerdictIsTheCandidatesAndAFailureKeepsItsCode) {
  service_.result_.mutable_verdict()->set_status(v1::VERDICT_STATUS_COMPILE_ERROR);
  service_.result_.mutable_verdict()->set_workload("gemm/M=1");
  auto outcome = Build();
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(std::get<v1::Verdict>(*outcome).status(), v1::VERDICT_STATUS_COMPILE_ERROR);
  service_.result_.mutable_failure()->set_error("FAILED_PRECONDITION");
  service_.result_.mutable_failure()->set_message("Triton is not installed");
  outcome = Build();
  EXPECT_EQ(outcome.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(outcome.status().message()), HasSubstr("at the builder 127.0.0.1:"));
}

TEST_F(RemoteBuilderTest, AnAnswerToAnotherQuestionIsNoVerdict) {
  AnswerWithBundle();
  input_.sources.front().set_content("something else");
  const auto outcome = Build();
  EXPECT_EQ(outcome.status().code(), absl::StatusCode::kDataLoss);
  service_.result_.Clear();
  EXPECT_EQ(Build().status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(RemoteBuilderTest, AFullBuilderIsAskedAgainAndARefusedTokenIsNot) {
  AnswerWithBundle();
  service_.refusals_ = 2;
  service_.refusal_ = grpc::Status(grpc::RESOURCE_EXHAUSTED, "full");
  EXPECT_TRUE(Build().ok());
  EXPECT_EQ(service_.calls_, 3);
  service_.refusals_ = 1;
  service_.refusal_ = grpc::Status(grpc::UNAUTHENTICATED, "who are you?");
  const auto refused = Build();
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("--token-file"));
}

TEST_F(RemoteBuilderTest, ABuilderThatIsNotThereIsSaidAtOnce) {
  server_->Shutdown();
  const auto outcome = Build();
  EXPECT_EQ(outcome.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(outcome.status().message()), HasSubstr("--builder"));
}

TEST_F(RemoteBuilderTest, WhoeverStopsWaitsForNobody) {
  service_.hang_ = true;
  const ThreadStop stop([&] { return service_.hanging_.HasBeenNotified(); });
  EXPECT_EQ(Build().status().code(), absl::StatusCode::kCancelled);
}

TEST_F(RemoteBuilderTest, WhatOnlyThisMachineHasIsRefusedByName) {
  const auto made = Make({{"cuda_home", "/opt/cuda"}});
  EXPECT_EQ(made.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(made.status().message()), HasSubstr("--cuda-home"));
  input_.include_directories = {"/usr/include"};
  EXPECT_THAT(std::string(Build().status().message()), HasSubstr("-I /usr/include"));
}

}  // namespace
}  // namespace sassay::agent
