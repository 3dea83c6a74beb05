// What a launch saw go wrong: findings, collected from many threads, told in one order.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_EXEC_REPORT_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_EXEC_REPORT_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "profiler_service/emulator/exec/program.h"
#include "sassay/v1/bundle.pb.h"
#include "sassay/v1/verdict.pb.h"

namespace sassay::emulator {

// A thread of the launch at an instruction.
struct Place {
  uint64_t block = 0;  // linear index
  uint32_t thread = 0;
  uint32_t inst = 0;  // Inst::id
};

// Turns places into the words of the contract. Holds the sources for their text. Thread-compatible; const use is safe
// from any thread.
class Locator {
 public:
  Locator(const Program& program, const sassay::v1::Bundle& bundle);
  sassay::v1::ThreadLocation Describe(const std::string& kernel, const sassay::v1::Dim3& grid,
                                      const sassay::v1::Dim3& block, const Place& place) const;

 private:
  struct Source {
    std::string path;
    std::vector<std::string> lines;
  };
  const Source* Find(const std::string& file) const;
  uint32_t UserLocation(uint32_t location) const;

  const Program& program_;
  std::vector<Source> sources_;
};

// Stands in a misuse's message for the place of `other`; Report::Findings puts the source line there, or the PTX line.
inline constexpr char kOtherPlace[] = "$other";

struct Misuse {
  sassay::v1::VerdictCode code = sassay::v1::VERDICT_CODE_UNSPECIFIED;
  std::string message;
  Place where;
  Place other;
  bool has_other = false;
  std::string buffer;
  int64_t distance_bytes = 0;
  uint32_t access_bytes = 0;
};

// Findings of one launch, deduplicated by (code, instruction): the lowest block's is told, the others are counted.
// Bounded: past `kMaxKinds` kinds only counts go on. Thread-safe.
class Report {
 public:
  static constexpr size_t kMaxKinds = 256;
  static constexpr size_t kMaxFindings = 32;

  // Whether a misuse of this kind by `block` is worth describing: it is new, or earlier than the one known. Counts it.
  bool Wants(sassay::v1::VerdictCode code, uint32_t inst, uint64_t block);
  void Add(Misuse misuse);
  bool empty() const;
  // In order of block, then of appearance; at most kMaxFindings.
  std::vector<sassay::v1::Finding> Findings(const Locator& locator, const std::string& kernel,
                                            const sassay::v1::Dim3& grid, const sassay::v1::Dim3& block) const;

 private:
  struct Entry {
    Misuse misuse;
    uint64_t sequence = 0, count = 0;
    uint64_t block = ~uint64_t{0};
  };
  mutable absl::Mutex mutex_;
  std::map<std::pair<int, uint32_t>, Entry> entries_ ABSL_GUARDED_BY(mutex_);
  uint64_t sequence_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_EXEC_REPORT_H_
