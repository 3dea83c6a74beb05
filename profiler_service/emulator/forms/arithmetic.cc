#include "profiler_service/emulator/forms/forms.h"

namespace sassay::emulator {
namespace {

Family Integers() {
  return {
      "Integer arithmetic",
      FamilyKind::kLanes,
      "sm_90a",
      {
          {"{add,sub}{.u16,.s16}", "=i16, i16, i16"},
          {"{add,sub}{.u32,.s32,.sat.s32}", "=i32, i32, i32"},
          {"{add,sub}{.u64,.s64}", "=i64, i64, i64"},
          {"{add,min,max}{.u16x2,.s16x2}", "=i32, i32, i32"},
          {"{min,max}.relu{.s16x2,.s32}", "=i32, i32, i32"},
          {"add.cc{.u32,.s32}; addc.cc{.u32,.s32}; addc{.u32,.s32}", "=i32, i32, i32; =i32, i32, i32; =i32, i32, i32"},
          {"add.cc{.u64,.s64}; addc{.u64,.s64}", "=i64, i64, i64; =i64, i64, i64"},
          {"sub.cc{.u32,.s32}; subc.cc{.u32,.s32}; subc{.u32,.s32}", "=i32, i32, i32; =i32, i32, i32; =i32, i32, i32"},
          {"sub.cc{.u64,.s64}; subc{.u64,.s64}", "=i64, i64, i64; =i64, i64, i64"},
          {"mad{.lo,.hi}.cc{.u32,.s32}; madc{.lo,.hi}.cc{.u32,.s32}; madc{.lo,.hi}{.u32,.s32}",
           "=i32, i32, i32, i32; =i32, i32, i32, i32; =i32, i32, i32, i32"},
          {"mad{.lo,.hi}.cc{.u64,.s64}; madc{.lo,.hi}{.u64,.s64}", "=i64, i64, i64, i64; =i64, i64, i64, i64"},
          {"mul{.lo,.hi}{.u16,.s16}", "=i16, i16, i16"},
          {"mul{.lo,.hi}{.u32,.s32}", "=i32, i32, i32"},
          {"mul{.lo,.hi}{.u64,.s64}", "=i64, i64, i64"},
          {"mul.wide{.u16,.s16}", "=i32, i16, i16"},
          {"mul.wide{.u32,.s32}", "=i64, i32, i32"},
          {"mad{.lo,.hi}{.u16,.s16}", "=i16, i16, i16, i16"},
          {"mad{.lo.u32,.lo.s32,.hi.u32,.hi.s32,.hi.sat.s32}", "=i32, i32, i32, i32"},
          {"mad{.lo,.hi}{.u64,.s64}", "=i64, i64, i64, i64"},
          {"mad.wide{.u16,.s16}", "=i32, i16, i16, i32"},
          {"mad.wide{.u32,.s32}", "=i64, i32, i32, i64"},
          {"mul24{.lo,.hi}{.u32,.s32}", "=i32, i32, i32"},
          {"mad24{.lo.u32,.lo.s32,.hi.u32,.hi.s32,.hi.sat.s32}", "=i32, i32, i32, i32"},
          {"sad{.u16,.s16}", "=i16, i16, i16, i16"},
          {"sad{.u32,.s32}", "=i32, i32, i32, i32"},
          {"sad{.u64,.s64}", "=i64, i64, i64, i64"},
          {"{div,rem}{.u16,.s16}", "=i16, i16, i16"},
          {"{div,rem}{.u32,.s32}", "=i32, i32, i32"},
          {"{div,rem}{.u64,.s64}", "=i64, i64, i64"},
          {"{abs,neg}.s16", "=i16, i16"},
          {"{abs,neg}.s32", "=i32, i32"},
          {"{abs,neg}.s64", "=i64, i64"},
          {"{min,max}{.u16,.s16}", "=i16, i16, i16"},
          {"{min,max}{.u32,.s32}", "=i32, i32, i32"},
          {"{min,max}{.u64,.s64}", "=i64, i64, i64"},
          {"dp4a{.u32,.s32}{.u32,.s32}", "=i32, i32, i32, i32"},
          {"dp2a{.lo,.hi}{.u32,.s32}{.u32,.s32}", "=i32, i32, i32, i32"},
          {"vabsdiff{2,4}.u32{.u32,.s32}{.u32,.s32}{,.add}", "=i32, i32, i32, i32"},
      }};
}

Family Bits() {
  return {"Bits",
          FamilyKind::kLanes,
          "sm_90a",
          {
              {"{and,or,xor}.b16", "=i16, i16, i16"},
              {"{and,or,xor}.b32", "=i32, i32, i32"},
              {"{and,or,xor}.b64", "=i64, i64, i64"},
              {"{and,or,xor}.pred", "=p, p, p"},
              {"not.pred", "=p, p"},
              {"{not,cnot}.b16", "=i16, i16"},
              {"{not,cnot}.b32", "=i32, i32"},
              {"{not,cnot}.b64", "=i64, i64"},
              {"lop3.b32", "=i32, i32, i32, i32, #0..255"},
              {"lop3{.and,.or}.b32", "=i32|=p, i32, i32, i32, #0..255, p"},
              {"shl.b16", "=i16, i16, n32"},
              {"shl.b32", "=i32, i32, n32"},
              {"shl.b64", "=i64, i64, n32"},
              {"shr{.b16,.u16,.s16}", "=i16, i16, n32"},
              {"shr{.b32,.u32,.s32}", "=i32, i32, n32"},
              {"shr{.b64,.u64,.s64}", "=i64, i64, n32"},
              {"shf{.l,.r}{.wrap,.clamp}.b32", "=i32, i32, i32, n32"},
              {"{popc,clz}.b32", "=i32, i32"},
              {"{popc,clz}.b64", "=i32, i64"},
              {"bfind{,.shiftamt}{.u32,.s32}", "=i32, i32"},
              {"bfind{,.shiftamt}{.u64,.s64}", "=i32, i64"},
              {"fns.b32", "=i32, i32, lane, off"},
              {"brev.b32", "=i32, i32"},
              {"brev.b64", "=i64, i64"},
              {"bfe{.u32,.s32}", "=i32, i32, n32, n32"},
              {"bfe{.u64,.s64}", "=i64, i64, n32, n32"},
              {"bfi.b32", "=i32, i32, i32, n32, n32"},
              {"bfi.b64", "=i64, i64, i64, n32, n32"},
              {"bmsk{.clamp,.wrap}.b32", "=i32, n32, n32"},
              {"szext{.clamp,.wrap}{.u32,.s32}", "=i32, i32, n32"},
              {"prmt.b32", "=i32, i32, i32, i32"},
              {"prmt.b32{.f4e,.b4e,.rc8,.ecl,.ecr,.rc16}", "=i32, i32, i32, n32"},
          }};
}

#define ROUNDING "{.rn,.rz,.rm,.rp}"

Family SingleAndDouble() {
  return {"Single and double precision",
          FamilyKind::kLanes,
          "sm_90a",
          {
              {"{add,sub,mul}" ROUNDING "{,.ftz}{,.sat}.f32", "=f32, f32, f32"},
              {"{fma,mad}" ROUNDING "{,.ftz}{,.sat}.f32", "=f32, f32, f32, f32"},
              {"div" ROUNDING "{,.ftz}.f32", "=f32, f32, f32"},
              {"{rcp,sqrt}" ROUNDING "{,.ftz}.f32", "=f32, f32"},
              {"{neg,abs}{,.ftz}.f32", "=f32, f32"},
              {"{min,max}{,.ftz}{,.NaN}{,.xorsign.abs}.f32", "=f32, f32, f32"},
              {"copysign.f32", "=f32, f32, f32"},
              {"testp{.finite,.infinite,.number,.notanumber,.normal,.subnormal}.f32", "=p, f32"},
              {"{add,sub,mul}" ROUNDING ".f64", "=f64, f64, f64"},
              {"{fma,mad}" ROUNDING ".f64", "=f64, f64, f64, f64"},
              {"div" ROUNDING ".f64", "=f64, f64, f64"},
              {"{rcp,sqrt}" ROUNDING ".f64", "=f64, f64"},
              {"{neg,abs}.f64", "=f64, f64"},
              {"{min,max}.f64", "=f64, f64, f64"},
              {"copysign.f64", "=f64, f64, f64"},
              {"testp{.finite,.infinite,.number,.notanumber,.normal,.subnormal}.f64", "=p, f64"},
          }};
}

Family HalfPrecision() {
  return {"Half precision and bfloat16",
          FamilyKind::kLanes,
          "sm_90a",
          {
              {"{add,sub,mul}.rn{,.ftz}{,.sat}.f16", "=f16, f16, f16"},
              {"{add,sub,mul}.rn{,.ftz}{,.sat}.f16x2", "=h2, h2, h2"},
              {"{add,sub,mul}.rn.bf16", "=bf16, bf16, bf16"},
              {"{add,sub,mul}.rn.bf16x2", "=b2, b2, b2"},
              {"fma.rn{,.ftz}{,.sat,.relu}.f16", "=f16, f16, f16, f16"},
              {"fma.rn{,.ftz}{,.sat,.relu}.f16x2", "=h2, h2, h2, h2"},
              {"fma.rn{,.relu}.bf16", "=bf16, bf16, bf16, bf16"},
              {"fma.rn{,.relu}.bf16x2", "=b2, b2, b2, b2"},
              {"{neg,abs}{,.ftz}.f16", "=f16, f16"},
              {"{neg,abs}{,.ftz}.f16x2", "=h2, h2"},
              {"{neg,abs}.bf16", "=bf16, bf16"},
              {"{neg,abs}.bf16x2", "=b2, b2"},
              {"{min,max}{,.ftz}{,.NaN}{,.xorsign.abs}.f16", "=f16, f16, f16"},
              {"{min,max}{,.ftz}{,.NaN}{,.xorsign.abs}.f16x2", "=h2, h2, h2"},
              {"{min,max}{,.NaN}{,.xorsign.abs}.bf16", "=bf16, bf16, bf16"},
              {"{min,max}{,.NaN}{,.xorsign.abs}.bf16x2", "=b2, b2, b2"},
          }};
}

Family OutOfBounds() {
  return {"Half precision with operands from outside of a tensor",
          FamilyKind::kOther,
          "sm_90a",
          {
              {"fma.rn.oob{,.relu}{.f16,.bf16}", "=f16, f16, f16, f16"},
              {"fma.rn.oob{,.relu}{.f16x2,.bf16x2}", "=h2, h2, h2, h2"},
          }};
}

// Bounds: PTX ISA 9.0, the tables of each instruction; "2 ulp" of div is 2^-22 of the quotient.
Family Approximations() {
  constexpr double kUlp = 0x1p-23;
  return {"Approximations",
          FamilyKind::kLanes,
          "sm_90a",
          {
              {"{rcp,sqrt,rsqrt}.approx{,.ftz}.f32", "=f32, f32", 2 * kUlp},
              {"{sin,cos}.approx{,.ftz}.f32", "=f32, angle", 0, 0x1p-20},
              {"lg2.approx{,.ftz}.f32", "=f32, f32", 0x1p-22, 0x1p-22},
              {"ex2.approx{,.ftz}.f32", "=f32, f32", 0x1p-22},
              {"tanh.approx.f32", "=f32, f32", 0x1.2p-11},
              {"div{.approx,.full}{,.ftz}.f32", "=f32, moderate, moderate", 2 * kUlp},
              {"tanh.approx.f16", "=f16, f16", 0x1p-10},
              {"tanh.approx.f16x2", "=h2, h2", 0x1p-10},
              {"tanh.approx.bf16", "=bf16, bf16", 0x1p-7},
              {"tanh.approx.bf16x2", "=b2, b2", 0x1p-7},
              {"ex2.approx.f16", "=f16, f16", 0x1p-9},
              {"ex2.approx.f16x2", "=h2, h2", 0x1p-9},
              {"ex2.approx.ftz.bf16", "=bf16, bf16", 0x1p-6},
              {"ex2.approx.ftz.bf16x2", "=b2, b2", 0x1p-6},
              {"{rcp,rsqrt}.approx.ftz.f64", "=f64, f64", 0x1p-19},
              {"rsqrt.approx.f64", "=f64, f64", 0x1p-22},
          }};
}

#define INTEGER_RELATION "{.eq,.ne,.lt,.le,.gt,.ge}"
#define UNSIGNED_RELATION "{.eq,.ne,.lo,.ls,.hi,.hs}"
#define FLOAT_RELATION "{.eq,.ne,.lt,.le,.gt,.ge,.equ,.neu,.ltu,.leu,.gtu,.geu,.num,.nan}"
#define COMBINE "{.and,.or,.xor}"

Family Comparisons() {
  return {"Comparison and selection",
          FamilyKind::kLanes,
          "sm_90a",
          {
              {"setp" INTEGER_RELATION "{.u16,.s16}", "=p|=p, i16, i16"},
              {"setp" INTEGER_RELATION "{.u32,.s32}", "=p, i32, i32"},
              {"setp" UNSIGNED_RELATION ".u32", "=p, i32, i32"},
              {"setp{.eq,.ne}{.b32}", "=p|=p, few, few"},
              {"setp" INTEGER_RELATION "{.u64,.s64}", "=p, i64, i64"},
              {"setp" INTEGER_RELATION COMBINE "{.u32,.s32}", "=p|=p, i32, i32, p"},
              {"setp" FLOAT_RELATION "{,.ftz}.f32", "=p, f32, f32"},
              {"setp" FLOAT_RELATION COMBINE "{,.ftz}.f32", "=p|=p, f32, f32, p"},
              {"setp" FLOAT_RELATION ".f64", "=p, f64, f64"},
              {"setp" FLOAT_RELATION COMBINE ".f64", "=p|=p, f64, f64, p"},
              {"setp" FLOAT_RELATION "{,.ftz}.f16", "=p, f16, f16"},
              {"setp" FLOAT_RELATION "{,.ftz}.f16x2", "=p|=p, h2, h2"},
              {"setp" FLOAT_RELATION COMBINE "{,.ftz}.f16x2", "=p|=p, h2, h2, p"},
              {"setp" FLOAT_RELATION ".bf16", "=p, bf16, bf16"},
              {"setp" FLOAT_RELATION ".bf16x2", "=p|=p, b2, b2"},
              {"set" INTEGER_RELATION "{.u32,.s32}{.u32,.s32}", "=i32, i32, i32"},
              {"set" INTEGER_RELATION COMBINE "{.u32,.s32}{.u64,.s64}", "=i32, i64, i64, p"},
              {"set" INTEGER_RELATION ".f32{.u16,.s16}", "=f32, i16, i16"},
              {"set" FLOAT_RELATION "{,.ftz}{.u32,.s32}.f32", "=i32, f32, f32"},
              {"set" FLOAT_RELATION COMBINE "{,.ftz}.f32.f32", "=f32, f32, f32, p"},
              {"set" FLOAT_RELATION "{.u32,.s32,.f32}.f64", "=i32, f64, f64"},
              {"set" FLOAT_RELATION "{,.ftz}.f16.f16", "=f16, f16, f16"},
              {"set" FLOAT_RELATION "{,.ftz}{.u32,.s32}.f16", "=i32, f16, f16"},
              {"set" FLOAT_RELATION "{,.ftz}{.u16,.s16}.f16", "=i16, f16, f16"},
              {"set" FLOAT_RELATION "{,.ftz}.f16x2.f16x2", "=h2, h2, h2"},
              {"set" FLOAT_RELATION COMBINE "{,.ftz}.f16x2.f16x2", "=h2, h2, h2, p"},
              {"set" FLOAT_RELATION ".bf16.bf16", "=bf16, bf16, bf16"},
              {"set" FLOAT_RELATION ".bf16x2.bf16x2", "=b2, b2, b2"},
              {"selp{.b16,.u16,.s16}", "=i16, i16, i16, p"},
              {"selp{.b32,.u32,.s32,.f32}", "=i32, i32, i32, p"},
              {"selp{.b64,.u64,.s64,.f64}", "=i64, i64, i64, p"},
              {"slct{.b16,.u16,.s16}.s32", "=i16, i16, i16, i32"},
              {"slct{.b32,.u32,.s32,.f32}.s32", "=i32, i32, i32, i32"},
              {"slct{.b64,.u64,.s64,.f64}.s32", "=i64, i64, i64, i32"},
              {"slct{,.ftz}{.b32,.u32,.s32,.f32}.f32", "=i32, i32, i32, f32"},
              {"slct{,.ftz}{.b64,.u64,.s64,.f64}.f32", "=i64, i64, i64, f32"},
          }};
}

Family WarpWide() {
  return {"Lanes of a warp together",
          FamilyKind::kWarp,
          "sm_90a",
          {
              {"shfl.sync{.up,.down,.bfly,.idx}.b32", "=i32|=p, i32, lane, #0..8191, -1"},
              {"shfl.sync{.up,.down,.bfly,.idx}.b32", "=i32, i32, n32, #0..31, -1"},
              {"vote.sync{.all,.any,.uni}.pred", "=p, p, -1"},
              {"vote.sync.ballot.b32", "=i32, p, -1"},
              {"match.any.sync.b32", "=i32, few, -1"},
              {"match.any.sync.b64", "=i32, i64, -1"},
              {"match.all.sync.b32", "=i32|=p, few, -1"},
              {"match.all.sync.b64", "=i32|=p, i64, -1"},
              {"redux.sync{.add,.min,.max}{.u32,.s32}", "=i32, i32, -1"},
              {"redux.sync{.and,.or,.xor}.b32", "=i32, i32, -1"},
              {"elect.sync", "=i32|=p, -1"},
              {"movmatrix.sync.aligned.m8n8.trans.b16", "=i32, i32"},
          }};
}

}  // namespace

std::vector<Family> ArithmeticFamilies() {
  return {Integers(),    Bits(),           SingleAndDouble(), HalfPrecision(),
          OutOfBounds(), Approximations(), Comparisons(),     WarpWide()};
}

}  // namespace sassay::emulator
