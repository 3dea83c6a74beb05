// What tests of whole runs share: a service, a model's server that does as it is told, and a run's record in a form
// that two runs can be compared by.
#ifndef SASSAY_TESTS_END_TO_END_ROLLOUTS_FIXTURE_H_
#define SASSAY_TESTS_END_TO_END_ROLLOUTS_FIXTURE_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "agent/models/testing/scripted_server.h"
#include "agent/trajectory/trajectory.h"
#include "common/base/files.h"
#include "tests/end_to_end/service_fixture.h"

namespace sassay::testing {

inline constexpr char kRolloutWorkload[] = "gemm_n256_k256/M=8";
// The model's server wants it.
inline constexpr char kModelKey[] = "sk-never-to-be-seen-0123456789";

// A fenced block, and the shipped kernel that is correct and slow.
std::string Block(absl::string_view code);
std::string NaiveKernel();

// An answer of every kind that models give, decided by trajectory and turn alone: right and wrong kernels, ones that do
// not compile, two blocks, none, a cut one, an empty text, one that gives orders; some of them come slowly.
agent::ScriptedAnswer AnyAnswer(const agent::AnswerRequest& request);

// Where the records of two runs of one script differ, as "exp_000/3: [{…}]" by log line and JSON patch. Every record of
// every trajectory in its order and every source is compared, but for the members that docs/rollouts.md, "Going on",
// lists: times, ids and what follows from them.
std::vector<std::string> Differences(const std::filesystem::path& run, const std::filesystem::path& other);

// The real agent against a real service and a scripted server.
class RolloutsTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void StartModel(agent::Script script, bool remembers = true);

  std::filesystem::path Folder(const std::string& name) const { return directory_->path() / name; }
  // Arguments of a new run, and of one that goes on.
  std::vector<std::string> New(const std::string& name, size_t trajectories, uint32_t turns) const;
  std::vector<std::string> Resume(const std::string& name) const { return {"run", "--resume", Folder(name).string()}; }
  // With the service's address, the key and --json.
  std::vector<std::string> With(std::vector<std::string> arguments) const;
  agent::Run Read(const std::string& name) const;

  std::optional<TemporaryDirectory> directory_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<agent::ScriptedServer> model_;
};

}  // namespace sassay::testing

#endif  // SASSAY_TESTS_END_TO_END_ROLLOUTS_FIXTURE_H_
