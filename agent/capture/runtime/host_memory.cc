#include "agent/capture/runtime/host_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <set>
#include <string>

namespace sassay::capture {
namespace {

constexpr uint64_t kLowestAddress = 1 << 16, kHighestAddress = uint64_t{1} << 48, kPage = 4096;

struct Range {
  size_t size = 0;
  const char* function = "";
};

std::map<uint64_t, Range>& Ranges() {
  static auto* ranges = new std::map<uint64_t, Range>;
  return *ranges;
}

// The function that page-locked what `address` points into; nullptr if none did.
const char* PageLockedBy(uint64_t address) {
  const auto after = Ranges().upper_bound(address);
  if (after == Ranges().begin()) return nullptr;
  const auto& [begin, range] = *std::prev(after);
  return address - begin < range.size ? range.function : nullptr;
}

bool IsMapped(uint64_t address) {
  unsigned char resident = 0;
  return address >= kLowestAddress && address < kHighestAddress &&
         mincore(reinterpret_cast<void*>(address / kPage * kPage), 1, &resident) == 0;
}

std::string ReadMaps() {
  std::string text;
  const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  char buffer[4096];
  for (ssize_t got; fd >= 0 && (got = read(fd, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(got));
  if (fd >= 0) close(fd);
  return text;
}

void EmitRange(uint64_t begin, uint64_t end) {
  WireWriter range;
  range.Fixed64(1, begin);
  range.Fixed64(2, end);
  Session::Get().EmitAt(kHostRange, range, CallSite{});
}

std::string Describe(const LaunchRequest& request, size_t parameter, const char* what) {
  return "parameter " + std::to_string(parameter + 1) + what +
         "; a launch plan has no host memory: use cudaMalloc and cudaMemcpyAsync";
}

// Once for each kernel and parameter.
void Warn(const LaunchRequest& request, size_t parameter, const char* what) {
  static auto* warned = new std::set<std::pair<std::string, size_t>>;
  if (!warned->emplace(request.kernel->symbol, parameter).second) return;
  NoteLaunch(request, Describe(request, parameter, what));
}

}  // namespace

void AddHostMemory(const void* begin, size_t size, const char* function) {
  Ranges()[reinterpret_cast<uint64_t>(begin)] = {size, function};
}

void RemoveHostMemory(const void* begin) { Ranges().erase(reinterpret_cast<uint64_t>(begin)); }

void RecordHostRanges() {
  constexpr uint64_t kSlack = 256 << 20;  // what was unmapped before lies near what is mapped still
  uint64_t begin = 0, end = 0;
  const std::string maps = ReadMaps();
  for (size_t line = 0; line < maps.size(); line = maps.find('\n', line) + 1) {
    char* rest = nullptr;
    const uint64_t from = std::strtoull(maps.c_str() + line, &rest, 16);
    const uint64_t to = std::strtoull(rest + 1, &rest, 16);
    if (from >= kHighestAddress) break;  // the kernel's vsyscall page
    if (end != 0 && from > end + 2 * kSlack) {
      EmitRange(begin - std::min(begin, kSlack), end + kSlack);
      end = 0;
    }
    if (end == 0) begin = from;
    end = to;
  }
  if (end != 0) EmitRange(begin - std::min(begin, kSlack), end + kSlack);
}

void CheckHostMemory(const LaunchRequest& request, size_t parameter, const void* data, size_t size) {
  const bool whole = size == sizeof(uint64_t);
  for (size_t at = 0; at + sizeof(uint64_t) <= size; at += sizeof(uint64_t)) {
    uint64_t value = 0;
    std::memcpy(&value, static_cast<const char*>(data) + at, sizeof value);
    if (const char* function = PageLockedBy(value)) {
      const std::string what =
          std::string(whole ? " points" : " holds a pointer") + " into page-locked host memory (" + function + ")";
      if (whole) RefuseLaunch(request, FindingCode::kUnsupportedApi, Describe(request, parameter, what.c_str()));
      Warn(request, parameter, what.c_str());
    } else if (whole && IsMapped(value)) {
      Warn(request, parameter, " is an address of host memory");
    }
  }
}

}  // namespace sassay::capture
