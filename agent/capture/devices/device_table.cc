#include "agent/capture/devices/device_table.h"

#include <dlfcn.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/base/suggest.h"
#include "nlohmann/json.hpp"

namespace sassay::capture {
namespace {

using Json = nlohmann::ordered_json;

#include "agent/capture/devices/device_table_json.inc"  // kBuiltInTable

struct NamedAttribute {
  const char* name;
  int number;
};

constexpr NamedAttribute kAttributes[] = {
#define X(name, number) {#name, number},
#include "agent/capture/devices/device_attributes.inc"
#undef X
};

absl::Status BadField(const std::string& model, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("device table, model '", model, "': ", what));
}

absl::StatusOr<int> AttributeNumber(const std::string& model, const std::string& name) {
  int number = DeviceAttributeNumber(name);
  if (number < 0 && !absl::SimpleAtoi(name, &number)) {
    return BadField(model, absl::StrCat("'", name, "' is neither a cudaDeviceAttr name nor a number"));
  }
  return number;
}

// Empty if there is no such string.
std::string Text(const Json& json, const char* field) {
  const auto found = json.find(field);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

// What the recording runtime decides launches by: without them it would refuse every candidate.
constexpr const char* kRequired[] = {"cudaDevAttrMaxThreadsPerBlock",
                                     "cudaDevAttrMaxBlockDimX",
                                     "cudaDevAttrMaxBlockDimZ",
                                     "cudaDevAttrMaxGridDimX",
                                     "cudaDevAttrMaxSharedMemoryPerBlock",
                                     "cudaDevAttrMaxSharedMemoryPerBlockOptin",
                                     "cudaDevAttrMaxSharedMemoryPerMultiprocessor",
                                     "cudaDevAttrReservedSharedMemoryPerBlock",
                                     "cudaDevAttrMaxRegistersPerBlock",
                                     "cudaDevAttrMaxRegistersPerMultiprocessor",
                                     "cudaDevAttrMaxThreadsPerMultiProcessor",
                                     "cudaDevAttrMaxBlocksPerMultiprocessor",
                                     "cudaDevAttrMultiProcessorCount",
                                     "cudaDevAttrWarpSize",
                                     "cudaDevAttrComputeCapabilityMajor",
                                     "cudaDevAttrComputeCapabilityMinor"};

absl::Status CheckComplete(const DeviceModel& model) {
  std::vector<std::string> missing;
  for (const char* name : kRequired) {
    if (model.attributes.count(DeviceAttributeNumber(name)) == 0) missing.emplace_back(name);
  }
  if (missing.empty()) return absl::OkStatus();
  return BadField(model.name, absl::StrCat("'attributes' lacks ", absl::StrJoin(missing, ", "),
                                           "; `mini-ptx-agent doctor --dump-device-table` on such a GPU writes all"));
}

absl::StatusOr<DeviceModel> ParseModel(const Json& json) {
  DeviceModel model;
  if (!json.is_object()) return BadField("?", "a model must be an object");
  model.name = Text(json, "name");
  model.arch = Text(json, "arch");
  if (model.name.empty() || model.arch.empty()) return BadField(model.name, "'name' and 'arch' must be strings");
  if (!json.contains("memory_bytes") || !json["memory_bytes"].is_number_unsigned()) {
    return BadField(model.name, "'memory_bytes' must be a positive number");
  }
  model.memory_bytes = json["memory_bytes"].get<uint64_t>();
  const Json counts = json.contains("gpc_multiprocessors") ? json["gpc_multiprocessors"] : Json::array();
  if (!counts.is_array()) return BadField(model.name, "'gpc_multiprocessors' must be a list of numbers");
  for (const Json& count : counts) {
    if (!count.is_number_unsigned()) return BadField(model.name, "'gpc_multiprocessors' must be a list of numbers");
    model.gpc_multiprocessors.push_back(count.get<int>());
  }
  const Json attributes = json.contains("attributes") ? json["attributes"] : Json::object();
  if (!attributes.is_object()) return BadField(model.name, "'attributes' must be an object");
  for (const auto& [name, value] : attributes.items()) {
    if (!value.is_number_integer())
      return BadField(model.name, absl::StrCat("attribute '", name, "' must be an integer"));
    ASSIGN_OR_RETURN(const int number, AttributeNumber(model.name, name));
    model.attributes[number] = value.get<int64_t>();
  }
  RETURN_IF_ERROR(CheckComplete(model));
  return model;
}

std::string AttributeName(int number) {
  for (const NamedAttribute& attribute : kAttributes) {
    if (attribute.number == number) return attribute.name;
  }
  return std::to_string(number);
}

const char* DefaultModel(absl::string_view arch) {
  if (arch == "sm_90" || arch == "sm_90a") return "NVIDIA H200";
  return "NVIDIA B200";
}

// "sm_90" runs on what is listed as "sm_90a".
bool SameGeneration(absl::string_view a, absl::string_view b) {
  const auto digits = [](absl::string_view arch) {
    while (!arch.empty() && (arch.back() < '0' || arch.back() > '9')) arch.remove_suffix(1);
    return arch;
  };
  return digits(a) == digits(b);
}

// The few driver functions that describe a GPU, by dlopen: the agent links no CUDA library.
class Driver {
 public:
  static absl::StatusOr<Driver> Open() {
    Driver driver(dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL));
    if (driver.library_ == nullptr)
      return absl::UnavailableError("no NVIDIA driver here: libcuda.so.1 cannot be loaded");
    int (*init)(unsigned) = driver.Function<int (*)(unsigned)>("cuInit");
    if (init == nullptr || init(0) != 0)
      return absl::UnavailableError("cuInit failed: is there a GPU on this machine?");
    return driver;
  }
  template <typename F>
  F Function(const char* name) const {
    return reinterpret_cast<F>(dlsym(library_, name));
  }

 private:
  explicit Driver(void* library) : library_(library) {}
  void* library_;  // stays loaded
};

}  // namespace

