// What accesses to shared memory mean to the race detector, and how a race is told. For access.cc; everybody else goes
// through access.h, whose NoteCopy and NoteUnitRead are here, too.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_EXEC_SHARED_ACCESS_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_EXEC_SHARED_ACCESS_H_

#include "absl/strings/string_view.h"
#include "profiler_service/emulator/exec/access.h"
#include "profiler_service/emulator/memory/copies.h"

namespace sassay::emulator {

// "load", "store" or "atomic".
absl::string_view Verb(AccessKind kind);

// Checked launches: notes one lane's access to shared memory, that of the block itself or of another one of its
// cluster, and reports its race if it has one.
void NoteShared(Warp& warp, const Inst& inst, const AccessFacts& facts, const Lanes& lanes, int lane, bool changes);

// Checked launches: an atomic access to global memory may be a flag between warps of the block, and between blocks of
// the cluster. One clock stands for all of it.
void OrderByGlobal(Warp& warp, const AccessFacts& facts);

// The lane stores where an asynchronous copy still reads global memory.
void ReportSourceUnderWay(Warp& warp, const Inst& inst, const AccessFacts& facts, int lane, const CopyMark& copy);

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_EXEC_SHARED_ACCESS_H_
