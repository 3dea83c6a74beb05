// What cuTensorMapEncodeTiled hands out here: a token of the driver's size that only names a recorded encoding. The
// service encodes the real one.
#ifndef SASSAY_AGENT_CAPTURE_RUNTIME_TENSOR_MAP_H_
#define SASSAY_AGENT_CAPTURE_RUNTIME_TENSOR_MAP_H_

#include <cstddef>
#include <cstdint>

namespace sassay::capture {

// 128 bytes: the magic, the index among the process's encodings, and a filler that is not zero, so that a token that
// was cut short is noticed.
struct TensorMapToken {
  uint8_t magic[16];
  uint64_t index;
  uint8_t filler[104];
};
constexpr size_t kTensorMapBytes = 128;
static_assert(sizeof(TensorMapToken) == kTensorMapBytes);

constexpr uint8_t kTensorMapMagic[16] = {0x5A, 0x53, 0x41, 0x59, 0xD1, 0x9E, 0x77, 0x02,
                                         0xB3, 0x4C, 0xE8, 0x61, 0x0F, 0xA6, 0x35, 0xC9};
constexpr uint8_t kTensorMapFiller = 0xA7;

}  // namespace sassay::capture

#endif  // SASSAY_AGENT_CAPTURE_RUNTIME_TENSOR_MAP_H_
