#include "profiler_service/judge/gpu/reference.h"

#include <cmath>

#include "common/workload/definition.h"
#include "gtest/gtest.h"
#include "profiler_service/judge/gpu/operations.h"
#include "profiler_service/judge/gpu/testing/judge_device.h"
#include "profiler_service/judge/inputs/inputs.h"
#include "profiler_service/judge/numerics/element.h"
#include "profiler_service/judge/reference/reference.h"

namespace sassay::judge::gpu {
namespace {

using sassay::v1::DTYPE_BFLOAT16;
using sassay::v1::DTYPE_FLOAT16;
using sassay::v1::DTYPE_FLOAT32;

void AddTensor(google::protobuf::RepeatedPtrField<sassay::v1::TensorSpec>& tensors, const char* name,
               sassay::v1::DType dtype, const std::vector<int64_t>& shape) {
  sassay::v1::TensorSpec& spec = *tensors.Add();
  spec.set_name(name);
  spec.set_dtype(dtype);
  for (int64_t extent : shape) spec.add_shape(extent);
}

sassay::v1::Workload Gemm(int64_t m, int64_t n, int64_t k, sassay::v1::DType dtype) {
  sassay::v1::Workload workload;
  workload.set_reference("builtin:gemm");
  AddTensor(*workload.mutable_inputs(), "A", dtype, {m, k});
  AddTensor(*workload.mutable_inputs(), "B", dtype, {n, k});
  AddTensor(*workload.mutable_outputs(), "C", dtype, {m, n});
  return workload;
}

sassay::v1::Workload Attention(int64_t heads, int64_t rows, int64_t columns, bool backward, bool causal,
                               sassay::v1::DType dtype = DTYPE_BFLOAT16) {
  sassay::v1::Workload workload;
  workload.set_reference(std::string(backward ? "builtin:mha_backward" : "builtin:mha_forward") +
                         (causal ? "_causal" : ""));
  const std::vector<int64_t> shape = {1, heads, rows, columns}, statistic = {1, heads, rows};
  for (const char* name : {"Q", "K", "V"}) AddTensor(*workload.mutable_inputs(), name, dtype, shape);
  if (backward) {
    for (const char* name : {"O", "dO"}) AddTensor(*workload.mutable_inputs(), name, dtype, shape);
    AddTensor(*workload.mutable_inputs(), "L", DTYPE_FLOAT32, statistic);
    for (const char* name : {"dQ", "dK", "dV"}) AddTensor(*workload.mutable_outputs(), name, dtype, shape);
  } else {
    AddTensor(*workload.mutable_outputs(), "O", dtype, shape);
    AddTensor(*workload.mutable_outputs(), "LSE", DTYPE_FLOAT32, statistic);
  }
  return workload;
}

class ReferenceTest : public JudgeDeviceTest {
 protected:
  // Inputs, completed on both sides, and outputs of both references.
  void ExpectTheCpus(const sassay::v1::Workload& workload, Distribution distribution = Distribution::kNormal) {
    const auto cpu = judge::MakeReference(workload);
    const auto gpu = MakeReference(workload);
    ASSERT_TRUE(cpu.ok() && gpu.ok() && *gpu != nullptr) << cpu.status() << gpu.status();
    std::vector<std::string> inputs;
    std::vector<Tensor> tensors;
    for (int i = 0; i < workload.inputs_size(); ++i) {
      inputs.push_back(judge::GenerateTensor(workload.inputs(i), 42, i, distribution, 1));
      tensors.push_back({Upload(inputs.back()), *ElementOf(workload.inputs(i).dtype())});
    }
    ASSERT_TRUE((*cpu)->Complete(inputs, 2).ok());
    const absl::Status completed = (*gpu)->Complete(kernels(), tensors);
    ASSERT_TRUE(completed.ok()) << completed;
    // Sums in another order may round to the neighbour once in a while: from here on both have the CPU's.
    for (size_t i = 0; i < inputs.size(); ++i) {
      ExpectNearlySameBytes(workload.inputs(static_cast<int>(i)), inputs[i],
                            Download(tensors[i].address, inputs[i].size()));
      ASSERT_TRUE(kernels().device().Write(tensors[i].address, inputs[i]).ok());
    }
    const auto want = (*cpu)->Compute(inputs, 2);
    const auto got = (*gpu)->Compute(kernels(), tensors);
    ASSERT_TRUE(want.ok() && got.ok()) << want.status() << got.status();
    for (int i = 0; i < workload.outputs_size(); ++i) ExpectNear(workload.outputs(i), (*want)[i], (*got)[i]);
  }

