// The program itself, as an operator meets it.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "common/base/fd.h"
#include "common/base/files.h"
#include "common/base/sha256.h"
#include "common/process/subprocess.h"
#include "common/sandbox/sandbox.h"
#include "profiler_service/api/service/server_testing.h"

namespace sassay::api {
namespace {

using testing::HasSubstr;

class RunTest : public testing::Test {
 protected:
  Command Service(std::vector<std::string> arguments) const {
    Command command;
    command.argv = {absl::StrCat(std::getenv("SASSAY_TEST_BIN"), "/profiler-service")};
    command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
    command.environment = {{"PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"}, {"HOME", directory_.path()}};
    return command;
  }
  std::vector<std::string> ServeArguments() const {
    return {"--listen",    "127.0.0.1:0",
            "--device",    "emulated:sm_90a",
            "--metrics",   "127.0.0.1:0",
            "--state",     directory_.path() / "state",
            "--port-file", directory_.path() / "port"};
  }
  ExitReport RunToEnd(std::vector<std::string> arguments) const {
    const auto report = RunToCompletion(Service(std::move(arguments)), absl::Seconds(60));
    EXPECT_TRUE(report.ok()) << report.status();
    return report.value_or(ExitReport());
  }
  // Starts serving and waits for the line that says so; returns the address.
  std::string StartServing() {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    UniqueFd ours(ends[0]), theirs(ends[1]);
    Command command = Service(ServeArguments());
    command.inherit_fds = {{theirs.get(), STDOUT_FILENO}};
    auto started = Subprocess::Start(command);
    EXPECT_TRUE(started.ok()) << started.status();
    if (!started.ok()) return "";
    service_ = std::make_unique<Subprocess>(*std::move(started));
    theirs.reset();
    std::string line;
    char byte;
    while (read(ours.get(), &byte, 1) == 1 && byte != '\n') line.push_back(byte);
    EXPECT_THAT(line, testing::MatchesRegex("listen=127.0.0.1:[1-9][0-9]* metrics=127.0.0.1:[1-9][0-9]*"));
    return line.substr(7, line.find(' ') - 7);
  }

  TemporaryDirectory directory_ = *TemporaryDirectory::Create("run_test");
  std::unique_ptr<Subprocess> service_;
};

TEST_F(RunTest, HelpShowsExamplesAndLimits) {
  const ExitReport report = RunToEnd({"--help"});
  EXPECT_TRUE(report.Succeeded());
  EXPECT_THAT(report.stdout_text, HasSubstr("Examples:"));
  EXPECT_THAT(report.stdout_text, HasSubstr("--max-in-flight-per-tenant"));
}

TEST_F(RunTest, AnOpenDoorIsRefusedWithTheReason) {
  const ExitReport report = RunToEnd({"--listen", "0.0.0.0:0", "--state", directory_.path() / "state"});
  EXPECT_EQ(report.exit_code, 2);
  EXPECT_THAT(report.stderr_text, HasSubstr("--tls-cert"));
}

TEST_F(RunTest, CheckTriesWhatServingNeedsAndLeavesNothing) {
  if (!ProbeSandbox().Complete()) GTEST_SKIP() << ProbeSandbox().missing;
  const std::string state = directory_.path() / "checked";
  const ExitReport report = RunToEnd({"--check", "--json", "--device", "emulated:sm_90a", "--state", state});
  EXPECT_EQ(report.exit_code, 0) << report.stdout_text << report.stderr_text;
  EXPECT_THAT(report.stdout_text, HasSubstr("\"can_judge\": true"));
  EXPECT_THAT(report.stdout_text, HasSubstr("came up on emulated sm_90a"));
  EXPECT_FALSE(std::filesystem::exists(state));
  const ExitReport without_gpu = RunToEnd({"--check", "--device", "cuda:77", "--state", state});
  EXPECT_EQ(without_gpu.exit_code, 1);
  EXPECT_THAT(without_gpu.stdout_text, HasSubstr("cannot judge candidates"));
}

TEST_F(RunTest, ATokenIsMadeListedAndRevoked) {
  const std::string file = directory_.path() / "tokens";
  const ExitReport added = RunToEnd({"token", "add", "ann", "--role", "tenant", "--token-file", file});
  ASSERT_TRUE(added.Succeeded()) << added.stderr_text;
  EXPECT_THAT(added.stdout_text, testing::MatchesRegex("sassay_[0-9a-f]+\n"));
  EXPECT_THAT(RunToEnd({"token", "list", "--token-file", file}).stdout_text, HasSubstr("ann tenant"));
  EXPECT_TRUE(RunToEnd({"token", "revoke", "ann", "--token-file", file}).Succeeded());
  EXPECT_EQ(RunToEnd({"token", "revoke", "ann", "--token-file", file}).exit_code, 1);
}

TEST_F(RunTest, ServesUntilSigtermAndEndsCleanly) {
  if (!ProbeSandbox().Complete()) GTEST_SKIP() << ProbeSandbox().missing;
  const std::string address = StartServing();
  EXPECT_EQ(absl::StrCat("127.0.0.1:", absl::StripSuffix(*ReadFile(directory_.path() / "port"), "\n")), address);
  TestClient client(address, "");
  sassay::v1::GetCapabilitiesResponse capabilities;
  ASSERT_TRUE(client.profiler->GetCapabilities(client.Context().get(), {}, &capabilities).ok());
  ASSERT_EQ(capabilities.devices_size(), 1);
  EXPECT_EQ(capabilities.devices(0).kind(), "emulated");

  EXPECT_EQ(std::filesystem::status(directory_.path() / "state").permissions(), std::filesystem::perms::owner_all);

  EXPECT_EQ(static_cast<int>(std::filesystem::status(directory_.path() / "port").permissions()), 0644);

  // Also if it keeps its database elsewhere: blobs and secrets lie in the state.
  std::vector<std::string> arguments = ServeArguments();
  arguments.insert(arguments.end(), {"--store", absl::StrCat("sqlite:", (directory_.path() / "other.db").string())});
  const ExitReport second = RunToEnd(arguments);
  EXPECT_EQ(second.exit_code, 1);
  EXPECT_THAT(second.stderr_text, HasSubstr("another profiler-service"));

  for (const auto& file : std::filesystem::directory_iterator(directory_.path() / "state")) {
    EXPECT_EQ(static_cast<int>(file.status().permissions()) & 0077, 0) << file.path();
  }
  EXPECT_TRUE(RunToEnd({"audit", "--state", directory_.path() / "state"}).Succeeded());

  ASSERT_EQ(kill(service_->pid(), SIGTERM), 0);
  const auto ended = service_->Wait(absl::Now() + absl::Seconds(30));
  ASSERT_TRUE(ended.ok()) << ended.status();
  EXPECT_TRUE(ended->Succeeded());
}

TEST_F(RunTest, ABundleThatIsNoneIsRejectedNotFailed) {
  if (!ProbeSandbox().Complete()) GTEST_SKIP() << ProbeSandbox().missing;
  TestClient client(StartServing(), "");
  const std::string bundle = "these bytes are no bundle";
  ASSERT_TRUE(client.Upload(bundle).ok());
  sassay::v1::ProfileRequest request = queue::RequestOf("r1");
  request.set_bundle_sha256(Sha256Hex(bundle));
  const auto answer = client.Profile(request);
  ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
  EXPECT_EQ(answer.response.back().verdict().status(), sassay::v1::VERDICT_STATUS_REJECTED);
}

}  // namespace
}  // namespace sassay::api
