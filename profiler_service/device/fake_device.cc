#include "profiler_service/device/fake_device.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "profiler_service/device/poison.h"

namespace sassay::device {

constexpr uint64_t kSpacing = uint64_t{1} << 24;
constexpr uint64_t kGranularity = 4096;

FakeDevice::~FakeDevice() {
  for (auto& [address, block] : blocks_) {
    if (block.mapped != nullptr) munmap(block.mapped, block.size_bytes);
  }
}

absl::StatusOr<DeviceAddress> FakeDevice::Allocate(uint64_t size_bytes, absl::string_view label) {
  log.push_back(absl::StrCat("allocate ", label, " ", size_bytes));
  RETURN_IF_ERROR(trouble("allocate"));
  const DeviceAddress address = next_ += kSpacing;
  blocks_[address].size_bytes = size_bytes;
  blocks_[address].own.resize(size_bytes);
  return address;
}

absl::Status FakeDevice::Free(DeviceAddress address) {
  log.push_back("free");
  if (blocks_.erase(address) == 1) return absl::OkStatus();
  return absl::InvalidArgumentError("freed what is no allocation");
}

absl::StatusOr<SharedMemory> FakeDevice::AllocateShared(uint64_t size_bytes) {
  SharedMemory memory;
  memory.object_bytes = (size_bytes + kGranularity - 1) / kGranularity * kGranularity;
  memory.fd.reset(memfd_create("fake_device", MFD_CLOEXEC));
  if (!memory.fd.valid() || ftruncate(memory.fd.get(), static_cast<off_t>(memory.object_bytes)) != 0) {
    return absl::ResourceExhaustedError("no memory");
  }
  ASSIGN_OR_RETURN(memory.address, MapShared(memory.fd.get(), memory.object_bytes));
  return memory;
}

absl::StatusOr<DeviceAddress> FakeDevice::MapShared(int fd, uint64_t object_bytes) {
  RETURN_IF_ERROR(trouble("map"));
  void* mapped = mmap(nullptr, object_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) return absl::InternalError("mmap failed");
  const DeviceAddress address = next_ += kSpacing;
  blocks_[address].size_bytes = object_bytes;
  blocks_[address].mapped = mapped;
  return address;
}

char* FakeDevice::At(DeviceAddress address, uint64_t size_bytes) {
  auto block = blocks_.upper_bound(address);
  if (block == blocks_.begin()) return nullptr;
  --block;
  const uint64_t offset = address - block->first;
  if (offset > block->second.size_bytes || size_bytes > block->second.size_bytes - offset) return nullptr;
  char* base = block->second.mapped != nullptr ? static_cast<char*>(block->second.mapped) : block->second.own.data();
  return base + offset;
}

std::string FakeDevice::Bytes(DeviceAddress address, uint64_t size_bytes) {
  const char* bytes = At(address, size_bytes);
  return bytes == nullptr ? "" : std::string(bytes, size_bytes);
}

absl::Status FakeDevice::Outside(DeviceAddress address, uint64_t size_bytes) const {
  return absl::InvalidArgumentError(absl::StrCat(size_bytes, " bytes at ", absl::Hex(address), " are no allocation"));
}

absl::Status FakeDevice::Write(DeviceAddress destination, absl::Span<const char> bytes) {
  log.push_back(absl::StrCat("write ", bytes.size()));
  RETURN_IF_ERROR(trouble("write"));
  char* to = At(destination, bytes.size());
  if (to == nullptr) return Outside(destination, bytes.size());
  if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
  return absl::OkStatus();
}

absl::Status FakeDevice::Read(absl::Span<char> bytes, DeviceAddress source) {
  const char* from = At(source, bytes.size());
  if (from == nullptr) return Outside(source, bytes.size());
  if (!bytes.empty()) std::memcpy(bytes.data(), from, bytes.size());
  return absl::OkStatus();
}

absl::Status FakeDevice::Copy(DeviceAddress destination, DeviceAddress source, uint64_t size_bytes) {
  log.push_back(absl::StrCat("copy ", size_bytes));
  char* to = At(destination, size_bytes);
  const char* from = At(source, size_bytes);
  if (to == nullptr || from == nullptr) return Outside(to == nullptr ? destination : source, size_bytes);
  std::memmove(to, from, size_bytes);
  return absl::OkStatus();
}

absl::Status FakeDevice::Fill(DeviceAddress destination, uint32_t value, uint32_t element_bytes, uint64_t count) {
  log.push_back(absl::StrCat("fill ", count));
  char* to = At(destination, element_bytes * count);
  if (to == nullptr) return Outside(destination, element_bytes * count);
  for (uint64_t i = 0; i < count; ++i) std::memcpy(to + i * element_bytes, &value, element_bytes);
  return absl::OkStatus();
}

absl::Status FakeDevice::Poison(DeviceAddress destination, uint64_t size_bytes, uint64_t seed) {
  log.push_back(absl::StrCat("poison ", size_bytes));
  RETURN_IF_ERROR(trouble("poison"));
  char* to = At(destination, size_bytes);
  if (to == nullptr) return Outside(destination, size_bytes);
  FillPoison(absl::MakeSpan(to, size_bytes), seed);
  return absl::OkStatus();
}

absl::Status FakeDevice::LoadModule(const sassay::v1::Bundle&) {
  RETURN_IF_ERROR(load_status);
  for (const auto& [name, size] : symbols) {
    ASSIGN_OR_RETURN(const DeviceAddress address, Allocate(size, name));
    symbol_regions_[name] = {address, size};
  }
  return absl::OkStatus();
}

absl::StatusOr<SymbolRegion> FakeDevice::Symbol(absl::string_view name) {
  const auto symbol = symbol_regions_.find(std::string(name));
  if (symbol == symbol_regions_.end()) return absl::NotFoundError(name);
  return symbol->second;
}

absl::StatusOr<std::array<char, 128>> FakeDevice::EncodeTensorMap(const sassay::v1::TensorMap&, DeviceAddress base) {
  log.push_back("encode");
  std::array<char, 128> encoded;
  encoded.fill('\xEE');
  std::memcpy(encoded.data(), &base, sizeof(base));
  return encoded;
}

absl::Status FakeDevice::Enqueue(const Launch& launch) {
  log.push_back(absl::StrCat("launch ", launch.kernel));
  if (kernels.count(launch.kernel) == 0) return absl::InvalidArgumentError(absl::StrCat("no kernel ", launch.kernel));
  queue_.push_back(launch);
  ++launched_;
  return absl::OkStatus();
}

absl::StatusOr<Execution> FakeDevice::Synchronize(absl::Time) {
  log.push_back("wait");
  late_ = late_ || std::exchange(held_, false);
  Execution execution;
  const std::vector<Launch> queue = std::move(queue_);
  queue_.clear();
  for (const Launch& launch : queue) {
    execution = kernels[launch.kernel](launch, *this);
    if (execution.outcome != sassay::worker::RUN_OUTCOME_OK) break;
  }
  return execution;
}

absl::StatusOr<sassay::v1::Evidence> FakeDevice::CollectEvidence() {
  sassay::v1::Evidence evidence;
  evidence.set_thread_instructions(launched_);
  return evidence;
}

absl::StatusOr<sassay::worker::SassCounts> FakeDevice::CollectSassCounts() {
  if (!runs_sass) return Device::CollectSassCounts();
  sassay::worker::SassCounts counts;
  counts.set_cubin_crc(1);
  counts.add_launches()->set_launches(static_cast<uint32_t>(launched_));
  return counts;
}

absl::StatusOr<int> FakeDevice::Mark() {
  log.push_back(absl::StrCat("mark ", marks_.size()));
  RETURN_IF_ERROR(trouble("mark"));
  marks_.push_back(launched_);
  return static_cast<int>(marks_.size()) - 1;
}

absl::StatusOr<double> FakeDevice::NanosecondsBetween(int first_mark, int second_mark) {
  return 1000.0 *
         static_cast<double>(marks_.at(static_cast<size_t>(second_mark)) - marks_.at(static_cast<size_t>(first_mark)));
}

absl::Status FakeDevice::Hold(absl::Duration) {
  log.push_back("hold");
  RETURN_IF_ERROR(trouble("hold"));
  held_ = true;
  return absl::OkStatus();
}

void FakeDevice::Release() {
  if (std::exchange(held_, false)) log.push_back("release");
}

absl::Status FakeDevice::ProbeClock() {
  log.push_back("probe");
  return trouble("probe");
}

absl::Status FakeDevice::FlushL2() {
  log.push_back("flush");
  return trouble("flush");
}

}  // namespace sassay::device