  static void ExpectNearlySameBytes(const sassay::v1::TensorSpec& spec, const std::string& want,
                                    const std::string& got) {
    const std::vector<double> a = DecodeDoubles(spec.dtype(), want), b = DecodeDoubles(spec.dtype(), got);
    uint64_t differing = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      differing += a[i] != b[i];
      ASSERT_LE(std::fabs(a[i] - b[i]), UlpAt(spec.dtype(), a[i])) << spec.name() << " " << i;
    }
    EXPECT_LE(differing, 1 + a.size() / 10000) << spec.name();
  }

  void ExpectNear(const sassay::v1::TensorSpec& spec, const Expected& want, const ExpectedOutput& got) {
    const size_t count = want.values.size();
    std::vector<double> values;
    if (got.values_element == Element::kFloat64) {
      values = DownloadAs<double>(got.values.address(), count);
    } else {
      const std::vector<float> singles = DownloadAs<float>(got.values.address(), count);
      values.assign(singles.begin(), singles.end());
    }
    const std::vector<float> noise = DownloadAs<float>(got.noise.address(), count);
    double squares = 0;
    for (double value : want.values) squares += value * value;
    const double scale = std::sqrt(squares / static_cast<double>(count));
    const double unit = got.values_element == Element::kFloat64 ? 1e-12 : 1.2e-7;
    for (size_t i = 0; i < count; ++i) {
      ASSERT_NEAR(values[i], want.values[i], unit * std::fabs(want.values[i]) + 1e-12 * scale)
          << spec.name() << " " << i;
      ASSERT_NEAR(noise[i], want.noise[i], 1e-5 * want.noise[i]) << "noise of " << spec.name() << " " << i;
    }
  }
};

TEST_F(ReferenceTest, GemmOfAnyShapeAndTypeIsTheCpus) {
  ExpectTheCpus(Gemm(16, 16, 16, DTYPE_BFLOAT16));
  ExpectTheCpus(Gemm(70, 33, 50, DTYPE_BFLOAT16));
  ExpectTheCpus(Gemm(130, 257, 31, DTYPE_BFLOAT16), Distribution::kOutliers);
  ExpectTheCpus(Gemm(24, 40, 65, DTYPE_FLOAT16));
  ExpectTheCpus(Gemm(24, 40, 64, DTYPE_FLOAT32), Distribution::kStructured);
  ExpectTheCpus(Gemm(20, 24, 48, sassay::v1::DTYPE_FLOAT8_E4M3FN));
}

TEST_F(ReferenceTest, AttentionForwardIsTheCpus) {
  for (bool causal : {false, true}) {
    ExpectTheCpus(Attention(2, 64, 64, false, causal));
    ExpectTheCpus(Attention(1, 141, 32, false, causal), Distribution::kOutliers);
    ExpectTheCpus(Attention(2, 24, 96, false, causal, DTYPE_FLOAT16));
  }
}

TEST_F(ReferenceTest, AttentionBackwardIsTheCpus) {
  for (bool causal : {false, true}) {
    ExpectTheCpus(Attention(2, 64, 64, true, causal));
    ExpectTheCpus(Attention(1, 141, 32, true, causal), Distribution::kStructured);
  }
}

TEST_F(ReferenceTest, ASmallWorkspaceChangesNothing) {
  const int64_t rows = emulated() ? 140 : 300;
  for (bool causal : {false, true}) {
    // Less than one head: 128 rows at a time, the last block with fewer.
    kernels().set_workspace_bytes(1);
    ExpectTheCpus(Attention(2, rows, 16, false, causal));
    ExpectTheCpus(Attention(1, rows, 16, true, causal));
    // Two of three heads.
    kernels().set_workspace_bytes(2 * 40 * 40 * 24);
    ExpectTheCpus(Attention(3, 40, 16, true, causal));
  }
}

TEST_F(ReferenceTest, EveryHeadSizeIsTheCpus) {
  if (emulated()) GTEST_SKIP() << "takes minutes on the emulated device; smaller ones are above";
  for (int64_t columns : {64, 96, 128, 256}) {
    for (bool causal : {false, true}) {
      ExpectTheCpus(Attention(2, 391, columns, false, causal));
      ExpectTheCpus(Attention(2, 257, columns, true, causal));
    }
  }
  ExpectTheCpus(Gemm(232, 384, 1024, DTYPE_BFLOAT16));
}

TEST_F(ReferenceTest, WhatHasNoReferenceOnAGpuIsLeftToOthers) {
  sassay::v1::Workload workload = Gemm(8, 8, 8, DTYPE_BFLOAT16);
  workload.set_reference("golden:x.safetensors");
  EXPECT_EQ(*MakeReference(workload), nullptr);
  workload = Gemm(8, 8, 8, DTYPE_BFLOAT16);
  workload.mutable_inputs(1)->set_shape(1, 9);
  EXPECT_TRUE(absl::IsInvalidArgument(MakeReference(workload).status()));
}

}  // namespace
}  // namespace sassay::judge::gpu
