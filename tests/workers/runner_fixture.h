// For tests alone: a judge's memory, and runners of profiler-runner that work in it, on any device.
#ifndef SASSAY_TESTS_WORKERS_RUNNER_FIXTURE_H_
#define SASSAY_TESTS_WORKERS_RUNNER_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/steady_time.h"
#include "google/protobuf/text_format.h"
#include "profiler_service/device/cuda/test_kernels.h"
#include "profiler_service/device/device.h"
#include "profiler_service/sanitize/sanitize.h"
#include "profiler_service/wire/runner_pool.h"

namespace sassay::runner {

inline constexpr uint64_t kTensorBytes = 2000;
inline constexpr uint64_t kOffset = 4096;

// A pointer argument to the start of a buffer.
inline std::string Pointer(int buffer) {
  return absl::StrCat("arguments { data: '\\0\\0\\0\\0\\0\\0\\0\\0' relocations { pointer { buffer: ", buffer,
                      " } } }");
}

// Raw bytes of an int argument.
inline std::string Int(int value) {
  std::string escaped;
  for (int i = 0; i < 4; ++i) absl::StrAppend(&escaped, "\\x", absl::Hex((value >> (8 * i)) & 0xff, absl::kZeroPad2));
  return absl::StrCat("arguments { data: '", escaped, "' }");
}

// Two tensors of 500 floats, A and C, in one object of shared memory.
class RunnerFixture : public testing::Test {
 protected:
  explicit RunnerFixture(std::string device) : device_(std::move(device)) {}

  void SetUp() override {
    auto judge = device::OpenDevice(device_, worker::RUN_MODE_PLAIN);
    ASSERT_TRUE(judge.ok()) << judge.status();
    judge_ = *std::move(judge);
    auto memory = judge_->AllocateShared(4 * kOffset);
    ASSERT_TRUE(memory.ok()) << memory.status();
    memory_ = *std::move(memory);
    for (uint32_t i = 0; i < 2; ++i) {
      worker::SharedRegion region;
      region.set_buffer(i);
      region.set_object_bytes(memory_.object_bytes);
      region.set_offset_bytes(kOffset * (i + 1));
      region.set_size_bytes(kTensorBytes);
      regions_.push_back(region);
    }
    descriptors_ = {memory_.fd.get()};
    wire::RunnerPoolOptions options;
    options.runner_program = absl::StrCat(std::getenv("SASSAY_TEST_BIN"), "/profiler-runner");
    options.allow_unsandboxed = AllowUnsandboxed{"test on a machine without sandbox"};
    pool_ = std::make_unique<wire::RunnerPool>(options);
  }

  // One launch with the arguments given; A is buffer 0, C buffer 1.
  v1::Bundle BundleLaunching(const std::string& kernel, const std::string& arguments, int blocks = 1, int threads = 1) {
    v1::Bundle bundle = device::cuda::TestKernels();
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        absl::StrCat("buffers { kind: BUFFER_KIND_INPUT name: 'A' size_bytes: ", kTensorBytes,
                     " } buffers { kind: BUFFER_KIND_OUTPUT name: 'C' size_bytes: ", kTensorBytes,
                     " } steady { launch { kernel: '", kernel, "' grid { x: ", blocks,
                     " y: 1 z: 1 } block { x: ", threads, " y: 1 z: 1 } ", arguments, " } }"),
        bundle.add_plans()));
    return bundle;
  }

  absl::StatusOr<worker::RunnerReply> Run(const v1::Bundle& bundle, absl::Duration deadline = absl::Seconds(20)) {
    auto runner = pool_->Acquire(device_, worker::RUN_MODE_PLAIN, absl::Now() + absl::Seconds(60));
    if (!runner.ok()) return runner.status();
    const std::vector<absl::StatusOr<worker::RunnerReply>> replies = {(*runner)->Load(bundle, worker::RUN_MODE_PLAIN),
                                                                      (*runner)->Bind(regions_, descriptors_),
                                                                      (*runner)->Setup(1, deadline)};
    for (const auto& reply : replies) {
      if (!reply.ok() || reply->outcome() != worker::RUN_OUTCOME_OK) return reply;
    }
    return (*runner)->Steady(2, deadline);
  }

  // Under the checks of the device.
  absl::StatusOr<sanitize::Sanitization> Check(const v1::Bundle& bundle, const std::string& compute_sanitizer) {
    sanitize::SanitizeRequest request;
    request.device = device_;
    request.bundle = &bundle;
    request.regions = regions_;
    request.descriptors = descriptors_;
    return sanitize::Sanitize(request, *pool_, compute_sanitizer);
  }

  template <typename T>
  T ReadOutput(uint64_t index) {
    T value{};
    EXPECT_TRUE(judge_
                    ->Read(absl::MakeSpan(reinterpret_cast<char*>(&value), sizeof(value)),
                           memory_.address + 2 * kOffset + index * sizeof(T))
                    .ok());
    return value;
  }

  const std::string device_;
  std::unique_ptr<device::Device> judge_;
  device::SharedMemory memory_;
  std::vector<worker::SharedRegion> regions_;
  std::vector<int> descriptors_;
  std::unique_ptr<wire::RunnerPool> pool_;
};

}  // namespace sassay::runner

#endif  // SASSAY_TESTS_WORKERS_RUNNER_FIXTURE_H_
