#include "common/toolchain/cuda_drivers.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/toolchain/library_versions.h"

namespace sassay {
namespace {

// Table 1 of the document above.
struct MinimumDriver {
  int cuda_major;
  const char* driver;
};
constexpr MinimumDriver kMinimumDrivers[] = {{13, "580"}, {12, "525"}, {11, "450"}};

constexpr size_t kMostNamed = 3;

// 0 where it is not known.
int MajorOf(absl::string_view version) {
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(version, absl::MaxSplits('.', 1));
  int major = 0;
  return absl::SimpleAtoi(parts.first, &major) ? major : 0;
}

// "13.0" of "13.0.88".
std::string Release(absl::string_view version) {
  const std::vector<absl::string_view> parts = absl::StrSplit(version, '.');
  return parts.size() < 2 ? std::string(version) : absl::StrCat(parts[0], ".", parts[1]);
}

// "driver 570.86 (CUDA 12.8)", each once.
std::string Drivers(const std::vector<const v1::DeviceCapability*>& devices) {
  std::set<std::string> texts;
  for (const v1::DeviceCapability* device : devices) {
    texts.insert(absl::StrCat("driver ", device->driver_version(), " (CUDA ", device->cuda_version(), ")"));
  }
  std::vector<std::string> named(texts.begin(), texts.end());
  if (named.size() > kMostNamed) named.resize(kMostNamed), named.push_back("…");
  return absl::StrJoin(named, ", ");
}

}  // namespace

bool RunsOn(absl::string_view toolkit, absl::string_view driver_cuda) {
  const int built = MajorOf(toolkit), runs = MajorOf(driver_cuda);
  return built == 0 || runs == 0 || built <= runs;
}

std::string WhatToolkitNeeds(absl::string_view toolkit) {
  const auto* const found = std::find_if(std::begin(kMinimumDrivers), std::end(kMinimumDrivers),
                                         [&](const MinimumDriver& row) { return row.cuda_major == MajorOf(toolkit); });
  const std::string cuda = absl::StrCat("CUDA ", Release(toolkit));
  if (found == std::end(kMinimumDrivers)) return absl::StrCat(cuda, ", which needs a driver of that release");
  return absl::StrCat(cuda, ", which needs driver ", found->driver, " or newer");
}

absl::Status CheckDrivers(absl::string_view toolkit, absl::string_view arch, absl::string_view model,
                          const google::protobuf::RepeatedPtrField<v1::DeviceCapability>& devices) {
  std::vector<const v1::DeviceCapability*> too_old;
  std::string newest;
  for (const v1::DeviceCapability& device : devices) {
    const bool fits = std::find(device.archs().begin(), device.archs().end(), arch) != device.archs().end() &&
                      (model.empty() || device.model() == model);
    if (!fits) continue;
    if (RunsOn(toolkit, device.cuda_version())) return absl::OkStatus();
    too_old.push_back(&device);
    if (newest.empty() || IsLaterVersion(device.cuda_version(), newest)) newest = device.cuda_version();
  }
  if (too_old.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("built with ", WhatToolkitNeeds(toolkit), "; what runs ", arch,
                                                    " there has ", Drivers(too_old), ". Compile with --cuda ", newest,
                                                    ", or have the driver updated."));
}

}  // namespace sassay
