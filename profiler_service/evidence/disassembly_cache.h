// Disassemblies that are remembered, because nvdisasm in its sandbox takes longer than the counted call itself: a turn
// whose cubin was seen before does without, and one whose cubin is new has it made beside the sanitizer.
#ifndef SASSAY_PROFILER_SERVICE_EVIDENCE_DISASSEMBLY_CACHE_H_
#define SASSAY_PROFILER_SERVICE_EVIDENCE_DISASSEMBLY_CACHE_H_

#include <cstddef>
#include <list>
#include <set>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/sass/disassembly.h"
#include "profiler_service/evidence/evidence.h"

namespace sassay::evidence {

// Disassemblies by the cubin's SHA-256.
//
// Threads: thread-safe. Who asks for a cubin that is being disassembled waits for that. Failure: the disassembler's;
// failures are not remembered.
class DisassemblyCache {
 public:
  // An instruction takes about 200 bytes.
  static constexpr size_t kMostInstructions = 200'000;

  // Of all cubins together at most so many instructions are kept; the cubin that was used longest ago goes first.
  explicit DisassemblyCache(Disassembler disassemble, size_t most_instructions = kMostInstructions)
      : disassemble_(std::move(disassemble)), most_instructions_(most_instructions) {}

  absl::StatusOr<Disassembly> Get(absl::string_view untrusted_cubin, absl::Duration timeout)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Entry {
    std::string digest;
    Disassembly code;
    size_t instructions = 0;
  };

  void Remember(const std::string& digest, const Disassembly& code) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Disassembler disassemble_;
  const size_t most_instructions_;
  absl::Mutex mutex_;
  std::list<Entry> entries_ ABSL_GUARDED_BY(mutex_);  // used last first
  size_t instructions_ ABSL_GUARDED_BY(mutex_) = 0;
  std::set<std::string> under_way_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sassay::evidence

#endif  // SASSAY_PROFILER_SERVICE_EVIDENCE_DISASSEMBLY_CACHE_H_
