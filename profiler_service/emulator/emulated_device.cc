#include "profiler_service/emulator/emulated_device.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"
#include "common/bundle/cubin.h"
#include "common/demangle/demangle.h"
#include "profiler_service/device/poison.h"
#include "profiler_service/emulator/descriptor/tensor_geometry.h"
#include "profiler_service/emulator/explain.h"
#include "profiler_service/emulator/ops/families.h"
#include "profiler_service/emulator/pace/estimate.h"
#include "profiler_service/emulator/ptx/parser.h"

namespace sassay::emulator {
namespace {

using sassay::worker::RunMode;

// Of the GPU that a plan is captured for, so that it launches: an H200, a B200.
struct Model {
  absl::string_view arch;
  uint32_t multiprocessors;
};
constexpr Model kModels[] = {{"sm_90a", 132}, {"sm_100a", 148}};

const Model* FindModel(absl::string_view arch) {
  const auto* found = std::find_if(std::begin(kModels), std::end(kModels), [&](auto& m) { return m.arch == arch; });
  return found == std::end(kModels) ? nullptr : found;
}

// The same on both.
constexpr uint32_t kMaxThreads = 1024;
constexpr uint64_t kMaxSharedBytes = 232448;
constexpr uint64_t kSharedPerMultiprocessor = 233472;
constexpr uint64_t kMaxGridX = 0x7fffffff, kMaxGridYz = 65535;
constexpr uint64_t kWorkspaceBytes = 256;
// Host memory that resident blocks may take.
constexpr uint64_t kResidentBudgetBytes = uint64_t{2} << 30;
// Of a block that uses tensor memory: cells, and in checked launches who touched them.
constexpr uint64_t kTensorMemoryBytes = uint64_t{512} << 10;
// Launches that have run for less say nothing about those that follow.
constexpr absl::Duration kMeasureFor = absl::Seconds(1);

uint64_t MemoryLimit() {
  const uint64_t physical =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE));
  return physical / 4 * 3;
}

std::string Triple(const sassay::v1::Dim3& dim) { return absl::StrCat(dim.x(), "x", dim.y(), "x", dim.z()); }
uint64_t Count3(const sassay::v1::Dim3& dim) { return uint64_t{dim.x()} * dim.y() * dim.z(); }
// What launches of a like cost have in common.
std::string Shape(const device::Launch& launch) {
  return absl::StrCat(launch.kernel, " ", Triple(launch.grid), " ", Triple(launch.block), " ",
                      launch.dynamic_shared_bytes);
}
uint64_t TensorMemoryBytes(const Program& program) {
  const bool used = std::any_of(program.opcodes.begin(), program.opcodes.end(),
                                [](const std::string& opcode) { return absl::StartsWith(opcode, "tcgen05.alloc"); });
  return used ? kTensorMemoryBytes : 0;
}
Extent ToExtent(const sassay::v1::Dim3& dim) { return Extent{dim.x(), dim.y(), dim.z()}; }

// As the launch asks, or as the kernel was compiled for.
Extent ClusterOf(const Code& kernel, const device::Launch& launch) {
  if (Count3(launch.cluster) != 0) return ToExtent(launch.cluster);
  const auto& required = kernel.source->required_cluster;
  const auto extent = [&](size_t d) { return d < required.size() ? std::max(required[d], 1u) : 1; };
  return Extent{extent(0), extent(1), extent(2)};
}

absl::Status CheckCluster(const Code& kernel, const device::Launch& launch) {
  constexpr uint64_t kMostBlocks = 16;  // with cudaFuncAttributeNonPortableClusterSizeAllowed; 8 without
  const Extent cluster = ClusterOf(kernel, launch);
  const auto& grid = launch.grid;
  if (cluster.count() > kMostBlocks) {
    return absl::InvalidArgumentError(absl::StrCat("clusters of ", cluster.count(), " blocks; at most ", kMostBlocks));
  }
  if (grid.x() % cluster.x == 0 && grid.y() % cluster.y == 0 && grid.z() % cluster.z == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("grid ", Triple(grid), " is no multiple of the cluster ", cluster.x,
                                                 "x", cluster.y, "x", cluster.z));
}

}  // namespace

EmulatedDevice::EmulatedDevice(absl::string_view arch, absl::string_view number, RunMode mode)
    : mode_(mode), memory_(mode == sassay::worker::RUN_MODE_CHECKED, MemoryLimit()) {
  info_.kind = "emulated";
  info_.model = absl::StrCat("emulated ", arch);
  info_.uuid = absl::StrCat("emulated:", arch, "#", number);
  info_.arch = std::string(arch);
  info_.multiprocessors = FindModel(arch)->multiprocessors;
  info_.memory_bytes = MemoryLimit();
}

