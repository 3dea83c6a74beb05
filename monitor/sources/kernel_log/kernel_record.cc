#include "monitor/sources/kernel_log/kernel_record.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "monitor/sources/nvml/gpus.h"

namespace sassay::monitor {
namespace {

constexpr size_t kLongestLine = 1024;
constexpr int kHighestXid = 9999;

// What stands between `prefix` and the next comma; empty if `text` has no such part.
absl::string_view Part(absl::string_view text, absl::string_view prefix) {
  const size_t at = text.find(prefix);
  if (at == absl::string_view::npos) return "";
  const absl::string_view rest = text.substr(at + prefix.size());
  return absl::StripAsciiWhitespace(rest.substr(0, rest.find(',')));
}

bool IsUnknown(absl::string_view value) { return value.empty() || absl::StrContains(value, "<unknown>"); }

absl::string_view Unquoted(absl::string_view value) {
  while (absl::ConsumePrefix(&value, "'")) {
  }
  while (absl::ConsumeSuffix(&value, "'")) {
  }
  return value;
}

}  // namespace

absl::optional<KernelRecord> ParseKernelRecord(absl::string_view bytes) {
  const size_t semicolon = bytes.find(';');
  if (semicolon == absl::string_view::npos) return absl::nullopt;
  const std::vector<absl::string_view> fields = absl::StrSplit(bytes.substr(0, semicolon), ',');
  KernelRecord record;
  uint32_t priority = 0;
  int64_t microseconds = 0;
  const bool good = fields.size() >= 3 && absl::SimpleAtoi(fields[0], &priority) &&
                    absl::SimpleAtoi(fields[1], &record.sequence) && absl::SimpleAtoi(fields[2], &microseconds);
  if (!good) return absl::nullopt;
  record.from_kernel = priority < 8;
  record.since_boot = absl::Microseconds(microseconds);
  const absl::string_view text = bytes.substr(semicolon + 1);
  record.text = std::string(text.substr(0, std::min(text.find('\n'), kLongestLine)));
  return record;
}

absl::optional<XidLine> ParseXidLine(absl::string_view text) {
  if (!absl::ConsumePrefix(&text, "NVRM: Xid (")) return absl::nullopt;
  const size_t close = text.find("): ");
  if (close == absl::string_view::npos) return absl::nullopt;
  const absl::string_view place = text.substr(0, close);
  text.remove_prefix(close + 3);
  XidLine line;
  line.pci = nvml::NormalPci(place.substr(0, place.find(' ')));
  const bool good = absl::SimpleAtoi(text.substr(0, text.find(',')), &line.code) && line.code > 0 &&
                    line.code <= kHighestXid && !line.pci.empty();
  if (!good) return absl::nullopt;
  const absl::string_view pid = Unquoted(Part(text, ", pid="));
  const absl::string_view name = Unquoted(Part(text, ", name="));
  if (!absl::SimpleAtoi(pid, &line.pid) || line.pid < 0) line.pid = 0;
  if (!IsUnknown(name)) line.name = std::string(name);
  return line;
}

absl::optional<GpuLine> ParseGpuLine(absl::string_view text) {
  if (!absl::ConsumePrefix(&text, "NVRM: GPU at ")) return absl::nullopt;
  const size_t separator = text.find(": ");
  if (separator == absl::string_view::npos) return absl::nullopt;
  const GpuLine line = {nvml::NormalPci(text.substr(0, separator)),
                        std::string(absl::StripAsciiWhitespace(text.substr(separator + 2)))};
  if (line.pci.empty() || !absl::StartsWith(line.uuid, "GPU-") || line.uuid.size() != 40) return absl::nullopt;
  return line;
}

}  // namespace sassay::monitor
