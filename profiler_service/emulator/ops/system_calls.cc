#include "profiler_service/emulator/ops/system_calls.h"

#include <bit>
#include <cstring>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "profiler_service/emulator/exec/block.h"
#include "profiler_service/emulator/ops/lanes.h"

namespace sassay::emulator {
namespace {

constexpr size_t kMaxString = 4096;

struct Facts {
  std::vector<LocalSlot> arguments, results;
};

uint64_t Argument(Warp& warp, const Facts& facts, size_t index, int lane) {
  uint64_t value = 0;
  const LocalSlot& slot = facts.arguments[index];
  std::memcpy(&value, warp.Local(lane) + warp.frame().local_base + slot.offset, std::min<uint32_t>(slot.bytes, 8));
  return value;
}

void SetResult(Warp& warp, const Facts& facts, int lane, uint32_t value) {
  if (facts.results.empty() || facts.results[0].bytes < 4) return;
  std::memcpy(warp.Local(lane) + warp.frame().local_base + facts.results[0].offset, &value, 4);
  if (warp.checked()) std::memset(warp.LocalUnwritten(lane) + warp.frame().local_base + facts.results[0].offset, 0, 4);
}

// Up to `bytes` bytes at a generic address, or fewer where the memory ends.
bool ReadBytes(Warp& warp, int lane, uint64_t address, void* to, uint32_t bytes) {
  if (address - kLocalWindow < kWindowBytes) {
    const uint64_t offset = address - kLocalWindow;
    if (offset + bytes > warp.LocalEnd()) return false;
    std::memcpy(to, warp.Local(lane) + offset, bytes);
    return true;
  }
  if (address - kSharedWindow < kWindowBytes) {
    const uint64_t offset = address - kSharedWindow - kSharedBase;
    SharedMemory& shared = warp.block().shared();
    if (offset > shared.size() || bytes > shared.size() - offset) return false;
    std::memcpy(to, shared.data() + offset, bytes);
    return true;
  }
  const Allocation* allocation = warp.launch().memory->Find(address, bytes);
  if (allocation == nullptr) return false;
  std::memcpy(to, allocation->host + (address - allocation->base), bytes);
  return true;
}

std::string ReadString(Warp& warp, int lane, uint64_t address) {
  std::string text;
  char c;
  while (text.size() < kMaxString && ReadBytes(warp, lane, address + text.size(), &c, 1) && c != '\0')
    text.push_back(c);
  return text;
}

// Formats one conversion ("%-5.2f") with the next value of the argument buffer.
class Printer {
 public:
  Printer(Warp& warp, int lane, uint64_t arguments) : warp_(warp), lane_(lane), arguments_(arguments) {}

  std::string Format(absl::string_view format) {
    std::string out;
    for (size_t i = 0; i < format.size(); ++i) {
      if (format[i] != '%') {
        out.push_back(format[i]);
        continue;
      }
      size_t end = format.find_first_of("diouxXeEfFgGaAcsp%", i + 1);
      if (end == absl::string_view::npos) return out + std::string(format.substr(i));
      out += Convert(std::string(format.substr(i, end - i + 1)));
      i = end;
    }
    return out;
  }

 private:
  uint64_t Next(uint32_t bytes) {
    arguments_ = (arguments_ + bytes - 1) / bytes * bytes;
    uint64_t value = 0;
    ReadBytes(warp_, lane_, arguments_, &value, bytes);
    arguments_ += bytes;
    return value;
  }

  std::string Convert(std::string spec) {
    const char kind = spec.back();
    if (kind == '%') return "%";
    const bool wide = absl::StrContains(spec, "l") || absl::StrContains(spec, "j") || absl::StrContains(spec, "z") ||
                      absl::StrContains(spec, "t");
    // Flags, width and precision stay; length modifiers go, * takes its value here.
    std::string clean;
    for (const char c : spec) {
      if (c == '*') {
        absl::StrAppend(&clean, static_cast<int32_t>(Next(4)));
      } else if (absl::string_view("hlLjzt").find(c) == absl::string_view::npos) {
        clean.push_back(c);
      }
    }
    if (clean.size() > 10) return spec;  // a width that nobody means
    int digits = 0;
    for (const char c : clean) {
      digits = c >= '0' && c <= '9' ? digits + 1 : 0;
      if (digits > 3) return spec;
    }
    switch (kind) {
      case 'd':
      case 'i':
        return One(clean, wide ? static_cast<int64_t>(Next(8)) : int64_t{static_cast<int32_t>(Next(4))});
      case 'o':
      case 'u':
      case 'x':
      case 'X':
        return One(clean, wide ? Next(8) : Next(4));
      case 'c':
        return One(clean, static_cast<char>(Next(4)));
      case 'p':
        return absl::StrCat("0x", absl::Hex(Next(8)));
      case 's':
        return One(clean, ReadString(warp_, lane_, Next(8)));
      default:
        return One(clean, std::bit_cast<double>(Next(8)));
    }
  }

  template <class T>
  static std::string One(const std::string& spec, const T& value) {
    std::string out;
    const absl::UntypedFormatSpec format(spec);
    const absl::FormatArg argument(value);
    if (!absl::FormatUntyped(&out, format, {argument})) return spec;
    return out.size() > kMaxString ? out.substr(0, kMaxString) : out;
  }

  Warp& warp_;
  const int lane_;
  uint64_t arguments_;
};

Flow Vprintf(Warp& warp, const Inst& inst) {
  warp.block().NoteOutside();
  const Facts& facts = *static_cast<const Facts*>(inst.extra);
  for (uint32_t rest = warp.mask(); rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const std::string format = ReadString(warp, lane, Argument(warp, facts, 0, lane));
    warp.launch().printed.Append(Printer(warp, lane, Argument(warp, facts, 1, lane)).Format(format));
    SetResult(warp, facts, lane, static_cast<uint32_t>(format.size()));
  }
  return Flow::kNext;
}

Flow AssertFail(Warp& warp, const Inst& inst) {
  const Facts& facts = *static_cast<const Facts*>(inst.extra);
  const int lane = std::countr_zero(warp.mask());
  const std::string file = ReadString(warp, lane, Argument(warp, facts, 1, lane));
  const size_t slash = file.rfind('/');
  return warp.Fault(sassay::v1::VERDICT_CODE_ASSERT, inst,
                    absl::StrCat(slash == std::string::npos ? file : file.substr(slash + 1), ":",
                                 static_cast<uint32_t>(Argument(warp, facts, 2, lane)), ": ",
                                 ReadString(warp, lane, Argument(warp, facts, 3, lane)), ": assertion `",
                                 ReadString(warp, lane, Argument(warp, facts, 0, lane)), "' failed"),
                    lane);
}

}  // namespace

absl::Status DecodeSystemCall(Decoder& d, absl::string_view name, const std::vector<LocalSlot>& arguments,
                              const std::vector<LocalSlot>& results) {
  Handler handler = nullptr;
  if (name == "vprintf" && arguments.size() == 2) handler = Vprintf;
  if (name == "__assertfail" && arguments.size() >= 4) handler = AssertFail;
  if (handler == nullptr) {
    return absl::UnimplementedError(absl::StrCat("emulator lacks call of ", name, " (PTX line ", d.source().line, ")"));
  }
  d.Attach(Facts{arguments, results});
  return d.Set(handler, kTaintStops);
}

}  // namespace sassay::emulator
