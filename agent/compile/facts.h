// The compiler's facts about each kernel.
#ifndef SASSAY_AGENT_COMPILE_FACTS_H_
#define SASSAY_AGENT_COMPILE_FACTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/sass/disassembly.h"
#include "sassay/v1/bundle.pb.h"

namespace sassay {

// Bytes of local memory traffic that ptxas had to add to one function.
struct Spills {
  uint32_t store_bytes = 0;
  uint32_t load_bytes = 0;
};

// By symbol, from what `ptxas -v` prints.
std::map<std::string, Spills> ParseSpills(absl::string_view ptxas_output);

// One entry per kernel, sorted by symbol. Registers, shared memory, stack and parameters come from the cubin itself;
// spills are known to ptxas alone. INTERNAL if the cubin that ptxas made cannot be read.
absl::StatusOr<std::vector<sassay::v1::KernelFacts>> MakeFacts(absl::string_view cubin, absl::string_view ptxas_output,
                                                               const Disassembly& disassembly);

}  // namespace sassay

#endif  // SASSAY_AGENT_COMPILE_FACTS_H_
