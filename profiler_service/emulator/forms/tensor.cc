#include "profiler_service/emulator/forms/forms.h"

namespace sassay::emulator {
namespace {

#define R2 "{i32, i32}"
#define R4 "{i32, i32, i32, i32}"
#define W2 "{=i32, =i32}"
#define W4 "{=i32, =i32, =i32, =i32}"
#define R8 "{i32, i32, i32, i32, i32, i32, i32, i32}"
#define W8 "{=i32, =i32, =i32, =i32, =i32, =i32, =i32, =i32}"

Family OfWarps() {
  return {
      "Matrices of a warp",
      FamilyKind::kOther,
      "sm_90a",
      {
          {"ldmatrix.sync.aligned.m8n8.x1{,.trans}.shared.b16", "{=i32}, [i32]"},
          {"ldmatrix.sync.aligned.m8n8.x2{,.trans}.shared.b16", W2 ", [i32]"},
          {"ldmatrix.sync.aligned.m8n8.x4{,.trans}.shared.b16", W4 ", [i32]"},
          {"stmatrix.sync.aligned.m8n8.x1{,.trans}.shared.b16", "[i32], {i32}"},
          {"stmatrix.sync.aligned.m8n8.x2{,.trans}.shared.b16", "[i32], " R2},
          {"stmatrix.sync.aligned.m8n8.x4{,.trans}.shared.b16", "[i32], " R4},
          {"mma.sync.aligned.m16n8k8.row.col.f32{.f16.f16,.bf16.bf16}.f32", W4 ", " R2 ", {i32}, " R4},
          {"mma.sync.aligned.m16n8k16.row.col.f32{.f16.f16,.bf16.bf16}.f32", W4 ", " R4 ", " R2 ", " R4},
          {"mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16", W2 ", " R2 ", {i32}, " R2},
          {"mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", W2 ", " R4 ", " R2 ", " R2},
          {"mma.sync.aligned.m8n8k4{.row,.col}{.row,.col}.f32.f16.f16.f32", W8 ", " R2 ", " R2 ", " R8},
          {"mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32", W4 ", " R2 ", {i32}, " R4},
          {"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", W4 ", " R4 ", " R2 ", " R4},
          {"mma.sync.aligned.m16n8k32.row.col.f32{.e4m3,.e5m2}{.e4m3,.e5m2}.f32", W4 ", " R4 ", " R2 ", " R4},
          {"mma.sync.aligned.m8n8k16.row.col{,.satfinite}.s32{.s8,.u8}{.s8,.u8}.s32", W2 ", {i32}, {i32}, " R2},
          {"mma.sync.aligned.m16n8k16.row.col{,.satfinite}.s32{.s8,.u8}{.s8,.u8}.s32", W4 ", " R2 ", {i32}, " R4},
          {"mma.sync.aligned.m16n8k32.row.col{,.satfinite}.s32{.s8,.u8}{.s8,.u8}.s32", W4 ", " R4 ", " R2 ", " R4},
          {"mma.sync.aligned.m16n8k64.row.col.s32{.s4,.u4}{.s4,.u4}.s32", W4 ", " R4 ", " R2 ", " R4},
          {"mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32{.xor,.and}.popc", W4 ", " R4 ", " R2 ", " R4},
          {"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", "{=f64, =f64}, {f64}, {f64}, {f64, f64}"},
          {"mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64",
           "{=f64, =f64, =f64, =f64}, {f64, f64}, {f64}, {f64, f64, f64, f64}"},
          {"mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64",
           "{=f64, =f64, =f64, =f64}, {f64, f64, f64, f64}, {f64, f64}, {f64, f64, f64, f64}"},
          {"mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32",
           W4 ", " R4 ", " R4 ", " R4 ", i32, 0"},
          {"wmma.load{.a,.b}.sync.aligned{.row,.col}{.m16n16k16,.m8n32k16,.m32n8k16}.shared.f16", W8 ", [i32], i32"},
          {"wmma.load.c.sync.aligned.row.m16n16k16.shared.f32", W8 ", [i32], i32"},
          {"wmma.store.d.sync.aligned.row.m16n16k16.shared.f32", "[i32], " R8 ", i32"},
          {"wmma.mma.sync.aligned{.row,.col}{.row,.col}.m16n16k16.f32.f32", W8 ", " R8 ", " R8 ", " R8},
      }};
}

#define MORE ", i64, i64, p, 1, 1"

Family OfWarpgroups() {
  return {"Matrices of a warpgroup (wgmma)",
          FamilyKind::kOther,
          "sm_90a",
          {
              {"wgmma.mma_async.sync.aligned.m64n8k16.f32{.f16.f16,.bf16.bf16}", W4 MORE ", 0, 0"},
              {"wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16", W2 MORE ", 0, 0"},
              {"wgmma.mma_async.sync.aligned.m64n8k16.f32{.f16.f16,.bf16.bf16}", W4 ", " R4 ", i64, p, 1, 1, 0"},
              {"wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32", W4 MORE},
              {"wgmma.mma_async.sync.aligned.m64n8k32{.f32}{.e4m3,.e5m2}{.e4m3,.e5m2}", W4 MORE},
              {"wgmma.mma_async.sync.aligned.m64n8k32{.f16}{.e4m3,.e5m2}{.e4m3,.e5m2}", W2 MORE},
              {"wgmma.mma_async.sync.aligned.m64n8k32{,.satfinite}.s32{.s8.s8,.u8.u8}", W4 ", i64, i64, p"},
              {"wgmma.mma_async.sync.aligned.m64n8k32.s32{.s8.u8,.u8.s8}", W4 ", i64, i64, p"},
              {"wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.and.popc", W4 ", i64, i64, p"},
              {"wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16", W4 ", i64, i64, i32, 0, p, 1, 1, 0, 0"},
              {"wgmma{.fence,.commit_group}.sync.aligned", ""},
              {"wgmma.wait_group.sync.aligned", "0"},
          }};
}

Family OfTensorMemory() {
  return {
      "Tensor memory and tensor cores of Blackwell (tcgen05)",
      FamilyKind::kOther,
      "sm_100a",
      {
          {"tcgen05.alloc{.cta_group::1,.cta_group::2}.sync.aligned.shared::cta.b32", "[i32], 128"},
          {"tcgen05.dealloc{.cta_group::1,.cta_group::2}.sync.aligned.b32", "i32, 128"},
          {"tcgen05.relinquish_alloc_permit{.cta_group::1,.cta_group::2}.sync.aligned", ""},
          {"tcgen05.ld.sync.aligned{.32x32b,.16x64b}.x1{,.pack::16b}.b32", "{=i32}, [i32]"},
          {"tcgen05.ld.sync.aligned{.32x32b.x4,.16x64b.x4,.16x128b.x2,.16x256b.x1}.b32", W4 ", [i32]"},
          {"tcgen05.ld.sync.aligned.16x32bx2.x4.b32", W4 ", [i32], 16"},
          {"tcgen05.ld.red.sync.aligned.32x32b.x2.min.u32", W2 ", =i32, [i32]"},
          {"tcgen05.st.sync.aligned{.32x32b.x4,.16x64b.x4,.16x128b.x2,.16x256b.x1}{,.unpack::16b}.b32", "[i32], " R4},
          {"tcgen05.st.sync.aligned.16x32bx2.x4.b32", "[i32], 16, " R4},
          {"tcgen05{.wait::ld,.wait::st}.sync.aligned", ""},
          {"tcgen05{.fence::before_thread_sync,.fence::after_thread_sync}", ""},
          {"tcgen05.mma{.cta_group::1,.cta_group::2}{.kind::f16,.kind::tf32,.kind::f8f6f4,.kind::i8}",
           "[i32], i64, i64, i32, p"},
          {"tcgen05.mma{.cta_group::1,.cta_group::2}{.kind::f16,.kind::tf32,.kind::f8f6f4,.kind::i8}",
           "[i32], [i32], i64, i32, p"},
          {"tcgen05.mma.cta_group::1{.kind::f16,.kind::tf32}", "[i32], i64, i64, i32, p, 4"},
          {"tcgen05.mma.cta_group::1.kind::f16", "[i32], i64, i64, i32, " R4 ", p"},
          {"tcgen05.mma.cta_group::1{.kind::mxf8f6f4,.kind::mxf4,.kind::mxf4nvf4}.block_scale",
           "[i32], i64, i64, i32, [i32], [i32], p"},
          {"tcgen05.mma.sp.cta_group::1.kind::f16", "[i32], i64, i64, [i32], i32, p"},
          {"tcgen05.mma.ws.cta_group::1.kind::f16", "[i32], i64, i64, i32, p"},
          {"tcgen05.commit{.cta_group::1,.cta_group::2}.mbarrier::arrive::one.shared::cluster.b64", "[i32]"},
          {"tcgen05.commit{.cta_group::1,.cta_group::2}.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64",
           "[i32], i16"},
          {"tcgen05.cp{.cta_group::1,.cta_group::2}{.128x256b,.128x128b,.32x128b.warpx4}", "[i32], i64"},
          {"tcgen05.cp.cta_group::1{.4x256b,.64x128b.warpx2::02_13}", "[i32], i64"},
          {"tcgen05.shift.cta_group::1.down", "[i32]"},
          {"cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::2",
           "[i32], [i64, {i32, i32}], [i32]"},
          {"cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes",
           "[i32], [i64, {i32, i32, i32, i32, i32}], [i32]"},
      }};
}

}  // namespace

std::vector<Family> TensorFamilies() { return {OfWarps(), OfWarpgroups(), OfTensorMemory()}; }

}  // namespace sassay::emulator
