#include "profiler_service/emulator/ptx/scope.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"

namespace sassay::emulator::ptx {

bool Scopes::Push(int max_depth) {
  Scope scope;
  scope.parent = current_;
  scope.depth = scopes_[current_].depth + 1;
  if (scope.depth > max_depth) return false;
  scopes_.push_back(std::move(scope));
  current_ = static_cast<uint32_t>(scopes_.size() - 1);
  return true;
}

bool Scopes::Pop() {
  if (scopes_[current_].parent == kNoIndex) return false;
  current_ = scopes_[current_].parent;
  return true;
}

uint32_t Scopes::FindInFamily(const Scope& scope, absl::string_view name) const {
  size_t digits = name.size();
  while (digits > 0 && absl::ascii_isdigit(name[digits - 1])) --digits;
  uint32_t number = 0;
  if (!absl::SimpleAtoi(name.substr(digits), &number)) return kNoIndex;
  const auto family = scope.families.find(name.substr(0, digits));
  if (family == scope.families.end() || number >= family->second.count) return kNoIndex;
  return family->second.first + number;
}

uint32_t Scopes::FindRegister(absl::string_view name) const {
  for (uint32_t i = current_; i != kNoIndex; i = scopes_[i].parent) {
    const auto found = scopes_[i].registers.find(name);
    if (found != scopes_[i].registers.end()) return found->second;
    const uint32_t member = FindInFamily(scopes_[i], name);
    if (member != kNoIndex) return member;
  }
  return kNoIndex;
}

uint32_t Scopes::Find(Names Scope::*names, absl::string_view name, uint32_t scope) const {
  for (uint32_t i = scope; i != kNoIndex; i = scopes_[i].parent) {
    const auto found = (scopes_[i].*names).find(name);
    if (found != (scopes_[i].*names).end()) return found->second;
  }
  return kNoIndex;
}

uint32_t Scopes::FindVariable(absl::string_view name) const { return Find(&Scope::variables, name, current_); }
uint32_t Scopes::FindLabel(absl::string_view name, uint32_t scope) const { return Find(&Scope::labels, name, scope); }
uint32_t Scopes::FindTable(absl::string_view name, uint32_t scope) const { return Find(&Scope::tables, name, scope); }

}  // namespace sassay::emulator::ptx
