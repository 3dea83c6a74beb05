#include "profiler_service/emulator/differential/run.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"

namespace sassay::emulator {
namespace {

std::string AddressBytes(device::DeviceAddress address) {
  std::string bytes(sizeof(address), '\0');
  std::memcpy(bytes.data(), &address, sizeof(address));
  return bytes;
}

}  // namespace

absl::StatusOr<std::vector<uint32_t>> RunCase(device::Device& device, const Case& drawn) {
  const uint64_t bytes = uint64_t{4} * drawn.threads * drawn.output_words();
  ASSIGN_OR_RETURN(const auto input, device.Allocate(4 * drawn.input.size() + 16, "input"));
  ASSIGN_OR_RETURN(const auto output, device.Allocate(bytes, "output"));
  RETURN_IF_ERROR(device.Fill(input, 0, 4, drawn.input.size() + 4));
  RETURN_IF_ERROR(device.Write(
      input, absl::MakeConstSpan(reinterpret_cast<const char*>(drawn.input.data()), 4 * drawn.input.size())));
  RETURN_IF_ERROR(device.Fill(output, 0, 4, bytes / 4));
  device::Launch launch;
  launch.kernel = drawn.kernel;
  for (auto* extent : {&launch.grid, &launch.block}) extent->set_x(1), extent->set_y(1), extent->set_z(1);
  launch.block.set_x(drawn.threads);
  launch.arguments = {AddressBytes(input), AddressBytes(output)};
  RETURN_IF_ERROR(device.Enqueue(launch));
  ASSIGN_OR_RETURN(const device::Execution execution, device.Synchronize(SteadyNow() + absl::Seconds(10)));
  if (execution.outcome != worker::RUN_OUTCOME_OK || !execution.findings.empty()) {
    return absl::AbortedError(
        absl::StrCat(worker::RunOutcome_Name(execution.outcome), ": ",
                     execution.findings.empty() ? execution.message : execution.findings[0].message()));
  }
  std::vector<uint32_t> words(bytes / 4);
  RETURN_IF_ERROR(device.Read(absl::MakeSpan(reinterpret_cast<char*>(words.data()), bytes), output));
  RETURN_IF_ERROR(device.Free(input));
  RETURN_IF_ERROR(device.Free(output));
  return words;
}

}  // namespace sassay::emulator
