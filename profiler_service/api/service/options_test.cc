#include "profiler_service/api/service/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "common/base/files.h"

namespace sassay::api {
namespace {

class OptionsTest : public testing::Test {
 protected:
  ~OptionsTest() override {
    unsetenv("SASSAY_MAX_QUEUED");
    unsetenv("SASSAY_TOKEN_FILE");
    unsetenv("SASSAY_SERVICE_TOKEN_FILE");
  }
  static CommandLine Parse(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "profiler-service");
    return ParseCommandLine(static_cast<int>(arguments.size()), arguments.data());
  }
  std::string Config(const std::string& content) {
    const std::string path = directory_.path() / "service.toml";
    EXPECT_TRUE(WriteFileAtomically(path, content).ok());
    return path;
  }
  TemporaryDirectory directory_ = *TemporaryDirectory::Create("options_test");
};

TEST_F(OptionsTest, AFlagBeatsTheEnvironmentAndTheEnvironmentBeatsTheFile) {
  const std::string config = Config("max-queued = 1\n");
  EXPECT_EQ(Parse({}).options.queue.limits.queued, 10000u);
  EXPECT_EQ(Parse({"--config", config.c_str()}).options.queue.limits.queued, 1u);
  setenv("SASSAY_MAX_QUEUED", "2", 1);
  EXPECT_EQ(Parse({"--config", config.c_str()}).options.queue.limits.queued, 2u);
  EXPECT_EQ(Parse({"--config", config.c_str(), "--max-queued", "3"}).options.queue.limits.queued, 3u);
  EXPECT_EQ(Parse({"--max-queued=3"}).options.queue.limits.queued, 3u);
}

TEST_F(OptionsTest, TheClientsTokenFileIsNotTheServices) {
  setenv("SASSAY_TOKEN_FILE", "/client", 1);
  EXPECT_EQ(Parse({}).options.token_file, "");
  setenv("SASSAY_SERVICE_TOKEN_FILE", "/service", 1);
  EXPECT_EQ(Parse({}).options.token_file, "/service");
}

TEST_F(OptionsTest, TheUsualSanitizerPolicyIsMemcheckAlone) {
  EXPECT_EQ(Parse({}).options.sanitize, sassay::v1::SANITIZE_POLICY_FAST);
  EXPECT_EQ(Parse({"--sanitize", "full"}).options.sanitize, sassay::v1::SANITIZE_POLICY_FULL);
  EXPECT_EQ(Parse({"--sanitize", "thorough"}).exit_code, 2);
  setenv("SASSAY_SANITIZE", "default", 1);  // the agent's
  EXPECT_EQ(Parse({}).options.sanitize, sassay::v1::SANITIZE_POLICY_FAST);
  unsetenv("SASSAY_SANITIZE");
}

TEST_F(OptionsTest, DurationsAndSizesCarryUnits) {
  const CommandLine line = Parse({"--default-run-deadline", "90s", "--max-blob-bytes", "16MB", "--drain=1m30s"});
  EXPECT_EQ(line.kind, CommandKind::kServe);
  EXPECT_EQ(line.options.queue.default_run_deadline, absl::Seconds(90));
  EXPECT_EQ(line.options.blobs.max_blob_bytes, uint64_t{16} << 20);
  EXPECT_EQ(line.options.drain, absl::Seconds(90));
}

TEST_F(OptionsTest, HowDevicesAreSharedIsSaidByFlags) {
  const ServiceOptions usual = Parse({}).options;
  EXPECT_EQ(usual.device_deadline, absl::Seconds(10));
  EXPECT_EQ(usual.timing_budget, absl::Milliseconds(800));
  EXPECT_FALSE(usual.exclusive);
  EXPECT_EQ(usual.judge_cache_share, 0.25);
  EXPECT_EQ(Parse({"--judge-cache-share", "0"}).options.judge_cache_share, 0);
  EXPECT_EQ(Parse({"--judge-cache-share", "1.5"}).exit_code, 2);
  const ServiceOptions said =
      Parse({"--device-deadline", "3s", "--jobs-per-device", "1", "--spare-runners", "0", "--exclusive"}).options;
  EXPECT_EQ(said.device_deadline, absl::Seconds(3));
  EXPECT_EQ(Parse({"--timing-budget", "5s"}).options.timing_budget, absl::Seconds(5));
  EXPECT_EQ(said.jobs_per_device, 1u);
  EXPECT_EQ(said.spare_runners, 0u);
  EXPECT_TRUE(said.exclusive);
  EXPECT_EQ(Parse({"--device-deadline", "0s"}).exit_code, 2);
}

TEST_F(OptionsTest, UsageErrorsEndWithTwoAndHelpWithZero) {
  EXPECT_EQ(Parse({"--drain", "soon"}).exit_code, 2);
  EXPECT_EQ(Parse({"--drain", "-1s"}).exit_code, 2);
  EXPECT_EQ(Parse({"--keep", "0s"}).exit_code, 2);
  EXPECT_EQ(Parse({"--max-submissions-per-second", "-1"}).exit_code, 2);
  EXPECT_EQ(Parse({"--drain", "0s"}).options.drain, absl::ZeroDuration());
  EXPECT_EQ(Parse({"--no-such-flag"}).exit_code, 2);
  EXPECT_EQ(Parse({"token", "add", "ann"}).exit_code, 2);
  EXPECT_EQ(Parse({"--help"}).kind, CommandKind::kExit);
  EXPECT_EQ(Parse({"--help"}).exit_code, 0);
  EXPECT_EQ(Parse({"--version"}).exit_code, 0);
}

TEST_F(OptionsTest, TheStoreLiesInTheStateUnlessSaidOtherwise) {
  EXPECT_EQ(Parse({"--state", "s"}).options.state, std::filesystem::current_path() / "s");
  EXPECT_EQ(Parse({"--state", "/s"}).options.store, "sqlite:/s/sassay.db");
  EXPECT_EQ(Parse({"--state", "/s", "--store", "sqlite:/other"}).options.store, "sqlite:/other");
}

TEST_F(OptionsTest, TokenCommandsAreUnderstood) {
  const CommandLine add = Parse({"token", "add", "ann", "--role", "admin", "--token-file", "f"});
  EXPECT_EQ(add.kind, CommandKind::kTokenAdd);
  EXPECT_EQ(add.token_name, "ann");
  EXPECT_EQ(add.token_role, "admin");
  EXPECT_EQ(add.options.token_file, "f");
  EXPECT_EQ(Parse({"token", "revoke", "ann", "--token-file", "f"}).kind, CommandKind::kTokenRevoke);
  EXPECT_EQ(Parse({"token", "list", "--token-file", "f"}).kind, CommandKind::kTokenList);
  EXPECT_EQ(Parse({"--check"}).kind, CommandKind::kCheck);
  EXPECT_EQ(Parse({"token", "list"}).exit_code, 2);
  setenv("SASSAY_SERVICE_TOKEN_FILE", "/service", 1);
  EXPECT_EQ(Parse({"token", "list"}).kind, CommandKind::kTokenList);
  EXPECT_EQ(Parse({"token", "list"}).options.token_file, "/service");
  EXPECT_EQ(Parse({"token", "list", "--token-file", "f"}).options.token_file, "f");
  const CommandLine audit = Parse({"--state", "/s", "audit", "--after", "7"});
  EXPECT_EQ(audit.kind, CommandKind::kAudit);
  EXPECT_EQ(audit.audit_after, 7u);
  EXPECT_EQ(audit.options.store, "sqlite:/s/sassay.db");
}

TEST_F(OptionsTest, RolesAndWhomToJoin) {
  EXPECT_EQ(Parse({}).options.role, ServiceRole::kAll);
  EXPECT_FALSE(Parse({}).options.AdmitsNodes());
  EXPECT_TRUE(Parse({"--nodes"}).options.AdmitsNodes());
  EXPECT_TRUE(Parse({"--role", "frontend"}).options.AdmitsNodes());
  EXPECT_EQ(Parse({"--role", "worker"}).exit_code, 2);
  const ServiceOptions node =
      Parse({"--role", "node", "--join", "a:1,b:2", "--join=c:3", "--join-token-file", "t", "--node-name", "n7"})
          .options;
  EXPECT_EQ(node.role, ServiceRole::kNode);
  EXPECT_THAT(node.join.addresses, testing::ElementsAre("a:1", "b:2", "c:3"));
  EXPECT_EQ(node.join.token_file, "t");
  EXPECT_EQ(node.join.node_name, "n7");
  EXPECT_NE(Parse({"--role", "node", "--join", "a:1"}).options.join.node_name, "");
  setenv("SASSAY_JOIN", "d:4,e:5", 1);
  EXPECT_THAT(Parse({"--role", "node"}).options.join.addresses, testing::ElementsAre("d:4", "e:5"));
  unsetenv("SASSAY_JOIN");
}

TEST_F(OptionsTest, FrontEndsOfOneDatabaseShareTheirBlobs) {
  EXPECT_EQ(Parse({"--role", "frontend", "--store", "postgres://db/sassay"}).options.blobs_place, "postgres");
  EXPECT_EQ(Parse({"--role", "frontend", "--state", "/s"}).options.blobs_place, "dir:/s/blobs");
  EXPECT_EQ(Parse({"--store", "postgres://db/sassay", "--state", "/s"}).options.blobs_place, "dir:/s/blobs");
}

TEST_F(OptionsTest, WhatARoleDoesNotReadIsRefused) {
  const std::vector<std::pair<std::vector<const char*>, const char*>> mistakes = {
      {{"--role", "frontend", "--device", "cuda:0"},
       "--device has no effect with --role frontend: a front end has no GPU"},
      {{"--role", "builder", "--store", "sqlite:/f"}, "--store has no effect with --role builder"},
      {{"--role", "builder", "--device", "auto"}, "--device has no effect with --role builder"},
      {{"--role", "builder", "--join", "a:1"}, "--join has no effect with --role builder"},
      {{"--build-places", "2"}, "--build-places: only --role builder builds"},
      {{"--role", "frontend", "--max-builds", "2"}, "--max-builds: only --role builder builds"},
      {{"--role", "node", "--join", "a:1", "--store", "sqlite:/f"}, "--store has no effect with --role node"},
      {{"--role", "node", "--join", "a:1", "--max-queued", "7"}, "give it to the front ends"},
      {{"--role", "node"}, "--role node needs --join HOST:PORT"},
      {{"--role", "node", "--join", "a"}, "--join: expected HOST:PORT"},
      {{"--role", "node", "--join", "a:1", "--nodes"}, "a node admits no nodes"},
      {{"--role", "node", "--join", "a:1", "--node-name", "two words"}, "--node-name: expected 1 to 64 letters"},
      {{"--role", "node", "--join", "a:1", "--join-cert-file", "c"}, "belong together"},
      {{"--role", "node", "--join", "a:1", "--join-insecure", "--join-ca-file", "c"},
       "--join-insecure asks for no TLS"},
      {{"--role", "node", "--join", "a:1", "--listen", "0.0.0.0:1", "--insecure"}, "it listens on loopback"},
      {{"--join", "a:1"}, "--join: only --role node joins front ends; this is --role all"},
      {{"--role", "frontend", "--node-name", "n"}, "this is --role frontend"},
      {{"--role", "frontend", "--listen", "0.0.0.0:1", "--insecure"},
       "nodes on other machines are known by their tokens"},
      {{"--nodes", "--listen", "0.0.0.0:1", "--insecure"}, "nodes on other machines are known by their tokens"},
      {{"--role", "frontend", "--lease", "9s"}, "give it to the nodes"}};
  for (const auto& [arguments, said] : mistakes) {
    const absl::Status status = CheckOptions(Parse(arguments).options);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << said;
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr(said));
  }
  const std::vector<std::vector<const char*>> right = {
      {"--role", "frontend", "--listen", "0.0.0.0:1", "--insecure", "--token-file", "t"},
      {"--nodes", "--device", "emulated:sm_90a"},
      {"--role", "node", "--join", "a:1,b:2", "--join-insecure", "--lease", "9s", "--drain", "1m", "--node-name", "n"}};
  for (const std::vector<const char*>& arguments : right) {
    EXPECT_TRUE(CheckOptions(Parse(arguments).options).ok()) << CheckOptions(Parse(arguments).options);
  }
}

