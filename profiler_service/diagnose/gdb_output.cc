#include "profiler_service/diagnose/gdb_output.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace sassay::diagnose {
namespace {

using sassay::v1::Dim3;
using Words = std::vector<absl::string_view>;

constexpr size_t kMaxAround = 32;
constexpr size_t kMaxTextBytes = 256;
constexpr uint64_t kInstructionBytes = 16;

std::string Bounded(absl::string_view text) { return std::string(text.substr(0, kMaxTextBytes)); }

bool ReadHex(absl::string_view text, uint64_t& value) {
  return absl::ConsumePrefix(&text, "0x") && absl::SimpleHexAtoi(text, &value);
}

// "(3,0,0)".
bool ReadDim3(absl::string_view text, Dim3& dim) {
  if (!absl::ConsumePrefix(&text, "(")) return false;
  const size_t end = text.find(')');
  if (end == text.npos) return false;
  const Words parts = absl::StrSplit(text.substr(0, end), ',');
  uint32_t x, y, z;
  if (parts.size() != 3 || !absl::SimpleAtoi(parts[0], &x) || !absl::SimpleAtoi(parts[1], &y) ||
      !absl::SimpleAtoi(parts[2], &z)) {
    return false;
  }
  dim.set_x(x);
  dim.set_y(y);
  dim.set_z(z);
  return true;
}

// The text behind `mark`; empty if it is not there.
absl::string_view Behind(absl::string_view line, absl::string_view mark) {
  const size_t at = line.find(mark);
  return at == line.npos ? absl::string_view() : line.substr(at + mark.size());
}

class ThreadsReader {
 public:
  void Take(absl::string_view line) {
    if (TakeException(line) || TakeFocus(line)) return;
    Words words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (!words.empty() && words.front() == "*") words.erase(words.begin());
    if (words.size() == 2 && words[0] == "Kernel") {
      static_cast<void>(absl::SimpleAtoi(words[1], &kernel_));
      return;
    }
    if (!TakeGroup(words)) TakeKernel(words);
  }

  StandingThreads Result() { return std::move(result_); }

 private:
  bool TakeException(absl::string_view line) {
    if (absl::ConsumePrefix(&line, "CUDA Exception: ")) {
      result_.exception = Bounded(line);
      return true;
    }
    if (absl::ConsumePrefix(&line, "The exception was triggered at PC ")) {
      const Words words = absl::StrSplit(line, ' ', absl::SkipEmpty());
      if (words.empty()) return true;
      static_cast<void>(ReadHex(words.front(), result_.exception_pc));
      if (words.size() > 2) result_.exception_function = Bounded(words[1]);
      if (words.size() > 2) {
        result_.exception_source_line = Bounded(absl::StripSuffix(absl::StripPrefix(words.back(), "("), ")"));
      }
      return true;
    }
    if (!absl::StartsWith(line, "Program terminated with signal ")) return false;
    result_.exception = Bounded(absl::StripSuffix(absl::StripPrefix(Behind(line, ","), " "), "."));
    return true;
  }

  bool TakeFocus(absl::string_view line) {
    if (!absl::StartsWith(line, "[Current focus set to CUDA kernel ")) return false;
    static_cast<void>(ReadDim3(Behind(line, "block "), result_.focus_block));
    static_cast<void>(ReadDim3(Behind(line, "thread "), result_.focus_thread));
    return true;
  }

  // (0,0,0) (32,0,0) (0,0,0) (63,0,0) 32 0x00007f2e777a0290 /tmp/bad.cu 85
  bool TakeGroup(const Words& words) {
    ThreadGroup group;
    Dim3 last;
    if (words.size() < 6 || !ReadDim3(words[0], group.block) || !ReadDim3(words[1], group.thread) ||
        !ReadDim3(words[2], last) || !ReadDim3(words[3], last) || !absl::SimpleAtoi(words[4], &group.count) ||
        !ReadHex(words[5], group.pc)) {
      return false;
    }
    group.kernel = kernel_;
    if (words.size() >= 8 && absl::SimpleAtoi(words.back(), &group.line)) group.file = Bounded(words[6]);
    if (result_.groups.size() < kMaxThreadGroups) result_.groups.push_back(std::move(group));
    return true;
  }

  // 0 - 0 1 Active 0x0550 (4,1,1) (128,1,1) hang()
  void TakeKernel(const Words& words) {
    uint32_t number = 0;
    Dim3 grid, block;
    if (words.size() < 9 || !absl::SimpleAtoi(words[0], &number)) return;
    for (size_t i = 5; i + 1 < words.size(); ++i) {
      if (!ReadDim3(words[i], grid) || !ReadDim3(words[i + 1], block)) continue;
      if (result_.block_dims.size() < kMaxTextBytes) result_.block_dims[number] = block;
      return;
    }
  }

