#include "monitor/sources/nvml/zero_pages.h"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "common/base/files.h"

namespace sassay::monitor::nvml {
namespace {

constexpr uint64_t kMostOfMaps = 4 << 20;

struct Range {
  uintptr_t begin;
  uintptr_t end;
};

size_t PageBytes() {
  static const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

Range WholePages(uintptr_t begin, uintptr_t end) {
  const uintptr_t page = PageBytes();
  return {(begin + page - 1) / page * page, end / page * page};
}

struct Wanted {
  absl::string_view library;
  std::vector<Range> found;
};

// What a segment has beyond its file's bytes is its zero-initialised data.
int CollectZeroInitialised(dl_phdr_info* object, size_t, void* wanted) {
  Wanted& search = *static_cast<Wanted*>(wanted);
  const std::string name = std::filesystem::path(object->dlpi_name).filename();
  if (!absl::StartsWith(name, search.library)) return 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || segment.p_memsz <= segment.p_filesz) continue;
    const uintptr_t at = object->dlpi_addr + segment.p_vaddr;
    search.found.push_back({at + segment.p_filesz, at + segment.p_memsz});
  }
  return 0;
}

// "7f12a000-7f12b000 rw-p 00000000 00:00 0": private, writable, of no file. "[heap]" and "[stack]" have a name.
bool ParseAnonymous(absl::string_view line, Range& range) {
  const std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
  if (words.size() != 5 || words[1] != "rw-p" || words[4] != "0") return false;
  const std::pair<absl::string_view, absl::string_view> ends = absl::StrSplit(words[0], absl::MaxSplits('-', 1));
  return absl::SimpleHexAtoi(ends.first, &range.begin) && absl::SimpleHexAtoi(ends.second, &range.end);
}

std::vector<Range> AnonymousIn(uintptr_t begin, uintptr_t end) {
  const std::string maps = ReadFile("/proc/self/maps", kMostOfMaps).value_or("");
  std::vector<Range> ranges;
  for (absl::string_view line : absl::StrSplit(maps, '\n')) {
    Range range = {};
    if (!ParseAnonymous(line, range)) continue;
    range = WholePages(std::max(range.begin, begin), std::min(range.end, end));
    if (range.begin < range.end) ranges.push_back(range);
  }
  return ranges;
}

bool HoldsZeros(uintptr_t page) {
  const char* bytes = reinterpret_cast<const char*>(page);
  return bytes[0] == 0 && std::memcmp(bytes, bytes + 1, PageBytes() - 1) == 0;
}

// What somebody wrote after the look at it, and before the pages were moved here.
void BringBack(const char* moved, char* home, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) {
    if (moved[i] != 0) home[i] = moved[i];
  }
}

bool TakeAway(uintptr_t begin, size_t bytes) {
  void* home = reinterpret_cast<void*>(begin);
  void* anywhere = nullptr;
  void* moved = mremap(home, bytes, bytes, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, anywhere);
  if (moved == MAP_FAILED) return false;
  BringBack(static_cast<const char*>(moved), static_cast<char*>(home), bytes);
  munmap(moved, bytes);
  return true;
}

// Neighbours go back in one call.
size_t GiveBackWithin(const Range& range) {
  const size_t page = PageBytes();
  std::vector<unsigned char> resident((range.end - range.begin) / page);
  if (mincore(reinterpret_cast<void*>(range.begin), range.end - range.begin, resident.data()) != 0) return 0;
  const auto wanted = [&](size_t i) { return (resident[i] & 1) != 0 && HoldsZeros(range.begin + i * page); };
  size_t given = 0;
  for (size_t i = 0; i < resident.size(); ++i) {
    const size_t first = i;
    while (i < resident.size() && wanted(i)) ++i;
    const size_t bytes = (i - first) * page;
    if (bytes == 0) continue;
    if (TakeAway(range.begin + first * page, bytes)) given += bytes;
  }
  return given;
}

}  // namespace

size_t GiveBackZeroPages(uintptr_t begin, uintptr_t end) {
  size_t given = 0;
  for (const Range& range : AnonymousIn(begin, end)) given += GiveBackWithin(range);
  return given;
}

size_t GiveBackZeroPages(absl::string_view library) {
  Wanted wanted = {library, {}};
  dl_iterate_phdr(CollectZeroInitialised, &wanted);
  size_t given = 0;
  for (const Range& range : wanted.found) given += GiveBackZeroPages(range.begin, range.end);
  return given;
}

}  // namespace sassay::monitor::nvml
