// PTX that means harm: it is refused by name or contained; the emulator's own memory is never in reach.
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_service/emulator/emulated_device.h"
#include "profiler_service/emulator/testing/emulator_fixture.h"

namespace sassay::emulator {
namespace {

using sassay::worker::RUN_MODE_PLAIN;
using ::testing::HasSubstr;

absl::Status Load(const std::string& body) {
  auto device = EmulatedDevice::Open("sm_90a", RUN_MODE_PLAIN);
  return (*device)->LoadModule(TextBundle(body));
}

device::Execution RunBody(const std::string& body) {
  Emulated emulated(TextBundle(absl::StrCat(".visible .entry k() {\n.reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<8>;"
                                            " .reg .b64 %d<8>; .reg .f32 %f<8>;\n",
                                            body, "\nret;\n}\n")),
                    RUN_MODE_PLAIN);
  return emulated.Run("k", {1, 1, 1}, {32, 1, 1}, {}, 0, false, absl::Seconds(5));
}

TEST(HostileTest, HostAddressesAreOutOfReach) {
  int mine = 42;
  for (const uint64_t address : {reinterpret_cast<uint64_t>(&mine), reinterpret_cast<uint64_t>(&Load), uint64_t{0},
                                 ~uint64_t{0} - 3, uint64_t{1} << 47}) {
    const uint64_t aligned = address / 4 * 4;
    for (const char* access : {"st.global.u32 [%d1], %r1;", "ld.u32 %r1, [%d1];", "atom.add.u32 %r2, [%d1], %r1;",
                               "ld.local.u32 %r1, [%d1];", "st.shared.u32 [%d1], %r1;", "ld.const.u32 %r1, [%d1];",
                               "ld.param.u32 %r1, [%d1];"}) {
      const auto execution = RunBody(absl::StrCat("mov.u64 %d1, ", aligned, "; ", access));
      EXPECT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_FAULT) << access << execution.message;
    }
  }
  EXPECT_EQ(mine, 42);
}

TEST(HostileTest, RegistersOfTheWrongSizeAreRefused) {
  for (const char* body :
       {"add.s64 %r1, %r2, %r3;", "mov.u64 %h1, %d1;", "fma.rn.f32 %h1, %f1, %f2, %f3;", "setp.eq.s32 %r1, %r2, %r3;",
        "mul.wide.u32 %r1, %r2, %r3;", "ld.global.u64 %r1, [%d1];", "add.u32 %p1, %r1, %r2;",
        "selp.b32 %r1, %r2, %r3, %r4;", "atom.global.add.u64 %r1, [%d1], %r2;"}) {
    const auto execution = RunBody(body);
    EXPECT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_INFRA) << body;
    EXPECT_THAT(execution.message, HasSubstr("INVALID_ARGUMENT")) << body;
  }
}

TEST(HostileTest, IndicesOutsideTablesFault) {
  EXPECT_EQ(RunBody("mov.u32 %r1, 77; ts: .branchtargets a, b; brx.idx %r1, ts; a: b:").outcome,
            sassay::worker::RUN_OUTCOME_FAULT);
  EXPECT_EQ(RunBody("mov.u64 %d1, 12345; pt: .callprototype _ (); call %d1, (), pt;").outcome,
            sassay::worker::RUN_OUTCOME_FAULT);
  EXPECT_EQ(RunBody("mov.u32 %r1, 99; bar.sync %r1;").outcome, sassay::worker::RUN_OUTCOME_FAULT);
}

TEST(HostileTest, EndlessRecursionOverflowsTheEmulatedStack) {
  Emulated emulated(TextBundle(".func f() {\ncall f, ();\nret;\n}\n.visible .entry k() {\ncall f, ();\nret;\n}\n"),
                    RUN_MODE_PLAIN);
  const auto execution = emulated.Run("k", {1, 1, 1}, {32, 1, 1}, {});
  EXPECT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_FAULT);
  EXPECT_THAT(execution.message, HasSubstr("stack overflow"));
}

// ---- what once reached the emulator's own memory ----

constexpr char kCallee[] =
    ".func (.param .b64 r) f(.param .b64 x) {\n.reg .b64 %d<2>;\nld.param.u64 %d1, [x];\nst.param.b64 [r], %d1;\n"
    "ret;\n}\n";

device::Execution RunCall(const std::string& call) {
  Emulated emulated(TextBundle(absl::StrCat(
                        kCallee, ".visible .entry other(.param .b8 big[4096]) { ret; }\n",
                        ".visible .entry k() {\n.reg .b64 %d<4>;\n{ .param .b64 a; .param .b64 b;\n",
                        "mov.u64 %d1, 7;\nst.param.b64 [a], %d1;\n", call, "\nld.param.b64 %d2, [b];\n}\nret;\n}\n")),
                    RUN_MODE_PLAIN);
  return emulated.Run("k", {1, 1, 1}, {32, 1, 1}, {}, 0, false, absl::Seconds(5));
}

