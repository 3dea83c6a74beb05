// What our own tests take for granted of Slurm: how it tells a job that its time is over, and what becomes of a job
// whose host dies.
#include "tests/slurm/slurm_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/files.h"

namespace sassay::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr absl::Duration kSoon = absl::Minutes(1);
// Slurm looks for jobs that are over their limit twice a minute, and limits are whole minutes.
constexpr absl::Duration kMinutes = absl::Minutes(3);

class SlurmClusterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const absl::Status missing = SlurmCluster::Missing(); !missing.ok()) GTEST_SKIP() << missing;
  }
  void TearDown() override {
    if (HasFailure() && cluster_ != nullptr) ADD_FAILURE() << cluster_->Logs();
  }

  void Start(const SlurmOptions& options = {}) {
    auto cluster = SlurmCluster::Start(options);
    ASSERT_TRUE(cluster.ok()) << cluster.status();
    cluster_ = *std::move(cluster);
  }

  // A job that says what it has and which signals it gets.
  std::string Listener() {
    const std::string path = cluster_->folder() + "/listener.sh";
    const char text[] = R"(#!/bin/bash
echo "start $SLURM_RESTART_COUNT on $SLURMD_NODENAME with gpus=$CUDA_VISIBLE_DEVICES"
trap 'echo USR1' USR1
trap 'echo TERM' TERM
while :; do sleep 0.1; done
)";
    EXPECT_TRUE(WriteFileAtomically(path, text, 0755).ok());
    return path;
  }

  std::string Submit(std::vector<std::string> arguments) {
    arguments.push_back(Listener());
    const auto id = cluster_->Submit(arguments);
    EXPECT_TRUE(id.ok()) << id.status();
    return id.value_or("");
  }

  std::unique_ptr<SlurmCluster> cluster_;
};

TEST_F(SlurmClusterTest, HandsOutGpusAndTellsAJobThatIsCancelledOnce) {
  Start();
  const std::string one = Submit({"--gres=gpu:1", "--nodelist=n2"}), two = Submit({"--gres=gpu:2", "--nodelist=n2"});
  ASSERT_TRUE(cluster_->WaitForOutput(one, "on n2 with gpus=0", kSoon).ok()) << cluster_->Output(one);
  EXPECT_TRUE(cluster_->WaitForState(two, "PENDING", kSoon).ok()) << "one GPU is taken";
  ASSERT_TRUE(cluster_->Run({"scancel", one}).ok());
  EXPECT_EQ(cluster_->WaitForOutput(two, "on n2 with gpus=0,1", kSoon), absl::OkStatus());
  EXPECT_EQ(cluster_->WaitForState(one, "CANCELLED", kSoon), absl::OkStatus());
  EXPECT_THAT(cluster_->Output(one), HasSubstr("TERM\n"));
  EXPECT_THAT(cluster_->Output(one), Not(HasSubstr("TERM\nTERM\n")));
}

TEST_F(SlurmClusterTest, SignalsABatchScriptAheadOfItsTimeLimit) {
  Start();
  const std::string id = Submit({"--gres=gpu:1", "--time=1", "--signal=B:USR1@30"});
  EXPECT_EQ(cluster_->WaitForOutput(id, "USR1", kMinutes), absl::OkStatus());
  EXPECT_THAT(cluster_->Output(id), Not(HasSubstr("TERM"))) << "its time is not over";
}

TEST_F(SlurmClusterTest, StartsAJobElsewhereWhenItsHostDiesAndTakesTheHostBack) {
  Start();
  const std::string id = Submit({"--gres=gpu:1", "--requeue", "--open-mode=append"});
  ASSERT_EQ(cluster_->WaitForOutput(id, "start  on n1", kSoon), absl::OkStatus());
  cluster_->KillHost("n1");
  EXPECT_EQ(cluster_->WaitForOutput(id, "start 1 on n2", kMinutes), absl::OkStatus());
  EXPECT_EQ(cluster_->StartHost("n1"), absl::OkStatus());
}

TEST_F(SlurmClusterTest, RequeuesAJobThatAsksForIt) {
  Start();
  const std::string id = Submit({"--gres=gpu:1", "--requeue", "--open-mode=append"});
  ASSERT_EQ(cluster_->WaitForOutput(id, "start  on n1", kSoon), absl::OkStatus());
  ASSERT_TRUE(cluster_->Run({"scontrol", "requeue", id}).ok());
  EXPECT_EQ(cluster_->WaitForOutput(id, "start 1 on", kMinutes), absl::OkStatus());
}

