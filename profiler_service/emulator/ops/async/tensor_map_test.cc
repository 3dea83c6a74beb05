// A kernel that makes a tensor map of its own out of one that it was given.
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_service/emulator/testing/emulator_fixture.h"

namespace sassay::emulator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// One warp: copies the map into shared memory, changes it by `changes` (lane 0, the map at %s), copies it to `copy`,
// has TMA bring a box of two rows of four words at (0, 1) by it, and stores the box to `out`.
std::string Kernel(absl::string_view changes) {
  return absl::StrCat(R"(
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 base, .param .u64 copy, .param .u64 out)
{
.reg .b32 %t, %s, %b, %x, %v, %w; .reg .b64 %m, %c, %o, %n, %base, %a; .reg .pred %first, %over, %some;
.shared .align 128 .b8 own[128]; .shared .align 128 .b8 box[128]; .shared .align 8 .b64 bar;
mov.u32 %t, %tid.x; setp.eq.u32 %first, %t, 0; setp.lt.u32 %some, %t, 8;
ld.param.u64 %base, [base]; ld.param.u64 %c, [copy]; ld.param.u64 %o, [out];
mov.b64 %m, map; cvta.param.u64 %m, %m; mul.wide.u32 %n, %t, 4; add.u64 %a, %m, %n; ld.b32 %v, [%a];
mov.u32 %s, own; mad.lo.u32 %x, %t, 4, %s; st.shared.b32 [%x], %v;
mov.u32 %b, bar; @%first mbarrier.init.shared.b64 [%b], 1;
fence.proxy.async; bar.sync 0;
@!%first bra changed;
)",
                      changes, R"(
changed: bar.warp.sync -1;
tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%c], [%s], 128;
fence.proxy.tensormap::generic.acquire.gpu [%c], 128;
@!%first bra asked;
mov.u32 %x, box; mov.u32 %w, 1; mov.u32 %v, 0;
mbarrier.arrive.expect_tx.shared.b64 _, [%b], 32;
cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%x], [%c, {%v, %w}], [%b];
asked: mbarrier.try_wait.parity.shared.b64 %over, [%b], 0;
@!%over bra asked;
mov.u32 %x, box; mad.lo.u32 %x, %t, 4, %x; add.u64 %o, %o, %n;
@%some ld.shared.b32 %v, [%x]; @%some st.global.b32 [%o], %v;
ret;
}
)");
}

class TensorMapTest : public ::testing::TestWithParam<sassay::worker::RunMode> {
 protected:
  // A tensor of four rows of four words, 0 to 15; `other_` has eight rows of eight, 100 to 163.
  device::Execution Run(absl::string_view changes) {
    emulated_.emplace(TextBundle(Kernel(changes)), GetParam());
    std::vector<uint32_t> given(16), other(64);
    for (uint32_t i = 0; i < 16; ++i) given[i] = i;
    for (uint32_t i = 0; i < 64; ++i) other[i] = 100 + i;
    sassay::v1::TensorMap map;
    map.set_data_type(2);  // 32 bits
    for (int d = 0; d < 2; ++d) map.add_global_dim(4), map.add_element_stride(1);
    map.add_box_dim(4), map.add_box_dim(2);
    map.add_global_stride_bytes(16);
    const auto bytes = emulated_->device().EncodeTensorMap(map, emulated_->Upload(given, "given"));
    EXPECT_TRUE(bytes.ok()) << bytes.status();
    const uint64_t base = emulated_->Upload(other, "other"), copy = emulated_->Allocate(128, "copy");
    out_ = emulated_->Allocate(32, "out");
    return emulated_->Run("k", {1, 1, 1}, {32, 1, 1},
                          {std::string(bytes->begin(), bytes->end()), Bytes(base), Bytes(copy), Bytes(out_)});
  }
  std::vector<uint32_t> Out() { return emulated_->Download<uint32_t>(out_, 8); }

 private:
  std::optional<Emulated> emulated_;
  uint64_t out_ = 0;
};

TEST_P(TensorMapTest, ACopyOfAMapIsThatMap) {
  const device::Execution ran = Run("");
  ASSERT_EQ(ran.outcome, sassay::worker::RUN_OUTCOME_OK) << ran.message;
  EXPECT_THAT(Out(), ElementsAre(4, 5, 6, 7, 8, 9, 10, 11));
}

TEST_P(TensorMapTest, AddressStrideAndExtentsAreReplaced) {
  const device::Execution ran =
      Run("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%s], %base;\n"
          "tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%s], 0, 32;\n"
          "tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%s], 0, 3;\n");
  ASSERT_EQ(ran.outcome, sassay::worker::RUN_OUTCOME_OK) << ran.message;
  EXPECT_THAT(Out(), ElementsAre(108, 109, 110, 0, 116, 117, 118, 0));
}

TEST_P(TensorMapTest, FewerRowsAreZerosBeyondThem) {
  const device::Execution ran = Run("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%s], 1, 2;\n");
  ASSERT_EQ(ran.outcome, sassay::worker::RUN_OUTCOME_OK) << ran.message;
  EXPECT_THAT(Out(), ElementsAre(4, 5, 6, 7, 0, 0, 0, 0));
}

TEST_P(TensorMapTest, WhatNoMapCanHoldIsAFinding) {
  for (const char* change : {"tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%s], 0, 24;\n",
                             "tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%s], 1, 32;\n",
                             "tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%s], 2, 4;\n",
                             "st.shared.b32 [%s], 0;\n"
                             "tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%s], %base;\n"}) {
    const device::Execution ran = Run(change);
    EXPECT_NE(ran.outcome, sassay::worker::RUN_OUTCOME_OK) << change;
    EXPECT_THAT(ran.message, HasSubstr("tensormap.replace of")) << change;
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, TensorMapTest,
                         ::testing::Values(sassay::worker::RUN_MODE_PLAIN, sassay::worker::RUN_MODE_CHECKED),
                         [](const auto& info) { return sassay::worker::RunMode_Name(info.param); });

}  // namespace
}  // namespace sassay::emulator
