#include "profiler_service/api/host/host_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/files.h"

namespace sassay::api {
namespace {

using sassay::v1::Check;
using testing::HasSubstr;
using testing::Not;

// A GPU host that has everything.
HostFacts Complete() {
  HostFacts facts;
  facts.kernel_driver = "580.159.04";
  facts.cuda_driver = CudaDriver{"/usr/lib/libcuda.so.580.159.04", "13.0"};
  facts.gpus = {{"0000:1b:00.0", "GPU-1", "NVIDIA H200", "/dev/nvidia0"}};
  facts.profiling = Profiling::kEveryone;
  facts.vendor = {{"cuDNN", "attention baselines", "/usr/lib/libcudnn.so.9", "9.19.0", ""}};
  Toolchain toolchain;
  toolchain.ptxas = "/cuda/bin/ptxas";
  toolchain.version = "13.0.88";
  facts.toolchain = toolchain;
  facts.sandbox = {true, true, true, "/package/libexec/bwrap", "", ""};
  facts.bubblewrap_version = "0.8.0";
  facts.devices = std::vector<std::string>{"cuda:0"};
  facts.vendor_lists = std::vector<admission::VendorList>{{"libcudnn.so.9", static_cast<uint64_t>(-1), 12}};
  facts.trial = {absl::OkStatus(), absl::Milliseconds(904), {"NVIDIA H200 GPU-1"}};
  return facts;
}

const Check& Find(const sassay::v1::HostReport& report, const std::string& name) {
  for (const Check& check : report.checks()) {
    if (check.name() == name) return check;
  }
  ADD_FAILURE() << "no check called " << name;
  return Check::default_instance();
}

TEST(HostReport, ACompleteHostHasPathsAndVersionsAndNothingToMend) {
  const auto report = ReportOnHost({}, Complete());
  EXPECT_TRUE(report.can_judge());
  for (const Check& check : report.checks()) {
    EXPECT_EQ(check.state(), Check::OK) << check.name();
    EXPECT_EQ(check.remedy(), "") << check.name();
  }
  EXPECT_EQ(Find(report, "driver").version(), "580.159.04");
  EXPECT_EQ(Find(report, "cuDNN").path(), "/usr/lib/libcudnn.so.9");
  EXPECT_EQ(Find(report, "bubblewrap").version(), "0.8.0");
  const std::string text = RenderHostReport(report);
  EXPECT_THAT(text, HasSubstr("ok        cuDNN             9.19.0  /usr/lib/libcudnn.so.9\n"));
  EXPECT_THAT(text, HasSubstr("came up on NVIDIA H200 GPU-1 in 900ms"));
  EXPECT_THAT(text, HasSubstr("This host can judge candidates."));
}

TEST(HostReport, OtherVersionsOfALibraryAreNamed) {
  HostFacts facts = Complete();
  facts.vendor[0].others = {"/opt/venv/lib/libcudnn.so.9"};
  EXPECT_EQ(Find(ReportOnHost({}, facts), "cuDNN").found(), "passed over: /opt/venv/lib/libcudnn.so.9");
}

TEST(HostReport, ALibraryWhoseKernelsAreInNoListIsNamedWithWhatMakesOne) {
  HostFacts facts = Complete();
  facts.vendor_lists->clear();
  const auto report = ReportOnHost({}, facts);
  EXPECT_TRUE(report.can_judge());
  const Check& check = Find(report, "vendor kernels");
  EXPECT_EQ(check.state(), Check::OPTIONAL_MISSING);
  EXPECT_THAT(check.found(),
              HasSubstr("0 functions of 0 libraries are listed, of this host's not /usr/lib/libcudnn.so.9"));
  EXPECT_THAT(check.remedy(), HasSubstr("vendor-kernels -o "));
  facts.vendor_lists = absl::InvalidArgumentError("a.list: line 3");
  EXPECT_FALSE(ReportOnHost({}, facts).can_judge());
}

TEST(HostReport, AMissingLibraryIsSaidWithWhatItCostsAndWhatMendsIt) {
  HostFacts facts = Complete();
  facts.vendor[0] = {"cuDNN", "attention baselines", "", "",
                     "cuDNN (libcudnn.so.9) is in none of the usual folders. Mend: pip install nvidia-cudnn-cu13"};
  const auto report = ReportOnHost({}, facts);
  EXPECT_TRUE(report.can_judge());
  const Check& cudnn = Find(report, "cuDNN");
  EXPECT_EQ(cudnn.state(), Check::OPTIONAL_MISSING);
  EXPECT_EQ(cudnn.found(), "cuDNN (libcudnn.so.9) is in none of the usual folders");
  EXPECT_EQ(cudnn.effect(), "attention baselines");
  EXPECT_EQ(cudnn.remedy(), "pip install nvidia-cudnn-cu13");
  EXPECT_THAT(RenderHostReport(report), HasSubstr("to mend it: pip install nvidia-cudnn-cu13\n"));
}

TEST(HostReport, AHostWithoutGpuJudgesOnTheEmulatedDeviceUnlessAGpuWasAskedFor) {
  HostFacts facts = Complete();
  facts.kernel_driver.clear();
  facts.cuda_driver = absl::UnavailableError("no NVIDIA driver: libcuda.so.1 is not there");
  facts.gpus.clear();
  facts.profiling = Profiling::kUnknown;
  facts.devices = std::vector<std::string>{"emulated:sm_90a"};
  const auto emulated = ReportOnHost({}, facts);
  EXPECT_TRUE(emulated.can_judge());
  EXPECT_EQ(Find(emulated, "GPU").state(), Check::OPTIONAL_MISSING);
  EXPECT_THAT(Find(emulated, "GPU").effect(), HasSubstr("without times"));
  ServiceOptions options;
  options.device = "cuda:0";
  EXPECT_FALSE(ReportOnHost(options, facts).can_judge());
}

TEST(HostReport, NoSandboxMeansNoCandidatesUnlessTheOperatorAllowsIt) {
  HostFacts facts = Complete();
  facts.sandbox.user_namespaces = false;
  facts.sandbox.missing = "a sandbox does not start here";
  EXPECT_FALSE(ReportOnHost({}, facts).can_judge());
  EXPECT_THAT(RenderHostReport(ReportOnHost({}, facts)), HasSubstr("sysctl -w user.max_user_namespaces"));
  ServiceOptions options;
  options.allow_unsandboxed = true;
  const auto report = ReportOnHost(options, facts);
  EXPECT_TRUE(report.can_judge());
  EXPECT_THAT(Find(report, "user namespaces").effect(), HasSubstr("--allow-unsandboxed"));
}

TEST(HostReport, CountersForAdministratorsOnlyCostTheEvidence) {
  HostFacts facts = Complete();
  facts.profiling = Profiling::kAdminOnly;
  const auto report = ReportOnHost({}, facts);
  EXPECT_TRUE(report.can_judge());
  EXPECT_THAT(Find(report, "GPU counters").remedy(), HasSubstr("NVreg_RestrictProfilingToAdminUsers=0"));
}

TEST(HostReport, WhatDoesNotComeUpWhenTriedDecides) {
  HostFacts facts = Complete();
  facts.trial.status = absl::UnavailableError("profiler-judge: out of memory");
  const auto report = ReportOnHost({}, facts);
  EXPECT_FALSE(report.can_judge());
  EXPECT_THAT(RenderHostReport(report), HasSubstr("out of memory"));
  EXPECT_THAT(RenderHostReport(report), HasSubstr("cannot judge"));
}

TEST(HostReport, ANodesWayToEachFrontEndIsSaidAndOneThatWorksWillDo) {
  HostFacts facts = Complete();
  facts.joins = {{"a:1", absl::OkStatus(), "0.0.9", false},
                 {"b:1", absl::UnavailableError("address: nobody answers there"), "", false}};
  auto report = ReportOnHost({}, facts);
  EXPECT_TRUE(report.can_judge());
  EXPECT_THAT(Find(report, "--join a:1").found(), HasSubstr("another release"));
  EXPECT_EQ(Find(report, "--join b:1").state(), Check::OPTIONAL_MISSING);
  facts.joins.front().status = absl::UnauthenticatedError("token: --join-token-file is not one of the front end's");
  report = ReportOnHost({}, facts);
  EXPECT_FALSE(report.can_judge());
  EXPECT_EQ(Find(report, "--join a:1").state(), Check::MISSING);
  EXPECT_THAT(RenderHostReport(report), HasSubstr("--join-token-file"));
}

TEST(HostReport, AnOpenDoorAndAStateThatCannotBeWrittenKeepTheServiceFromStarting) {
  ServiceOptions options;
  options.listen = "0.0.0.0:1";
  EXPECT_THAT(Find(ReportOnHost(options, Complete()), "--listen").found(), HasSubstr("--insecure"));
  HostFacts facts = Complete();
  facts.state = CheckStateFolder("/dev/null/sassay");
  EXPECT_FALSE(facts.state.ok());
  EXPECT_FALSE(ReportOnHost({}, facts).can_judge());
}

TEST(HostFacts, TheStateNeedsAFolderAboveItThatCanBeWritten) {
  const auto directory = TemporaryDirectory::Create("host_facts_test");
  ASSERT_TRUE(directory.ok());
  EXPECT_TRUE(CheckStateFolder(directory->path()).ok());
  EXPECT_TRUE(CheckStateFolder(directory->path() / "not/yet/there").ok());
  ASSERT_TRUE(WriteFileAtomically(directory->path() / "file", "").ok());
  EXPECT_FALSE(CheckStateFolder(directory->path() / "file").ok());
}

TEST(HostFacts, WhoMayReadTheCountersIsWhatTheKernelModuleSays) {
  const auto directory = TemporaryDirectory::Create("host_facts_test");
  ASSERT_TRUE(directory.ok());
  EXPECT_EQ(ReadProfiling(directory->path()), Profiling::kUnknown);
  const std::filesystem::path folder = directory->path() / "proc/driver/nvidia";
  std::filesystem::create_directories(folder);
  ASSERT_TRUE(WriteFileAtomically(folder / "params", "Mobile: 4294967295\nRmProfilingAdminOnly: 1\n").ok());
  EXPECT_EQ(ReadProfiling(directory->path()), Profiling::kAdminOnly);
  ASSERT_TRUE(WriteFileAtomically(folder / "params", "RmProfilingAdminOnly: 0\nMobile: 1\n").ok());
  EXPECT_EQ(ReadProfiling(directory->path()), Profiling::kEveryone);
}

}  // namespace
}  // namespace sassay::api