int DeviceAttributeNumber(absl::string_view name) {
  for (const NamedAttribute& attribute : kAttributes) {
    if (name == attribute.name) return attribute.number;
  }
  return -1;
}

const DeviceTable& DeviceTable::BuiltIn() {
  static const DeviceTable* table = new DeviceTable(*Parse(kBuiltInTable));
  return *table;
}

absl::StatusOr<DeviceTable> DeviceTable::Parse(absl::string_view json) {
  const Json root = Json::parse(json.begin(), json.end(), nullptr, /*allow_exceptions=*/false);
  if (root.is_discarded() || !root.is_object() || !root.contains("models") || !root["models"].is_array()) {
    return absl::InvalidArgumentError("device table: expected JSON of the form {\"models\": [ … ]}");
  }
  DeviceTable table;
  for (const Json& entry : root["models"]) {
    ASSIGN_OR_RETURN(DeviceModel model, ParseModel(entry));
    table.models_.push_back(std::move(model));
  }
  return table;
}

absl::StatusOr<DeviceTable> DeviceTable::Load(const std::vector<std::filesystem::path>& files) {
  DeviceTable table = BuiltIn();
  for (const auto& file : files) {
    ASSIGN_OR_RETURN(const std::string json, ReadFile(file, 16 << 20));
    ASSIGN_OR_RETURN(const DeviceTable more, Parse(json));
    for (const DeviceModel& model : more.models_) {
      auto& models = table.models_;
      models.erase(
          std::remove_if(models.begin(), models.end(), [&](const DeviceModel& m) { return m.name == model.name; }),
          models.end());
      models.push_back(model);
    }
  }
  return table;
}

absl::StatusOr<DeviceModel> DeviceTable::Find(absl::string_view name, absl::string_view arch) const {
  const absl::string_view wanted = name.empty() ? DefaultModel(arch) : name;
  std::vector<std::string> known;
  for (const DeviceModel& model : models_) {
    known.push_back(model.name);
    if (model.name != wanted) continue;
    if (SameGeneration(model.arch, arch)) return model;
    return absl::InvalidArgumentError(
        absl::StrCat("--device: the candidate is compiled for ", arch, ", and ", model.name, " is ", model.arch));
  }
  return absl::NotFoundError(absl::StrCat("--device: no GPU model is called \"", wanted,
                                          "\" in the device table; known: ", absl::StrJoin(known, ", "), ".",
                                          DidYouMean(wanted, known)));
}

std::string ToJson(const DeviceModel& model) {
  Json attributes = Json::object();
  for (const auto& [number, value] : model.attributes) attributes[AttributeName(number)] = value;
  const Json entry = {{"name", model.name},
                      {"arch", model.arch},
                      {"memory_bytes", model.memory_bytes},
                      {"gpc_multiprocessors", model.gpc_multiprocessors},
                      {"attributes", attributes}};
  return Json{{"models", Json::array({entry})}}.dump(2) + "\n";
}

absl::StatusOr<DeviceModel> ReadLocalDevice(int ordinal) {
  ASSIGN_OR_RETURN(const Driver driver, Driver::Open());
  const auto get = driver.Function<int (*)(int*, int)>("cuDeviceGet");
  const auto get_name = driver.Function<int (*)(char*, int, int)>("cuDeviceGetName");
  const auto get_memory = driver.Function<int (*)(size_t*, int)>("cuDeviceTotalMem_v2");
  const auto get_attribute = driver.Function<int (*)(int*, int, int)>("cuDeviceGetAttribute");
  int device = 0;
  char name[256] = {};
  size_t memory = 0;
  if (get(&device, ordinal) != 0 || get_name(name, sizeof name - 1, device) != 0 || get_memory(&memory, device) != 0) {
    return absl::UnavailableError(absl::StrCat("there is no GPU ", ordinal, " here"));
  }
  DeviceModel model;
  model.name = name;
  model.memory_bytes = memory;
  for (int number = 1; number < 160; ++number) {
    int value = 0;
    if (get_attribute(&value, number, device) == 0) model.attributes[number] = value;
  }
  const int64_t major = model.attributes[75], minor = model.attributes[76];
  model.arch = absl::StrCat("sm_", major * 10 + minor, major >= 9 ? "a" : "");
  const int multiprocessors = static_cast<int>(model.attributes[16]);
  for (int gpc = 0; gpc < 8; ++gpc) model.gpc_multiprocessors.push_back((multiprocessors / 2 + 7 - gpc) / 8 * 2);
  return model;
}

}  // namespace sassay::capture
