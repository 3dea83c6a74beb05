// A log that comes from elsewhere: no byte string may crash its reader, and what was read survives being written again.
#include <cstdint>
#include <cstdlib>

#include "agent/trajectory/json_form.h"
#include "agent/trajectory/read_log.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const auto log = sassay::agent::ParseLog(text);
  if (log.ok() && log->whole_bytes > text.size()) std::abort();
  const auto record = sassay::agent::ParseRecord(text);
  if (!record.ok()) return 0;
  const auto json = sassay::agent::JsonOf(*record);
  if (!json.ok()) return 0;
  const auto again = sassay::agent::ParseRecord(*json);
  if (!again.ok() || again->what_case() != record->what_case()) std::abort();
  return 0;
}
