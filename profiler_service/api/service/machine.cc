#include "profiler_service/api/service/machine.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "profiler_service/device/device.h"

namespace sassay::api {
namespace {

bool IsNumber(absl::string_view text) {
  return !text.empty() && text.size() < 5 && text.find_first_not_of("0123456789") == absl::string_view::npos;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ParseDevices(absl::string_view text) {
  if (text == "auto") return device::DetectDevices();
  std::vector<std::string> devices;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const absl::string_view entry = absl::StripAsciiWhitespace(part);
    const bool follows_cuda = !devices.empty() && absl::StartsWith(devices.back(), "cuda:");
    if (absl::StartsWith(entry, "cuda:") && IsNumber(entry.substr(5))) {
      devices.emplace_back(entry);
    } else if (IsNumber(entry) && follows_cuda) {
      devices.push_back(absl::StrCat("cuda:", entry));
    } else if (absl::StartsWith(entry, "emulated:sm_") && !absl::StrContains(entry, "#")) {
      devices.emplace_back(entry);
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("--device: expected auto, cuda:0,1 or emulated:sm_90a, got '", text, "'"));
    }
  }
  return devices;
}

}  // namespace sassay::api