TEST(HostileTest, CallsTakeWholeParametersAndFunctionsOnly) {
  EXPECT_EQ(RunCall("call (b), f, (a);").outcome, sassay::worker::RUN_OUTCOME_OK);
  for (const char* call : {"call (b), f, (a+1048576);", "call (b+1048576), f, (a);", "call other, (a);"}) {
    const auto execution = RunCall(call);
    EXPECT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_INFRA) << call;
    EXPECT_THAT(execution.message, HasSubstr("INVALID_ARGUMENT")) << call;
  }
  const auto indirect =
      RunCall(".reg .b64 %t; mov.u64 %t, other; pt: .callprototype _ (.param .b64 _); call %t, (a), pt;");
  EXPECT_EQ(indirect.outcome, sassay::worker::RUN_OUTCOME_FAULT);
}

TEST(HostileTest, ParametersAndReturnsCountAsMemory) {
  EXPECT_THAT(std::string(Load(".func f(.param .b8 x[600000]) { ret; }").message()), HasSubstr("local memory"));
  EXPECT_THAT(std::string(Load(".func (.param .b8 r[600000]) f() { ret; }").message()), HasSubstr("local memory"));
  EXPECT_THAT(std::string(Load(".entry (.param .b8 r[600000]) k() { ret; }").message()), HasSubstr("local memory"));
  EXPECT_THAT(std::string(Load(".entry k(.param .b8 x[70000]) { ret; }").message()), HasSubstr("parameters"));
  // 2^16 parameters of 2^16 bytes each: their sum is 0 in 32 bits.
  std::string list = ".param .align 65536 .b8 x0";
  for (int i = 1; i <= 65536; ++i) absl::StrAppend(&list, ",.param .align 65536 .b8 x", i);
  EXPECT_THAT(std::string(Load(absl::StrCat(".func f(", list, ") { ret; }")).message()), HasSubstr("local memory"));
  EXPECT_THAT(std::string(Load(absl::StrCat(".entry k(", list, ") { ret; }")).message()), HasSubstr("parameters"));
}

TEST(HostileTest, RegistersOf128BitsPassThroughNoNarrowPlace) {
  for (const char* body : {".reg .b128 %q<3>; st.global.b64 [%d1], %q1;", ".reg .b128 %q<3>; ld.global.b64 %q1, [%d1];",
                           ".reg .b128 %q<3>; mov.b128 {%q1}, %q2;", ".reg .b128 %q<3>; mov.b128 %q1, {%d1};",
                           ".reg .b128 %q<3>; mov.u32 %q1, %tid.x;", ".reg .b128 %q<3>; cvt.u64.u64 %q1, %d1;",
                           "ld.global.b32 {}, [%d1];", "red.global.add.u32 [%d1], {};"}) {
    const auto execution = RunBody(body);
    EXPECT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_INFRA) << body;
  }
}

TEST(HostileTest, CopiesUnderWayAreBounded) {
  const auto execution = RunBody(
      ".shared .align 16 .b8 s[16]; mov.u32 %r1, s; mov.u32 %r2, 0; mov.u64 %d1, 0;"
      " loop: cp.async.ca.shared.global [%r1], [%d1], 16, %r2; bra loop;");
  EXPECT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_INFRA);
  EXPECT_THAT(execution.message, HasSubstr("under way"));
  EXPECT_EQ(RunBody("loop: cp.async.commit_group; bra loop;").outcome, sassay::worker::RUN_OUTCOME_INFRA);
}

TEST(HostileTest, RecursionWithManyRegistersOverflowsBeforeMemoryDoes) {
  Emulated emulated(TextBundle(".func f() {\n.reg .b64 %d<60000>;\ncall f, ();\nret;\n}\n"
                               ".visible .entry k() {\ncall f, ();\nret;\n}\n"),
                    RUN_MODE_PLAIN);
  const auto execution = emulated.Run("k", {1, 1, 1}, {32, 1, 1}, {});
  EXPECT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_FAULT);
  EXPECT_THAT(execution.message, HasSubstr("at depth 2 "));
}

TEST(HostileTest, TextsPastTheBoundsAreRefusedByName) {
  EXPECT_THAT(std::string(Load(".entry k() { .reg .b64 %d<4000000000>; ret; }").message()), HasSubstr("registers"));
  EXPECT_THAT(std::string(Load(".entry k() { .reg .b64 %d<250000>; ret; }").message()), HasSubstr("registers"));
  EXPECT_THAT(std::string(Load(".global .b8 x[99999999999];").message()), HasSubstr("PTX line"));
  EXPECT_THAT(std::string(Load(".global .b8 x[999999999][999999999][999999999];").message()), HasSubstr("PTX line"));
  EXPECT_THAT(std::string(Load(".entry k() { .shared .b8 s[900000000]; ret; }").message()), HasSubstr("shared"));
  EXPECT_THAT(std::string(Load(absl::StrCat(".entry k() ", std::string(1000, '{'))).message()), HasSubstr("nested"));
  EXPECT_THAT(std::string(Load(absl::StrCat(".entry k() { mov.u32 ", std::string(1000, '{'))).message()),
              HasSubstr("nested"));
  std::string many;
  for (int i = 0; i < 70; ++i) absl::StrAppend(&many, ".func f", i, "() { .reg .pred %p<262144>; ret; }\n");
  EXPECT_THAT(std::string(Load(many).message()), HasSubstr("registers in all functions"));
  EXPECT_FALSE(Load(".entry k() { bra nowhere; }").ok());
  EXPECT_FALSE(Load(".entry k() { @%p1 ret; }").ok());
  EXPECT_FALSE(Load(".entry k(").ok());
}

