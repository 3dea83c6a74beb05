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

}  // namespace

std::string Demangle(absl::string_view symbol) {
  if (symbol.size() > kMaxMangledBytes || !absl::StartsWith(symbol, "_Z")) return std::string(symbol);
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(std::string(symbol).c_str(), nullptr, nullptr, &status), std::free);
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
