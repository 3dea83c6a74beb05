#include "profiler_service/emulator/forms/forms.h"

namespace sassay::emulator {
namespace {

#define ROUNDING "{.rn,.rz,.rm,.rp}"
#define INTEGRAL "{.rni,.rzi,.rmi,.rpi}"

// Between integers. An 8-bit value lies in a register of 16 or 32 bits.
Family Integers() {
  return {"Conversions between integers",
          FamilyKind::kLanes,
          "sm_90a",
          {
              {"cvt{.u8,.s8,.u16,.s16}{.u8,.s8,.u16,.s16}", "=i16, i16"},
              {"cvt.sat{.u8.s8,.u8.u16,.u8.s16,.s8.u8,.s8.u16,.s8.s16,.u16.s8,.u16.s16,.s16.u16}", "=i16, i16"},
              {"cvt{,.sat}{.u8,.s8,.u16,.s16}{.u32,.s32}", "=i16, i32"},
              {"cvt{,.sat}{.u8,.s8,.u16,.s16}{.u64,.s64}", "=i16, i64"},
              {"cvt{.u32,.s32}{.u8,.s8,.u16,.s16}", "=i32, i16"},
              {"cvt.sat.u32{.s8,.s16}", "=i32, i16"},
              {"cvt{.u32,.s32}{.u8,.s8,.u16,.s16,.u32,.s32}", "=i32, i32"},
              {"cvt.sat{.u32.s32,.s32.u32}", "=i32, i32"},
              {"cvt{,.sat}{.u32,.s32}{.u64,.s64}", "=i32, i64"},
              {"cvt{.u64,.s64}{.u8,.s8,.u16,.s16}", "=i64, i16"},
              {"cvt.sat.u64{.s8,.s16}", "=i64, i16"},
              {"cvt{.u64,.s64}{.u32,.s32}", "=i64, i32"},
              {"cvt.sat.u64.s32", "=i64, i32"},
              {"cvt{.u64,.s64}{.u64,.s64}", "=i64, i64"},
              {"cvt.sat{.u64.s64,.s64.u64}", "=i64, i64"},
              {"cvt.pack.sat{.u16,.s16}.s32", "=i32, i32, i32"},
              {"cvt.pack.sat{.u8,.s8,.u4,.s4,.u2,.s2}.s32.b32", "=i32, i32, i32, i32"},
          }};
}

Family FromIntegers() {
  return {"Conversions from integers to numbers",
          FamilyKind::kLanes,
          "sm_90a",
          {
              {"cvt" ROUNDING "{.f16}{.u8,.s8,.u16,.s16}", "=f16, i16"},
              {"cvt" ROUNDING "{.f16}{.u32,.s32}", "=f16, i32"},
              {"cvt" ROUNDING "{.f16}{.u64,.s64}", "=f16, i64"},
              {"cvt" ROUNDING "{.bf16}{.u16,.s16}", "=bf16, i16"},
              {"cvt" ROUNDING "{.bf16}{.u32,.s32}", "=bf16, i32"},
              {"cvt" ROUNDING "{.bf16}{.u64,.s64}", "=bf16, i64"},
              {"cvt" ROUNDING "{,.sat}{.f32}{.u8,.s8,.u16,.s16}", "=f32, i16"},
              {"cvt" ROUNDING "{,.sat}{.f32}{.u32,.s32}", "=f32, i32"},
              {"cvt" ROUNDING "{,.sat}{.f32}{.u64,.s64}", "=f32, i64"},
              {"cvt" ROUNDING "{,.sat}{.f64}{.u8,.s8,.u16,.s16}", "=f64, i16"},
              {"cvt" ROUNDING "{,.sat}{.f64}{.u32,.s32}", "=f64, i32"},
              {"cvt" ROUNDING "{,.sat}{.f64}{.u64,.s64}", "=f64, i64"},
          }};
}

Family ToIntegers() {
  return {"Conversions from numbers to integers",
          FamilyKind::kLanes,
          "sm_90a",
          {
              {"cvt" INTEGRAL "{,.sat}{.u8,.s8,.u16,.s16}.f16", "=i16, f16"},
              {"cvt" INTEGRAL "{,.sat}{.u32,.s32}.f16", "=i32, f16"},
              {"cvt" INTEGRAL "{,.sat}{.u64,.s64}.f16", "=i64, f16"},
              {"cvt" INTEGRAL "{.u16,.s16}.bf16", "=i16, bf16"},
              {"cvt" INTEGRAL "{.u32,.s32}.bf16", "=i32, bf16"},
              {"cvt" INTEGRAL "{.u64,.s64}.bf16", "=i64, bf16"},
              {"cvt" INTEGRAL "{,.ftz}{,.sat}{.u8,.s8,.u16,.s16}.f32", "=i16, f32"},
              {"cvt" INTEGRAL "{,.ftz}{,.sat}{.u32,.s32}.f32", "=i32, f32"},
              {"cvt" INTEGRAL "{,.ftz}{,.sat}{.u64,.s64}.f32", "=i64, f32"},
              {"cvt" INTEGRAL "{,.sat}{.u8,.s8,.u16,.s16}.f64", "=i16, f64"},
              {"cvt" INTEGRAL "{,.sat}{.u32,.s32}.f64", "=i32, f64"},
              {"cvt" INTEGRAL "{,.sat}{.u64,.s64}.f64", "=i64, f64"},
          }};
}

Family BetweenNumbers() {
  return {"Conversions between numbers",
          FamilyKind::kLanes,
          "sm_90a",
          {
              {"cvt{,.ftz}{,.sat}.f32.f16", "=f32, f16"},
              {"cvt{,.sat}.f64.f16", "=f64, f16"},
              {"cvt.f32.bf16", "=f32, bf16"},
              {"cvt.f64.bf16", "=f64, bf16"},
              {"cvt{,.ftz}{,.sat}.f64.f32", "=f64, f32"},
              {"cvt" ROUNDING "{,.ftz}{,.sat}.f32.f64", "=f32, f64"},
              {"cvt" ROUNDING "{,.ftz}{,.sat}.f16.f32", "=f16, f32"},
              {"cvt" ROUNDING "{,.sat}.f16.f64", "=f16, f64"},
              {"cvt" ROUNDING ".bf16.f32", "=bf16, f32"},
              {"cvt" ROUNDING ".bf16.f64", "=bf16, f64"},
              {"cvt" ROUNDING ".bf16.f16", "=bf16, f16"},
              {"cvt" ROUNDING ".f16.bf16", "=f16, bf16"},
              {"cvt" INTEGRAL "{,.ftz}{,.sat}.f32.f32", "=f32, f32"},
              {"cvt" INTEGRAL "{,.sat}.f64.f64", "=f64, f64"},
              {"cvt" INTEGRAL "{,.sat}.f16.f16", "=f16, f16"},
              {"cvt" INTEGRAL ".bf16.bf16", "=bf16, bf16"},
              {"cvt{.ftz,.sat,.ftz.sat}.f32.f32", "=f32, f32"},
              {"cvt{.rn,.rz}{.relu,.satfinite,.relu.satfinite}.f16.f32", "=f16, f32"},
              {"cvt{.rn,.rz}{,.relu,.satfinite,.relu.satfinite}.f16x2.f32", "=h2, f32, f32"},
              {"cvt{.rn,.rz}{.relu,.satfinite,.relu.satfinite}.bf16.f32", "=bf16, f32"},
              {"cvt{.rn,.rz}{,.relu,.satfinite,.relu.satfinite}.bf16x2.f32", "=b2, f32, f32"},
              {"cvt.rna.tf32.f32", "=tf32, f32"},
              {"cvt{.rn,.rz}{,.relu}.tf32.f32", "=tf32, f32"},
              {"cvt.rn.satfinite{,.relu}{.e4m3x2,.e5m2x2}.f32", "=i16, f32, f32"},
              {"cvt.rn.satfinite{,.relu}{.e4m3x2,.e5m2x2}.f16x2", "=i16, h2"},
              {"cvt.rn{,.relu}.f16x2.e4m3x2", "=h2, i16"},
              {"cvt.rn{,.relu}.f16x2.e5m2x2", "=h2, i16"},
          }};
}

}  // namespace

std::vector<Family> ConversionFamilies() { return {Integers(), FromIntegers(), ToIntegers(), BetweenNumbers()}; }

}  // namespace sassay::emulator
