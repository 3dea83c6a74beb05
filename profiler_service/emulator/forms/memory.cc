#include "profiler_service/emulator/forms/forms.h"

namespace sassay::emulator {
namespace {

#define SPACE "{,.global,.shared,.local}"

Family Moves() {
  return {"Moves and addresses",
          FamilyKind::kOther,
          "sm_90a",
          {
              {"mov{.b16,.u16,.s16}", "=i16, i16"},
              {"mov{.b32,.u32,.s32,.f32}", "=i32, i32"},
              {"mov{.b64,.u64,.s64,.f64}", "=i64, i64"},
              {"mov.pred", "=p, p"},
              {"mov.b32", "=i32, {i16, i16}"},
              {"mov.b32", "{=i16, =i16}, i32"},
              {"mov.b64", "=i64, {i32, i32}"},
              {"mov.b64", "{=i32, =i32}, i64"},
              {"mov.b64", "=i64, {i16, i16, i16, i16}"},
              {"mov.b128", "=i128, {i64, i64}"},
              {"mov.u32", "=i32, %tid.x"},
              {"mov.u32", "=i32, %laneid"},
              {"mov.u32", "=i32, %cluster_ctarank"},
              {"mov.u64", "=i64, %clock64"},
              {"mov.u64", "=i64, %globaltimer"},
              {"mov.u32", "=i32, @s"},
              {"cvta{,.to}{.global,.shared,.local,.const,.param}.u64", "=i64, i64"},
              {"cvta{,.to}.shared::cluster.u64", "=i64, i64"},
              {"isspacep{.global,.shared,.local,.const,.param}", "=p, i64"},
              {"mapa{.u64,.shared::cluster.u64}", "=i64, i64, i32"},
              {"mapa.shared::cluster.u32", "=i32, i32, i32"},
              {"getctarank{.u64,.shared::cluster.u64}", "=i32, i64"},
              {"createpolicy.fractional.L2::evict_first.b64", "=i64, 1.0"},
              {"createpolicy.range.global.L2::evict_last.b64", "=i64, [i64], i32, i32"},
          }};
}

Family Loads() {
  return {"Loads and stores",
          FamilyKind::kOther,
          "sm_90a",
          {
              {"ld" SPACE "{.b8,.u8,.s8,.b16,.u16,.s16}", "=i16, [i64]"},
              {"ld" SPACE "{.b8,.u8,.s8,.b16,.u16,.s16,.b32,.u32,.s32,.f32}", "=i32, [i64+4]"},
              {"ld" SPACE "{.b8,.u8,.s8,.b16,.u16,.s16,.b32,.u32,.s32,.b64,.u64,.s64,.f64}", "=i64, [i64]"},
              {"ld" SPACE ".b128", "=i128, [i64]"},
              {"ld" SPACE ".v2{.u8,.b16,.b32,.f32}", "{=i32, =i32}, [i64]"},
              {"ld" SPACE ".v4{.u8,.b16,.b32,.f32}", "{=i32, =i32, =i32, =i32}, [i64]"},
              {"ld" SPACE ".v2{.b64,.f64}", "{=i64, =i64}, [i64]"},
              {"ld{.global,.const,.param}.b32", "=i32, [i64]"},
              {"ld{.volatile,.relaxed.cta,.relaxed.gpu,.relaxed.sys,.acquire.cta,.acquire.cluster,.acquire.gpu,."
               "acquire.sys}"
               "{,.global,.shared}.b32",
               "=i32, [i64]"},
              {"ld.global{.ca,.cg,.cs,.lu,.cv}.b32", "=i32, [i64]"},
              {"ld.global.nc{,.L1::no_allocate,.L2::128B}.b32", "=i32, [i64]"},
              {"ld.global.L1::evict_last.L2::cache_hint.b32", "=i32, [i64], i64"},
              {"ld.mmio.relaxed.sys.global.b32", "=i32, [i64]"},
              {"ld.shared::cluster.b32", "=i32, [i32]"},
              {"ldu.global.b32", "=i32, [i64]"},
              {"st" SPACE "{.b8,.u8,.b16,.u16}", "[i64], i16"},
              {"st" SPACE "{.b8,.b16,.b32,.u32,.f32}", "[i64], i32"},
              {"st" SPACE "{.b64,.f64}", "[i64], i64"},
              {"st" SPACE ".b128", "[i64], i128"},
              {"st" SPACE ".v2{.u8,.b16,.b32,.f32}", "[i64], {i32, i32}"},
              {"st" SPACE ".v4{.u8,.b16,.b32,.f32}", "[i64], {i32, i32, i32, i32}"},
              {"st{.volatile,.relaxed.cta,.relaxed.gpu,.relaxed.sys,.release.cta,.release.cluster,.release.gpu,."
               "release.sys}"
               "{,.global,.shared}.b32",
               "[i64], i32"},
              {"st.global{.wb,.cg,.cs,.wt}.b32", "[i64], i32"},
              {"st.shared::cluster.b32", "[i32], i32"},
              {"st.async.weak.shared::cluster.mbarrier::complete_tx::bytes{.b32,.u32,.s32,.f32}", "[i32], i32, [i32]"},
              {"prefetch{.global,}{.L1,.L2}", "[i64]"},
              {"prefetch.tensormap", "[i64]"},
              {"prefetchu.L1", "[i64]"},
              {"applypriority.global.L2::evict_normal", "[i64], 128"},
              {"discard.global.L2", "[i64], 128"},
              {"multimem.ld_reduce.relaxed.gpu.global.add.f32", "=f32, [i64]"},
          }};
}

Family Atomics() {
  return {
      "Atomics",
      FamilyKind::kOther,
      "sm_90a",
      {
          {"atom{,.global,.shared}{.add.u32,.add.s32,.min.s32,.max.u32,.and.b32,.or.b32,.xor.b32,.exch.b32,.inc.u32,."
           "dec.u32}",
           "=i32, [i64], i32"},
          {"atom{,.global,.shared}{.add.u64,.min.s64,.max.u64,.and.b64,.or.b64,.xor.b64,.exch.b64}",
           "=i64, [i64], i64"},
          {"atom{,.global,.shared}{.add.f32,.add.noftz.f16x2,.add.noftz.bf16x2}", "=i32, [i64], i32"},
          {"atom{,.global,.shared}.add.f64", "=f64, [i64], f64"},
          {"atom{,.global,.shared}.add.noftz{.f16,.bf16}", "=i16, [i64], i16"},
          {"atom{,.global,.shared}.cas.b16", "=i16, [i64], i16, i16"},
          {"atom{,.global,.shared}.cas.b32", "=i32, [i64], i32, i32"},
          {"atom{,.global,.shared}.cas.b64", "=i64, [i64], i64, i64"},
          {"atom{,.global}.exch.b128", "=i128, [i64], i128"},
          {"atom{,.global}.cas.b128", "=i128, [i64], i128, i128"},
          {"atom.global.v2.f32.add", "{=f32, =f32}, [i64], {f32, f32}"},
          {"atom.global.v4.f32.add", "{=f32, =f32, =f32, =f32}, [i64], {f32, f32, f32, f32}"},
          {"atom.global.v2{.f16x2,.bf16x2}{.add.noftz,.min.noftz}", "{=i32, =i32}, [i64], {i32, i32}"},
          {"atom{.relaxed,.acquire,.release,.acq_rel}{.cta,.cluster,.gpu,.sys}{.global,.shared}.add.u32",
           "=i32, [i64], i32"},
          {"red{,.global,.shared}{.add.u32,.add.f32,.min.s32,.max.u32,.and.b32,.or.b32,.xor.b32,.inc.u32,.dec.u32}",
           "[i64], i32"},
          {"red{,.global,.shared}{.add.u64,.min.s64,.max.u64}", "[i64], i64"},
          {"red.global.v4.f32.add", "[i64], {f32, f32, f32, f32}"},
          {"red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes{.add,.min,.max,.and,.or,.xor}.u32",
           "[i32], i32, [i32]"},
      }};
}

Family Control() {
  return {"Control and synchronisation",
          FamilyKind::kOther,
          "sm_90a",
          {
              {"bra{,.uni}", "@end"},
              {"{exit,trap,ret,brkpt}", ""},
              {"nanosleep.u32", "i32"},
              {"bar.sync", "0"},
              {"bar.sync", "1, 64"},
              {"bar.arrive", "1, 64"},
              {"bar.red.popc.u32", "=i32, 0, p"},
              {"bar.red{.and,.or}.pred", "=p, 0, p"},
              {"bar.warp.sync", "-1"},
              {"barrier{.sync,.sync.aligned}", "i32, 64"},
              {"barrier.cluster.arrive{,.release,.relaxed}{,.aligned}", ""},
              {"barrier.cluster.wait{,.acquire}{,.aligned}", ""},
              {"membar{.cta,.gl,.sys}", ""},
              {"fence{.sc,.acq_rel}{.cta,.cluster,.gpu,.sys}", ""},
              {"fence.mbarrier_init.release.cluster", ""},
              {"fence.proxy{.alias,.async,.async.global,.async.shared::cta}", ""},
              {"fence.proxy.tensormap::generic{.release.gpu,.release.sys}", ""},
              {"fence.proxy.tensormap::generic.acquire.gpu", "[i64], 128"},
              {"griddepcontrol{.wait,.launch_dependents}", ""},
              {"setmaxnreg{.inc,.dec}.sync.aligned.u32", "64"},
              {"activemask.b32", "=i32"},
              {"pmevent", "1"},
          }};
}

}  // namespace

std::vector<Family> MemoryFamilies() { return {Moves(), Loads(), Atomics(), Control()}; }

}  // namespace sassay::emulator
