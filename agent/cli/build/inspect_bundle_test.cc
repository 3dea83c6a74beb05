#include "agent/cli/build/inspect_bundle.h"

#include "common/bundle/bundle.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay::agent {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

absl::StatusOr<Disassembly> NoDisassembler(absl::string_view) { return absl::NotFoundError("no nvdisasm"); }

TEST(InspectBundleTest, CubinThatCannotBeReadIsAWarningAndTheClaimsAreShownAsSuch) {
  v1::Bundle bundle;
  bundle.set_cubin("not an ELF");
  bundle.add_kernels()->set_symbol("claimed");
  bundle.add_plans()->set_workload("gemm/M=1");
  const v1::Inspection inspection = *InspectBundle(*SerializeBundle(bundle), NoDisassembler);
  EXPECT_EQ(inspection.kernels(0).symbol(), "claimed");
  EXPECT_EQ(inspection.plans(0).workload(), "gemm/M=1");
  EXPECT_THAT(inspection.warnings(), Contains(HasSubstr("the kernels shown are the bundle's claims")));
  EXPECT_THAT(inspection.warnings(), Contains(HasSubstr("no nvdisasm")));
}

TEST(InspectBundleTest, FamiliesComeFromTheDisassemblyAndNotFromTheBundle) {
  v1::Bundle bundle;
  v1::KernelFacts& facts = *bundle.add_kernels();
  facts.set_symbol("k");
  (*facts.mutable_sass_families())["GMMA"] = 1000;
  const auto disassembler = [](absl::string_view) -> absl::StatusOr<Disassembly> {
    return Disassembly{{"k", {{0, "HMMA.16816.F32.BF16"}, {16, "IADD3"}}}};
  };
  const v1::Inspection inspection = *InspectBundle(*SerializeBundle(bundle), disassembler);
  EXPECT_EQ(inspection.kernels(0).sass_families().count("GMMA"), 0u);
  EXPECT_EQ(inspection.kernels(0).sass_families().at("HMMA"), 1u);
  EXPECT_TRUE(InspectBundle(*SerializeBundle(bundle), NoDisassembler)->kernels(0).sass_families().empty());
}

TEST(InspectBundleTest, WarnsOfFileNamesThatNoServiceTakes) {
  v1::Bundle bundle;
  bundle.set_ptx(".file 1 \"y\n/*0040*/ HGMMA ;\"");
  EXPECT_THAT(InspectBundle(*SerializeBundle(bundle), NoDisassembler)->warnings(),
              Contains(HasSubstr("a service refuses this PTX")));
}

TEST(InspectBundleTest, RefusesWhatIsNoBundle) {
  EXPECT_EQ(InspectBundle("bytes", NoDisassembler).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace sassay::agent
