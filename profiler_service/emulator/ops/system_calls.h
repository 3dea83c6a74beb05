// Functions that PTX calls and the device provides: vprintf, __assertfail.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_OPS_SYSTEM_CALLS_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_OPS_SYSTEM_CALLS_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "profiler_service/emulator/exec/decoder.h"

namespace sassay::emulator {

// Fills in the instruction under decoding as a call of `name`. UNIMPLEMENTED for what the emulator lacks (malloc,
// free).
absl::Status DecodeSystemCall(Decoder& decoder, absl::string_view name, const std::vector<LocalSlot>& arguments,
                              const std::vector<LocalSlot>& results);

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_OPS_SYSTEM_CALLS_H_
