#include <atomic>

#include "absl/synchronization/notification.h"
#include "common/base/steady_time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "monitor/sources/sampler.h"

namespace sassay::monitor {
namespace {

// Answers as it is told; waits for `release` in each reading while that is set.
class TestSource : public Source {
 public:
  TestSource(std::string name, absl::StatusOr<std::vector<Sample>> answer,
             std::shared_ptr<absl::Notification> release = nullptr)
      : name_(std::move(name)), answer_(std::move(answer)), release_(std::move(release)) {}
  std::string name() const override { return name_; }
  absl::Duration period() const override { return absl::Milliseconds(5); }
  absl::Duration deadline() const override { return absl::Milliseconds(20); }
  absl::StatusOr<std::vector<Sample>> Read() override {
    if (release_ != nullptr) release_->WaitForNotification();
    return answer_;
  }

 private:
  const std::string name_;
  const absl::StatusOr<std::vector<Sample>> answer_;
  const std::shared_ptr<absl::Notification> release_;
};

std::vector<Sample> One(double value) { return {{SteadyNow(), "g", "gpu.temperature_celsius", value, ""}}; }

template <typename... Sources>
std::vector<std::unique_ptr<Source>> List(Sources... sources) {
  std::vector<std::unique_ptr<Source>> list;
  (list.push_back(std::move(sources)), ...);
  return list;
}

// Takes until a sample satisfies `wanted`.
template <typename Wanted>
Sample Await(Sampler& sampler, const Wanted& wanted) {
  const absl::Time deadline = SteadyNow() + absl::Seconds(20);
  while (SteadyNow() < deadline) {
    for (const Sample& sample : sampler.Take(absl::Milliseconds(50))) {
      if (wanted(sample)) return sample;
    }
  }
  ADD_FAILURE() << "no such sample came";
  return {};
}

bool IsSilence(const Sample& sample, const std::string& source, bool silent) {
  return sample.signal == "source.silent_seconds" && sample.text == source && (sample.value > 0) == silent;
}

TEST(Sampler, GivesSamplesAndSaysThatTheirSourceIsNotSilent) {
  Sampler sampler(List(std::make_unique<TestSource>("a", One(41))));
  EXPECT_EQ(Await(sampler, [](const Sample& s) { return s.gpu == "g"; }).value, 41);
  Await(sampler, [](const Sample& s) { return IsSilence(s, "a", false); });
}

TEST(Sampler, SourceThatHangsIsSilentAndKeepsNobodyWaiting) {
  const auto release = std::make_shared<absl::Notification>();
  {
    Sampler sampler(
        List(std::make_unique<TestSource>("hangs", One(1), release), std::make_unique<TestSource>("answers", One(2))));
    const Sample first = Await(sampler, [](const Sample& s) { return IsSilence(s, "hangs", true); });
    const Sample second = Await(sampler, [](const Sample& s) { return IsSilence(s, "hangs", true); });
    EXPECT_GT(second.value, first.value);
    Await(sampler, [](const Sample& s) { return s.value == 2; });
    EXPECT_TRUE(sampler.View()[0].reading);
    EXPECT_GT(sampler.View()[0].silent, absl::ZeroDuration());
  }  // ends although the reading never does
  release->Notify();
}

TEST(Sampler, SourceThatAnswersAgainIsNotSilentAnyMore) {
  const auto release = std::make_shared<absl::Notification>();
  Sampler sampler(List(std::make_unique<TestSource>("a", One(1), release)));
  Await(sampler, [](const Sample& s) { return IsSilence(s, "a", true); });
  release->Notify();
  // The first good reading is the one that hung; what the next one begins with is fresh.
  for (int i = 0; i < 2; ++i) Await(sampler, [](const Sample& s) { return IsSilence(s, "a", false); });
  EXPECT_EQ(sampler.View()[0].silent, absl::ZeroDuration());
}

TEST(Sampler, SourceThatIsNotThereIsNotSilent) {
  Sampler sampler(List(std::make_unique<TestSource>("absent", absl::UnavailableError("no driver")),
                       std::make_unique<TestSource>("present", One(1))));
  for (int i = 0; i < 40; ++i) {
    Await(sampler, [](const Sample& s) {
      EXPECT_NE(s.text, "absent");
      return s.gpu == "g";
    });
  }
  EXPECT_EQ(sampler.View()[0].last_error, "no driver");
  EXPECT_FALSE(sampler.View()[0].seen);
}

TEST(Sampler, SourceThatFailsOtherwiseIsSilent) {
  Sampler sampler(List(std::make_unique<TestSource>("fails", absl::InternalError("odd"))));
  Await(sampler, [](const Sample& s) { return IsSilence(s, "fails", true); });
}

TEST(Sampler, DropsTheOldestWhenNobodyTakes) {
  Sampler sampler(List(std::make_unique<TestSource>("a", One(1))), 8);
  const absl::Time deadline = SteadyNow() + absl::Seconds(20);
  while (sampler.dropped() == 0 && SteadyNow() < deadline) absl::SleepFor(absl::Milliseconds(1));
  EXPECT_GT(sampler.dropped(), 0u);
  EXPECT_LE(sampler.Take(absl::ZeroDuration()).size(), 8u);
}

TEST(Sampler, WakeEndsAWait) {
  Sampler sampler({});
  sampler.Wake();
  const absl::Time before = SteadyNow();
  sampler.Take(absl::Seconds(60));
  EXPECT_LT(SteadyNow() - before, absl::Seconds(30));
}

}  // namespace
}  // namespace sassay::monitor
