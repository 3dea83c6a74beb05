#include "common/demangle/plain_demangle.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

namespace sassay {
namespace {

constexpr size_t kMaxMangledBytes = 4096;
constexpr size_t kMaxDemangledBytes = 16384;
// What one demangling may write in passing: some milliseconds.
constexpr uint64_t kMaxExpansionBytes = 8 << 20;
constexpr uint64_t kSaturated = uint64_t{1} << 60;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
bool IsLower(char c) { return c >= 'a' && c <= 'z'; }

// The length of the reference (S_, S0_, T_, T12_, TL0__) at the front of `text`; 0 if there is none.
size_t ReferenceLength(std::string_view text) {
  if (text.empty() || (text[0] != 'S' && text[0] != 'T')) return 0;
  size_t end = 1;
  while (end < text.size() && (IsDigit(text[end]) || IsUpper(text[end]))) ++end;
  return end < text.size() && text[end] == '_' ? end + 1 : 0;
}

// Whether two letters begin something that is printed once per element of a pack: pack and fold expressions, sizeof...
bool BeginsPack(std::string_view text) {
  constexpr std::string_view kPacks[] = {"Dp", "sp", "sZ", "sP", "fl", "fr", "fL", "fR"};
  return std::any_of(std::begin(kPacks), std::end(kPacks),
                     [&](std::string_view pack) { return text.substr(0, 2) == pack; });
}

// Takes off the parameters at the end that are a reference or a builtin type behind pointers and qualifiers: no bracket
// holds two of them. Letters of identifiers may pass for such; that only makes the bound larger. How many there were.
size_t TakeSimpleTail(std::string_view& mangled) {
  size_t begin = 0, items = 0;
  for (size_t i = 0; i < mangled.size(); ++items) {
    const size_t reference = ReferenceLength(mangled.substr(i));
    const bool plain = IsLower(mangled[i]) || std::string_view("PRKVO").find(mangled[i]) != std::string_view::npos;
    i += std::max<size_t>(reference, 1);
    if (reference > 0 || plain) continue;
    begin = i;
    items = 0;
  }
  mangled = mangled.substr(0, begin);
  return items;
}

uint64_t Shifted(uint64_t value, uint64_t bits) {
  return bits >= 60 || value >= (kSaturated >> bits) ? kSaturated : value << bits;
}

uint64_t BitsOf(uint64_t value) {
  uint64_t bits = 0;
  while (value >> bits != 0) ++bits;
  return bits;
}

// ---- what stands before template arguments and parameters ----

bool TakeIdentifier(std::string_view& text, std::string& name) {
  size_t digits = 0, length = 0;
  while (digits < text.size() && digits < 4 && IsDigit(text[digits])) length = length * 10 + (text[digits++] - '0');
  if (digits == 0 || length == 0 || length > text.size() - digits) return false;
  const std::string_view identifier = text.substr(digits, length);
  if (!name.empty()) name += "::";
  name += identifier.substr(0, 10) == "_GLOBAL__N" ? std::string("(anonymous namespace)") : std::string(identifier);
  text.remove_prefix(digits + length);
  return true;
}

// Takes "_ZN7cutlass13device_kernel" off the front and gives "cutlass::device_kernel"; empty if no name stands there.
std::string TakePlainName(std::string_view& mangled) {
  std::string name;
  mangled.remove_prefix(std::min<size_t>(2, mangled.size()));
  const bool nested = mangled.substr(0, 1) == "N";
  mangled.remove_prefix(std::min(mangled.find_first_not_of("NLrVK"), mangled.size()));
  while (TakeIdentifier(mangled, name) && nested) {
  }
  return name;
}

// "cutlass::device_kernel<...>(...)"; empty if there is no plain name at the front.
std::string Head(std::string_view mangled) {
  const std::string name = TakePlainName(mangled);
  if (name.empty()) return name;
  return name + (mangled.substr(0, 1) == "I" ? "<...>(...)" : "(...)");
}

// nvcc prefixes static kernels of linked files: "__nv_static_19__597c54c9_4_a_cu_fa__Z4samePf".
std::string_view WithoutStaticPrefix(std::string_view symbol) {
  constexpr std::string_view kPrefix = "__nv_static_";
  if (symbol.substr(0, kPrefix.size()) != kPrefix) return symbol;
  const size_t mangled = symbol.find("__Z");
  return mangled == std::string_view::npos ? symbol : symbol.substr(mangled + 1);
}

// ---- parts of a demangled name ----

// Position of the parenthesis that opens the parameter list, which is the last one at depth zero.
size_t ParameterListBegin(std::string_view name) {
  int depth = 0;
  for (size_t i = name.size(); i-- > 0;) {
    if (name[i] == ')') ++depth;
    if (name[i] == '(' && --depth == 0) return i;
  }
  return std::string_view::npos;
}

// Position after the last space that is outside every bracket; 0 if there is none.
size_t NameBegin(std::string_view name) {
  int depth = 0;
  for (size_t i = name.size(); i-- > 0;) {
    if (name[i] == '>' || name[i] == ')') ++depth;
    if (name[i] == '<' || name[i] == '(') --depth;
    if (name[i] == ' ' && depth == 0) return i + 1;
  }
  return 0;
}

}  // namespace

uint64_t DemangledBytesBound(std::string_view mangled) {
  // One byte of a name prints at most some words ("unsigned long long", "(anonymous namespace)").
  constexpr uint64_t kBytesPerByte = 24;
  const uint64_t length = mangled.size();
  TakePlainName(mangled);
  uint64_t packs = 0;
  bool has_parameter = false;  // without one there is no pack to be found
  for (size_t i = 0; i < mangled.size(); ++i) {
    packs += BeginsPack(mangled.substr(i)) ? 1 : 0;
    has_parameter = has_parameter || (mangled[i] == 'T' && ReferenceLength(mangled.substr(i)) > 0);
  }
  const uint64_t tail_items = TakeSimpleTail(mangled);
  uint64_t bits = has_parameter ? packs * BitsOf(length) : 0;
  for (size_t i = 0; i < mangled.size(); ++i) bits += ReferenceLength(mangled.substr(i)) > 0 ? 1 : 0;
  const uint64_t head = std::max<uint64_t>(1, Shifted(kBytesPerByte * length, bits));
  return std::min(tail_items + 1, kSaturated / head) * head;
}

std::string PlainDemangle(std::string_view symbol) {
  const std::string_view mangled = WithoutStaticPrefix(symbol);
  if (mangled.size() > kMaxMangledBytes || mangled.substr(0, 2) != "_Z") return std::string(symbol);
  if (DemangledBytesBound(mangled) > kMaxExpansionBytes) {
    std::string head = Head(mangled);
    return head.empty() ? std::string(symbol) : head;
  }
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(std::string(mangled).c_str(), nullptr, nullptr, &status), std::free);
  if (status != 0 || name == nullptr) return std::string(symbol);
  std::string text(name.get());
  return text.size() > kMaxDemangledBytes ? std::string(symbol) : text;
}

std::string PlainShortName(std::string_view symbol) {
  const std::string full = PlainDemangle(symbol);
  std::string_view name = full;
  if (const size_t parameters = ParameterListBegin(name); parameters != std::string_view::npos) {
    name = name.substr(0, parameters);
  }
  return std::string(name.substr(NameBegin(name)));
}

}  // namespace sassay
