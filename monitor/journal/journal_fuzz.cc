// Whatever lies in the file: it is read up to the first record that is not whole, and what was read reads the same
// again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "monitor/journal/journal.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  const sassay::monitor::JournalContent content = sassay::monitor::ReadJournal(bytes);
  if (content.good_bytes > size) abort();
  const auto again = sassay::monitor::ReadJournal(bytes.substr(0, content.good_bytes));
  if (again.entries.size() != content.entries.size() || !again.damage.empty()) abort();
  return 0;
}
