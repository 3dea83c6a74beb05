#include "profiler_service/emulator/forms/forms.h"

#include <cctype>
#include <iterator>

namespace sassay::emulator {
namespace {

// A pattern as alternatives side by side; plain text is an alternative of one.
std::vector<std::vector<std::string>> Alternatives(std::string_view pattern) {
  std::vector<std::vector<std::string>> parts(1, {""});
  bool inside = false;
  for (const char c : pattern) {
    if (c == '{') {
      parts.push_back({""});
      inside = true;
    } else if (c == '}') {
      parts.push_back({""});
      inside = false;
    } else if (c == ',' && inside) {
      parts.back().emplace_back();
    } else {
      parts.back().back() += c;
    }
  }
  return parts;
}

bool OfWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

}  // namespace

const std::vector<Family>& Families() {
  static const std::vector<Family>* const kFamilies = [] {
    auto* all = new std::vector<Family>();
    for (auto table : {ArithmeticFamilies, ConversionFamilies, MemoryFamilies, AsynchronousFamilies, TensorFamilies}) {
      auto families = table();
      all->insert(all->end(), std::make_move_iterator(families.begin()), std::make_move_iterator(families.end()));
    }
    return all;
  }();
  return *kFamilies;
}

std::vector<std::string> Expand(std::string_view pattern) {
  std::vector<std::string> opcodes(1);
  for (const auto& part : Alternatives(pattern)) {
    std::vector<std::string> longer;
    for (const std::string& opcode : opcodes) {
      for (const std::string& alternative : part) longer.push_back(opcode + alternative);
    }
    opcodes = std::move(longer);
  }
  return opcodes;
}

std::string Pick(std::string_view pattern, const std::function<size_t(size_t)>& choose) {
  std::string opcode;
  for (const auto& part : Alternatives(pattern)) opcode += part.size() == 1 ? part[0] : part[choose(part.size())];
  return opcode;
}

std::string FillOperands(std::string_view operands, const std::function<std::string(std::string_view)>& name) {
  std::string text;
  for (size_t at = 0; at < operands.size();) {
    const char c = operands[at];
    size_t end = at + 1;
    if (c == '@' || c == '%') {  // a variable, a special register
      while (end < operands.size() && (OfWord(operands[end]) || operands[end] == '.')) ++end;
      text += operands.substr(c == '@' ? at + 1 : at, end - at - (c == '@' ? 1 : 0));
    } else if (c == '=' || c == '#' || std::isalpha(static_cast<unsigned char>(c)) != 0) {
      while (end < operands.size() && (OfWord(operands[end]) || (c == '#' && operands[end] == '.'))) ++end;
      text += name(operands.substr(at, end - at));
    } else if (OfWord(c)) {  // a number
      while (end < operands.size() && OfWord(operands[end])) ++end;
      text += operands.substr(at, end - at);
    } else {
      text += c;
    }
    at = end;
  }
  return text;
}

}  // namespace sassay::emulator
