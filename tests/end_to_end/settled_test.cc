// What was settled is not run again: the same bundle submitted twice, to a service and to front ends on one database.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/submit/connection.h"
#include "agent/submit/submission.h"
#include "agent/submit/upload.h"
#include "common/base/sha256.h"
#include "common/base/steady_time.h"
#include "profiler_service/store/testing/postgres_server.h"
#include "tests/end_to_end/cluster_fixture.h"
#include "tests/end_to_end/process_tree.h"

namespace sassay::testing {
namespace {

using sassay::v1::Verdict;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kShape[] = "gemm_n256_k256/M=8";

AgentResult SubmitTo(const Service& service, const std::string& source, std::vector<std::string> more = {}) {
  std::vector<std::string> arguments = {"submit",    SourcePath(source), "--workload", kShape,
                                        "--service", service.address(),  "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return RunAgent(arguments);
}

TEST(Settled, ARightAndAWrongCandidateAreAnsweredFromTheirFirstVerdicts) {
  const auto service = Service::Start("", {"--device", "emulated:sm_90a"});
  ASSERT_TRUE(service.ok()) << service.status();
  for (const char* source : {"agent/examples/gemm_naive.cu", "tests/hostile/numerics/wrong_transposition.cu"}) {
    const AgentResult first = SubmitTo(**service, source);
    ASSERT_TRUE(first.json.is_object()) << first.stdout_text << first.stderr_text;
    const std::string id = first.json["submission_id"];
    EXPECT_FALSE(first.json.contains("reused_from"));
    const AgentResult second = SubmitTo(**service, source);
    ASSERT_TRUE(second.json.is_object()) << second.stdout_text << second.stderr_text;
    EXPECT_EQ(second.exit_code, first.exit_code);
    EXPECT_EQ(second.json.value("reused_from", ""), id);
    EXPECT_NE(second.json["submission_id"], first.json["submission_id"]);
    for (const char* same : {"status", "code", "reason", "numerics", "evidence", "scorable", "replay_id"}) {
      EXPECT_EQ(second.json.value(same, nlohmann::json()), first.json.value(same, nlohmann::json())) << same;
    }
    EXPECT_TRUE(second.json["stages"][0].value("cached", false)) << second.json["stages"];
    EXPECT_THAT(second.stderr_text, HasSubstr(absl::StrCat("cached     from ", id)));
    EXPECT_THAT(second.stderr_text, Not(HasSubstr("evaluate ")));
    EXPECT_FALSE(SubmitTo(**service, source, {"--fresh"}).json.contains("reused_from"));
    EXPECT_FALSE(SubmitTo(**service, source, {"--stages", "evaluate"}).json.contains("reused_from"));
  }
}

TEST(Settled, WhatHangsIsRunEachTime) {
  const auto service = Service::Start("", {"--device", "emulated:sm_90a"});
  ASSERT_TRUE(service.ok()) << service.status();
  for (int i = 0; i < 2; ++i) {
    const AgentResult result = SubmitTo(**service, "tests/hostile/hang/endless_loop.cu");
    EXPECT_EQ(result.json.value("status", ""), "TIMEOUT") << result.stdout_text << result.stderr_text;
    EXPECT_FALSE(result.json.contains("reused_from"));
  }
}

TEST(Settled, AnyFrontEndAnswersWithinFiftyMilliseconds) {
  AdoptOrphans();
  const auto server = store::PostgresServer::OfThisProgram();
  ASSERT_TRUE(server.ok()) << server.status();
  const auto uri = (*server)->NewDatabase();
  ASSERT_TRUE(uri.ok()) << uri.status();
  Cluster cluster(*uri);
  std::vector<Member*> front_ends;
  for (int i = 0; i < 2; ++i) {
    const auto front_end = cluster.AddFrontEnd();
    ASSERT_TRUE(front_end.ok()) << front_end.status();
    front_ends.push_back(*front_end);
  }
  const auto node = cluster.AddNode();
  ASSERT_TRUE(node.ok()) << node.status();
  Candidate candidate = {"agent/examples/gemm_naive.cu", "CORRECT"};
  ASSERT_TRUE(cluster.Compile(candidate).ok());
  const Turn first = cluster.Play(candidate, "first", *front_ends[0], *front_ends[0]);
  ASSERT_TRUE(first.status.ok()) << first.status;
  (*node)->Drain();  // nobody is left to run anything

  ConnectionOptions options;
  options.service = front_ends[1]->address();
  options.token_file = cluster.TokenFile("ann");
  const auto connection = agent::Connection::Open(options);
  ASSERT_TRUE(connection.ok()) << connection.status();
  Stopper stopper;
  sassay::v1::ProfileRequest request;
  request.set_bundle_sha256(Sha256Hex(candidate.bundle));
  request.set_workload(first.verdict.workload());
  ASSERT_TRUE(
      agent::Upload(**connection, candidate.bundle, request.bundle_sha256(), kPatientClient, stopper).status().ok());
  std::vector<double> milliseconds;
  for (int i = 0; i < 40; ++i) {
    request.set_request_id(absl::StrCat("again-", i));
    agent::Submission submission(**connection, kPatientClient, stopper, {});
    const absl::Time begin = SteadyNow();
    const absl::StatusOr<Verdict> verdict = submission.Profile(request);
    milliseconds.push_back(absl::ToDoubleMilliseconds(SteadyNow() - begin));
    ASSERT_TRUE(verdict.ok()) << verdict.status();
    EXPECT_EQ(verdict->reused_from(), first.id);
    EXPECT_EQ(verdict->status(), first.verdict.status());
  }
  std::sort(milliseconds.begin(), milliseconds.end());
  std::cout << "answered by another front end on PostgreSQL: median " << milliseconds[20] << " ms, slowest "
            << milliseconds.back() << " ms\n";
  EXPECT_LT(milliseconds[20], 50);
}

}  // namespace
}  // namespace sassay::testing
