// Results of compilations, kept by what went into them.
#ifndef SASSAY_AGENT_COMPILE_CACHE_COMPILE_CACHE_H_
#define SASSAY_AGENT_COMPILE_CACHE_COMPILE_CACHE_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "agent/compile/compiled_candidate.h"
#include "sassay/v1/verdict.pb.h"

namespace sassay {

// A folder with one file per result, named by a SHA-256 key.
//
// Entries are written whole or not at all and carry their own digest, so that several agents may share a folder and a
// damaged entry is a miss. The least recently used ones go when the folder outgrows its bound. Its contents are the
// user's own: whoever may write there may also replace the compiler's results.
// Threads: safe, also between processes.
class CompileCache {
 public:
  using Entry = std::variant<CompiledCandidate, sassay::v1::Verdict>;

  // An empty folder means no cache: every Find misses and Put does nothing.
  CompileCache(std::filesystem::path folder, uint64_t limit_bytes)
      : folder_(std::move(folder)), limit_bytes_(limit_bytes) {}

  // `sources` of a hit are left empty: they are part of the key, so the caller has them.
  std::optional<Entry> Find(absl::string_view key) const;
  // Failure to write is not an error worth telling a user about; it is returned for tests.
  absl::Status Put(absl::string_view key, const Entry& entry) const;

 private:
  void Shrink() const;

  std::filesystem::path folder_;
  uint64_t limit_bytes_;
};

}  // namespace sassay

#endif  // SASSAY_AGENT_COMPILE_CACHE_COMPILE_CACHE_H_
