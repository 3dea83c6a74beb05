#include "agent/compile/facts.h"

#include <cstdio>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/bundle/cubin.h"
#include "common/bundle/kernel_facts.h"

namespace sassay {
std::map<std::string, Spills> ParseSpills(absl::string_view ptxas_output) {
  constexpr absl::string_view kFunction = "Function properties for ";
  std::map<std::string, Spills> spills;
  std::string symbol;
  for (absl::string_view line : absl::StrSplit(ptxas_output, '\n')) {
    if (size_t at = line.find(kFunction); at != absl::string_view::npos) {
      symbol = std::string(absl::StripAsciiWhitespace(line.substr(at + kFunction.size())));
      continue;
    }
    unsigned stack = 0, stores = 0, loads = 0;
    if (!symbol.empty() && std::sscanf(std::string(line.substr(0, 200)).c_str(),
                                       " %u bytes stack frame, %u bytes spill stores, %u bytes spill loads", &stack,
                                       &stores, &loads) == 3) {
      spills[symbol] = {stores, loads};
      symbol.clear();
    }
  }
  return spills;
}

absl::StatusOr<std::vector<sassay::v1::KernelFacts>> MakeFacts(absl::string_view cubin, absl::string_view ptxas_output,
                                                               const Disassembly& disassembly) {
  auto parsed = Cubin::Parse(cubin);
  if (!parsed.ok()) {
    return absl::InternalError(absl::StrCat("the cubin that ptxas made cannot be read: ", parsed.status().message()));
  }
  std::map<std::string, Spills> spills = ParseSpills(ptxas_output);
  std::vector<sassay::v1::KernelFacts> facts;
  for (const auto& kernel : parsed->kernels()) {
    sassay::v1::KernelFacts& entry = facts.emplace_back(FactsOf(kernel));
    entry.set_spill_store_bytes(spills[kernel.symbol].store_bytes);
    entry.set_spill_load_bytes(spills[kernel.symbol].load_bytes);
    auto code = disassembly.find(kernel.symbol);
    if (code == disassembly.end()) continue;
    for (const auto& [family, count] : CountFamilies(code->second)) (*entry.mutable_sass_families())[family] = count;
  }
  return facts;
}

}  // namespace sassay