TEST_F(OptionsTest, ABuilderKeepsItsStateBesideAServicesAndHasAPlaceForEachCore) {
  const CommandLine builder = Parse({"--role", "builder", "--build-deadline", "5m", "--oldest-client", "2"});
  EXPECT_EQ(builder.options.state, Parse({}).options.state + "/builder");
  EXPECT_GE(builder.options.build.places, 1u);
  EXPECT_EQ(builder.options.build.deadline, absl::Minutes(5));
  EXPECT_EQ(builder.options.oldest_client, 2u);
  EXPECT_TRUE(CheckOptions(builder.options).ok()) << CheckOptions(builder.options);
  EXPECT_EQ(Parse({"--role", "builder", "--state", "/s"}).options.state, "/s");
  EXPECT_EQ(Parse({"--build-places", "0"}).exit_code, 2);
  EXPECT_TRUE(absl::IsInvalidArgument(CheckOptions(Parse({"--role", "builder", "--listen", "0.0.0.0:1"}).options)));
}

TEST(CheckOptions, AnAddressThatIsNoneIsCalledSo) {
  ServiceOptions options;
  EXPECT_TRUE(CheckOptions(options).ok());
  for (const char* listen : {"bad", "127.0.0.1:", ":1", "127.0.0.1:65536", "127.0.0.1:http", ""}) {
    options.listen = listen;
    EXPECT_THAT(std::string(CheckOptions(options).message()), testing::HasSubstr("--listen: expected HOST:PORT"))
        << listen;
  }
}

TEST(CheckOptions, BundlesOutliveTheLongestWait) {
  ServiceOptions options;
  options.keep = options.queue.max_queue_deadline + options.queue.max_run_deadline;
  EXPECT_TRUE(CheckOptions(options).ok());
  options.keep -= absl::Nanoseconds(1);
  EXPECT_THAT(std::string(CheckOptions(options).message()), testing::HasSubstr("--keep: expected at least 25h"));
}

TEST(Exposure, LoopbackIsWhatOnlyThisMachineReaches) {
  for (const char* listen : {"127.0.0.1:1", "127.1.2.3:0", "localhost:5", "[::1]:5", "unix:/tmp/s"}) {
    EXPECT_TRUE(IsLoopback(listen)) << listen;
  }
  for (const char* listen : {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "127.evil.example:1", "host:1"}) {
    EXPECT_FALSE(IsLoopback(listen)) << listen;
  }
}

}  // namespace
}  // namespace sassay::api
