#include "monitor/actions/supervisor.h"

#include <signal.h>

#include "common/base/files.h"
#include "common/base/steady_time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay::monitor {
namespace {

using ::testing::HasSubstr;

class SupervisorTest : public testing::Test {
 protected:
  // A service that lives until it is told to end, or as long as `script` says.
  SupervisorOptions Options(const std::string& script = "exec sleep 1000") {
    SupervisorOptions options;
    options.command = {"/bin/sh", "-c", script};
    options.first_wait = absl::Milliseconds(10);
    options.on_exit = [this](const std::string& how) {
      absl::MutexLock lock(&mutex_);
      exits_.push_back(how);
    };
    return options;
  }
  size_t AwaitExits(size_t count) {
    absl::MutexLock lock(&mutex_);
    const auto enough = [this, count] { return exits_.size() >= count; };
    mutex_.AwaitWithTimeout(absl::Condition(&enough), absl::Seconds(30));
    return exits_.size();
  }
  static pid_t AwaitOther(const Supervisor& supervisor, pid_t before) {
    const absl::Time deadline = SteadyNow() + absl::Seconds(30);
    while (SteadyNow() < deadline) {
      const pid_t now = supervisor.pid();
      if (now != 0 && now != before) return now;
      absl::SleepFor(absl::Milliseconds(1));
    }
    return 0;
  }
  static bool IsAlive(pid_t pid) { return kill(pid, 0) == 0; }

  absl::Mutex mutex_;
  std::vector<std::string> exits_;
};

TEST_F(SupervisorTest, ServiceThatDiesIsStartedAgainAndItsEndIsTold) {
  const auto supervisor = *Supervisor::Start(Options());
  const pid_t first = supervisor->pid();
  kill(first, SIGKILL);
  EXPECT_NE(AwaitOther(*supervisor, first), 0);
  ASSERT_EQ(AwaitExits(1), 1u);
  EXPECT_THAT(exits_[0], HasSubstr("killed by signal 9"));
}

TEST_F(SupervisorTest, ServiceThatIsStoppedIsKilledAndIsGoneWhenRestartAnswers) {
  const auto supervisor = *Supervisor::Start(Options());
  const pid_t first = supervisor->pid();
  kill(first, SIGSTOP);
  EXPECT_TRUE(supervisor->Restart("silent").ok());
  EXPECT_FALSE(IsAlive(first));
  EXPECT_NE(AwaitOther(*supervisor, first), 0);
}

TEST_F(SupervisorTest, WaitsLongerEachTimeForAServiceThatDoesNotStay) {
  SupervisorOptions options = Options("exit 3");
  options.first_wait = absl::Milliseconds(20);
  const absl::Time begin = SteadyNow();
  const auto supervisor = *Supervisor::Start(options);
  ASSERT_GE(AwaitExits(4), 4u);
  EXPECT_GE(SteadyNow() - begin, absl::Milliseconds(20 + 40 + 80));
  EXPECT_THAT(exits_[0], HasSubstr("status 3"));
}

TEST_F(SupervisorTest, EndAsksTheServiceToEndFirst) {
  const TemporaryDirectory directory = *TemporaryDirectory::Create("supervisor");
  const std::string asked = (directory.path() / "asked").string();
  const std::string ready = (directory.path() / "ready").string();
  absl::Time end;
  {
    const auto supervisor = *Supervisor::Start(
        Options("trap 'touch " + asked + "; exit 0' TERM; touch " + ready + "; while :; do sleep 0.01; done"));
    const absl::Time deadline = SteadyNow() + absl::Seconds(30);
    while (!std::filesystem::exists(ready) && SteadyNow() < deadline) absl::SleepFor(absl::Milliseconds(1));
    end = SteadyNow();
  }
  EXPECT_LT(SteadyNow() - end, Options().drain / 2) << "its end is not waited for after it has ended";
  EXPECT_TRUE(std::filesystem::exists(asked));
  EXPECT_TRUE(exits_.empty()) << "an end that was asked for is no news";
}

TEST_F(SupervisorTest, ServiceThatDoesNotEndIsKilledInTheEnd) {
  SupervisorOptions options = Options("trap '' TERM; while :; do sleep 0.01; done");
  options.drain = absl::Milliseconds(50);
  pid_t pid = 0;
  {
    const auto supervisor = *Supervisor::Start(options);
    pid = supervisor->pid();
  }
  EXPECT_FALSE(IsAlive(pid));
}

TEST_F(SupervisorTest, ProgramThatIsNotThereIsNamed) {
  SupervisorOptions options = Options();
  options.command = {"/no/such/service"};
  const auto supervisor = Supervisor::Start(options);
  EXPECT_TRUE(absl::IsNotFound(supervisor.status()));
  EXPECT_THAT(std::string(supervisor.status().message()), HasSubstr("/no/such/service"));
}

TEST(RestartCommand, FailsWithWhatTheCommandSaid) {
  EXPECT_TRUE(RunRestartCommand("true").ok());
  const absl::Status status = RunRestartCommand("echo no such unit >&2; exit 5");
  EXPECT_THAT(std::string(status.message()), testing::AllOf(HasSubstr("status 5"), HasSubstr("no such unit")));
}

}  // namespace
}  // namespace sassay::monitor
