// PTX that asks for too much: of the parser, of memory, of output. Every one ends as a message, within memory.
#include <sys/resource.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_service/emulator/emulated_device.h"
#include "profiler_service/emulator/testing/emulator_fixture.h"

namespace sassay::emulator {
namespace {

using sassay::worker::RUN_MODE_CHECKED;
using sassay::worker::RUN_MODE_PLAIN;
using ::testing::HasSubstr;

absl::Status Load(const std::string& body) {
  auto device = EmulatedDevice::Open("sm_90a", RUN_MODE_PLAIN);
  return (*device)->LoadModule(TextBundle(body));
}

device::Execution RunText(const std::string& text, std::array<uint32_t, 3> grid, std::array<uint32_t, 3> block,
                          sassay::worker::RunMode mode = RUN_MODE_PLAIN, absl::Duration deadline = absl::Seconds(20)) {
  Emulated emulated(TextBundle(text), mode);
  return emulated.Run("k", grid, block, {}, 0, false, deadline);
}

std::string Repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) absl::StrAppend(&all, text);
  return all;
}

int64_t PeakBytes() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} << 10;
}

TEST(BoundsTest, NumbersOfAnyLengthAreReadOrRefused) {
  const std::string digits(1 << 20, '9'), zeros(1 << 20, '0');
  const std::vector<std::string> numbers = {digits,
                                            "0x" + digits,
                                            "0b" + std::string(1 << 20, '1'),
                                            "-" + digits,
                                            digits + "." + digits,
                                            "1.0e" + digits,
                                            "0." + zeros + "1",
                                            "0f" + digits,
                                            "0d123",
                                            "0x",
                                            "08",
                                            digits + "U",
                                            "1.e5",
                                            "0f3F80000",
                                            "- - 1"};
  for (const std::string& number : numbers) {
    Load(".entry k() { .reg .b64 %d<4>; mov.u64 %d1, " + number + "; ret; }").IgnoreError();
    Load(".entry k() { .reg .b32 %r<" + number + ">; ret; }").IgnoreError();
    Load(".global .b8 x[" + number + "];").IgnoreError();
    Load(".global .align " + number + " .b8 x[4] = {" + number + "};").IgnoreError();
    Load(".entry k() .maxntid " + number + " { ret; }").IgnoreError();
    Load(".entry k() { .loc " + number + " " + number + " " + number + "\nret; }").IgnoreError();
  }
  for (const char* count : {"4294967295", "18446744073709551615", "18446744073709551616", "262145"}) {
    EXPECT_THAT(std::string(Load(absl::StrCat(".entry k() { .reg .b32 %r<", count, ">; ret; }")).message()),
                HasSubstr("PTX line 4: expected"))
        << count;
  }
}

TEST(BoundsTest, DepthIsBounded) {
  for (const char* open : {"{", "(", "[", "{{", "[[", "-", "!", "{%r1,", "@!", "generic("}) {
    const std::string deep = Repeated(open, 100000);
    EXPECT_FALSE(Load(".entry k() { .reg .b32 %r<4>; mov.u32 %r1, " + deep + "; ret; }").ok()) << open;
    EXPECT_FALSE(Load(".global .b32 x[4] = " + deep + ";").ok()) << open;
    EXPECT_FALSE(Load(".entry k() " + deep).ok()) << open;
    EXPECT_FALSE(Load(deep).ok()) << open;
  }
}

TEST(BoundsTest, ManyOfEverythingIsTakenOrRefused) {
  std::string labels = ".entry k() { .reg .b32 %r<4>;\n", table = "t: .branchtargets L0", functions, globals;
  for (int i = 0; i < 50000; ++i) {
    absl::StrAppend(&labels, "L", i, ":\n");
    absl::StrAppend(&table, ", L", i);
    absl::StrAppend(&functions, ".func f", i, "() { ret; }\n");
  }
  for (int i = 0; i < 3000; ++i) absl::StrAppend(&globals, ".global .b8 g", i, ";\n");
  EXPECT_TRUE(Load(labels + table + "; mov.u32 %r1, 0; brx.idx %r1, t; ret; }").ok());
  EXPECT_TRUE(Load(functions + ".entry k() { ret; }").ok());
  EXPECT_TRUE(Load(globals + ".entry k() { ret; }").ok());
  EXPECT_TRUE(Load(".entry k() { " + Repeated("{ .reg .b32 %r<2>; }", 20000) + " ret; }").ok());
  Load(".entry k() { .reg .b32 %r<4>; add.u32 " + Repeated("%r1, ", 100000) + "%r1; ret; }").IgnoreError();
  Load(".entry k() { .reg .b32 %r<4>; add" + Repeated(".u32", 100000) + " %r1, %r1, %r1; ret; }").IgnoreError();
  Load(Repeated(".entry k() { ret; }\n", 1000)).IgnoreError();
  Load(Repeated(".file 1 \"x\"\n", 100000) + ".entry k() { ret; }").IgnoreError();
  EXPECT_FALSE(Load(std::string(1 << 20, '"')).ok());
  EXPECT_TRUE(Load("/*" + std::string(1 << 20, '*') + "*/ .entry k() { ret; }").ok());
  Load("/*" + std::string(1 << 20, '/')).IgnoreError();
  Load(std::string(1 << 16, '\0')).IgnoreError();
}

