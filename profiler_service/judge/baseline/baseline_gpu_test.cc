// The vendor libraries on a real GPU, against references in double precision. Prints what was chosen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/workload/definition.h"
#include "profiler_service/device/cuda/cuda_device.h"
#include "profiler_service/device/cuda/test_kernels.h"
#include "profiler_service/judge/baseline/baseline.h"
#include "profiler_service/judge/baseline/testing/workloads.h"
#include "profiler_service/judge/inputs/inputs.h"
#include "profiler_service/judge/numerics/compare.h"
#include "profiler_service/judge/numerics/element.h"
#include "profiler_service/judge/reference/reference.h"

namespace sassay::judge {
namespace {

using device::DeviceAddress;
using device::cuda::CudaDevice;
using device::cuda::Driver;
using sassay::v1::TensorSpec;
using sassay::v1::Workload;

constexpr int kThreads = 8;

class BaselineOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = device::cuda::WhyNoGpu(); !reason.empty()) GTEST_SKIP() << reason;
    auto device = CudaDevice::Open("0", worker::RUN_MODE_PLAIN);
    ASSERT_TRUE(device.ok()) << device.status();
    device_ = *std::move(device);
  }
  void TearDown() override {
    // Before its context.
    baseline_.reset();
  }

  // False if this machine or the library has none: then the test is over.
  bool Prepare(const Workload& workload, int candidates = 1) {
    baseline_.reset();
    BaselineOptions options;
    options.candidates = candidates;
    auto made = MakeBaseline(workload, *device_, options);
    if (!made.ok()) {
      const bool absent = absl::IsUnavailable(made.status()) || absl::IsUnimplemented(made.status());
      EXPECT_TRUE(absent) << workload.name() << ": " << made.status();
      why_not_ = absl::StrCat(workload.name(), ": ", made.status().ToString());
      return false;
    }
    baseline_ = *std::move(made);
    const BaselineFacts& facts = baseline_->facts();
    std::cout << workload.name() << ": " << facts.library << " " << facts.version << ", " << facts.algorithm << ", "
              << facts.candidates << " measured, workspace " << facts.workspace_bytes << "\n";
    EXPECT_FALSE(facts.version.empty());
    EXPECT_FALSE(facts.algorithm.empty());
    EXPECT_GT(facts.candidates, 0);
    return true;
  }

  static std::vector<std::string> Inputs(const Workload& workload, uint64_t seed) {
    std::vector<std::string> inputs;
    for (const TensorSpec& input : workload.inputs()) {
      inputs.push_back(
          GenerateTensor(input, seed, static_cast<uint32_t>(inputs.size()), Distribution::kNormal, kThreads));
    }
    return inputs;
  }

  // One call on buffers of its own.
  std::vector<std::string> Run(const Workload& workload, const std::vector<std::string>& inputs) {
    std::vector<DeviceAddress> from, to;
    for (const std::string& bytes : inputs) {
      from.push_back(*device_->Allocate(bytes.size(), "input"));
      EXPECT_TRUE(device_->Write(from.back(), bytes).ok());
    }
    for (const TensorSpec& output : workload.outputs()) {
      to.push_back(*device_->Allocate(TensorBytes(output), output.name()));
      EXPECT_TRUE(device_->Poison(to.back(), TensorBytes(output), 7).ok());
    }
    const absl::Status enqueued = baseline_->Enqueue(from, to, nullptr);
    EXPECT_TRUE(enqueued.ok()) << enqueued;
    const Driver& driver = **Driver::Get();
    EXPECT_EQ(driver.cuStreamSynchronize(nullptr), CUDA_SUCCESS);
    std::vector<std::string> outputs;
    for (int i = 0; i < workload.outputs_size(); ++i) {
      outputs.emplace_back(TensorBytes(workload.outputs(i)), '\0');
      EXPECT_TRUE(device_->Read(absl::MakeSpan(outputs.back().data(), outputs.back().size()), to[i]).ok());
    }
    for (const auto& addresses : {from, to}) {
      for (const DeviceAddress address : addresses) EXPECT_TRUE(device_->Free(address).ok());
    }
    return outputs;
  }

  void AgreesWithTheReference(const Workload& workload, uint64_t seed) {
    const auto reference = MakeReference(workload);
    ASSERT_TRUE(reference.ok()) << reference.status();
    std::vector<std::string> inputs = Inputs(workload, seed);
    ASSERT_TRUE((*reference)->Complete(inputs, kThreads).ok());
    const auto expected = (*reference)->Compute(inputs, kThreads);
    ASSERT_TRUE(expected.ok()) << expected.status();
    const std::vector<std::string> outputs = Run(workload, inputs);
    for (int i = 0; i < workload.outputs_size(); ++i) {
      const Compared compared =
          CompareOutput(workload.outputs(i), (*expected)[i], outputs[i], std::string(outputs[i].size(), '\x55'));
      EXPECT_TRUE(compared.passed) << workload.name() << ": " << compared.report.DebugString();
    }
  }

  std::unique_ptr<device::Device> device_;
  std::unique_ptr<Baseline> baseline_;
  std::string why_not_;
};

