#include "profiler_service/admission/provenance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "common/base/steady_time.h"
#include "common/bundle/elf.h"
#include "profiler_service/admission/testing/example_bundle.h"

namespace sassay::admission {
namespace {

using ::testing::HasSubstr;

constexpr char kVersion[] = "13.0.88";

AdmittedBundle Admitted(v1::Bundle bundle) {
  const AdmissionResult result = Admit(bundle.SerializeAsString(), ExampleWorkload(), {}, ExampleDevice());
  if (const auto* rejection = std::get_if<Rejection>(&result)) ADD_FAILURE() << rejection->Line();
  return std::get<AdmittedBundle>(result);
}

v1::Bundle WithOption(const std::string& option) {
  v1::Bundle bundle = ExampleBundle();
  bundle.mutable_compilation()->add_ptxas_options(option);
  return bundle;
}

// A ptxas that always makes `cubin`, and counts.
struct FixedPtxas {
  std::string cubin;
  std::atomic<int> runs{0};
  ProvenanceChecker::Assemble Assemble() {
    return [this](const v1::Compilation&, absl::string_view, absl::Duration,
                  const StopAsked&) -> absl::StatusOr<Assembly> {
      ++runs;
      sassay::Assembly assembly;
      assembly.cubin = cubin;
      return assembly;
    };
  }
};

TEST(Provenance, TheSameBytesAreVerifiedOnceAndRemembered) {
  const AdmittedBundle bundle = Admitted(ExampleBundle());
  FixedPtxas ptxas{bundle.bundle().cubin()};
  ProvenanceChecker checker(ptxas.Assemble(), kVersion, {});
  for (int i = 0; i < 3; ++i) {
    const ProvenanceResult result = checker.Check(bundle);
    EXPECT_EQ(result.provenance, v1::PROVENANCE_VERIFIED) << result.reason;
    EXPECT_EQ(result.reason, "");
  }
  EXPECT_EQ(ptxas.runs, 1);
}

TEST(Provenance, AnotherCubinIsOnlyClaimedAndTheSectionIsNamed) {
  const AdmittedBundle bundle = Admitted(ExampleBundle());
  FixedPtxas ptxas{bundle.bundle().cubin()};
  const auto elf = Elf::Parse(ptxas.cubin);
  ASSERT_TRUE(elf.ok());
  ptxas.cubin[elf->FindSection(".text.gemm")->bytes.data() - ptxas.cubin.data() + 5] ^= 1;
  ProvenanceChecker checker(ptxas.Assemble(), kVersion, {});
  const ProvenanceResult result = checker.Check(bundle);
  EXPECT_EQ(result.provenance, v1::PROVENANCE_CLAIMED);
  EXPECT_THAT(result.reason, HasSubstr("the first difference is in section .text.gemm"));
}

TEST(Provenance, AnotherReleaseIsNotEvenTried) {
  const AdmittedBundle bundle = Admitted(ExampleBundle());
  FixedPtxas ptxas{bundle.bundle().cubin()};
  ProvenanceChecker checker(ptxas.Assemble(), "12.8.93", {});
  EXPECT_THAT(checker.Check(bundle).reason, HasSubstr("compiled with CUDA 13.0.88, this service has 12.8.93"));
  EXPECT_EQ(ptxas.runs, 0);
}

TEST(Provenance, WithoutAToolkitEverythingIsClaimedWithWhatToDo) {
  ProvenanceChecker checker(absl::NotFoundError("no ptxas; install it"), {});
  EXPECT_EQ(checker.toolkit_version(), "");
  EXPECT_THAT(checker.Check(Admitted(ExampleBundle())).reason, HasSubstr("install it"));
}

TEST(Provenance, OurOwnTroubleIsTriedTwiceAndNotRemembered) {
  const AdmittedBundle bundle = Admitted(ExampleBundle());
  int runs = 0;
  ProvenanceChecker checker(
      [&](const v1::Compilation&, absl::string_view, absl::Duration, const StopAsked&) -> absl::StatusOr<Assembly> {
        if (++runs <= 3) return absl::FailedPreconditionError("no user namespaces");
        Assembly assembly;
        if (runs <= 5) {
          assembly.report.exit_code = 1;
          assembly.report.stderr_text = "bwrap: out of luck\n";
        } else {
          assembly.cubin = bundle.bundle().cubin();
        }
        return assembly;
      },
      kVersion, {});
  const ProvenanceResult failed = checker.Check(bundle);
  EXPECT_EQ(failed.provenance, v1::PROVENANCE_UNAVAILABLE);
  EXPECT_THAT(failed.reason, HasSubstr("no user namespaces"));
  EXPECT_THAT(checker.Check(bundle).reason, HasSubstr("bwrap: out of luck"));
  EXPECT_EQ(runs, 4);
  EXPECT_EQ(checker.Check(bundle).provenance, v1::PROVENANCE_VERIFIED);
}

TEST(Provenance, APtxasThatWasKilledSaysNothingOfThePtx) {
  const AdmittedBundle bundle = Admitted(ExampleBundle());
  for (const bool sandboxed : {false, true}) {
    ProvenanceChecker checker(
        [&](const v1::Compilation&, absl::string_view, absl::Duration, const StopAsked&) -> absl::StatusOr<Assembly> {
          Assembly assembly;
          assembly.report.kind = sandboxed ? ExitReport::Kind::kExited : ExitReport::Kind::kSignaled;
          (sandboxed ? assembly.report.exit_code : assembly.report.signal_number) = sandboxed ? 137 : 9;
          return assembly;
        },
        kVersion, {});
    EXPECT_EQ(checker.Check(bundle).provenance, v1::PROVENANCE_UNAVAILABLE);
  }
}

// A ptxas that spends what it is given.
ProvenanceChecker::Assemble Endless(int& runs) {
  return [&runs](const v1::Compilation&, absl::string_view, absl::Duration timeout,
                 const StopAsked&) -> absl::StatusOr<Assembly> {
    ++runs;
    Assembly assembly;
    assembly.report.kind = ExitReport::Kind::kTimedOut;
    assembly.report.wall = timeout;
    return assembly;
  };
}

TEST(Provenance, ATimeOutIsNobodysFaultAndRemembered) {
  const AdmittedBundle bundle = Admitted(ExampleBundle());
  int runs = 0;
  ProvenanceChecker checker(Endless(runs), kVersion, {});
  for (int i = 0; i < 2; ++i) {
    const ProvenanceResult result = checker.Check(bundle);
    EXPECT_EQ(result.provenance, v1::PROVENANCE_UNAVAILABLE);
    EXPECT_THAT(result.reason, HasSubstr("did not end within 2m"));
  }
  EXPECT_EQ(runs, 1);
}

TEST(Provenance, ATimeOutByTheRunsDeadlineSaysNothingOfThePtx) {
  const AdmittedBundle bundle = Admitted(ExampleBundle());
  int runs = 0;
  ProvenanceChecker checker(Endless(runs), kVersion, {});
  EXPECT_EQ(checker.Check(bundle, SteadyNow() + absl::Seconds(60)).provenance, v1::PROVENANCE_UNAVAILABLE);
  const int after_first = runs;
  EXPECT_GE(after_first, 1);
  checker.Check(bundle, SteadyNow() + absl::Seconds(60));
  EXPECT_GT(runs, after_first);
  const int after_second = runs;
  EXPECT_EQ(checker.Check(bundle, SteadyNow()).provenance, v1::PROVENANCE_UNAVAILABLE);
  EXPECT_EQ(runs, after_second);
}

TEST(Provenance, WhoWaitsForAnothersRunCanBeStopped) {
  const AdmittedBundle bundle = Admitted(ExampleBundle());
  absl::Notification begun, go_on;
  ProvenanceChecker checker(
      [&](const v1::Compilation&, absl::string_view, absl::Duration, const StopAsked&) -> absl::StatusOr<Assembly> {
        begun.Notify();
        go_on.WaitForNotification();
        Assembly assembly;
        assembly.cubin = bundle.bundle().cubin();
        return assembly;
      },
      kVersion, {});
  std::thread one([&] { checker.Check(bundle); });
  begun.WaitForNotification();
  EXPECT_EQ(checker.Check(bundle, absl::InfiniteFuture(), [] { return true; }).provenance, v1::PROVENANCE_UNAVAILABLE);
  EXPECT_EQ(checker.Check(bundle, SteadyNow()).provenance, v1::PROVENANCE_UNAVAILABLE);
  go_on.Notify();
  one.join();
}

TEST(Provenance, TwoThreadsShareOneRun) {
  const AdmittedBundle bundle = Admitted(ExampleBundle());
  absl::Notification begun, go_on;
  std::atomic<int> runs{0};
  ProvenanceChecker checker(
      [&](const v1::Compilation&, absl::string_view, absl::Duration, const StopAsked&) -> absl::StatusOr<Assembly> {
        ++runs;
        begun.Notify();
        go_on.WaitForNotification();
        Assembly assembly;
        assembly.cubin = bundle.bundle().cubin();
        return assembly;
      },
      kVersion, {});
  v1::Provenance first{}, second{};
  std::thread one([&] { first = checker.Check(bundle).provenance; });
  begun.WaitForNotification();
  std::thread two([&] { second = checker.Check(bundle).provenance; });
  go_on.Notify();
  one.join();
  two.join();
  EXPECT_EQ(first, v1::PROVENANCE_VERIFIED);
  EXPECT_EQ(second, v1::PROVENANCE_VERIFIED);
  EXPECT_EQ(runs, 1);
}

TEST(Provenance, ForgetsTheLeastRecentlyAsked) {
  std::vector<AdmittedBundle> bundles;
  for (const char* path : {"a", "b", "c"}) {
    v1::Bundle bundle = ExampleBundle();
    bundle.add_sources()->set_path(path);
    bundles.push_back(Admitted(bundle));
  }
  FixedPtxas ptxas{bundles[0].bundle().cubin()};
  ProvenanceChecker::Options options;
  options.remembered = 2;
  ProvenanceChecker checker(ptxas.Assemble(), kVersion, options);
  for (const int i : {0, 1, 0, 2}) checker.Check(bundles[i]);
  EXPECT_EQ(ptxas.runs, 3);
  checker.Check(bundles[0]);
  EXPECT_EQ(ptxas.runs, 3);
  checker.Check(bundles[1]);
  EXPECT_EQ(ptxas.runs, 4);
}

// The rest runs the real ptxas.
class RealPtxas : public ::testing::Test {
 protected:
  void SetUp() override {
    auto toolchain = FindToolchain();
    if (!toolchain.ok()) GTEST_SKIP() << toolchain.status();
    if (!ProbeSandbox().Complete()) GTEST_SKIP() << ProbeSandbox().missing;
    version_ = toolchain->version;
    checker_ = std::make_unique<ProvenanceChecker>(toolchain, ProvenanceChecker::Options{});
  }
  v1::Bundle Example() const {
    v1::Bundle bundle = ExampleBundle();
    bundle.mutable_compilation()->set_toolkit_version(version_);
    return bundle;
  }
  std::string version_;
  std::unique_ptr<ProvenanceChecker> checker_;
};

TEST_F(RealPtxas, VerifiesWhatItCompiledItself) {
  const ProvenanceResult result = checker_->Check(Admitted(Example()));
  EXPECT_EQ(result.provenance, v1::PROVENANCE_VERIFIED) << result.reason;
}

TEST_F(RealPtxas, ACubinEditedByHandIsOnlyClaimed) {
  v1::Bundle bundle = Example();
  const auto elf = Elf::Parse(bundle.cubin());
  ASSERT_TRUE(elf.ok());
  const size_t at = elf->FindSection(".text.gemm")->bytes.data() - bundle.cubin().data();
  (*bundle.mutable_cubin())[at + 16] ^= 1;
  const ProvenanceResult result = checker_->Check(Admitted(bundle));
  EXPECT_EQ(result.provenance, v1::PROVENANCE_CLAIMED);
  EXPECT_THAT(result.reason, HasSubstr("section .text.gemm"));
}

TEST_F(RealPtxas, OptionsThatNameFilesAreNotRun) {
  for (const char* option : {"--output-file=/etc/passwd", "-o", "--options-file=/etc/passwd", "/etc/passwd"}) {
    v1::Bundle bundle = WithOption(option);
    bundle.mutable_compilation()->set_toolkit_version(version_);
    const ProvenanceResult result = checker_->Check(Admitted(bundle));
    EXPECT_EQ(result.provenance, v1::PROVENANCE_CLAIMED);
    EXPECT_THAT(result.reason, HasSubstr(option));
  }
}

TEST_F(RealPtxas, EndsWhenAskedTo) {
  v1::Bundle bundle = Example();
  std::string body;
  for (int i = 0; i < 200'000; ++i) absl::StrAppend(&body, "mad.lo.s32 %r1, %r1, %r1, ", i, ";\n");
  bundle.mutable_ptx()->append(
      absl::StrCat(".visible .entry slow(.param .u64 out) {\n.reg .b32 %r<4>;\n.reg .b64 %rd;\n",
                   "mov.u32 %r1, %tid.x;\n", body, "ld.param.u64 %rd, [out];\nst.global.u32 [%rd], %r1;\nret;\n}\n"));
  const absl::Time start = SteadyNow();
  const ProvenanceResult result =
      checker_->Check(Admitted(bundle), absl::InfiniteFuture(), [&] { return SteadyNow() > start + absl::Seconds(1); });
  EXPECT_EQ(result.provenance, v1::PROVENANCE_UNAVAILABLE) << result.reason;
  EXPECT_LT(SteadyNow() - start, absl::Seconds(20));
}

TEST_F(RealPtxas, PtxThatPtxasRefusesIsClaimedWithItsWords) {
  v1::Bundle bundle = Example();
  bundle.mutable_ptx()->append("\nnonsense\n");
  const ProvenanceResult result = checker_->Check(Admitted(bundle));
  EXPECT_EQ(result.provenance, v1::PROVENANCE_CLAIMED);
  EXPECT_THAT(result.reason, HasSubstr("ptxas refuses the PTX"));
}

}  // namespace
}  // namespace sassay::admission
