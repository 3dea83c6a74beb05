// Calling run() in either of its two shapes.
#ifndef SASSAY_AGENT_CAPTURE_HOST_ENTRY_H_
#define SASSAY_AGENT_CAPTURE_HOST_ENTRY_H_

#include <cstdint>
#include <vector>

#include "agent/capture/runtime/session.h"

namespace sassay::capture {

// extern "C" run(inputs…, outputs…, axes…, stream). `tensors` are this call's fake addresses, in order.
void CallC(void* function, const std::vector<Argument>& arguments, const std::vector<uint64_t>& tensors);

// __tvm_ffi_run with one TVMFFIAny per tensor or scalar. Refuses the candidate if it raises an error.
void CallTvmFfi(void* function, const std::vector<Argument>& arguments, const std::vector<uint64_t>& tensors);

}  // namespace sassay::capture

#endif  // SASSAY_AGENT_CAPTURE_HOST_ENTRY_H_
