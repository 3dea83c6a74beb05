#include "common/bundle/demangle.h"

#include <gtest/gtest.h>

namespace sassay {
namespace {

TEST(Demangle, NamesTemplatesAndAnonymousNamespaces) {
  EXPECT_EQ(Demangle("_Z9templatedILi64EfEvPT0_i"), "void templated<64, float>(float*, int)");
  EXPECT_EQ(ShortKernelName("_Z9templatedILi64EfEvPT0_i"), "templated<64, float>");
  EXPECT_EQ(ShortKernelName("_ZN12_GLOBAL__N_19anonymousEPf6Packedb"), "(anonymous namespace)::anonymous");
  EXPECT_EQ(ShortKernelName("_Z5applyIPFvPfEEvT_S0_"), "apply<void (*)(float*)>");
}

TEST(Demangle, NamesStaticKernelsOfLinkedFiles) {
  EXPECT_EQ(ShortKernelName("__nv_static_19__597c54c9_4_a_cu_fa__Z4samePf"), "same");
  EXPECT_EQ(Demangle("__nv_static_19__nothing"), "__nv_static_19__nothing");
}

TEST(Demangle, LeavesOtherNamesAlone) {
  EXPECT_EQ(Demangle("gemm"), "gemm");
  EXPECT_EQ(ShortKernelName("gemm"), "gemm");
  EXPECT_EQ(Demangle(""), "");
  EXPECT_EQ(Demangle("_Znonsense("), "_Znonsense(");
  EXPECT_EQ(ShortKernelName("))))"), "))))");
  EXPECT_EQ(ShortKernelName("(((("), "((((");
}

TEST(Demangle, DoesNotFollowAbsurdNames) {
  const std::string deep = "_Z1f" + std::string(100000, 'P') + "i";
  EXPECT_EQ(Demangle(deep), deep);
}

}  // namespace
}  // namespace sassay
