// Any answer of a model: what comes out is a candidate that is text and stood in the answer, or a reason on one line.
#include <cstdint>
#include <cstdlib>

#include "agent/models/answer.h"
#include "common/base/utf8.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sassay;
  const absl::string_view answer(reinterpret_cast<const char*>(data), size);
  for (const agent::Language language : {agent::Language::kCuda, agent::Language::kTriton}) {
    for (const bool cut : {false, true}) {
      const agent::ExtractedCode found = agent::ExtractCode(answer, language, cut);
      const bool has_code = found.extraction == v1::EXTRACTION_CODE;
      if (found.extraction == v1::EXTRACTION_UNSPECIFIED || has_code == found.code.empty()) std::abort();
      if (has_code != found.reason.empty() || found.reason.find('\n') != std::string::npos) std::abort();
      if (found.code.size() > answer.size() || FirstInvalidUtf8(found.code) != absl::string_view::npos) std::abort();
    }
  }
  if (agent::ProseOf(answer).size() > answer.size()) std::abort();
  return 0;
}
