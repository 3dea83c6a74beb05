#include "common/demangle/plain_demangle.h"

#include <cxxabi.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>

#include "common/demangle/demangle.h"

namespace sassay {
namespace {

TEST(Demangle, NamesTemplatesAndAnonymousNamespaces) {
  EXPECT_EQ(Demangle("_Z9templatedILi64EfEvPT0_i"), "void templated<64, float>(float*, int)");
  EXPECT_EQ(ShortKernelName("_Z9templatedILi64EfEvPT0_i"), "templated<64, float>");
  EXPECT_EQ(ShortKernelName("_ZN12_GLOBAL__N_19anonymousEPf6Packedb"), "(anonymous namespace)::anonymous");
  EXPECT_EQ(ShortKernelName("_ZN2ns12_GLOBAL__N_11kIfEEvPT_"), "ns::(anonymous namespace)::k<float>");
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

std::string SequenceId(int index) {
  constexpr char kDigits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  if (index == 0) return "S_";
  std::string id;
  for (int rest = index - 1; rest > 0 || id.empty(); rest /= 36) id.insert(id.begin(), kDigits[rest % 36]);
  return "S" + id + "_";
}

// b<b<…>, b<…>> with `levels` levels, each written as two references to the one before.
std::string Bomb(int levels) {
  std::string name = "_Z1f1bIiiE";
  for (int level = 0; level < levels; ++level) {
    const std::string inner = SequenceId(level + 1);
    name += "S_I" + inner + inner + "E";
  }
  return name;
}

long PeakKilobytes() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST(Demangle, ABombCostsNothing) {
  const long before = PeakKilobytes();
  for (int levels = 18; levels < 34; ++levels) {
    EXPECT_EQ(Demangle(Bomb(levels)), "f(...)");
    EXPECT_EQ(ShortKernelName(Bomb(levels)), "f");
  }
  EXPECT_LT(PeakKilobytes() - before, 20'000);
}

TEST(Demangle, APackBombCostsNothing) {
  std::string types(40, 'i'), pattern = "T_";
  for (int depth = 0; depth < 8; ++depth) pattern = "1xIT_Dp" + pattern + "E";
  const std::string bomb = "_Z1fIJ" + types + "EEvDp" + pattern;
  const long before = PeakKilobytes();
  EXPECT_EQ(Demangle(bomb), "f<...>(...)");
  EXPECT_LT(PeakKilobytes() - before, 20'000);
}

TEST(Demangle, TheBoundIsNeverBelowWhatComesOut) {
  for (int levels = 0; levels < 8; ++levels) {
    int status = 0;
    char* text = abi::__cxa_demangle(Bomb(levels).c_str(), nullptr, nullptr, &status);
    ASSERT_EQ(status, 0) << Bomb(levels);
    EXPECT_GE(DemangledBytesBound(Bomb(levels)), std::string(text).size());
    std::free(text);
  }
  EXPECT_GE(DemangledBytesBound(Bomb(100)), uint64_t{1} << 60);
}

TEST(Demangle, ManyPointersOfOneTypeAreNoBomb) {
  std::string name = "_Z4adamPKf", text = "adam(float const*";
  for (int i = 0; i < 30; ++i) {
    name += "S0_";
    text += ", float const*";
  }
  EXPECT_EQ(Demangle(name), text + ")");
}

TEST(Demangle, HeavyTemplatesKeepTheirName) {
  std::string heavy = "_ZN7cutlass13device_kernelINS_4gemm6kernel13GemmUniversalIN4cute5tupleIJiiiEEE";
  for (int i = 0; i < 30; ++i) heavy += "NS4_1CILi2EEE";
  heavy += "EEEEvNT_6ParamsE";
  EXPECT_EQ(ShortKernelName(heavy), "cutlass::device_kernel<...>");
  EXPECT_EQ(Demangle("_ZN12_GLOBAL__N_15splitI" + heavy.substr(2) + "EvT_").substr(0, 32),
            "(anonymous namespace)::split<...");
}

}  // namespace
}  // namespace sassay