TEST_F(BaselineOnGpu, SmallProductsAgreeWithTheReference) {
  for (const auto& [m, n, k] : {std::array<int64_t, 3>{64, 256, 256}, {70, 128, 2048}, {232, 256, 7168}, {1, 8, 8}}) {
    const Workload workload = GemmWorkload(m, n, k);
    if (!Prepare(workload, 8)) GTEST_SKIP() << why_not_;
    AgreesWithTheReference(workload, 1);
  }
}

TEST_F(BaselineOnGpu, LargeProductsAgreeWithDotProductsOfTheirRows) {
  for (const auto& [m, n, k] : {std::array<int64_t, 3>{8192, 7168, 5120}, {972, 4096, 14336}, {2379, 2048, 4096}}) {
    const Workload workload = GemmWorkload(m, n, k);
    if (!Prepare(workload)) GTEST_SKIP() << why_not_;
    const std::vector<std::string> inputs = Inputs(workload, 2);
    const std::string c = Run(workload, inputs)[0];
    std::mt19937_64 random(3);
    for (int sample = 0; sample < 64; ++sample) {
      const int64_t row = static_cast<int64_t>(random() % m), column = static_cast<int64_t>(random() % n);
      const auto a = DecodeDoubles(sassay::v1::DTYPE_BFLOAT16, inputs[0].substr(row * k * 2, k * 2));
      const auto b = DecodeDoubles(sassay::v1::DTYPE_BFLOAT16, inputs[1].substr(column * k * 2, k * 2));
      const double got = DecodeDoubles(sassay::v1::DTYPE_BFLOAT16, c.substr((row * n + column) * 2, 2))[0];
      double want = 0;
      for (int64_t i = 0; i < k; ++i) want += a[i] * b[i];
      // Half a unit in the last place of bf16, and what f32 sums of k products lose.
      EXPECT_NEAR(got, want, std::abs(want) / 256 + 1e-3 * std::sqrt(static_cast<double>(k))) << row << "," << column;
    }
  }
}

struct HeadSize {
  int64_t head_size;
  bool causal;
  bool backward;
};

class AttentionOnGpu : public BaselineOnGpu, public testing::WithParamInterface<HeadSize> {};

TEST_P(AttentionOnGpu, AgreesWithTheReference) {
  const auto& [head_size, causal, backward] = GetParam();
  // A multiple of every tile, and of none; the second is the library's first choice.
  for (const auto& [sequence, candidates] : {std::pair<int64_t, int>{384, 2}, {250, 1}}) {
    const Workload workload =
        AttentionWorkload({2, 3, sequence, head_size, sassay::v1::DTYPE_BFLOAT16, causal, backward});
    if (!Prepare(workload, candidates)) GTEST_SKIP() << why_not_;
    AgreesWithTheReference(workload, 4);
  }
}

std::vector<HeadSize> HeadSizes() {
  std::vector<HeadSize> all;
  for (const int64_t size : {64, 96, 128, 256}) {
    for (const bool causal : {false, true}) {
      for (const bool backward : {false, true}) all.push_back({size, causal, backward});
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(HeadSizes, AttentionOnGpu, testing::ValuesIn(HeadSizes()), [](const auto& info) {
  return absl::StrCat(info.param.backward ? "Backward" : "Forward", info.param.head_size,
                      info.param.causal ? "Causal" : "");
});

TEST_F(BaselineOnGpu, AddressesMayChangeFromCallToCall) {
  const Workload workload = GemmWorkload(64, 128, 64);
  if (!Prepare(workload)) GTEST_SKIP() << why_not_;
  const std::vector<std::string> first = Inputs(workload, 5), second = Inputs(workload, 6);
  const std::string once = Run(workload, first)[0];
  EXPECT_NE(Run(workload, second)[0], once);
  EXPECT_EQ(Run(workload, first)[0], once);
}

TEST_F(BaselineOnGpu, WrongAddressesAreRefused) {
  if (!Prepare(GemmWorkload(64, 128, 64))) GTEST_SKIP() << why_not_;
  EXPECT_EQ(baseline_->Enqueue({4096}, {8192}, nullptr).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(baseline_->Enqueue({4096, 4098}, {8192}, nullptr).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace sassay::judge
