#include "profiler_service/timing/roofline.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"

namespace sassay::timing {
namespace {

using nlohmann::json;
using sassay::v1::RooflineFloor;

const json* FindGpu(const std::string& model) {
  static const json* const gpus = new json(json::parse(std::string(GpuPeaksJson())));
  const auto found = std::find_if(gpus->begin(), gpus->end(), [&](const json& gpu) { return gpu["model"] == model; });
  return found == gpus->end() ? nullptr : &*found;
}

// 0 where the type has no rate.
double FlopPerClock(const json& gpu, const sassay::v1::Workload& workload) {
  if (workload.inputs_size() == 0) return 0;
  absl::string_view name = sassay::v1::DType_Name(workload.inputs(0).dtype());
  absl::ConsumePrefix(&name, "DTYPE_");
  return gpu["tensor_flop_per_clock_per_sm"].value(absl::AsciiStrToLower(name), 0.0);
}

}  // namespace

absl::optional<RooflineFloor> FloorOf(const sassay::v1::Workload& workload, const GpuModel& gpu) {
  const json* peaks = FindGpu(gpu.model);
  if (peaks == nullptr) return absl::nullopt;
  RooflineFloor floor;
  const double per_clock = FlopPerClock(*peaks, workload) * gpu.multiprocessors;
  const double mhz = (*peaks)["maximum_sm_clock_mhz"];
  if (per_clock > 0) {
    floor.set_flop(workload.flop());
    floor.set_compute_ns(workload.flop() / (per_clock * mhz * 1e6) * 1e9);
  }
  const double bytes = static_cast<double>(workload.minimum_bytes());
  floor.set_bytes(workload.minimum_bytes());
  floor.set_memory_ns(std::max(0.0, bytes - (*peaks)["l2_bytes"].get<double>()) /
                      (*peaks)["memory_bytes_per_second"].get<double>() * 1e9);
  floor.set_floor_ns(std::max(floor.compute_ns(), floor.memory_ns()));
  return floor;
}

std::string FasterThanPhysics(double ns, const RooflineFloor& floor) {
  if (ns >= floor.floor_ns()) return "";
  const bool compute = floor.compute_ns() >= floor.memory_ns();
  return absl::StrFormat("a call took %.2f µs, but this GPU needs at least %.2f µs for %s", ns / 1e3,
                         floor.floor_ns() / 1e3,
                         compute ? absl::StrFormat("%.4g FLOP at its peak rate and highest clock", floor.flop())
                                 : absl::StrFormat("the %d bytes that it must move", floor.bytes()));
}

}  // namespace sassay::timing
