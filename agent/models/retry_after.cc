#include "agent/models/retry_after.h"

#include <algorithm>

#include "absl/strings/numbers.h"

namespace sassay::agent {
namespace {

constexpr const char* kDateFormats[] = {
    "%a, %d %b %Y %H:%M:%S GMT",  // what servers must send
    "%A, %d-%b-%y %H:%M:%S GMT",  // RFC 850
    "%a %b %e %H:%M:%S %Y",       // asctime
};

absl::optional<absl::Duration> Number(const std::string& text, absl::Duration unit) {
  double number = 0;
  if (!absl::SimpleAtod(text, &number) || !(number >= 0)) return absl::nullopt;
  return std::min(number, 1e9) * unit;
}

absl::optional<absl::Duration> Until(const std::string& date, absl::Time now) {
  for (const char* format : kDateFormats) {
    absl::Time time;
    if (absl::ParseTime(format, date, absl::UTCTimeZone(), &time, nullptr)) {
      return std::max(time - now, absl::ZeroDuration());
    }
  }
  return absl::nullopt;
}

}  // namespace

absl::optional<absl::Duration> RetryAfter(const HttpHeaders& headers, absl::Time now) {
  if (const auto found = headers.find("retry-after-ms"); found != headers.end()) {
    if (const auto wait = Number(found->second, absl::Milliseconds(1))) return wait;
  }
  const auto found = headers.find("retry-after");
  if (found == headers.end()) return absl::nullopt;
  if (const auto wait = Number(found->second, absl::Seconds(1))) return wait;
  return Until(found->second, now);
}

}  // namespace sassay::agent
