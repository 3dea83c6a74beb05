// Name lookup while parsing: PTX scopes registers, variables and labels by braces, and nvcc relies on it (every inlined
// asm block may bring its own "{ .reg .pred p; LAB: … }").
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_PTX_SCOPE_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_PTX_SCOPE_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "profiler_service/emulator/ptx/ir.h"

namespace sassay::emulator::ptx {

// The scopes of one function. Scope 0 is the function itself; closed scopes stay, because a label may be used before it
// is defined and is looked up at the function's end. Thread-compatible.
class Scopes {
 public:
  Scopes() : scopes_(1) {}

  uint32_t current() const { return current_; }
  bool Push(int max_depth);
  bool Pop();

  void AddRegister(absl::string_view name, uint32_t index) { scopes_[current_].registers[name] = index; }
  // %r<count>: `count` registers from `first` on.
  void AddRegisters(absl::string_view prefix, uint32_t first, uint32_t count) {
    scopes_[current_].families[prefix] = {first, count};
  }
  void AddVariable(absl::string_view name, uint32_t index) { scopes_[current_].variables[name] = index; }
  void AddLabel(absl::string_view name, uint32_t index) { scopes_[current_].labels[name] = index; }
  void AddTable(absl::string_view name, uint32_t index) { scopes_[current_].tables[name] = index; }

  // Index or kNoIndex. The first two look from the current scope outwards, the others from `scope`.
  uint32_t FindRegister(absl::string_view name) const;
  uint32_t FindVariable(absl::string_view name) const;
  uint32_t FindLabel(absl::string_view name, uint32_t scope) const;
  uint32_t FindTable(absl::string_view name, uint32_t scope) const;

 private:
  using Names = absl::flat_hash_map<absl::string_view, uint32_t>;
  struct Family {
    uint32_t first = 0, count = 0;
  };
  struct Scope {
    uint32_t parent = kNoIndex;
    int depth = 0;
    Names registers, variables, labels, tables;
    absl::flat_hash_map<absl::string_view, Family> families;
  };
  uint32_t FindInFamily(const Scope& scope, absl::string_view name) const;
  uint32_t Find(Names Scope::*names, absl::string_view name, uint32_t scope) const;

  std::vector<Scope> scopes_;
  uint32_t current_ = 0;
};

}  // namespace sassay::emulator::ptx

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_PTX_SCOPE_H_
