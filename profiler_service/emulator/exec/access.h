// Every access to memory by device code goes through here: addresses of 32 lanes become host pointers, or findings.
// This is the one place that keeps hostile PTX inside the device's memory.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_EXEC_ACCESS_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_EXEC_ACCESS_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "profiler_service/emulator/exec/decoder.h"
#include "profiler_service/emulator/exec/warp.h"

namespace sassay::emulator {

enum class AccessKind : uint8_t { kRead, kWrite, kAtomic };

// What a decode function says about an access.
struct AccessFacts {
  Space space = Space::kGeneric;
  AccessKind kind = AccessKind::kRead;
  uint32_t bytes = 0;           // of one lane
  uint32_t alignment = 0;       // 0: as many as `bytes`
  bool frame_relative = false;  // the address is an offset in the frame's local memory
  bool atomic = false;          // volatile, relaxed, acquire, release, atomic: orders, and races with none of its kind
  bool acquire = false, release = false;
  bool is_volatile = false;
  bool quiet = false;          // where it may go is all that is asked: who asks notes reads and stores
  bool of_unit = false;        // TMA or a tensor core does it for the thread
  uint8_t swizzle = 0;         // Touch::swizzle
  bool of_cluster = false;     // shared::cluster: the address may lie in a peer's shared memory
  bool tells_changes = false;  // the handler itself says whether memory changed (Block::NoteChange, Warp::NoteLocal)
};

// Host pointers of one access. Lanes whose access is not allowed are not in `mask`.
struct Lanes {
  uint32_t mask = 0;
  uint32_t shared = 0;  // of those: lanes whose address is in shared memory
  uint32_t global = 0;  // of those: lanes whose address is in global memory
  uint32_t inputs = 0;  // of those: lanes whose address is in an input (Allocation::input)
  uint32_t remote = 0;  // of those in shared memory: lanes whose address is in that of another block of the cluster
  uint8_t* at[kLanes];
  uint8_t* unwritten[kLanes];  // checked launches: one byte per byte, or null

  Block* block[kLanes];  // whose shared memory the lane's address is in
};

// Addresses of the lanes of warp.mask(): the operand's value plus `displacement`.
void Addresses(Warp& warp, const Operand& base, int64_t displacement, uint64_t (&addresses)[kLanes]);

// Resolves, checks and notes one access (in checked launches: bounds, alignment, life, races of reads and atomics).
// Whoever stores also calls NoteStore. False: the launch has been ended by a fault; return Flow::kRedirected.
bool Access(Warp& warp, const Inst& inst, const AccessFacts& facts, const uint64_t (&addresses)[kLanes], Lanes& lanes);

// Checked launches: `lanes` of those that inputs hold change what they hold.
void ReportInputChange(Warp& warp, const Inst& inst, const AccessFacts& facts, uint32_t lanes);

// Checked launches, before the bytes change: the lanes store `bytes` bytes from `values` + lane * `stride`. Their bytes
// become written; races are looked for where a byte changes (flags that many set to one value are honest).
void NoteStore(Warp& warp, const Inst& inst, const AccessFacts& facts, const Lanes& lanes, const uint8_t* values,
               uint32_t stride);

// Checked launches: an asynchronous copy of `values` to shared memory begins (it may land from now on, so it races as a
// store does), and has been waited for. `from`: null where it reads nothing.
// `of_unit`: through the async proxy (TMA); `swizzle`: Touch::swizzle. NoteCopyTo: the copy goes to another block of
// the cluster.
void NoteCopy(Warp& warp, const Inst& inst, int lane, uint8_t* to, const uint8_t* unwritten, const uint8_t* from,
              const uint8_t* values, uint32_t bytes, bool of_unit = false, uint8_t swizzle = 0);
void NoteCopyTo(Warp& warp, const Inst& inst, int lane, Block& block, uint32_t offset, uint32_t bytes);
void NoteCopyEnd(Warp& warp, const uint8_t* to, const uint8_t* from, uint32_t bytes);

// Checked launches: for lane `lane` a unit (TMA, a tensor core) begins to read [offset, offset + bytes) of `block`'s
// shared memory, multiples of 16; it has ended, and `warp` has waited for it. Nobody may write there meanwhile, nor
// after it without being ordered after the wait. What threads have written there needs a proxy fence (PTX
// ISA 9.0, 8.4.2). The block may be another one of the cluster; of what its threads do only that is known which does
// not depend on the order between blocks.
void NoteUnitRead(Warp& warp, const Inst& inst, int lane, Block& block, uint32_t offset, uint32_t bytes);
void NoteUnitReadEnd(Warp& warp, const Inst& inst, int lane, uint32_t offset, uint32_t bytes);

// Checked launches, when all threads of `block` have exited: accesses of other blocks of its cluster to its shared
// memory that it has not waited for are findings.
void ReportStillToCome(Block& block);

// Checked launches: lanes of `lanes` all of whose `bytes` bytes from `offset` on were never written.
uint32_t NeverWritten(const Lanes& lanes, uint32_t offset, uint32_t bytes);
// Reports the use of a value that was never written: `origin` is the load that brought it (or the instruction itself).
void ReportUninitialized(Warp& warp, const Inst& inst, uint32_t origin, uint32_t lanes, absl::string_view use);

// "offset 16 of full", for a finding: `offset` in the block's shared memory.
std::string DescribeShared(const LaunchContext& launch, uint32_t offset);

// Parses the state space and semantics out of an instruction's modifiers, and whether a named base is frame relative.
AccessFacts ParseAccess(const Decoder& decoder, const ptx::Operand& address);

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_EXEC_ACCESS_H_
