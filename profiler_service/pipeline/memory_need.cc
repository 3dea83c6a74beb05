#include "profiler_service/pipeline/memory_need.h"

#include "profiler_service/timing/timing.h"

namespace sassay::pipeline {
namespace {

// 8 bytes of value, 4 of noise and 8 of decoded output for an element of 2 bytes.
constexpr uint64_t kOutputCopies = 10;
// The cache's and what is read back for the check.
constexpr uint64_t kInputCopies = 2;

uint64_t BytesOf(const admission::AdmittedBundle& bundle, sassay::v1::BufferKind kind) {
  uint64_t bytes = 0;
  for (const sassay::v1::Buffer& buffer : bundle.plan().buffers()) {
    if (buffer.kind() == kind) bytes += buffer.size_bytes();
  }
  return bytes;
}

}  // namespace

uint64_t MemoryNeed(const admission::AdmittedBundle& candidate, const admission::AdmittedBundle* reference,
                    bool emulated) {
  const uint64_t inputs = BytesOf(candidate, sassay::v1::BUFFER_KIND_INPUT);
  const uint64_t outputs = BytesOf(candidate, sassay::v1::BUFFER_KIND_OUTPUT);
  uint64_t need = candidate.memory_bytes() + inputs + outputs;
  if (reference != nullptr) need += reference->memory_bytes();
  if (emulated) need += kInputCopies * inputs + kOutputCopies * outputs;
  return need;
}

int RingSize(const timing::Rules& rules, const admission::AdmittedBundle& candidate, bool bundle_baseline,
             uint64_t device_bytes) {
  const uint64_t inputs = BytesOf(candidate, sassay::v1::BUFFER_KIND_INPUT);
  const uint64_t outputs = BytesOf(candidate, sassay::v1::BUFFER_KIND_OUTPUT);
  return timing::TensorSetsFor(rules, inputs + outputs, inputs, bundle_baseline ? device_bytes / 2 : device_bytes);
}

}  // namespace sassay::pipeline
