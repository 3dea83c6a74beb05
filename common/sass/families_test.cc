#include "common/sass/families.h"

#include "gtest/gtest.h"

namespace sassay {
namespace {

TEST(SassFamily, FollowsTheRulesOfPtxBench) {
  for (const char* opcode :
       {"HGMMA.64x128x16.F32.BF16", "QGMMA.64x8x32.F32.E4M3.E4M3", "IGMMA.64x8x32.S8.S8", "BGMMA"}) {
    EXPECT_EQ(SassFamily(opcode), "GMMA") << opcode;
  }
  for (const char* opcode : {"UTMALDG.2D", "UTMASTG.3D", "UTMAREDG.2D.ADD"})
    EXPECT_EQ(SassFamily(opcode), "TMA") << opcode;
  for (const char* opcode : {"UTMACCTL.PF", "UTMAPF.L2.2D", "UTMACMDFLUSH", "UBLKCP", "WARPGROUP.ARRIVE", "FFMA",
                             "LDGSTS.E", "UTMALDGX", ""}) {
    EXPECT_EQ(SassFamily(opcode), "") << opcode;
  }
  for (const char* opcode : {"UTCHMMA", "UTCQMMA.2CTA", "UTCBAR", "UTCATOMSWS.FIND_AND_SET", "UTCCP.T.S.128dp256bit"}) {
    EXPECT_EQ(SassFamily(opcode), "TCGEN") << opcode;
  }
  for (const char* opcode : {"LDTM.x32", "STTM.x8"}) EXPECT_EQ(SassFamily(opcode), "TMEM") << opcode;
  EXPECT_EQ(SassFamily("HMMA.16816.F32.BF16"), "HMMA");
  EXPECT_EQ(SassFamily("DMMA.884"), "DMMA");
}

TEST(InFamily, TellsHopperFromBlackwell) {
  EXPECT_TRUE(InFamily("GMMA", 'H'));
  EXPECT_TRUE(InFamily("TMA", 'H'));
  EXPECT_FALSE(InFamily("HMMA", 'H'));
  EXPECT_FALSE(InFamily("TMA", 'B'));
  EXPECT_TRUE(InFamily("TMEM", 'B'));
  EXPECT_FALSE(InFamily("", '\0'));
  EXPECT_EQ(FamilyOfArch("sm_90a"), 'H');
  EXPECT_EQ(FamilyOfArch("sm_100a"), 'B');
  EXPECT_EQ(FamilyOfArch("sm_103a"), 'B');
  EXPECT_EQ(FamilyOfArch("sm_80"), '\0');
  EXPECT_EQ(FamilyOfArch("sm_120a"), '\0');
}

TEST(PtxFamily, MapsToWhatPtxasMakes) {
  EXPECT_EQ(PtxFamily("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16"), "GMMA");
  EXPECT_EQ(PtxFamily("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"), "TMA");
  EXPECT_EQ(PtxFamily("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group"), "TMA");
  EXPECT_EQ(PtxFamily("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"), "HMMA");
  EXPECT_EQ(PtxFamily("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"), "IMMA");
  EXPECT_EQ(PtxFamily("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64"), "DMMA");
  EXPECT_EQ(PtxFamily("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"), "HMMA");
  EXPECT_EQ(PtxFamily("tcgen05.mma.cta_group::1.kind::f16"), "TCGEN");
  EXPECT_EQ(PtxFamily("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32"), "TCGEN");
  EXPECT_EQ(PtxFamily("tcgen05.ld.sync.aligned.32x32b.x32.b32"), "TMEM");
  for (const char* opcode :
       {"wgmma.fence.sync.aligned", "wgmma.wait_group.sync.aligned", "cp.async.bulk.shared::cluster.global",
        "cp.async.bulk.prefetch.tensor.2d.L2.global", "cp.async.cg.shared.global", "fma.rn.f32",
        "tcgen05.wait::ld.sync.aligned", "tcgen05.fence::before_thread_sync", ""}) {
    EXPECT_EQ(PtxFamily(opcode), "") << opcode;
  }
}

TEST(FlopsPerWarp, ReadsTheShape) {
  EXPECT_EQ(SassFlopsPerWarp("HGMMA.64x128x16.F32.BF16").value(), 2.0 * 64 * 128 * 16 / 4);
  EXPECT_EQ(SassFlopsPerWarp("HMMA.16816.F32.BF16").value(), 2.0 * 16 * 8 * 16);
  EXPECT_EQ(SassFlopsPerWarp("HMMA.1688.F32.TF32").value(), 2.0 * 16 * 8 * 8);
  EXPECT_EQ(SassFlopsPerWarp("IMMA.16832.S8.S8").value(), 2.0 * 16 * 8 * 32);
  EXPECT_EQ(PtxFlopsPerWarp("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16").value(), 2.0 * 64 * 128 * 16 / 4);
  EXPECT_EQ(PtxFlopsPerWarp("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32").value(), 2.0 * 16 * 8 * 16);
}

TEST(FlopsPerWarp, IsAbsentWhereTheOpcodeDoesNotTell) {
  for (const char* opcode :
       {"UTCHMMA", "FFMA", "HGMMA.SP.64x128x32.F32.BF16", "HGMMA", "UTMALDG.2D", "HGMMA.64x128.F32"}) {
    EXPECT_FALSE(SassFlopsPerWarp(opcode).has_value()) << opcode;
  }
  for (const char* opcode :
       {"tcgen05.mma.cta_group::1.kind::f16", "fma.rn.f32", "mma.sp.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32",
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16"}) {
    EXPECT_FALSE(PtxFlopsPerWarp(opcode).has_value()) << opcode;
  }
}

}  // namespace
}  // namespace sassay