absl::StatusOr<std::unique_ptr<device::Device>> EmulatedDevice::Open(absl::string_view name, RunMode mode) {
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(name, absl::MaxSplits('#', 1));
  const absl::string_view arch = parts.first, number = parts.second.empty() ? "0" : parts.second;
  if (FindModel(arch) == nullptr) {
    return absl::UnavailableError(
        absl::StrCat("no emulated device for '", name, "'; there are emulated:sm_90a and emulated:sm_100a"));
  }
  if (mode == sassay::worker::RUN_MODE_TIMED) {
    return absl::UnavailableError("an emulated device has no time; timing needs a GPU");
  }
  return std::unique_ptr<device::Device>(new EmulatedDevice(arch, number, mode));
}

absl::Status EmulatedDevice::Do(Action action) {
  if (queue_.empty()) return action();
  queue_.push_back({std::move(action), {}});
  return absl::OkStatus();
}

absl::StatusOr<device::DeviceAddress> EmulatedDevice::Allocate(uint64_t size_bytes, absl::string_view label) {
  return memory_.Allocate(size_bytes, label);
}

absl::Status EmulatedDevice::Free(device::DeviceAddress address) {
  return Do([this, address] { return memory_.Free(address); });
}

absl::StatusOr<device::SharedMemory> EmulatedDevice::AllocateShared(uint64_t size_bytes) {
  device::SharedMemory shared;
  const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE));
  shared.object_bytes = (size_bytes + page - 1) / page * page;
  ASSIGN_OR_RETURN(shared.address, memory_.AllocateShared(shared.object_bytes, shared.fd));
  return shared;
}

absl::StatusOr<device::DeviceAddress> EmulatedDevice::MapShared(int fd, uint64_t object_bytes) {
  return memory_.MapShared(fd, object_bytes);
}

absl::Status EmulatedDevice::Write(device::DeviceAddress destination, absl::Span<const char> bytes) {
  RETURN_IF_ERROR(memory_.Host(destination, bytes.size()).status());
  if (queue_.empty()) {
    std::memcpy(*memory_.Host(destination, bytes.size()), bytes.data(), bytes.size());
    memory_.Mark(destination, bytes.size(), true);
    return absl::OkStatus();
  }
  return Do([this, destination, copy = std::string(bytes.data(), bytes.size())]() -> absl::Status {
    ASSIGN_OR_RETURN(uint8_t * host, memory_.Host(destination, copy.size()));
    std::memcpy(host, copy.data(), copy.size());
    memory_.Mark(destination, copy.size(), true);
    return absl::OkStatus();
  });
}

absl::Status EmulatedDevice::Read(absl::Span<char> bytes, device::DeviceAddress source) {
  if (!queue_.empty()) return absl::FailedPreconditionError("launches are queued; Synchronize before Read");
  ASSIGN_OR_RETURN(const uint8_t* host, memory_.Host(source, bytes.size()));
  std::memcpy(bytes.data(), host, bytes.size());
  return absl::OkStatus();
}

absl::Status EmulatedDevice::Copy(device::DeviceAddress destination, device::DeviceAddress source,
                                  uint64_t size_bytes) {
  RETURN_IF_ERROR(memory_.Host(destination, size_bytes).status());
  RETURN_IF_ERROR(memory_.Host(source, size_bytes).status());
  return Do([=, this]() -> absl::Status {
    ASSIGN_OR_RETURN(uint8_t * to, memory_.Host(destination, size_bytes));
    ASSIGN_OR_RETURN(const uint8_t* from, memory_.Host(source, size_bytes));
    std::memmove(to, from, size_bytes);
    memory_.CopyMarks(destination, source, size_bytes);
    return absl::OkStatus();
  });
}

absl::Status EmulatedDevice::Fill(device::DeviceAddress destination, uint32_t value, uint32_t element_bytes,
                                  uint64_t count) {
  if (element_bytes != 1 && element_bytes != 2 && element_bytes != 4) {
    return absl::InvalidArgumentError(
        absl::StrCat("fill with elements of ", element_bytes, " bytes; 1, 2 or 4 are known"));
  }
  if (count > (uint64_t{1} << 48)) return absl::InvalidArgumentError("fill of more than 2^48 elements");
  const uint64_t size_bytes = count * element_bytes;
  RETURN_IF_ERROR(memory_.Host(destination, size_bytes).status());
  return Do([=, this]() -> absl::Status {
    ASSIGN_OR_RETURN(uint8_t * to, memory_.Host(destination, size_bytes));
    for (uint64_t i = 0; i < count; ++i) std::memcpy(to + i * element_bytes, &value, element_bytes);
    memory_.Mark(destination, size_bytes, true);
    return absl::OkStatus();
  });
}

