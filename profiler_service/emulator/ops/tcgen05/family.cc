#include "profiler_service/emulator/exec/decoder.h"
#include "profiler_service/emulator/ops/families.h"
#include "profiler_service/emulator/ops/tcgen05/tensor_unit.h"

namespace sassay::emulator {
namespace {

absl::Status Decode(Decoder& d) {
  const absl::string_view operation = d.Part(1);
  if (operation == "alloc") return DecodeAllocate(d);
  if (operation == "dealloc") return DecodeDeallocate(d);
  if (operation == "relinquish_alloc_permit") return DecodeRelinquish(d);
  if (operation == "ld") return DecodeTensorLoad(d);
  if (operation == "st") return DecodeTensorStore(d);
  if (operation == "wait::ld" || operation == "wait::st") return DecodeTensorWait(d);
  if (operation == "fence::before_thread_sync" || operation == "fence::after_thread_sync") return DecodeTensorFence(d);
  if (operation == "mma") return DecodeMultiply(d);
  if (operation == "commit") return DecodeCommit(d);
  if (operation == "cp") return DecodeTensorCopy(d);
  return d.Lacks();
}

}  // namespace

void RegisterTcgen05(OpTable& table) { table.Add("tcgen05", Decode); }

}  // namespace sassay::emulator
