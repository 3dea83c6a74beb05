#include "monitor/program/trim.h"

#include <malloc.h>
#include <sys/mman.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "common/base/files.h"

namespace sassay::monitor {
namespace {

constexpr uint64_t kMostBytes = 4 << 20;
constexpr char kCode[] = "r-xp";

bool ParseHex(absl::string_view text, uintptr_t& value) {
  uint64_t parsed = 0;
  if (!absl::SimpleHexAtoi(text, &parsed)) return false;
  value = parsed;
  return true;
}

}  // namespace

// "begin-end perms offset device inode path".
std::vector<AddressRange> CodeRanges(absl::string_view maps) {
  std::vector<AddressRange> ranges;
  for (absl::string_view line : absl::StrSplit(maps, '\n')) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (fields.size() < 6 || fields[1] != kCode || fields[5][0] != '/') continue;
    const std::vector<absl::string_view> ends = absl::StrSplit(fields[0], '-');
    AddressRange range;
    if (ends.size() == 2 && ParseHex(ends[0], range.begin) && ParseHex(ends[1], range.end)) ranges.push_back(range);
  }
  return ranges;
}

void TrimMemory() {
  malloc_trim(0);
  const absl::StatusOr<std::string> maps = ReadFile("/proc/self/maps", kMostBytes);
  if (!maps.ok()) return;
  for (const AddressRange& range : CodeRanges(*maps)) {
    madvise(reinterpret_cast<void*>(range.begin), range.end - range.begin, MADV_DONTNEED);
  }
}

}  // namespace sassay::monitor