TEST(BoundsTest, StacksOfAllResidentWarpsAreBounded) {
#ifdef SASSAY_SANITIZE_THREAD
  GTEST_SKIP()
      << "ThreadSanitizer keeps several bytes for each byte: the process's memory says nothing of the program's";
#endif
  const int64_t before = PeakBytes();
  // Stacks that grow by recursion are not known beforehand: each warp's lanes go deep, then wait.
  const auto deep = RunText(
      ".global .b32 flag;\n"
      ".func f(.param .b32 n) {\n.local .b8 l[60000]; .reg .b32 %r<4>; .reg .b64 %d<4>; .reg .pred %p, %q;\n"
      "ld.param.u32 %r1, [n];\nsetp.eq.u32 %p, %r1, 0;\n@%p bra w;\nsub.u32 %r1, %r1, 1;\n"
      "{ .param .b32 a; st.param.b32 [a], %r1; call f, (a); }\nret;\n"
      "w: mov.u64 %d1, flag;\nld.volatile.global.u32 %r2, [%d1];\nsetp.eq.u32 %q, %r2, 0;\n@%q bra w;\nret;\n}\n"
      ".visible .entry k() {\n{ .param .b32 a; .reg .b32 %r<2>; mov.u32 %r1, 7; st.param.b32 [a], %r1; call f, (a); }\n"
      "ret;\n}\n",
      {4096, 1, 1}, {1024, 1, 1}, RUN_MODE_PLAIN, absl::Minutes(2));
  EXPECT_EQ(deep.outcome, sassay::worker::RUN_OUTCOME_INFRA) << deep.message;
  EXPECT_THAT(deep.message, HasSubstr("emulator lacks memory"));
  EXPECT_LT(PeakBytes() - before, int64_t{4} << 30);
}

TEST(BoundsTest, OutputOfManyThreadsIsCapped) {
  const std::string text =
      ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n.global .b8 text[70000] = "
      "{37,115,37,115,37,"
      "115,37,57,57,57,100,37,42,100,37,46,42,102,37,110,37,120,0};\n"
      ".visible .entry k() {\n.reg .b64 %d<4>;\n.local .align 8 .b8 l[64];\n.param .b64 a; .param .b64 b; .param .b32 "
      "r;\n"
      "mov.u64 %d1, text;\nst.local.u64 [l], %d1;\nst.local.u64 [l+8], %d1;\nst.local.u64 [l+16], %d1;\n"
      "st.local.u64 [l+24], %d1;\nst.param.b64 [a], %d1;\nmov.u64 %d2, l;\ncvta.local.u64 %d2, %d2;\n"
      "st.param.b64 [b], %d2;\ncall (r), vprintf, (a, b);\nret;\n}\n";
  const auto execution = RunText(text, {2000, 1, 1}, {256, 1, 1}, RUN_MODE_PLAIN, absl::Seconds(60));
  EXPECT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_OK) << execution.message;
  EXPECT_LT(execution.device_output.size(), size_t{70000});
}

TEST(BoundsTest, GridsOfTheGreatestExtentAreRefusedOrRun) {
  const auto execution = RunText(".visible .entry k() { ret; }", {0x7fffffff, 65535, 65535}, {1024, 1, 1});
  EXPECT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_REFUSED) << execution.message;
  EXPECT_THAT(execution.message, HasSubstr("too large for the emulated device"));
}

TEST(BoundsTest, CopiesUnderWayAreBoundedForTheLaunch) {
  const auto execution = RunText(
      ".visible .entry k() {\n.shared .align 16 .b8 s[16]; .reg .b32 %r<4>; .reg .b64 %d<4>;\nmov.u32 %r1, s;\n"
      "mov.u32 %r2, 0;\nmov.u64 %d1, 0;\n" +
          Repeated("cp.async.ca.shared.global [%r1], [%d1], 16, %r2;\n", 900) + "bar.sync 1, 2048;\nret;\n}\n",
      {64, 1, 1}, {1024, 1, 1}, RUN_MODE_PLAIN);
  EXPECT_NE(execution.outcome, sassay::worker::RUN_OUTCOME_OK) << execution.message;
}

// Tokens of real kernels, replaced, doubled, dropped and swapped: the text loads or is refused.
TEST(BoundsTest, MutatedRealKernelsAreRefusedOrLoad) {
  uint64_t state = 99;
  auto random = [&](uint64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
  };
  const std::vector<std::string> words = {"4294967296", "-1", "%r4294967295", ".b128",  ".pred", "{", "}",   "[",
                                          "]",          ";",  "0f7F8",        "%tid.x", "_",     "|", "@%p", ".v8",
                                          "(",          ")"};
  int loaded = 0;
  for (const char* name : {"features", "gemm", "broken"}) {
    const std::string ptx = CompiledBundle(name).ptx();
    const std::vector<std::string> lines = absl::StrSplit(ptx, '\n');
    for (int round = 0; round < 60; ++round) {
      std::vector<std::string> changed = lines;
      for (uint64_t changes = random(3); changes > 0; --changes) {
        std::string& line = changed[20 + random(changed.size() - 20)];
        std::vector<std::string> parts = absl::StrSplit(line, ' ');
        switch (random(4)) {
          case 0:
            parts[random(parts.size())] = words[random(words.size())];
            line = absl::StrJoin(parts, " ");
            break;
          case 1:
            line = absl::StrCat(line, line);
            break;
          case 2:
            line.clear();
            break;
          default:
            std::swap(line, changed[20 + random(changed.size() - 20)]);
            break;
        }
      }
      auto device = EmulatedDevice::Open("sm_90a", RUN_MODE_CHECKED);
      sassay::v1::Bundle bundle;
      bundle.set_ptx(absl::StrJoin(changed, "\n"));
      loaded += (*device)->LoadModule(bundle).ok();
    }
  }
  EXPECT_GT(loaded, 30);
}

}  // namespace
}  // namespace sassay::emulator
