// An event stream from a server that may send anything: the events must be the same however the bytes are cut, and no
// event may be longer than was allowed.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "agent/models/http/sse.h"

namespace sassay::agent {
namespace {

constexpr size_t kLimit = 1000;

std::string Parse(absl::string_view bytes, size_t piece) {
  SseParser parser(kLimit);
  std::string seen;
  const auto sink = [&](absl::string_view type, absl::string_view data) {
    if (data.size() > kLimit) std::abort();
    seen += std::string(type) + '\0' + std::string(data) + '\0';
    return absl::OkStatus();
  };
  for (size_t i = 0; i < bytes.size(); i += piece) {
    if (!parser.Feed(bytes.substr(i, piece), sink).ok()) return "refused";
  }
  return seen;
}

}  // namespace
}  // namespace sassay::agent

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (size > 0 && sassay::agent::Parse(bytes, size) != sassay::agent::Parse(bytes, 1)) std::abort();
  return 0;
}