absl::Status EmulatedDevice::Poison(device::DeviceAddress destination, uint64_t size_bytes, uint64_t seed) {
  RETURN_IF_ERROR(memory_.Host(destination, size_bytes).status());
  return Do([=, this]() -> absl::Status {
    ASSIGN_OR_RETURN(uint8_t * to, memory_.Host(destination, size_bytes));
    device::FillPoison(absl::MakeSpan(reinterpret_cast<char*>(to), size_bytes), seed);
    memory_.Mark(destination, size_bytes, false);
    return absl::OkStatus();
  });
}

absl::Status EmulatedDevice::LoadModule(const sassay::v1::Bundle& bundle) {
  if (program_ != nullptr) return absl::FailedPreconditionError("a module is loaded already; one per context");
  if (bundle.ptx().empty()) return absl::InvalidArgumentError("the bundle has no PTX, which is what the emulator runs");
  ASSIGN_OR_RETURN(auto module, ptx::Parse(bundle.ptx()));
  ASSIGN_OR_RETURN(program_, LoadProgram(std::move(module), StandardOperations(), memory_));
  locator_ = std::make_unique<Locator>(*program_, bundle);
  if (const auto cubin = Cubin::Parse(bundle.cubin()); cubin.ok()) {
    for (const CubinKernel& kernel : cubin->kernels()) registers_[kernel.symbol] = kernel.registers;
  }
  ASSIGN_OR_RETURN(grid_workspace_, memory_.Allocate(kWorkspaceBytes, "the grid's workspace", true));
  return absl::OkStatus();
}

absl::StatusOr<device::SymbolRegion> EmulatedDevice::Symbol(absl::string_view name) {
  if (program_ == nullptr) return absl::FailedPreconditionError("no module is loaded");
  const auto symbol = program_->symbols.find(std::string(name));
  if (symbol == program_->symbols.end())
    return absl::NotFoundError(absl::StrCat("the module has no symbol '", name, "'"));
  return device::SymbolRegion{symbol->second, program_->symbol_bytes[std::string(name)]};
}

absl::StatusOr<std::array<char, 128>> EmulatedDevice::EncodeTensorMap(const sassay::v1::TensorMap& map,
                                                                      device::DeviceAddress base) {
  return EncodeTensorGeometry(map, base);
}

