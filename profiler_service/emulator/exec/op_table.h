// How a family of instructions joins the emulator. A family registers a decode function per opcode root ("add",
// "wgmma"); the core loop knows none of them. State that a family needs per block (barriers, tensor memory) is an
// extension of the block (BlockExtension in block.h), so that new families are added beside, not inside.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_EXEC_OP_TABLE_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_EXEC_OP_TABLE_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sassay::emulator {

class Decoder;

// Fills in the instruction under decoding. UNIMPLEMENTED: the emulator lacks this form; the instruction then refuses
// when it is reached. INVALID_ARGUMENT: this is not PTX.
using DecodeFunction = absl::Status (*)(Decoder&);

// Opcode roots and who decodes them. Thread-compatible; immutable once filled.
class OpTable {
 public:
  void Add(absl::string_view root, DecodeFunction decode) { roots_[root] = decode; }
  DecodeFunction Find(absl::string_view root) const {
    const auto found = roots_.find(root);
    return found == roots_.end() ? nullptr : found->second;
  }
  std::vector<absl::string_view> Roots() const {
    std::vector<absl::string_view> roots;
    for (const auto& [root, decode] : roots_) roots.push_back(root);
    return roots;
  }

 private:
  absl::flat_hash_map<absl::string_view, DecodeFunction> roots_;
};

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_EXEC_OP_TABLE_H_
