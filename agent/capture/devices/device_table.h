// What the recording runtime answers when host code asks about the GPU.
//
// A candidate is captured on a machine without a GPU, so the answers come from a table: one entry per GPU model, built
// in (device_table.json) and extensible by the user's own files of the same form. `mini-ptx-agent doctor
// --dump-device-table` on a GPU host prints an entry read from the driver. Answers that host code asked for travel with
// the plan as assumptions and are checked against the GPU that runs it.
//
//   { "models": [ { "name": "NVIDIA H200", "arch": "sm_90a", "memory_bytes": 150109880320,
//                   "gpc_multiprocessors": [16, 16, 16, 16, 16, 16, 18, 18],      for the number of resident clusters
//                   "attributes": { "cudaDevAttrMultiProcessorCount": 132, "127": 1, … } } ] }
//
// A "comment" says where the values come from. Attributes are cudaDeviceAttr names, or numbers for those without a name
// in the runtime API. Those that decide launches must be there; another that is missing makes cudaDeviceGetAttribute
// return cudaErrorInvalidValue, which is recorded.
#ifndef SASSAY_AGENT_CAPTURE_DEVICES_DEVICE_TABLE_H_
#define SASSAY_AGENT_CAPTURE_DEVICES_DEVICE_TABLE_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sassay::capture {

// One GPU model. Plain data.
struct DeviceModel {
  std::string name;  // as cudaDeviceProp.name spells it
  std::string arch;  // "sm_90a"
  uint64_t memory_bytes = 0;
  std::vector<int> gpc_multiprocessors;
  std::map<int, int64_t> attributes;  // by cudaDeviceAttr number
};

// Models by name. Immutable once read; const methods from any thread.
class DeviceTable {
 public:
  static const DeviceTable& BuiltIn();
  // Parses a table. INVALID_ARGUMENT naming the model and the field.
  static absl::StatusOr<DeviceTable> Parse(absl::string_view json);
  // The built-in table with the models of `files` added; a model of the same name is replaced.
  static absl::StatusOr<DeviceTable> Load(const std::vector<std::filesystem::path>& files);

  const std::vector<DeviceModel>& models() const { return models_; }
  // By name; an empty name gives the default model of `arch` (sm_90a: H200, sm_100a: B200). NOT_FOUND lists what there
  // is; INVALID_ARGUMENT if the model is of another arch.
  absl::StatusOr<DeviceModel> Find(absl::string_view name, absl::string_view arch) const;

 private:
  std::vector<DeviceModel> models_;
};

// A table with the one model, in the form that Load reads.
std::string ToJson(const DeviceModel& model);

// Reads GPU `ordinal` of this machine through libcuda.so.1. UNAVAILABLE where there is no driver or no such GPU.
// gpc_multiprocessors cannot be asked for and are estimated by cuOccupancy's rules: eight equal GPCs.
absl::StatusOr<DeviceModel> ReadLocalDevice(int ordinal);

// "cudaDevAttrMultiProcessorCount" -> 16; -1 if unknown.
int DeviceAttributeNumber(absl::string_view name);

}  // namespace sassay::capture

#endif  // SASSAY_AGENT_CAPTURE_DEVICES_DEVICE_TABLE_H_
