// SIGKILL at any moment: every accepted submission ends with exactly one verdict.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "common/base/fd.h"
#include "common/base/files.h"
#include "common/process/subprocess.h"
#include "profiler_service/store/sqlite/sqlite_store.h"

namespace sassay::queue {
namespace {

constexpr int kSubmissions = 200;
constexpr int kKills = 30;

class CrashTest : public testing::Test {
 protected:
  std::string database() const { return directory_.path() / "sassay.db"; }

  // Starts the helper, kills it after `lines` lines with news (never if negative). True if it came to its end.
  bool RunAndKillAfter(int lines) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    UniqueFd ours(ends[0]), theirs(ends[1]);
    Command command;
    command.argv = {SASSAY_CRASH_HELPER, database(), absl::StrCat(kSubmissions)};
    if (exclude_) command.argv.push_back("exclude");
    command.inherit_fds = {{theirs.get(), STDOUT_FILENO}};
    auto helper = Subprocess::Start(command);
    EXPECT_TRUE(helper.ok()) << helper.status();
    if (!helper.ok()) return true;
    theirs.reset();
    FILE* output = fdopen(ours.release(), "r");
    bool done = false;
    char line[256];
    while (lines != 0 && fgets(line, sizeof(line), output) != nullptr) {
      const size_t known = accepted_.size();
      done |= Note(line);
      const bool news = accepted_.size() > known || absl::StartsWith(line, "running");
      if (lines > 0 && news) --lines;
    }
    helper->Kill();
    EXPECT_TRUE(helper->Wait(absl::Now() + absl::Seconds(30)).ok());
    // What was still in the pipe was said before the end, and counts.
    while (fgets(line, sizeof(line), output) != nullptr) done |= Note(line);
    fclose(output);
    return done;
  }

  bool Note(const std::string& text) {
    const std::vector<std::string> words = absl::StrSplit(absl::StripSuffix(text, "\n"), ' ');
    if (words.size() == 3 && words[0] == "accepted") {
      const std::string& id = accepted_.emplace(words[1], words[2]).first->second;
      EXPECT_EQ(id, words[2]) << "request " << words[1] << " was accepted twice";
    }
    return words[0] == "done";
  }

  TemporaryDirectory directory_ = *TemporaryDirectory::Create("crash_test");
  // Kills it at random moments, then lets it come to its end.
  void KillAgainAndAgain() {
    std::mt19937 random(20260101);
    std::uniform_int_distribution<int> when(1, 24);
    int kills = 0;
    while (kills < kKills && !RunAndKillAfter(when(random))) ++kills;
    EXPECT_GE(kills, kKills / 2);
    ASSERT_TRUE(RunAndKillAfter(-1));
    ASSERT_EQ(accepted_.size(), size_t{kSubmissions});
  }

  bool exclude_ = false;
  std::map<std::string, std::string> accepted_;
};

TEST_F(CrashTest, EveryAcceptedSubmissionEndsWithExactlyOneVerdict) {
  ASSERT_NO_FATAL_FAILURE(KillAgainAndAgain());
  const auto store = *store::OpenSqliteStore(database());
  int retried = 0;
  for (const auto& [request, id] : accepted_) {
    EXPECT_EQ(store->Get("ann", id)->state, store::State::kFinished);
    const auto events = *store->Events(id, 0, 1000);
    int verdicts = 0;
    for (size_t i = 0; i < events.size(); ++i) {
      EXPECT_EQ(events[i].sequence(), i + 1);
      verdicts += events[i].has_verdict();
      retried += events[i].has_retrying();
    }
    EXPECT_EQ(verdicts, 1) << request;
    EXPECT_TRUE(events.back().has_verdict());
  }
  EXPECT_GT(retried, 0) << "no kill hit a run: the test has proved nothing";
}

// What the events of one submission say of its verdicts.
struct Reckoning {
  uint64_t standing = 0, standing_ns = 0, excluded = 0, excluded_ns = 0;
};

void Reckon(const std::vector<sassay::v1::Event>& events, Reckoning& sum) {
  uint64_t pending = 0;  // device time of a verdict that nothing has excluded yet
  for (size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].sequence(), i + 1);
    EXPECT_EQ(events[i].last(), i + 1 == events.size());
    if (events[i].has_verdict()) pending = events[i].verdict().stages(0).device_ns();
    if (!events[i].has_excluded() || pending == 0) continue;
    ++sum.excluded;
    sum.excluded_ns += std::exchange(pending, 0);
  }
  if (pending > 0) ++sum.standing;
  sum.standing_ns += pending;
  EXPECT_TRUE(pending > 0 || (events.back().has_excluded() && !events.back().excluded().rerun()));
}

TEST_F(CrashTest, ExclusionsNeitherLoseNorDoubleAVerdictAndUsageAddsUpExactly) {
  exclude_ = true;
  ASSERT_NO_FATAL_FAILURE(KillAgainAndAgain());
  const auto store = *store::OpenSqliteStore(database());
  Reckoning sum;
  for (const auto& [request, id] : accepted_) {
    EXPECT_EQ(store->Get("ann", id)->state, store::State::kFinished);
    const auto events = *store->Events(id, 0, 1000);
    Reckon(events, sum);
  }
  EXPECT_GT(sum.excluded, 0u) << "nothing was excluded: the test has proved nothing";
  const sassay::v1::TenantUsage usage = store->Usage("ann", absl::Now())->front();
  EXPECT_EQ(usage.verdicts(), sum.standing);
  EXPECT_EQ(usage.gpu_ns(), sum.standing_ns);
  EXPECT_EQ(usage.excluded_verdicts(), sum.excluded);
  EXPECT_EQ(usage.excluded_gpu_ns(), sum.excluded_ns);
}

}  // namespace
}  // namespace sassay::queue
