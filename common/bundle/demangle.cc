#include "common/bundle/demangle.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

#include "absl/strings/match.h"

namespace sassay {
namespace {

constexpr size_t kMaxMangledBytes = 4096;
constexpr size_t kMaxDemangledBytes = 16384;

// Position of the parenthesis that opens the parameter list, which is the last one at depth zero of <>.
size_t ParameterListBegin(absl::string_view name) {
  int depth = 0;
  for (size_t i = name.size(); i-- > 0;) {
    if (name[i] == ')') ++depth;
    if (name[i] == '(' && --depth == 0) return i;
  }
  return absl::string_view::npos;
}

// Position after the last space that is outside every bracket; 0 if there is none.
size_t NameBegin(absl::string_view name) {
  int depth = 0;
  for (size_t i = name.size(); i-- > 0;) {
    if (name[i] == '>' || name[i] == ')') ++depth;
    if (name[i] == '<' || name[i] == '(') --depth;
    if (name[i] == ' ' && depth == 0) return i + 1;
  }
  return 0;
}

// nvcc prefixes static kernels of linked files: "__nv_static_19__597c54c9_4_a_cu_fa__Z4samePf".
absl::string_view WithoutStaticPrefix(absl::string_view symbol) {
  if (!absl::StartsWith(symbol, "__nv_static_")) return symbol;
  const size_t mangled = symbol.find("__Z");
  return mangled == absl::string_view::npos ? symbol : symbol.substr(mangled + 1);
}

}  // namespace

std::string Demangle(absl::string_view symbol) {
  const absl::string_view mangled = WithoutStaticPrefix(symbol);
  if (mangled.size() > kMaxMangledBytes || !absl::StartsWith(mangled, "_Z")) return std::string(symbol);
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(std::string(mangled).c_str(), nullptr, nullptr, &status), std::free);
  if (status != 0 || name == nullptr) return std::string(symbol);
  std::string text(name.get());
  return text.size() > kMaxDemangledBytes ? std::string(symbol) : text;
}

std::string ShortKernelName(absl::string_view symbol) {
  const std::string full = Demangle(symbol);
  absl::string_view name = full;
  if (const size_t parameters = ParameterListBegin(name); parameters != absl::string_view::npos) {
    name = name.substr(0, parameters);
  }
  return std::string(name.substr(NameBegin(name)));
}

}  // namespace sassay
