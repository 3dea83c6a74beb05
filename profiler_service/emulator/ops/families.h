// Every family of instructions that the emulator knows. A new family is a new file with a Register function, named
// here.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_OPS_FAMILIES_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_OPS_FAMILIES_H_

#include "profiler_service/emulator/exec/op_table.h"

namespace sassay::emulator {

void RegisterAsyncCopy(OpTable& table);        // cp.async and its groups
void RegisterAtomics(OpTable& table);          // atom, red
void RegisterBits(OpTable& table);             // and, or, xor, shl, shr, bfe, bfi, prmt, lop3, popc …
void RegisterCluster(OpTable& table);          // mapa, getctarank
void RegisterCompare(OpTable& table);          // setp, set, selp, slct, testp
void RegisterControl(OpTable& table);          // bra, brx, call, ret, exit, trap
void RegisterConvert(OpTable& table);          // cvt, cvta
void RegisterFloat(OpTable& table);            // f32 and f64 arithmetic
void RegisterInteger(OpTable& table);          // integer arithmetic
void RegisterLoadStore(OpTable& table);        // ld, st, prefetch, isspacep
void RegisterMatrix(OpTable& table);           // mma.sync, ldmatrix, stmatrix
void RegisterMbarrier(OpTable& table);         // mbarrier
void RegisterMove(OpTable& table);             // mov, special registers
void RegisterPoolOfRegisters(OpTable& table);  // setmaxnreg
void RegisterSynchronize(OpTable& table);      // bar, membar, fence, nanosleep
void RegisterTcgen05(OpTable& table);          // tcgen05: Blackwell's tensor memory and tensor cores
void RegisterTensorMap(OpTable& table);        // tensormap.replace, tensormap.cp_fenceproxy
void RegisterTranscendental(OpTable& table);   // rcp, sqrt, rsqrt, sin, cos, lg2, ex2, tanh
void RegisterWarpWide(OpTable& table);         // shfl, vote, match, redux, activemask, elect
void RegisterWgmma(OpTable& table);            // wgmma
void RegisterWmma(OpTable& table);             // wmma.load, wmma.mma, wmma.store

// The table of all of them.
const OpTable& StandardOperations();

// add, sub, mul, mad, fma, neg, abs, min, max and div belong to three families; the type decides.
absl::Status DecodeIntegerArithmetic(Decoder& decoder);
absl::Status DecodeFloatArithmetic(Decoder& decoder);
absl::Status DecodeHalfArithmetic(Decoder& decoder);
// cp.async.bulk, cp.reduce.async.bulk and their groups.
absl::Status DecodeBulkCopy(Decoder& decoder);
// st.async, red.async.
absl::Status DecodeAsyncStore(Decoder& decoder);
// barrier.cluster.
absl::Status DecodeClusterBarrier(Decoder& decoder);

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_OPS_FAMILIES_H_
