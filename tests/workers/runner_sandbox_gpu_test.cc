// What the runner's sandbox keeps in, and what it lets through, with the policy that the service gives to
// profiler-runner. On a host without a GPU the emulated device's policy is tried; the GPU's where there is one.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/base/fd.h"
#include "common/base/files.h"
#include "common/process/subprocess.h"
#include "profiler_service/wire/gpu_nodes.h"
#include "profiler_service/wire/runner_sandbox.h"

namespace sassay::wire {
namespace {

using testing::StartsWith;

std::filesystem::path Probe() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "sandbox_probe";
}

// The host listens here.
class Listener {
 public:
  Listener() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(socket_.get(), 1), 0);
    EXPECT_EQ(getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
  }
  int port() const { return port_; }

 private:
  UniqueFd socket_;
  int port_ = 0;
};

class RunnerSandboxTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!ProbeSandbox().Complete()) GTEST_SKIP() << ProbeSandbox().missing;
    if (OnGpu() && !FindGpu(GetParam()).has_value())
      GTEST_SKIP() << "no " << GetParam() << " that this process may open";
    ASSERT_TRUE(WriteFileAtomically(folder_.path() / "secret", "secret", 0644).ok());
  }

  static bool OnGpu() { return absl::StartsWith(GetParam(), "cuda:"); }

  Command Attempts() const {
    Command command;
    command.argv = {Probe().string(), absl::StrCat(listener_.port()), (folder_.path() / "secret").string()};
    return command;
  }

  // "NAME" -> "allowed" or "refused (…)".
  std::map<std::string, std::string> Try(const Command& command) const {
    const auto report = RunToCompletion(command, absl::Seconds(60));
    EXPECT_TRUE(report.ok() && report->Succeeded()) << (report.ok() ? report->stderr_text : "");
    std::map<std::string, std::string> outcome;
    if (!report.ok()) return outcome;
    for (const absl::string_view line : absl::StrSplit(report->stdout_text, '\n', absl::SkipEmpty())) {
      outcome.insert(absl::StrSplit(line, absl::MaxSplits(' ', 1)));
    }
    return outcome;
  }

  Listener listener_;
  TemporaryDirectory folder_ = *TemporaryDirectory::Create("runner_sandbox_test");
};

TEST_P(RunnerSandboxTest, RefusesWhatACandidateHasNoBusinessWith) {
  const auto wrapped = WrapInSandbox(Attempts(), RunnerSandbox(GetParam(), Probe()));
  ASSERT_TRUE(wrapped.ok()) << wrapped.status();
  const auto outcome = Try(*wrapped);
  EXPECT_GT(outcome.size(), 30u);
  for (const auto& [attempt, result] : outcome) {
    if (attempt == "gpu-nodes") continue;
    if (attempt == "write-private-tmp") {
      EXPECT_EQ(result, "allowed");
    } else {
      EXPECT_THAT(result, StartsWith("refused")) << attempt;
    }
  }
  EXPECT_EQ(outcome.at("gpu-nodes"), OnGpu() ? "1" : "0") << "a runner sees its own GPU and no other";
}

// The attempts are real: outside, the same program comes through with those that need no special right.
TEST_P(RunnerSandboxTest, ThatIsTheSandboxsDoing) {
  const std::vector<std::string> harmless = {"connect-to-host", "host-file", "passwd", "write-private-tmp"};
  Command command = Attempts();
  command.argv.insert(command.argv.end(), harmless.begin(), harmless.end());
  const auto outcome = Try(command);
  for (const std::string& attempt : harmless) EXPECT_EQ(outcome.at(attempt), "allowed") << attempt;
  EXPECT_EQ(outcome.at("gpu-nodes"), absl::StrCat(ListGpuNodes().size()));
}

INSTANTIATE_TEST_SUITE_P(Devices, RunnerSandboxTest, testing::Values("emulated:sm_90a", "cuda:0", "cuda:1"),
                         [](const auto& info) {
                           return absl::StrReplaceAll(info.param, {{":", "_"}});
                         });

}  // namespace
}  // namespace sassay::wire
