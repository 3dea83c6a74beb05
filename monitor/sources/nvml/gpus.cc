#include "monitor/sources/nvml/gpus.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "spdlog/spdlog.h"

namespace sassay::monitor::nvml {
namespace {

absl::Status Check(const Library& library, int result, absl::string_view call) {
  if (result == kSuccess) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(call, ": ", library.Describe(result)));
}

std::string PciOf(const Library& library, Device device) {
  PciInfo pci = {};
  if (library.DeviceGetPciInfo == nullptr || library.DeviceGetPciInfo(device, &pci) != kSuccess) return "";
  pci.bus_id[sizeof(pci.bus_id) - 1] = '\0';
  return NormalPci(pci.bus_id);
}

bool Describe(const Library& library, Gpu& gpu) {
  char uuid[96] = "";
  char name[96] = "";
  if (library.DeviceGetUuid(gpu.device, uuid, sizeof(uuid)) != kSuccess) return false;
  library.DeviceGetName(gpu.device, name, sizeof(name));
  gpu.uuid = uuid;
  gpu.model = name;
  gpu.pci = PciOf(library, gpu.device);
  return true;
}

bool IsHex(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return absl::ascii_isxdigit(c); });
}

}  // namespace

absl::StatusOr<std::vector<Gpu>> ListGpus(const Library& library) {
  RETURN_IF_ERROR(Check(library, library.Init(), "nvmlInit"));
  unsigned count = 0;
  RETURN_IF_ERROR(Check(library, library.DeviceGetCount(&count), "nvmlDeviceGetCount"));
  std::vector<Gpu> gpus;
  for (unsigned index = 0; index < count; ++index) {
    Gpu gpu;
    gpu.index = index;
    const bool found = library.DeviceGetHandleByIndex(index, &gpu.device) == kSuccess && Describe(library, gpu);
    if (found) gpus.push_back(std::move(gpu));
  }
  if (gpus.empty()) return absl::UnavailableError("NVML knows no GPU");
  return gpus;
}

std::string NormalPci(absl::string_view address) {
  if (absl::StartsWith(address, "PCI:")) address.remove_prefix(4);
  const std::vector<absl::string_view> parts = absl::StrSplit(address, ':');
  if (parts.size() != 3 || parts[0].size() < 4 || parts[0].size() > 8 || parts[1].size() != 2) return "";
  const absl::string_view device = parts[2].substr(0, parts[2].find('.'));
  if (device.size() != 2 || !IsHex(parts[0]) || !IsHex(parts[1]) || !IsHex(device)) return "";
  const absl::string_view domain = parts[0].substr(parts[0].size() - 4);
  return absl::AsciiStrToLower(absl::StrCat(domain, ":", parts[1], ":", device));
}

void Directory::Learn(const std::vector<Gpu>& gpus) {
  absl::MutexLock lock(&mutex_);
  gpus_ = gpus;
  for (const Gpu& gpu : gpus) {
    if (!gpu.pci.empty()) uuid_by_pci_[gpu.pci] = gpu.uuid;
  }
}

void Directory::Learn(absl::string_view pci, absl::string_view uuid) {
  absl::MutexLock lock(&mutex_);
  if (uuid_by_pci_.size() < 1024) uuid_by_pci_.emplace(pci, uuid);
}

std::string Directory::UuidAt(absl::string_view pci) const {
  absl::MutexLock lock(&mutex_);
  const auto found = uuid_by_pci_.find(pci);
  return found == uuid_by_pci_.end() ? "" : found->second;
}

std::vector<Gpu> Directory::gpus() const {
  absl::MutexLock lock(&mutex_);
  return gpus_;
}

void Lacks::Say(const Gpu& gpu, absl::string_view signal, absl::string_view why) {
  if (!said_.insert(absl::StrCat(gpu.uuid, " ", signal)).second) return;
  spdlog::info("{} has no {}: {}", gpu.uuid, std::string(signal), std::string(why));
}

}  // namespace sassay::monitor::nvml
