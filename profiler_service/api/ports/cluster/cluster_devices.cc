#include "profiler_service/api/ports/cluster/cluster_devices.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/bundle/bundle.h"
#include "common/toolchain/bundle_target.h"
#include "common/toolchain/cuda_drivers.h"

namespace sassay::api {
namespace {

using sassay::v1::DeviceCapability;
using sassay::v1::GetCapabilitiesResponse;
using sassay::v1::NodeGpu;

using Devices = google::protobuf::RepeatedPtrField<DeviceCapability>;

constexpr size_t kMostKinds = 8;

bool Runs(const DeviceCapability& device, const std::string& arch, const std::string& model) {
  if (!model.empty() && device.model() != model) return false;
  return std::find(device.archs().begin(), device.archs().end(), arch) != device.archs().end();
}

// "NVIDIA H200 (sm_90a): 8 on pool/a, pool/b", each model once.
std::string Inventory(const Devices& devices) {
  struct Kind {
    int count = 0;
    std::set<std::string> nodes;
  };
  std::map<std::string, Kind> kinds;
  for (const DeviceCapability& device : devices) {
    Kind& kind = kinds[absl::StrCat(device.model(), " (", absl::StrJoin(device.archs(), ", "), ")")];
    ++kind.count;
    if (!device.node().empty()) kind.nodes.insert(device.node());
  }
  std::vector<std::string> texts;
  for (const auto& [name, kind] : kinds) {
    if (texts.size() == kMostKinds) {
      texts.push_back("…");
      break;
    }
    std::string text = absl::StrCat(kind.count, " × ", name);
    if (!kind.nodes.empty()) absl::StrAppend(&text, " on ", *kind.nodes.begin());
    if (kind.nodes.size() > 1) absl::StrAppend(&text, " and ", kind.nodes.size() - 1, " other nodes");
    texts.push_back(std::move(text));
  }
  return absl::StrJoin(texts, "; ");
}

Devices AllDevices(const GetCapabilitiesResponse& own, const Nodes& nodes) {
  GetCapabilitiesResponse all = own;
  AddDevices(nodes, all);
  return all.devices();
}

}  // namespace

void AddDevices(const Nodes& living, GetCapabilitiesResponse& capabilities) {
  std::set<std::string> toolkits;
  for (const auto& node : living) {
    toolkits.insert(node->facts.provenance_toolkit());
    for (const NodeGpu& gpu : node->facts.gpus()) {
      DeviceCapability& device = *capabilities.add_devices();
      device = gpu.device();
      device.set_node(node->name);
    }
  }
  if (capabilities.provenance_toolkit().empty() && toolkits.size() == 1) {
    capabilities.set_provenance_toolkit(*toolkits.begin());
  }
}

reuse::Judges JudgesOf(const GetCapabilitiesResponse& own, const std::string& settings_sha256, const Nodes& known) {
  reuse::Judges judges;
  judges.rules = own.rules_version();
  judges.sassay = own.sassay_version();
  if (own.devices_size() > 0) {
    judges.provenance_toolkits.insert(own.provenance_toolkit());
    judges.settings.insert(settings_sha256);
  }
  for (const DeviceCapability& device : own.devices()) judges.Add(device);
  for (const auto& node : known) {
    judges.provenance_toolkits.insert(node->facts.provenance_toolkit());
    judges.settings.insert(node->facts.settings_sha256());
    for (const NodeGpu& gpu : node->facts.gpus()) judges.Add(gpu.device());
  }
  return judges;
}

void AddNode(const Nodes& known, sassay::v1::Gpu& gpu) {
  for (const auto& node : known) {
    for (const NodeGpu& each : node->facts.gpus()) {
      if (each.uuid() != gpu.uuid()) continue;
      gpu.set_node(node->name);
      gpu.set_sassay_version(node->facts.sassay_version());
      gpu.set_driver_version(each.device().driver_version());
      return;
    }
  }
}

absl::StatusOr<std::string> PoolFor(absl::string_view untrusted_beginning, const std::string& gpu_model,
                                    const GetCapabilitiesResponse& own, const Nodes& known) {
  const Devices devices = AllDevices(own, known);
  if (devices.empty()) {
    return absl::UnavailableError(
        "no node has joined this front end yet, so nobody can judge; try again when one has (profiler-service --role "
        "node --join HOST:PORT)");
  }
  const absl::StatusOr<BundleTarget> target = PeekTarget(untrusted_beginning);
  const absl::StatusOr<std::string> arch = target.ok() ? target->arch : absl::StatusOr<std::string>(target.status());
  if (target.ok()) RETURN_IF_ERROR(CheckDrivers(target->toolkit_version, target->arch, gpu_model, devices));
  for (const DeviceCapability& device : devices) {
    if (device.archs().empty()) continue;
    if (!arch.ok() && (gpu_model.empty() || device.model() == gpu_model)) return device.archs(0);
    if (arch.ok() && Runs(device, *arch, gpu_model)) return *arch;
  }
  const std::string model = gpu_model.empty() ? "" : absl::StrCat(" of model '", absl::CEscape(gpu_model), "'");
  return absl::FailedPreconditionError(
      absl::StrCat("no device of this cluster can run the bundle: it would take one", model,
                   arch.ok() ? absl::StrCat(" that runs ", *arch) : "", "; there are ", Inventory(devices),
                   arch.ok() && model.empty() ? ". Compile for one of those (--arch), or add a node that has one"
                                              : ". Ask for one of those models, or for none"));
}

}  // namespace sassay::api
