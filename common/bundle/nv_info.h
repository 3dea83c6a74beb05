// The attribute lists inside a cubin (`.nv.info`, `.nv.info.<kernel>`, `.nv.compat`): a byte for the format, a byte for
// the attribute, then a value whose size the format tells.
#ifndef SASSAY_COMMON_BUNDLE_NV_INFO_H_
#define SASSAY_COMMON_BUNDLE_NV_INFO_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sassay {

// Attribute numbers, as observed in cubins of CUDA 12 and 13 (see CAPTURE.md and cubin_test.cc).
namespace nv_info {
constexpr uint8_t kMaxThreads = 0x05;                 // 3 words: extents of __launch_bounds__ / .maxntid
constexpr uint8_t kExternals = 0x0f;                  // symbol indices of functions called
constexpr uint8_t kRequiredThreads = 0x10;            // 3 words: .reqntid
constexpr uint8_t kFrameBytes = 0x11;                 // (symbol, bytes)
constexpr uint8_t kMinimumStackBytes = 0x12;          // (symbol, bytes), callees included
constexpr uint8_t kParameter = 0x17;                  // index, u16 ordinal, u16 offset, u32 with the size in bits 18-31
constexpr uint8_t kParameterBytes = 0x19;             // half word
constexpr uint8_t kNeedsDeviceRuntimeWrapper = 0x1f;  // calls the device runtime
constexpr uint8_t kNeedsDeviceRuntimePatch = 0x20;    // calls the device runtime
constexpr uint8_t kRegisters = 0x2f;                  // (symbol, registers)
constexpr uint8_t kBlocksPerCluster = 0x3d;           // 3 words: __cluster_dims__
constexpr uint8_t kParameterV2 =
    0x45;  // index, u16 ordinal, u16 offset, size in the low half of a u32: parameters of 16 KiB and more
constexpr uint8_t kCompatArchSpecific = 0x09;  // in .nv.compat: 1 for sm_90a, sm_100a, …
constexpr uint8_t kBlocksAreClusters = 0x5b;   // no value: __block_size__ with a cluster
}  // namespace nv_info

struct NvAttribute {
  uint8_t id = 0;
  // Value of the formats without bytes of their own.
  uint16_t number = 0;
  // Value of the sized format; empty for the others.
  absl::string_view bytes;
};

// The list in file order. INVALID_ARGUMENT if an entry reaches past the end or has an unknown format.
absl::StatusOr<std::vector<NvAttribute>> ParseNvInfo(absl::string_view untrusted);

}  // namespace sassay

#endif  // SASSAY_COMMON_BUNDLE_NV_INFO_H_
