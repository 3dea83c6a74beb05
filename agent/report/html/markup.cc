#include "agent/report/html/markup.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/base/utf8.h"
#include "common/terminal/text.h"
#include "fmt/format.h"

namespace sassay::agent {
namespace {

absl::string_view Entity(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return "";
  }
}

std::string ThreeDigits(double value) {
  return fmt::format("{:.{}f}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
}

}  // namespace

std::string Escaped(absl::string_view untrusted, size_t max_bytes) {
  const bool cut = untrusted.size() > max_bytes;
  const std::string line = PrintableLine(untrusted.substr(0, max_bytes));
  absl::string_view rest = line;
  std::string escaped;
  while (!rest.empty() && escaped.size() < max_bytes) {
    const size_t length = std::max<size_t>(Utf8Length(rest), 1);
    const absl::string_view entity = Entity(rest[0]);
    absl::StrAppend(&escaped, entity.empty() ? rest.substr(0, length) : entity);
    rest.remove_prefix(length);
  }
  if (cut || !rest.empty()) absl::StrAppend(&escaped, "…");
  return escaped;
}

std::string PercentText(double share) { return fmt::format("{:.1f}", 100 * share); }

std::string SpeedupText(double speedup) { return fmt::format("{:.3f}", speedup); }

std::string SecondsText(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.0f} µs", seconds * 1e6);
  if (seconds < 1) return absl::StrCat(ThreeDigits(seconds * 1e3), " ms");
  if (seconds < 120) return absl::StrCat(ThreeDigits(seconds), " s");
  if (seconds < 7200) return absl::StrCat(ThreeDigits(seconds / 60), " min");
  return absl::StrCat(ThreeDigits(seconds / 3600), " h");
}

std::string Coordinate(double value) {
  const double rounded = std::round(value * 100) / 100;
  return fmt::format("{:g}", rounded == 0 ? 0 : rounded);
}

}  // namespace sassay::agent
