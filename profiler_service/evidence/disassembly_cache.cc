#include "profiler_service/evidence/disassembly_cache.h"

#include <algorithm>

#include "common/base/sha256.h"

namespace sassay::evidence {

absl::StatusOr<Disassembly> DisassemblyCache::Get(absl::string_view untrusted_cubin, absl::Duration timeout) {
  const std::string digest = Sha256(untrusted_cubin);
  {
    absl::MutexLock lock(&mutex_);
    const auto nobody_is_at_it = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return under_way_.count(digest) == 0; };
    mutex_.Await(absl::Condition(&nobody_is_at_it));
    const auto known =
        std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.digest == digest; });
    if (known != entries_.end()) {
      entries_.splice(entries_.begin(), entries_, known);
      return entries_.front().code;
    }
    under_way_.insert(digest);
  }
  absl::StatusOr<Disassembly> code = disassemble_(untrusted_cubin, timeout);
  absl::MutexLock lock(&mutex_);
  under_way_.erase(digest);
  if (code.ok()) Remember(digest, *code);
  return code;
}

void DisassemblyCache::Remember(const std::string& digest, const Disassembly& code) {
  Entry entry{digest, code, 0};
  for (const auto& [function, instructions] : code) entry.instructions += instructions.size();
  instructions_ += entry.instructions;
  entries_.push_front(std::move(entry));
  while (instructions_ > most_instructions_) {
    instructions_ -= entries_.back().instructions;
    entries_.pop_back();
  }
}

}  // namespace sassay::evidence