// As docs/cluster/slurm.md configures it for shared hosts.
TEST_F(SlurmClusterTest, AJobOfLowPriorityIsToldWithItsOwnSignalThatItMustMakeRoomAndIsQueuedAgain) {
  SlurmOptions options;
  options.hosts = 1;
  options.gpus_per_host = 1;
  options.lines = R"(PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SlurmctldParameters=preempt_send_user_signal
PartitionName=low Nodes=n1 PriorityTier=1 GraceTime=5
PartitionName=high Nodes=n1 PriorityTier=10
)";
  Start(options);
  const std::string low =
      Submit({"--partition=low", "--gres=gpu:1", "--time=60", "--signal=B:USR1@90", "--requeue", "--open-mode=append"});
  ASSERT_EQ(cluster_->WaitForOutput(low, "start  on n1", kSoon), absl::OkStatus());
  const std::string high = Submit({"--partition=high", "--gres=gpu:1", "--time=60"});
  EXPECT_EQ(cluster_->WaitForOutput(low, "USR1", kMinutes), absl::OkStatus());
  EXPECT_EQ(cluster_->WaitForState(high, "RUNNING", kMinutes), absl::OkStatus());
  EXPECT_EQ(cluster_->WaitForState(low, "PENDING", kMinutes), absl::OkStatus());
  ASSERT_TRUE(cluster_->Run({"scancel", high}).ok());
  EXPECT_EQ(cluster_->WaitForOutput(low, "start 1 on n1", kMinutes), absl::OkStatus());
}

// nvidia-smi knows no GPU on n1, and none of its processes anywhere.
TEST_F(SlurmClusterTest, AHostWhosePrologFindsItsGpusUnwellIsDrainedAndTheJobRunsElsewhere) {
  const auto programs = TemporaryDirectory::Create("sassay_programs");
  ASSERT_TRUE(programs.ok()) << programs.status();
  const std::string folder = programs->path().string(), source = SASSAY_SOURCE_DIR;
  const auto script = [&](const std::string& name, const std::string& text) {
    EXPECT_EQ(WriteFileAtomically(folder + "/" + name, "#!/bin/bash\n" + text, 0755), absl::OkStatus());
    return folder + "/" + name;
  };
  script("nvidia-smi", R"(case $*/$SLURMD_NODENAME in
  *query-compute-apps*) ;;
  */n1) echo 'No devices were found'; exit 6 ;;
  *query-remapped-rows*) echo 'GPU-1, No' ;;
  *) echo '0, 0' ;;
esac
)");
  const std::string path = "PATH=" + folder + ":" + source + "/.venv/slurm:$PATH exec " + source + "/deploy/slurm/";
  SlurmOptions options;
  options.hosts = 2;
  options.prolog = script("prolog", path + "prolog.sh\n");
  options.epilog = script("epilog", path + "epilog.sh\n");
  Start(options);
  const std::string id = Submit({"--gres=gpu:1", "--requeue", "--open-mode=append"});
  ASSERT_EQ(cluster_->WaitForOutput(id, "on n2", kMinutes), absl::OkStatus());
  EXPECT_THAT(cluster_->Output(id), Not(HasSubstr("on n1")));
  auto host = cluster_->Host("n1");
  ASSERT_TRUE(host.ok()) << host.status();
  EXPECT_THAT((*host)["State"], HasSubstr("DRAIN"));
  EXPECT_THAT((*host)["Reason"], HasSubstr("sassay: nvidia-smi fails with status 6: No devices were found"));
  // The epilog finds nothing wrong on n2.
  ASSERT_TRUE(cluster_->Run({"scancel", id}).ok());
  EXPECT_EQ(cluster_->WaitForState(id, "CANCELLED", kMinutes), absl::OkStatus());
  EXPECT_EQ(cluster_->WaitForHostState("n2", "IDLE", kMinutes), absl::OkStatus());
}

TEST_F(SlurmClusterTest, NothingOfAHostLivesOn) {
  Start();
  const std::string id = Submit({"--gres=gpu:1", "--nodelist=n3"});
  ASSERT_EQ(cluster_->WaitForOutput(id, "start", kSoon), absl::OkStatus());
  ASSERT_FALSE(cluster_->Processes("n3", "slurmd").empty());
  const std::vector<pid_t> stepds = cluster_->Processes("n3", "slurmstepd");
  ASSERT_FALSE(stepds.empty());
  cluster_->KillHost("n3");
  for (pid_t stepd : stepds) EXPECT_NE(kill(stepd, 0), 0) << stepd;
}

}  // namespace
}  // namespace sassay::testing
