#include <cstddef>
#include <cstdint>

#include "agent/compile/facts.h"
#include "agent/compile/messages/diagnostics.h"

// Compilers quote the candidate's text in their messages; the PTX is the candidate's too.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  absl::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::vector<sassay::v1::SourceFile> sources(1);
  sources[0].set_path("kernel.cu");
  sources[0].set_content(std::string(text));
  sassay::DiagnosticContext context{&sources, {{"/candidate/", ""}}, text};
  auto found = sassay::ParseDiagnostics(static_cast<sassay::NvccTool>(data[0] % 5), text, context);
  sassay::OrderDiagnostics(std::move(found));
  sassay::ParseSpills(text);
  return 0;
}
