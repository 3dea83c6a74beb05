#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_service/emulator/testing/emulator_fixture.h"

namespace sassay::emulator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Block 1 of a cluster of two does `sends` with %r3, the first of four words of block 0's (0, 0, 1, 0), and %r4, its
// barrier (%r5: its own); block 0 expects `bytes` bytes and tells what it finds.
std::string Kernel(const std::string& sends, int bytes) {
  return absl::StrCat(R"(
.visible .entry k(.param .u64 out) .explicitcluster .reqnctapercluster 2, 1, 1 {
  .shared .align 16 .b32 data[4]; .shared .align 8 .b64 bar;
  .reg .pred %p<8>; .reg .b32 %r<20>; .reg .b64 %rd<4>;
  ld.param.u64 %rd0, [out];
  mov.u32 %r0, %tid.x; mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, data; mov.u32 %r5, bar; mov.u32 %r8, 0; mov.u32 %r9, 1;
  setp.ne.u32 %p0, %r0, 0;
  @%p0 bra READY;
  mbarrier.init.shared.b64 [%r5], 1;
  st.shared.v4.b32 [%r2], {%r8, %r8, %r9, %r8};
READY:
  barrier.cluster.arrive; barrier.cluster.wait;
  @%p0 bra LEAVE;
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra RECEIVE;
  mapa.shared::cluster.u32 %r3, %r2, 0; mapa.shared::cluster.u32 %r4, %r5, 0; mov.u32 %r10, 7; mov.u32 %r11, 9;
)",
                      sends, R"(
  bra LEAVE;
RECEIVE:
  mbarrier.arrive.expect_tx.shared.b64 _, [%r5], )",
                      bytes, R"(;
AGAIN: mbarrier.try_wait.parity.acquire.cluster.shared.b64 %p2, [%r5], 0;
  @!%p2 bra AGAIN;
  ld.shared.v4.b32 {%r12, %r13, %r14, %r15}, [%r2];
  st.global.v4.b32 [%rd0], {%r12, %r13, %r14, %r15};
LEAVE:
  barrier.cluster.arrive; barrier.cluster.wait;
  ret; }
)");
}

class AsyncStoreTest : public testing::TestWithParam<sassay::worker::RunMode> {
 protected:
  device::Execution Launch(const std::string& sends, int bytes) {
    emulated_ = std::make_unique<Emulated>(TextBundle(Kernel(sends, bytes)), GetParam());
    out_ = emulated_->Allocate(16, "out");
    return emulated_->Run("k", {2, 1, 1}, {32, 1, 1}, {Bytes(out_)});
  }
  std::unique_ptr<Emulated> emulated_;
  uint64_t out_ = 0;
};

constexpr char kStore[] =
    "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%r3], {%r10, %r11}, [%r4];\n";
constexpr char kAdd[] =
    "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r3+8], %r10, [%r4];\n";

TEST_P(AsyncStoreTest, ValuesAndTheirBytesComeToTheOtherBlock) {
  const auto execution = Launch(absl::StrCat(kStore, kAdd), 12);
  ASSERT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_OK) << execution.message;
  EXPECT_THAT(emulated_->Download<uint32_t>(out_, 4), ElementsAre(7, 9, 8, 0));
}

TEST_P(AsyncStoreTest, WhoExpectsMoreWaitsForEver) {
  const auto execution = Launch(kStore, 12);
  EXPECT_EQ(execution.code, sassay::v1::VERDICT_CODE_MBARRIER_DEADLOCK);
  EXPECT_THAT(execution.message, HasSubstr("expect_tx asked for 12 bytes"));
}

TEST_P(AsyncStoreTest, TheBarrierLiesWhereTheValueGoes) {
  const auto execution =
      Launch("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r3], %r10, [%r5];\n", 4);
  EXPECT_THAT(execution.message, HasSubstr("a store to block 0 of the cluster that signals a barrier of block 1"));
}

INSTANTIATE_TEST_SUITE_P(Modes, AsyncStoreTest,
                         testing::Values(sassay::worker::RUN_MODE_PLAIN, sassay::worker::RUN_MODE_CHECKED),
                         [](const auto& info) { return sassay::worker::RunMode_Name(info.param); });

}  // namespace
}  // namespace sassay::emulator
