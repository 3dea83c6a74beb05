// Parts as a client sends them, each behind its length in two bytes: whatever comes, a job that is taken is within its
// limits and can be written down and read again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "absl/strings/string_view.h"
#include "profiler_service/builder/incoming_job.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sassay::builder::JobLimits limits;
  limits.files = 4;
  limits.source_bytes = 256;
  sassay::builder::IncomingJob job(limits);
  for (size_t at = 0; at + 2 <= size;) {
    const size_t length = std::min<size_t>(data[at] + 256 * data[at + 1], size - at - 2);
    sassay::v1::BuildRequest part;
    if (!part.ParseFromArray(data + at + 2, static_cast<int>(length))) return 0;
    if (!job.Add(std::move(part)).ok()) return 0;
    at += 2 + length;
  }
  const auto taken = job.Take();
  if (!taken.ok()) return 0;
  size_t bytes = 0;
  for (const sassay::v1::SourceFile& source : taken->sources()) {
    bytes += source.content().size();
    if (!sassay::builder::CheckSourcePath(source.path()).ok()) std::abort();
  }
  sassay::v1::BuildJob again;
  if (bytes > limits.source_bytes || taken->sources_size() > 4) std::abort();
  if (!again.ParseFromString(taken->SerializeAsString())) std::abort();
  return 0;
}