  StandingThreads result_;
  uint32_t kernel_ = 0;
};

// The symbol of "$hang$_Z8wait_forjj" that lies inside hang is "_Z8wait_forjj".
std::string Inner(absl::string_view symbol, absl::string_view kernel) {
  if (absl::ConsumePrefix(&symbol, absl::StrCat("$", kernel, "$"))) return Bounded(symbol);
  return Bounded(symbol);
}

// "trap + 96 in section .text.trap of /tmp/…": behind it lies the place of one PC.
bool ReadSymbol(absl::string_view line, Place& place) {
  const absl::string_view section = Behind(line, " in section .text.");
  if (section.empty()) return false;
  place.kernel = Bounded(section.substr(0, section.find(' ')));
  absl::string_view symbol = line.substr(0, line.find(" in section "));
  const size_t plus = symbol.rfind(" + ");
  if (plus != symbol.npos) {
    static_cast<void>(absl::SimpleAtoi(symbol.substr(plus + 3), &place.offset));
    symbol = symbol.substr(0, plus);
  }
  place.function = Inner(symbol, place.kernel);
  return true;
}

// "Line 81 of "/tmp/bad.cu" starts at address 0x… <hang+496> and ends at …".
bool ReadLineBefore(absl::string_view line, Place& place) {
  if (!absl::ConsumePrefix(&line, "Line ")) return false;
  const size_t of = line.find(" of \"");
  const size_t end = of == line.npos ? line.npos : line.find('"', of + 5);
  if (end == line.npos || !absl::SimpleAtoi(line.substr(0, of), &place.line_before)) return true;
  place.file_before = Bounded(line.substr(of + 5, end - of - 5));
  return true;
}

// "=> 0x7f9a3f7a0060 <trap+96>:\tLDC.64 R2,c[0x0][0x210]".
bool ReadInstruction(absl::string_view line, uint64_t& pc, absl::string_view& text) {
  absl::ConsumePrefix(&line, "=>");
  line = absl::StripLeadingAsciiWhitespace(line);
  const size_t colon = line.find(":\t");
  if (colon == line.npos || !ReadHex(line.substr(0, line.find_first_of(" :")), pc)) return false;
  text = absl::StripAsciiWhitespace(line.substr(colon + 2));
  return true;
}

bool Mentions(const std::vector<std::string>& instructions, absl::string_view opcode, absl::string_view modifier) {
  return std::any_of(instructions.begin(), instructions.end(), [&](const std::string& text) {
    return absl::StrContains(text, opcode) && absl::StrContains(text, modifier);
  });
}

// Without its predicate.
absl::string_view Opcode(absl::string_view sass) {
  if (absl::StartsWith(sass, "@")) sass = absl::StripLeadingAsciiWhitespace(Behind(sass, " "));
  return sass.substr(0, sass.find(' '));
}

}  // namespace

StandingThreads ParseStandingThreads(absl::string_view untrusted_text) {
  ThreadsReader reader;
  for (const absl::string_view line : absl::StrSplit(untrusted_text, '\n')) reader.Take(line);
  return reader.Result();
}

std::map<uint64_t, Place> ParsePlaces(absl::string_view untrusted_text, const std::vector<uint64_t>& pcs) {
  std::map<uint64_t, Place> places;
  Place* place = nullptr;
  size_t next = 0;
  for (const absl::string_view line : absl::StrSplit(untrusted_text, '\n')) {
    // One line "PC 0x…" of ours begins what is told of the next PC.
    uint64_t pc = 0;
    if (next < pcs.size() && line == absl::StrCat("PC 0x", absl::Hex(pcs[next]))) {
      place = &places[pcs[next++]];
      continue;
    }
    absl::string_view text;
    if (place == nullptr || ReadSymbol(line, *place) || ReadLineBefore(line, *place)) continue;
    if (!ReadInstruction(line, pc, text)) continue;
    if (pc == pcs[next - 1]) place->sass = Bounded(text);
    if (pc == pcs[next - 1] - kInstructionBytes) place->before = Bounded(text);
    if (place->around.size() < kMaxAround) place->around.push_back(Bounded(text));
  }
  return places;
}

std::string Doing(const Place& place, bool& behind) {
  behind = false;
  for (const std::string* sass : {&place.sass, &place.before}) {
    const absl::string_view opcode = Opcode(*sass);
    behind = sass == &place.before;
    if (absl::StartsWith(opcode, "BAR.")) return "waiting at a barrier";
    if (absl::StartsWith(opcode, "UCGABAR_WAIT")) return "waiting at a cluster barrier";
    if (absl::StartsWith(opcode, "WARPSYNC")) return "waiting for its warp";
  }
  behind = false;
  return Mentions(place.around, "SYNCS", "TRYWAIT") ? "waiting at an mbarrier" : "running";
}

}  // namespace sassay::diagnose
