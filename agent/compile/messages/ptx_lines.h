// From a line of PTX back to the line of source it came from.
#ifndef SASSAY_AGENT_COMPILE_MESSAGES_PTX_LINES_H_
#define SASSAY_AGENT_COMPILE_MESSAGES_PTX_LINES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace sassay {

// A place in a file that the compiler saw; line 0 where nothing is known.
struct SourcePlace {
  std::string file;
  uint32_t line = 0;
};

// The .file and .loc directives of one PTX module (nvcc -lineinfo). Immutable; const methods from any thread.
class PtxLines {
 public:
  explicit PtxLines(absl::string_view ptx);

  // The place of the last .loc before `ptx_line` (counted from 1) in the same function. For code inlined from a
  // header it is the line that called, as far as the .loc says so (inlined_at).
  SourcePlace At(uint32_t ptx_line) const;
  // Where the entry or function `symbol` begins.
  SourcePlace OfFunction(absl::string_view symbol) const;

 private:
  struct Location {
    uint32_t ptx_line = 0;
    uint32_t file = 0;  // 0: nothing known from here on (a function begins)
    uint32_t line = 0;
  };
  SourcePlace Resolve(const Location& location) const;

  std::map<uint32_t, std::string> files_;
  std::vector<Location> locations_;
  std::map<std::string, uint32_t, std::less<>> functions_;  // line of the directive
};

}  // namespace sassay

#endif  // SASSAY_AGENT_COMPILE_MESSAGES_PTX_LINES_H_
