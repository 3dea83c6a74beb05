#include "profiler_service/judge/baseline/trial.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"
#include "common/workload/definition.h"

namespace sassay::judge {
namespace {

using device::cuda::Driver;

constexpr int kRounds = 7;
// Who is so near to the fastest is measured again: seven samples beside a power cap are wrong by as much.
constexpr double kNear = 1.05;
constexpr size_t kFinalists = 4;
constexpr int kFinalRounds = 31;
constexpr absl::Duration kFinalTime = absl::Milliseconds(400);
// Within it the clock of a loaded GPU has fallen to where the power cap holds it.
constexpr absl::Duration kWarmUp = absl::Milliseconds(50);
constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr uint64_t kPatternBytes = 1 << 20;
// More than the L2 of any GPU so far.
constexpr uint64_t kFlushBytes = 256 << 20;

// bf16 numbers with random sign and mantissa and exponents of 2^-3 to 2^0; pairs of them are such f32 numbers, too.
std::string RandomPattern() {
  std::mt19937 random(1);
  std::string pattern(kPatternBytes, '\0');
  for (uint64_t i = 0; i < kPatternBytes; i += 2) {
    const uint32_t bits = random();
    const uint16_t value = static_cast<uint16_t>((bits & 0x807F) | ((124 + (bits >> 16 & 3)) << 7));
    pattern[i] = static_cast<char>(value & 0xFF);
    pattern[i + 1] = static_cast<char>(value >> 8);
  }
  return pattern;
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

// The fastest few, fastest first.
std::vector<int> Finalists(const std::vector<double>& times) {
  std::vector<int> order(times.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return times[a] < times[b]; });
  const auto end = std::find_if(order.begin(), order.end(), [&](int index) {
    return times[index] == kNever || times[index] > kNear * times[order.front()];
  });
  order.erase(end, order.end());
  if (order.size() > kFinalists) order.resize(kFinalists);
  return order;
}

}  // namespace

absl::StatusOr<DeviceMemory> DeviceMemory::Allocate(const Driver& driver, uint64_t size_bytes, absl::string_view what) {
  DeviceMemory memory;
  if (size_bytes == 0) return memory;
  CUdeviceptr address = 0;
  RETURN_IF_ERROR(driver.Check(driver.cuMemAlloc(&address, size_bytes),
                               absl::StrCat("allocating ", size_bytes, " bytes for ", what)));
  memory.driver_ = &driver;
  memory.address_ = address;
  memory.size_bytes_ = size_bytes;
  return memory;
}

DeviceMemory& DeviceMemory::operator=(DeviceMemory&& other) noexcept {
  std::swap(driver_, other.driver_);
  std::swap(address_, other.address_);
  std::swap(size_bytes_, other.size_bytes_);
  return *this;
}

DeviceMemory::~DeviceMemory() {
  if (address_ != 0) driver_->cuMemFree(address_);
}

absl::StatusOr<std::unique_ptr<Trial>> Trial::Create(const Driver& driver, const sassay::v1::Workload& workload) {
  std::unique_ptr<Trial> trial(new Trial(driver));
  RETURN_IF_ERROR(trial->Prepare(workload));
  return trial;
}

absl::Status Trial::Prepare(const sassay::v1::Workload& workload) {
  RETURN_IF_ERROR(driver_.Check(driver_.cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "creating a stream"));
  for (CUevent* event : {&begin_, &end_}) {
    RETURN_IF_ERROR(driver_.Check(driver_.cuEventCreate(event, CU_EVENT_DEFAULT), "creating an event"));
  }
  ASSIGN_OR_RETURN(flush_, DeviceMemory::Allocate(driver_, kFlushBytes, "flushing the L2"));
  const std::string pattern = RandomPattern();
  for (const auto* tensors : {&workload.inputs(), &workload.outputs()}) {
    for (const sassay::v1::TensorSpec& tensor : *tensors) {
      ASSIGN_OR_RETURN(DeviceMemory memory, DeviceMemory::Allocate(driver_, TensorBytes(tensor), tensor.name()));
      RETURN_IF_ERROR(FillRandomly(memory, pattern));
      (tensors == &workload.inputs() ? inputs_ : outputs_).push_back(memory.address());
      memory_.push_back(std::move(memory));
    }
  }
  return driver_.Check(driver_.cuStreamSynchronize(stream_), "filling scratch tensors");
}

absl::Status Trial::FillRandomly(const DeviceMemory& memory, const std::string& pattern) {
  uint64_t filled = std::min<uint64_t>(memory.size_bytes(), pattern.size());
  RETURN_IF_ERROR(driver_.Check(driver_.cuMemcpyHtoDAsync(memory.address(), pattern.data(), filled, stream_),
                                "filling a scratch tensor"));
  for (; filled < memory.size_bytes(); filled *= 2) {
    const uint64_t more = std::min(filled, memory.size_bytes() - filled);
    RETURN_IF_ERROR(driver_.Check(driver_.cuMemcpyDtoDAsync(memory.address() + filled, memory.address(), more, stream_),
                                  "filling a scratch tensor"));
  }
  return absl::OkStatus();
}

Trial::~Trial() {
  for (CUevent event : {begin_, end_}) {
    if (event != nullptr) driver_.cuEventDestroy(event);
  }
  if (stream_ != nullptr) driver_.cuStreamDestroy(stream_);
}

absl::StatusOr<double> Trial::Sample(const Run& run) {
  RETURN_IF_ERROR(
      driver_.Check(driver_.cuMemsetD8Async(flush_.address(), 1, flush_.size_bytes(), stream_), "flushing the L2"));
  RETURN_IF_ERROR(driver_.Check(driver_.cuEventRecord(begin_, stream_), "recording an event"));
  const absl::Status ran = run(inputs_, outputs_, stream_);
  RETURN_IF_ERROR(driver_.Check(driver_.cuEventRecord(end_, stream_), "recording an event"));
  RETURN_IF_ERROR(driver_.Check(driver_.cuStreamSynchronize(stream_), "measuring an algorithm"));
  float milliseconds = 0;
  RETURN_IF_ERROR(driver_.Check(driver_.cuEventElapsedTime(&milliseconds, begin_, end_), "reading an event"));
  if (ran.ok()) return milliseconds * 1e6;
  refusal_ = ran;
  return kNever;
}

// Loads kernels, and lets the clock fall to where it stays.
absl::Status Trial::WarmUp(absl::Span<const Run> runs) {
  const absl::Time enough = SteadyNow() + kWarmUp;
  do {
    for (const Run& run : runs) RETURN_IF_ERROR(Sample(run).status());
  } while (SteadyNow() < enough);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<double>> Trial::Measure(absl::Span<const Run> runs) {
  RETURN_IF_ERROR(WarmUp(runs));
  return Rounds(runs, kRounds);
}

// Every other round goes backwards, so that nobody has always the same one before it.
absl::StatusOr<std::vector<double>> Trial::Rounds(absl::Span<const Run> runs, int rounds) {
  std::vector<std::vector<double>> samples(runs.size());
  const absl::Time enough = SteadyNow() + kFinalTime;
  for (int round = 0; round < rounds && (round < kRounds || SteadyNow() < enough); ++round) {
    for (size_t i = 0; i < runs.size(); ++i) {
      const size_t turn = round % 2 == 0 ? i : runs.size() - 1 - i;
      ASSIGN_OR_RETURN(const double sample, Sample(runs[turn]));
      samples[turn].push_back(sample);
    }
  }
  std::vector<double> medians;
  for (std::vector<double>& of_one : samples) medians.push_back(Median(std::move(of_one)));
  return medians;
}

absl::StatusOr<int> Trial::Fastest(absl::Span<const Run> runs) {
  ASSIGN_OR_RETURN(const std::vector<double> times, Measure(runs));
  const std::vector<int> finalists = Finalists(times);
  if (finalists.size() == 1) return finalists.front();
  if (finalists.empty()) {
    return absl::InternalError(
        absl::StrCat("none of the ", runs.size(), " algorithms that the library proposes runs: ", refusal_.message()));
  }
  std::vector<Run> last;
  for (int index : finalists) last.push_back(runs[index]);
  ASSIGN_OR_RETURN(const std::vector<double> again, Rounds(last, kFinalRounds));
  return finalists[std::min_element(again.begin(), again.end()) - again.begin()];
}

}  // namespace sassay::judge
