#include "profiler_service/timing/judges_baseline.h"

#include <vector>

#include "common/base/steady_time.h"
#include "gtest/gtest.h"

namespace sassay::timing {
namespace {

// Remembers what it was asked.
class ListeningJudge : public evaluate::JudgePort {
 public:
  absl::StatusOr<worker::JudgeReply> Ask(const worker::JudgeRequest& request, std::vector<UniqueFd>&,
                                         absl::Time) override {
    asked.push_back(request.time_baseline());
    return worker::JudgeReply();
  }
  void Drop(uint64_t) override {}
  uint64_t NewCase() override { return 1; }

  std::vector<worker::TimeBaseline> asked;
};

JudgesBaseline::Options Until(absl::Time deadline) {
  JudgesBaseline::Options options;
  options.deadline = deadline;
  return options;
}

// The judge serves everybody: a request that came with the little time that a job has left would end for all of them.
TEST(JudgesBaseline, AJobsTimeIsNeverTheJudgesDeviceDeadline) {
  ListeningJudge judge;
  JudgesBaseline baseline(judge, Until(SteadyNow() + absl::Minutes(1)));
  ASSERT_TRUE(baseline.Prepare().ok());
  ASSERT_TRUE(baseline.WarmUp(3, absl::Milliseconds(1), absl::Seconds(1)).ok());
  BlockSize size;
  ASSERT_TRUE(baseline.RunBlock(size).ok());
  ASSERT_EQ(judge.asked.size(), 3u);
  EXPECT_EQ(judge.asked[1].warm_up().calls(), 3u);
  EXPECT_EQ(judge.asked[1].warm_up().deadline_ns(), 0u);
  EXPECT_TRUE(judge.asked[2].has_block());
  EXPECT_EQ(judge.asked[2].block().deadline_ns(), 0u);
}

TEST(JudgesBaseline, AfterItsDeadlineAJobAsksForNothing) {
  ListeningJudge judge;
  JudgesBaseline baseline(judge, Until(SteadyNow()));
  EXPECT_EQ(baseline.Prepare().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(baseline.WarmUp(3, absl::Milliseconds(1), absl::Seconds(1)).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(baseline.RunBlock(BlockSize()).status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(judge.asked.empty());
}

}  // namespace
}  // namespace sassay::timing