absl::StatusOr<const Code*> EmulatedDevice::CheckLaunch(const device::Launch& launch) const {
  if (program_ == nullptr) return absl::FailedPreconditionError("no module is loaded");
  const auto entry = program_->entries.find(launch.kernel);
  if (entry == program_->entries.end()) {
    return absl::InvalidArgumentError(absl::StrCat("the module's PTX has no kernel '", launch.kernel, "'"));
  }
  const Code& kernel = *entry->second;
  const auto& grid = launch.grid;
  const auto& block = launch.block;
  if (Count3(grid) == 0 || grid.x() > kMaxGridX || grid.y() > kMaxGridYz || grid.z() > kMaxGridYz) {
    return absl::InvalidArgumentError(absl::StrCat("grid ", Triple(grid), " is empty or past 2147483647x65535x65535"));
  }
  if (Count3(block) == 0 || Count3(block) > kMaxThreads || block.z() > 64) {
    return absl::InvalidArgumentError(
        absl::StrCat("block ", Triple(block), " has ", Count3(block), " threads; 1 to ", kMaxThreads, " are allowed"));
  }
  const uint64_t shared = uint64_t{kernel.shared_bytes} + launch.dynamic_shared_bytes;
  if (shared > kMaxSharedBytes) {
    return absl::InvalidArgumentError(absl::StrCat(ShortKernelName(launch.kernel), " wants ", shared,
                                                   " bytes of shared memory; a block has ", kMaxSharedBytes));
  }
  const auto& required = kernel.source->required_threads;
  uint64_t threads = required.empty() ? 0 : 1;
  for (const uint32_t extent : required) threads *= extent;
  if (threads != 0 && threads != Count3(block)) {
    return absl::InvalidArgumentError(absl::StrCat(ShortKernelName(launch.kernel), " requires ", threads,
                                                   " threads, the launch has ", Count3(block)));
  }
  uint64_t most = kernel.source->most_threads.empty() ? kMaxThreads : 1;
  for (const uint32_t extent : kernel.source->most_threads) most *= extent;
  if (Count3(block) > most) {
    return absl::InvalidArgumentError(absl::StrCat(ShortKernelName(launch.kernel), " was compiled for at most ", most,
                                                   " threads a block (__launch_bounds__), the launch has ",
                                                   Count3(block)));
  }
  RETURN_IF_ERROR(CheckCluster(kernel, launch));
  if (launch.arguments.size() != kernel.parameters.size()) {
    return absl::InvalidArgumentError(absl::StrCat(ShortKernelName(launch.kernel), " has ", kernel.parameters.size(),
                                                   " parameters, ", launch.arguments.size(), " were given"));
  }
  for (size_t i = 0; i < launch.arguments.size(); ++i) {
    if (launch.arguments[i].size() == kernel.parameters[i].bytes) continue;
    return absl::InvalidArgumentError(absl::StrCat("parameter ", i, " of ", ShortKernelName(launch.kernel), " has ",
                                                   kernel.parameters[i].bytes, " bytes, ", launch.arguments[i].size(),
                                                   " were given"));
  }
  if (launch.cooperative && Count3(grid) > ResidentBlocks(kernel, launch)) {
    return absl::InvalidArgumentError(absl::StrCat("cooperative launch of ", Count3(grid), " blocks; at most ",
                                                   ResidentBlocks(kernel, launch), " fit at once"));
  }
  return &kernel;
}

// As many as the GPU would hold by threads, blocks and shared memory.
uint64_t EmulatedDevice::ResidentBlocks(const Code& kernel, const device::Launch& launch) const {
  const uint64_t shared = uint64_t{kernel.shared_bytes} + launch.dynamic_shared_bytes + 1024;
  const uint64_t threads = (Count3(launch.block) + 31) / 32 * 32;
  return info_.multiprocessors * std::min({uint64_t{32}, 2048 / threads, kSharedPerMultiprocessor / shared});
}

absl::Status EmulatedDevice::Enqueue(const device::Launch& launch) {
  RETURN_IF_ERROR(CheckLaunch(launch).status());
  queue_.push_back({nullptr, launch});
  return absl::OkStatus();
}

absl::StatusOr<device::Execution> EmulatedDevice::Synchronize(absl::Time deadline) {
  device::Execution execution;
  const absl::Time start = SteadyNow();
  const std::vector<Pending> queue = std::exchange(queue_, {});
  ledger_.Clear();
  for (const Pending& pending : queue) {
    if (!pending.action) ledger_.Expect(Shape(pending.launch));
  }
  for (const Pending& pending : queue) {
    RETURN_IF_ERROR(pending.action ? pending.action() : Run(pending.launch, deadline, execution));
    CheckLater(start, deadline, execution);
    if (execution.outcome != sassay::worker::RUN_OUTCOME_OK) break;
  }
  execution.device_ns = static_cast<uint64_t>(absl::ToInt64Nanoseconds(SteadyNow() - start));
  return execution;
}

void EmulatedDevice::CheckLater(absl::Time start, absl::Time deadline, device::Execution& execution) const {
  const absl::Time now = SteadyNow();
  const absl::Duration later = ledger_.LeastLater();
  if (execution.outcome != sassay::worker::RUN_OUTCOME_OK || now - start < kMeasureFor || later <= deadline - now)
    return;
  execution.outcome = sassay::worker::RUN_OUTCOME_REFUSED;
  execution.code = sassay::v1::VERDICT_CODE_TOO_LARGE_FOR_DEVICE;
  execution.message =
      absl::StrCat("too large for the emulated device: ", ledger_.ended(), " of ", ledger_.expected(),
                   " launches took ", Rough(now - start), ", the others would take at least ", Rough(later), ", ",
                   Rough(deadline - start), " are given; ", ledger_.ended(), " launches of this size would fit");
}