// Bytes of a kernel that uses many families are changed at random: it loads or is refused, runs or faults, and nothing
// else.
TEST(HostileTest, MutatedTextsAreRefusedOrContained) {
  const std::string text =
      ".func (.param .b32 r) f(.param .b32 x) {\n.reg .b32 %r<3>;\nld.param.u32 %r1, [x];\nst.param.b32 [r], "
      "%r1;\nret;\n}\n"
      ".visible .entry k() {\n.reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<12>; .reg .b64 %d<8>; .reg .f32 %f<12>;\n"
      ".shared .align 16 .b8 s[512]; .local .align 8 .b8 l[64];\nmov.u32 %r1, %tid.x;\nmov.u64 %d1, l;\n"
      "st.local.u32 [%d1+8], %r1;\nld.local.v2.u32 {%r2, %r3}, [%d1+8];\nmul.wide.u32 %d2, %r1, 4;\n"
      "mov.u64 %d3, s;\nadd.u64 %d3, %d3, %d2;\nst.shared.u32 [%d3], %r1;\nbar.sync 0;\n"
      "atom.shared.add.u32 %r4, [%d3+4], %r2;\nshfl.sync.bfly.b32 %r5|%p1, %r4, 1, 31, -1;\n"
      "mov.u32 %r6, s;\nldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r7, %r8}, [%r6];\n"
      "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r7,%r8}, {%r5}, {%f1,%f2,%f3,%f4};\n"
      "cvt.rn.f16.f32 %h1, %f1;\nmov.b32 %r9, {%h1, %h1};\nsetp.lt.s32 %p2, %r1, 7;\n@%p2 bra over;\n"
      "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r9; call (b), f, (a); ld.param.b32 %r10, [b]; }\n"
      "over:\nvote.sync.ballot.b32 %r11, %p2, -1;\nbfe.u32 %r1, %r11, %r5, %r4;\nret;\n}\n";
  uint64_t state = 12345;
  auto random = [&](uint64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
  };
  const std::string alphabet = "0123456789%rdfhp[]{},;.+-u32s64b16lx";
  int ran = 0;
  for (int round = 0; round < 1500; ++round) {
    std::string mutated = text;
    for (uint64_t changes = round == 0 ? 0 : 1 + random(2); changes > 0; --changes) {
      mutated[random(mutated.size())] = alphabet[random(alphabet.size())];
    }
    auto device = EmulatedDevice::Open("sm_90a", round % 2 ? sassay::worker::RUN_MODE_CHECKED : RUN_MODE_PLAIN);
    if (!(*device)->LoadModule(TextBundle(mutated)).ok()) continue;
    device::Launch launch;
    launch.kernel = "k";
    for (auto* extent : {&launch.grid, &launch.block}) extent->set_x(1), extent->set_y(1), extent->set_z(1);
    launch.block.set_x(64);
    if (!(*device)->Enqueue(launch).ok()) continue;
    const auto execution = (*device)->Synchronize(absl::Now() + absl::Milliseconds(200));
    ASSERT_TRUE(round > 0 || execution.ok()) << execution.status();
    ran += execution.ok();
  }
  EXPECT_GT(ran, 50);
}

TEST(HostileTest, PrintfCannotReadOutOfBoundsOrFlood) {
  const auto execution = RunBody(
      ".param .b64 a; .param .b64 b; .param .b32 r; mov.u64 %d1, 4096; st.param.b64 [a], %d1; st.param.b64 [b], %d1;"
      " loop: call (r), vprintf, (a, b); bra loop;");
  // vprintf is not declared: the call is malformed, which is ours to say, not to crash on.
  EXPECT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_INFRA);
  Emulated flood(
      TextBundle(".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n"
                 ".global .b8 text[16] = {37, 57, 57, 57, 57, 57, 57, 57, 57, 100, 120, 37, 115, 10, 0, 0};\n"
                 ".visible .entry k() {\n.reg .b64 %d<4>;\n.param .b64 a; .param .b64 b; .param .b32 r;\n"
                 "mov.u64 %d1, text;\nst.param.b64 [a], %d1;\nmov.u64 %d2, 8;\nst.param.b64 [b], %d2;\n"
                 "loop: call (r), vprintf, (a, b);\nbra loop;\n}\n"),
      RUN_MODE_PLAIN);
  const auto flooded = flood.Run("k", {1, 1, 1}, {32, 1, 1}, {}, 0, false, absl::Milliseconds(300));
  EXPECT_EQ(flooded.outcome, sassay::worker::RUN_OUTCOME_TIMEOUT);
  EXPECT_LT(flooded.device_output.size(), size_t{70000});
  EXPECT_THAT(flooded.device_output, HasSubstr("[output capped at"));
}

}  // namespace
}  // namespace sassay::emulator
