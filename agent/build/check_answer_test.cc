#include "agent/build/check_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/bundle/bundle.h"

namespace sassay::agent {
namespace {

using testing::HasSubstr;

v1::SourceFile File(const std::string& path, const std::string& content) {
  v1::SourceFile file;
  file.set_path(path);
  file.set_content(content);
  return file;
}

v1::Workload Named(const std::string& name) {
  v1::Workload workload;
  workload.set_name(name);
  return workload;
}

// What an honest builder makes of the question, and what a test does to it before it is sent.
class CheckAnswerTest : public testing::Test {
 protected:
  CheckAnswerTest() {
    input_.sources = {File("kernel.cu", "__global__ void k() {}\n"), File("lib/a.cuh", "// a\n")};
    input_.workloads = {Named("gemm/M=1")};
    input_.welcome = {Named("gemm/M=2")};
    bundle_.mutable_compilation()->set_arch("sm_90a");
    bundle_.mutable_sources()->Add(input_.sources.begin(), input_.sources.end());
    bundle_.add_plans()->set_workload("gemm/M=1");
  }

  std::string Sent(bool fresh_digest = true) {
    if (fresh_digest) bundle_.set_source_sha256(SourceDigest(bundle_.sources()));
    const auto bytes = SerializeBundle(bundle_);
    EXPECT_TRUE(bytes.ok()) << bytes.status();
    result_.set_bundle_bytes(bytes->size());
    result_.set_bundle_sha256(BundleDigest(*bytes));
    return *bytes;
  }
  absl::StatusOr<BuiltBundle> Take(std::string bytes) {
    return TakeBundle(input_, "sm_90a", result_, std::move(bytes));
  }
  std::string Refusal(std::string bytes) {
    const auto built = Take(std::move(bytes));
    EXPECT_FALSE(built.ok());
    return std::string(built.status().message());
  }

  BuildInput input_;
  v1::Bundle bundle_;
  v1::CompileResult result_;
};

TEST_F(CheckAnswerTest, TakesWhatBelongsToTheQuestion) {
  bundle_.add_plans()->set_workload("gemm/M=2");
  *bundle_.add_sources() = File("sassay/ptx/tma.cuh", "// came along\n");
  result_.set_compile_cached(true);
  const auto built = Take(Sent());
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_TRUE(built->compile_cached);
  EXPECT_EQ(built->bundle.plans_size(), 2);
}

TEST_F(CheckAnswerTest, RefusesBytesThatAreNotThoseAnnounced) {
  std::string bytes = Sent();
  EXPECT_THAT(Refusal(bytes.substr(1)), HasSubstr("were announced"));
  bytes.back() ^= 1;
  EXPECT_THAT(Refusal(bytes), HasSubstr("its digest is"));
}

TEST_F(CheckAnswerTest, RefusesWhatWasMadeOfOtherSources) {
  bundle_.mutable_sources(0)->set_content("__global__ void other() {}\n");
  EXPECT_THAT(Refusal(Sent()), HasSubstr("another kernel.cu"));
}

TEST_F(CheckAnswerTest, RefusesAFileThatNobodySentOrThatIsLeftOut) {
  *bundle_.add_sources() = File("evil.cuh", "");
  EXPECT_THAT(Refusal(Sent()), HasSubstr("evil.cuh"));
  bundle_.mutable_sources()->DeleteSubrange(1, 2);
  EXPECT_THAT(Refusal(Sent()), HasSubstr("leaves out"));
}

TEST_F(CheckAnswerTest, RefusesASourceDigestOfSomethingElse) {
  bundle_.set_source_sha256(std::string(32, 'x'));
  EXPECT_THAT(Refusal(Sent(/*fresh_digest=*/false)), HasSubstr("source digest"));
}

TEST_F(CheckAnswerTest, RefusesAnotherArchitectureAndOtherPlans) {
  bundle_.mutable_compilation()->set_arch("sm_100a");
  EXPECT_THAT(Refusal(Sent()), HasSubstr("it is for sm_100a"));
  bundle_.mutable_compilation()->set_arch("sm_90a");
  bundle_.add_plans()->set_workload("gemm/M=3");
  EXPECT_THAT(Refusal(Sent()), HasSubstr("gemm/M=3"));
  bundle_.clear_plans();
  EXPECT_THAT(Refusal(Sent()), HasSubstr("no plan for gemm/M=1"));
}

TEST_F(CheckAnswerTest, AVerdictMustBeOneOfABuildAboutWhatWasAsked) {
  v1::Verdict verdict;
  verdict.set_status(v1::VERDICT_STATUS_COMPILE_ERROR);
  verdict.set_workload("gemm/M=1");
  EXPECT_TRUE(CheckBuildVerdict(input_, verdict).ok());
  verdict.set_workload("gemm/M=7");
  EXPECT_FALSE(CheckBuildVerdict(input_, verdict).ok());
  verdict.set_workload("gemm/M=1");
  verdict.set_status(v1::VERDICT_STATUS_CORRECT);
  EXPECT_FALSE(CheckBuildVerdict(input_, verdict).ok());
}

TEST(BuildFailure, KeepsCodeAndWordsAndSaysWhoseMachineIsMeant) {
  v1::CommandFailure failure;
  failure.set_error("INVALID_ARGUMENT");
  failure.set_message("define \"=\": expected NAME or NAME=VALUE");
  EXPECT_EQ(StatusOf(failure, "at b"), absl::InvalidArgumentError("define \"=\": expected NAME or NAME=VALUE"));
  failure.set_error("UNAVAILABLE");
  failure.set_message("no sandbox");
  EXPECT_EQ(StatusOf(failure, "at b"), absl::UnavailableError("at b: no sandbox"));
  failure.set_error("OK");
  EXPECT_EQ(StatusOf(failure, "at b").code(), absl::StatusCode::kUnknown);
}

}  // namespace
}  // namespace sassay::agent
