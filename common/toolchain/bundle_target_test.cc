#include "common/toolchain/bundle_target.h"

#include <gtest/gtest.h>

#include "common/bundle/bundle.h"

namespace sassay {
namespace {

v1::Bundle CompiledWith(const std::string& toolkit) {
  v1::Bundle bundle;
  bundle.set_source_sha256(std::string(32, '\x1a'));
  bundle.mutable_compilation()->set_arch("sm_90a");
  bundle.mutable_compilation()->set_toolkit_version(toolkit);
  bundle.mutable_compilation()->add_options("-O3");
  bundle.set_cubin(std::string(1000, 'c'));
  return bundle;
}

TEST(BundleTarget, IsToldByTheFirstBytes) {
  const std::string bytes = *SerializeBundle(CompiledWith("13.0.88"));
  const auto target = PeekTarget(absl::string_view(bytes).substr(0, kPeekBytes));
  ASSERT_TRUE(target.ok()) << target.status();
  EXPECT_EQ(target->arch, "sm_90a");
  EXPECT_EQ(target->toolkit_version, "13.0.88");
}

TEST(BundleTarget, AToolkitThatIsStrangeIsNone) {
  for (const std::string& strange :
       {std::string("13; x"), std::string(40, '1'), std::string(), std::string(5000, 'x')}) {
    const auto target = PeekTarget(*SerializeBundle(CompiledWith(strange)));
    ASSERT_TRUE(target.ok()) << target.status();
    EXPECT_EQ(target->arch, "sm_90a");
    EXPECT_EQ(target->toolkit_version, "") << strange;
  }
}

TEST(BundleTarget, BytesThatBreakOffAnywhereAreReadNoFurther) {
  const std::string bytes = *SerializeBundle(CompiledWith("13.0.88"));
  for (size_t size = 0; size < 80; ++size) {
    const auto target = PeekTarget(absl::string_view(bytes).substr(0, size));
    EXPECT_TRUE(target.ok() || absl::IsInvalidArgument(target.status())) << size;
  }
}

}  // namespace
}  // namespace sassay
