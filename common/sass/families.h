// Which instructions are tensor-core work, which are TMA, and how much arithmetic one of them is. One table for what
// the disassembly holds, what CUPTI counts, and what the emulator executes.
#ifndef SASSAY_COMMON_SASS_FAMILIES_H_
#define SASSAY_COMMON_SASS_FAMILIES_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace sassay {

// Families, spelled as in Evidence.family_thread_counts and KernelFacts.sass_families:
//   GMMA   Hopper's warpgroup matrix multiply (HGMMA, QGMMA, IGMMA, BGMMA): any opcode that contains "GMMA"
//   TMA    tensor copies: UTMALDG, UTMASTG, UTMAREDG; not the prefetches, flushes and cache controls (UTMAPF,
//   UTMACMDFLUSH,
//          UTMACCTL), nor bulk copies without a tensor map (UBLKCP)
//   HMMA, IMMA, DMMA, BMMA, QMMA, OMMA   the warp-wide multiplies of mma.sync
//   TCGEN  Blackwell's fifth-generation tensor cores: every opcode that begins with "UTC" (multiplies, copies, and
//          also the allocation of tensor memory, UTCATOMSWS, which is no work by itself)
//   TMEM   reads and writes of tensor memory: LDTM, STTM
// Empty for every other opcode. `opcode` may carry modifiers ("HGMMA.64x128x16.F32.BF16").
std::string SassFamily(absl::string_view opcode);

// PTXBench's two families: H (Hopper) is GMMA or TMA; B (Blackwell) is TCGEN or TMEM.
bool IsHopperFamily(absl::string_view sass_family);
bool IsBlackwellFamily(absl::string_view sass_family);
// The one that `arch` ("sm_90a", "sm_100a") asks for: 'H', 'B', or 0 for an architecture without one.
char FamilyOfArch(absl::string_view arch);
// Whether `sass_family` belongs to the letter.
bool InFamily(absl::string_view sass_family, char letter);

// The SASS family that ptxas turns a PTX opcode into: "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16" ->
// "GMMA". Waits, fences and commits of those units are not work and give an empty family, as their SASS does, but for
// tcgen05.commit, alloc and dealloc, whose SASS begins with "UTC".
std::string PtxFamily(absl::string_view ptx_opcode);

// Floating-point (or integer) operations that one execution by one warp accounts for: a multiply-add is two. The shape
// in a warpgroup instruction is the warpgroup's, so it is divided by its four warps. Absent where the opcode does not
// tell: other instructions, sparse ones, and all of Blackwell's, whose shape sits in a register.
std::optional<double> SassFlopsPerWarp(absl::string_view opcode);
std::optional<double> PtxFlopsPerWarp(absl::string_view ptx_opcode);

}  // namespace sassay

#endif  // SASSAY_COMMON_SASS_FAMILIES_H_
