// Submissions that are answered by an earlier verdict, as their clients see them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <iostream>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/steady_time.h"
#include "common/workload/catalog.h"
#include "profiler_service/api/service/server_testing.h"
#include "profiler_service/store/testing/postgres_server.h"

namespace sassay::api {
namespace {

using grpc::StatusCode;
using sassay::v1::Event;
using sassay::v1::ProfileRequest;
using sassay::v1::StageReport;
using sassay::v1::Verdict;
using testing::HasSubstr;

// With one device, of which the runner speaks.
class Reused : public ServerTest {
 protected:
  void SetUp() override { Become("emulated"); }

  // "cuda" has a driver and can time; "emulated" neither.
  void Become(const std::string& kind) {
    capabilities_.clear_devices();
    device_ = capabilities_.add_devices();
    device_->set_kind(kind);
    device_->set_model(kind);
    device_->add_archs("sm_90a");
    if (kind == "cuda") device_->add_stages(sassay::v1::STAGE_TIMING);
    runner_.run = [this](const Job& job, JobObserver&) {
      ++runs_;
      return Correct(job);
    };
  }

  Verdict Correct(const Job& job) const {
    Verdict verdict = queue::CorrectVerdict();
    verdict.set_bundle_sha256(job.request.bundle_sha256());
    verdict.set_definition_sha256(Definition(job.request.workload()));
    verdict.mutable_versions()->set_rules(capabilities_.rules_version());
    verdict.mutable_versions()->set_device(device_->model());
    StageReport& evaluated = *verdict.add_stages();
    evaluated.set_stage(sassay::v1::STAGE_EVALUATE);
    evaluated.set_outcome(StageReport::PASSED);
    evaluated.set_device_ns(1'000'000'000);
    if (device_->kind() == "cuda") verdict.mutable_timing()->set_status(sassay::v1::Timing::MEASURED);
    return verdict;
  }

  static std::string Definition(const std::string& workload) {
    return absl::BytesToHexString(WorkloadCatalog::BuiltIn().Resolve(workload)->definition_sha256());
  }

  // The verdict, and that it was the last event.
  static Verdict LastOf(const Answer<std::vector<Event>>& answer) {
    EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
    EXPECT_FALSE(answer.response.empty());
    if (answer.response.empty()) return {};
    EXPECT_TRUE(answer.response.back().last());
    return answer.response.back().verdict();
  }

  void ExpectQuickAnswers(const std::string& where) {
    TestClient client = Client();
    LastOf(client.Profile(Uploaded(client, "r")));
    std::vector<double> milliseconds;
    for (int i = 0; i < 50; ++i) {
      const ProfileRequest request = Uploaded(client, absl::StrCat("r", i));
      const absl::Time begin = SteadyNow();
      EXPECT_NE(LastOf(client.Profile(request)).reused_from(), "");
      milliseconds.push_back(absl::ToDoubleMilliseconds(SteadyNow() - begin));
    }
    std::sort(milliseconds.begin(), milliseconds.end());
    std::cout << "answered from an earlier verdict (" << where << "): median " << milliseconds[25] << " ms, slowest "
              << milliseconds.back() << " ms\n";
    EXPECT_LT(milliseconds[25], 50);
    EXPECT_EQ(runs_, 1);
  }

  sassay::v1::DeviceCapability* device_ = nullptr;
  std::atomic<int> runs_ = 0;
};

TEST_F(Reused, AnIdenticalSubmissionIsAnsweredFromTheFirst) {
  Start();
  TestClient client = Client();
  const Verdict first = LastOf(client.Profile(Uploaded(client, "r1")));
  EXPECT_EQ(first.reused_from(), "");
  EXPECT_FALSE(first.stages(0).cached());
  const auto answer = client.Profile(Uploaded(client, "r2"));
  const Verdict second = LastOf(answer);
  ASSERT_EQ(answer.response.size(), 2u);
  EXPECT_TRUE(answer.response[0].has_accepted());
  EXPECT_NE(second.submission_id(), first.submission_id());
  EXPECT_EQ(second.reused_from(), first.submission_id());
  EXPECT_TRUE(second.stages(0).cached());
  EXPECT_EQ(runs_, 1);
  const std::string metrics = server_->MetricsText();
  EXPECT_THAT(metrics, HasSubstr("sassay_submissions_reused_total 1"));
  EXPECT_THAT(metrics, HasSubstr("sassay_submissions_accepted_total 2"));
  EXPECT_THAT(metrics, HasSubstr("sassay_submissions_finished_total{status=\"CORRECT\"} 2"));

  const auto attached = client.Attach(second.submission_id());
  EXPECT_EQ(LastOf(attached).SerializeAsString(), second.SerializeAsString());
  EXPECT_EQ(LastOf(client.Profile(Uploaded(client, "r2"))).submission_id(), second.submission_id()) << "a repetition";
}

TEST_F(Reused, ItIsAnsweredWithinFiftyMilliseconds) {
  Start();
  ExpectQuickAnswers("SQLite");
}

TEST_F(Reused, ItIsAnsweredWithinFiftyMillisecondsOnPostgresqlToo) {
  const auto server = store::PostgresServer::OfThisProgram();
  ASSERT_TRUE(server.ok()) << server.status();
  const auto uri = (*server)->NewDatabase();
  ASSERT_TRUE(uri.ok()) << uri.status();
  options_.store = *uri;
  options_.blobs_place = "postgres";
  Start();
  ExpectQuickAnswers("PostgreSQL, uploads too");
  server_.reset();
}

TEST_F(Reused, WhoAsksForItFreshGetsItFresh) {
  Start();
  TestClient client = Client();
  LastOf(client.Profile(Uploaded(client, "r1")));
  ProfileRequest fresh = Uploaded(client, "r2");
  fresh.set_fresh(true);
  const Verdict second = LastOf(client.Profile(fresh));
  EXPECT_EQ(second.reused_from(), "");
  EXPECT_EQ(runs_, 2);
  EXPECT_EQ(LastOf(client.Profile(Uploaded(client, "r3"))).reused_from(), second.submission_id()) << "the newest";
}

TEST_F(Reused, OnlyWhatIsTheSameIsReused) {
  Start();
  TestClient client = Client();
  LastOf(client.Profile(Uploaded(client, "r1")));
  ProfileRequest sanitized = Uploaded(client, "r2"), replayed = Uploaded(client, "r3");
  sanitized.set_sanitize(sassay::v1::SANITIZE_POLICY_FULL);
  replayed.set_replay_id("x");
  EXPECT_EQ(LastOf(client.Profile(sanitized)).reused_from(), "");
  EXPECT_EQ(LastOf(client.Profile(replayed)).reused_from(), "");
  EXPECT_EQ(runs_, 3);
}

TEST_F(Reused, ATimingIsReusedOnlyWithinTheAgeThatIsAskedFor) {
  Become("cuda");
  Start();
  TestClient client = Client();
  LastOf(client.Profile(Uploaded(client, "r1")));
  EXPECT_EQ(LastOf(client.Profile(Uploaded(client, "r2"))).reused_from(), "");
  EXPECT_EQ(runs_, 2);
  ProfileRequest hour = Uploaded(client, "r3"), moment = Uploaded(client, "r4");
  hour.mutable_max_age()->set_seconds(3600);
  moment.mutable_max_age()->set_nanos(1);
  EXPECT_NE(LastOf(client.Profile(hour)).reused_from(), "");
  EXPECT_EQ(LastOf(client.Profile(moment)).reused_from(), "");
  EXPECT_EQ(runs_, 3);
}

TEST_F(Reused, ItOutlivesTheProcessButNotWhatItsOperatorHadSet) {
  Start();
  {
    TestClient client = Client();
    LastOf(client.Profile(Uploaded(client, "r1")));
  }
  Restart();
  {
    TestClient client = Client();
    EXPECT_NE(LastOf(client.Profile(Uploaded(client, "r2"))).reused_from(), "");
  }
  settings_sha256_ = "another";
  Restart();
  TestClient client = Client();
  EXPECT_EQ(LastOf(client.Profile(Uploaded(client, "r3"))).reused_from(), "");
  EXPECT_EQ(runs_, 2);
}

TEST_F(Reused, AnAgeThatCannotBeIsRefused) {
  Start();
  TestClient client = Client();
  ProfileRequest both = Uploaded(client, "r1"), negative = Uploaded(client, "r2");
  both.set_fresh(true);
  both.mutable_max_age()->set_seconds(1);
  negative.mutable_max_age()->set_seconds(-1);
  const auto refused = client.Profile(both);
  EXPECT_EQ(refused.status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(refused.status.error_message(), HasSubstr("send one of the two"));
  const auto past = client.Profile(negative);
  EXPECT_EQ(past.status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(past.status.error_message(), HasSubstr("max_age: expected how old a timing may be"));
  EXPECT_THAT(past.status.error_message(), HasSubstr("got -1s"));
}

}  // namespace
}  // namespace sassay::api