absl::Status EmulatedDevice::Run(const device::Launch& launch, absl::Time deadline, device::Execution& execution) {
  ASSIGN_OR_RETURN(const Code* kernel, CheckLaunch(launch));
  LaunchContext context;
  context.program = program_.get();
  context.kernel = kernel;
  context.memory = &memory_;
  context.grid = ToExtent(launch.grid);
  context.block = ToExtent(launch.block);
  context.cluster = ClusterOf(*kernel, launch);
  context.dynamic_shared_bytes = launch.dynamic_shared_bytes;
  if (const auto known = registers_.find(launch.kernel); known != registers_.end()) context.registers = known->second;
  context.checked = mode_ == sassay::worker::RUN_MODE_CHECKED;
  context.counted = mode_ == sassay::worker::RUN_MODE_COUNTED;
  context.parameters.resize(kernel->parameter_bytes);
  for (size_t i = 0; i < launch.arguments.size(); ++i) {
    std::copy(launch.arguments[i].begin(), launch.arguments[i].end(),
              context.parameters.begin() + kernel->parameters[i].offset);
  }
  if (launch.cooperative) {
    context.grid_workspace = grid_workspace_;
    ASSIGN_OR_RETURN(uint8_t * workspace, memory_.Host(grid_workspace_, kWorkspaceBytes));
    std::memset(workspace, 0, kWorkspaceBytes);
  }
  GridOptions options;
  options.threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  options.deadline = deadline;
  options.resident_blocks = ResidentBlocks(*kernel, launch);
  const std::string shape = Shape(launch);
  ledger_.Begin(shape);
  options.repeats = ledger_.Repeats(shape);
  options.later = ledger_.LeastLater();
  if (!launch.cooperative) {
    const uint64_t warps = (Count3(launch.block) + 31) / 32;
    const uint64_t stacks = uint64_t{kernel->local_bytes} * kLanes * (context.checked ? 2 : 1);
    const uint64_t bytes = warps * (kernel->register_bytes + stacks) +
                           context.shared_bytes() * (context.checked ? 24 : 1) + 65536 + TensorMemoryBytes(*program_);
    const uint64_t room = std::max<uint64_t>(kResidentBudgetBytes / bytes, 2);
    options.residents_as_on_gpu = room >= options.resident_blocks;
    options.resident_blocks = std::min(options.resident_blocks, room);
  }
  GridResult result = RunGrid(context, options);
  if (result.kind == GridResult::kDone) ledger_.End(shape, result.cost);
  if (result.kind == GridResult::kTimeout && ledger_.IsUsual(shape, result.elapsed)) {
    result.kind = GridResult::kTooLarge;
    result.message = absl::StrCat("too large for the emulated device: ", ledger_.ended(), " of ", ledger_.expected(),
                                  " launches had ended at the deadline, this one had run for ", Rough(result.elapsed),
                                  "; ", ledger_.ended(), " launches of this size would fit");
  }
  execution.device_output += context.printed.Take();
  if (result.kind == GridResult::kFailed) return context.failure();
  if (context.counted) CountEvidence(launch, result);
  Conclude(launch, context, result, execution);
  return absl::OkStatus();
}

