// For tests on a GPU alone: one call of a bundle's first plan, without judge, sandbox or service, so that Nsight
// Compute can look at the same launches as our own counting.
//
//   counted_call BUNDLE plain      runs it; for ncu to start
//   counted_call BUNDLE counted    runs it counted and prints "KERNEL<tab>OPCODE<tab>WARPS<tab>THREADS" for each opcode
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/cubin.h"
#include "common/toolchain/toolchain.h"
#include "profiler_service/device/device.h"
#include "profiler_service/evidence/sass_join.h"
#include "profiler_service/runner/replay.h"

namespace sassay {
namespace {

constexpr absl::Duration kDeadline = absl::Minutes(2);

// Every tensor in an object of its own, filled with the same data-like bytes in every run: what executes may depend on
// it.
absl::Status BindTensors(device::Device& device, runner::Replay& replay, const v1::LaunchPlan& plan) {
  std::vector<worker::SharedRegion> regions;
  std::vector<UniqueFd> descriptors;
  for (int i = 0; i < plan.buffers_size(); ++i) {
    const v1::Buffer& buffer = plan.buffers(i);
    if (buffer.kind() != v1::BUFFER_KIND_INPUT && buffer.kind() != v1::BUFFER_KIND_OUTPUT) continue;
    ASSIGN_OR_RETURN(device::SharedMemory memory, device.AllocateShared(buffer.size_bytes()));
    RETURN_IF_ERROR(device.Poison(memory.address, buffer.size_bytes(), static_cast<uint64_t>(i) + 1));
    worker::SharedRegion& region = regions.emplace_back();
    region.set_buffer(static_cast<uint32_t>(i));
    region.set_memory(static_cast<uint32_t>(descriptors.size()));
    region.set_object_bytes(memory.object_bytes);
    region.set_size_bytes(buffer.size_bytes());
    descriptors.push_back(std::move(memory.fd));
  }
  return replay.Bind(regions, descriptors);
}

absl::Status Ended(const absl::StatusOr<device::Execution>& execution) {
  RETURN_IF_ERROR(execution.status());
  if (execution->outcome == worker::RUN_OUTCOME_OK) return absl::OkStatus();
  return absl::AbortedError(execution->message);
}

absl::Status Print(const v1::Bundle& bundle, const worker::SassCounts& counts, uint64_t crc) {
  if (!counts.unavailable().empty()) return absl::UnavailableError(counts.unavailable());
  ASSIGN_OR_RETURN(const Toolchain toolchain, FindToolchain());
  const AllowUnsandboxed unsandboxed{"a test's own cubin"};
  ASSIGN_OR_RETURN(const Disassembly code, Disassemble(toolchain, bundle.cubin(), kDeadline, &unsandboxed));
  ASSIGN_OR_RETURN(const Cubin cubin, Cubin::Parse(bundle.cubin()));
  ASSIGN_OR_RETURN(const auto launches,
                   evidence::JoinCounts({counts, crc, bundle.plans(0), code, evidence::BlocksPerCluster(cubin), 1e18}));
  std::map<std::pair<std::string, std::string>, std::pair<uint64_t, uint64_t>> totals;
  for (const evidence::ExecutedLaunch& launch : launches) {
    for (const evidence::ExecutedInstruction& instruction : launch.instructions) {
      auto& [warps, threads] = totals[{launch.kernel, instruction.what->opcode}];
      warps += instruction.warps;
      threads += instruction.threads;
    }
  }
  for (const auto& [key, total] : totals) {
    std::printf("%s\t%s\t%llu\t%llu\n", key.first.c_str(), key.second.c_str(),
                static_cast<unsigned long long>(total.first), static_cast<unsigned long long>(total.second));
  }
  return absl::OkStatus();
}

absl::Status Run(const char* file, bool counted) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(file));
  v1::Bundle bundle;
  if (!bundle.ParseFromString(bytes) || bundle.plans().empty()) return absl::InvalidArgumentError("no bundle");
  bundle.mutable_plans()->DeleteSubrange(1, bundle.plans_size() - 1);
  const worker::RunMode mode = counted ? worker::RUN_MODE_COUNTED : worker::RUN_MODE_PLAIN;
  ASSIGN_OR_RETURN(const std::unique_ptr<device::Device> device, device::OpenDevice("cuda:0", mode));
  runner::Replay replay(*device, mode);
  RETURN_IF_ERROR(replay.Load(bundle));
  ASSIGN_OR_RETURN(const worker::SassCounts loaded, device->CollectSassCounts());
  RETURN_IF_ERROR(BindTensors(*device, replay, bundle.plans(0)));
  RETURN_IF_ERROR(Ended(replay.Setup(1, absl::Now() + kDeadline)));
  const absl::Time start = absl::Now();
  RETURN_IF_ERROR(Ended(replay.Steady(2, absl::Now() + kDeadline)));
  std::fprintf(stderr, "the call took %.1f ms\n", absl::ToDoubleMilliseconds(absl::Now() - start));
  if (!counted) return absl::OkStatus();
  ASSIGN_OR_RETURN(const worker::SassCounts counts, device->CollectSassCounts());
  return Print(bundle, counts, loaded.cubin_crc());
}

}  // namespace
}  // namespace sassay

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: counted_call BUNDLE plain|counted\n");
    return 2;
  }
  const absl::Status status = sassay::Run(argv[1], std::string(argv[2]) == "counted");
  if (!status.ok()) std::fprintf(stderr, "counted_call: %s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