void EmulatedDevice::Conclude(const device::Launch& launch, LaunchContext& context, GridResult& result,
                              device::Execution& execution) {
  namespace v1 = sassay::v1;
  execution.findings = context.report.Findings(*locator_, launch.kernel, launch.grid, launch.block);
  execution.warps = GroupStandings(result.standings, *locator_, launch.kernel, launch.grid, launch.block);
  if (result.kind == GridResult::kFault) {
    // A trap is the kernel's own word; an instruction used against its rules is illegal; everything else is a wild
    // access, which hardware calls an illegal address.
    Report fault;
    Misuse misuse = context.fault();
    fault.Wants(misuse.code, misuse.where.inst, misuse.where.block);
    const v1::VerdictCode code = misuse.code;
    fault.Add(std::move(misuse));
    const auto described = fault.Findings(*locator_, launch.kernel, launch.grid, launch.block);
    execution.findings.insert(execution.findings.end(), described.begin(), described.end());
    if (!context.checked && code < v1::VERDICT_CODE_ILLEGAL_ADDRESS && code != v1::VERDICT_CODE_MISALIGNED) {
      const bool rules = code == v1::VERDICT_CODE_BARRIER_MISUSE || code == v1::VERDICT_CODE_TENSOR_MEMORY_MISUSE ||
                         code == v1::VERDICT_CODE_DESCRIPTOR_INVALID;
      execution.code = rules ? v1::VERDICT_CODE_ILLEGAL_INSTRUCTION : v1::VERDICT_CODE_ILLEGAL_ADDRESS;
    }
  }
  if (!execution.findings.empty()) {
    execution.outcome = sassay::worker::RUN_OUTCOME_FAULT;
    if (execution.code == v1::VERDICT_CODE_OK) execution.code = execution.findings[0].code();
    execution.message = DescribeFinding(execution.findings[0]);
    return;
  }
  if (!result.mbarrier_cause.empty()) {
    execution.outcome = sassay::worker::RUN_OUTCOME_TIMEOUT;
    execution.code = v1::VERDICT_CODE_MBARRIER_DEADLOCK;
    execution.message = absl::StrCat(ShortKernelName(launch.kernel), ": ", result.mbarrier_cause, ": ",
                                     DescribeStates(execution.warps, 4));
    return;
  }
  switch (result.kind) {
    case GridResult::kTimeout:
    case GridResult::kEndless:
      execution.outcome = sassay::worker::RUN_OUTCOME_TIMEOUT;
      execution.code = v1::VERDICT_CODE_KERNEL_TIMEOUT;
      execution.message =
          absl::StrCat(ShortKernelName(launch.kernel), ": ", result.message, "; ", DescribeStates(execution.warps, 3));
      break;
    case GridResult::kDeadlock:
      execution.outcome = sassay::worker::RUN_OUTCOME_TIMEOUT;
      execution.code = v1::VERDICT_CODE_BARRIER_DEADLOCK;
      execution.message =
          absl::StrCat(ShortKernelName(launch.kernel), ": ", result.message, ": ", DescribeStates(execution.warps, 4));
      break;
    case GridResult::kTooLarge:
      execution.outcome = sassay::worker::RUN_OUTCOME_REFUSED;
      execution.code = v1::VERDICT_CODE_TOO_LARGE_FOR_DEVICE;
      execution.message = absl::StrCat(ShortKernelName(launch.kernel), ": ", result.message);
      break;
    default:
      break;
  }
}

void EmulatedDevice::CountEvidence(const device::Launch& launch, const GridResult& result) {
  for (size_t id = 0; id < result.counts.size(); ++id) {
    if (result.counts[id].warps == 0) continue;
    Count& count = executed_[{launch.kernel, program_->opcodes[program_->insts[id].second->opcode]}];
    count.warps += result.counts[id].warps;
    count.threads += result.counts[id].threads;
    count.passes += result.counts[id].passes;
    count.least_passes += result.counts[id].least_passes;
  }
}

namespace {

// What counts say of divergence and of banks: how much, never how long.
std::string DescribeWaste(const Count& all) {
  if (all.warps == 0) return "";
  std::string text = absl::StrFormat("; %.1f of %d lanes took part in an instruction, on average",
                                     static_cast<double>(all.threads) / static_cast<double>(all.warps), kLanes);
  if (all.passes == 0) return text;
  absl::StrAppend(&text, "; loads and stores of shared memory took ", all.passes, " passes over its banks, ",
                  all.passes == all.least_passes
                      ? "none of them for a conflict"
                      : absl::StrCat(all.passes - all.least_passes, " of them for conflicts"));
  return text;
}

}  // namespace

absl::StatusOr<sassay::v1::Evidence> EmulatedDevice::CollectEvidence() {
  if (mode_ != sassay::worker::RUN_MODE_COUNTED) {
    return absl::FailedPreconditionError("instructions are counted in COUNTED mode only");
  }
  sassay::v1::Evidence evidence;
  std::vector<sassay::v1::OpcodeCount> rows;
  Count all;
  for (const auto& [key, count] : executed_) {
    sassay::v1::OpcodeCount& row = rows.emplace_back();
    row.set_kernel(key.first);
    row.set_opcode(key.second);
    row.set_warp_count(count.warps);
    row.set_thread_count(count.threads);
    all.warps += count.warps;
    all.threads += count.threads;
    all.passes += count.passes;
    all.least_passes += count.least_passes;
  }
  evidence.set_thread_instructions(all.threads);
  evidence.set_reason(absl::StrCat("executed PTX instructions of the emulated device", DescribeWaste(all)));
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.warp_count() > b.warp_count(); });
  for (auto& row : rows) *evidence.add_opcodes() = std::move(row);
  return evidence;
}

absl::StatusOr<int> EmulatedDevice::Mark() { return absl::UnimplementedError("an emulated device has no time"); }

absl::StatusOr<double> EmulatedDevice::NanosecondsBetween(int first_mark, int second_mark) {
  return absl::UnimplementedError("an emulated device has no time");
}

absl::Status EmulatedDevice::FlushL2() { return absl::OkStatus(); }

}  // namespace sassay::emulator
