// The published shapes, judged on a GPU: right outputs pass, cheap ones do not, and each step's time is printed.
#include <cstdio>

#include "absl/time/clock.h"
#include "common/workload/definition.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_service/judge/gpu/bytes.h"
#include "profiler_service/judge/gpu/examiner.h"
#include "profiler_service/judge/gpu/operations.h"
#include "profiler_service/judge/gpu/testing/judge_device.h"

namespace sassay::judge::gpu {
namespace {

using sassay::worker::JudgeReply;
using testing::HasSubstr;

constexpr uint64_t kPoisonSeed = 9;

class JudgedShapes : public JudgeDeviceTest, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    JudgeDeviceTest::SetUp();
    if (IsSkipped()) return;
    const auto workload = WorkloadCatalog::BuiltIn().Resolve(GetParam());
    ASSERT_TRUE(workload.ok()) << workload.status();
    workload_ = *workload;
    ExaminerOptions options;
    options.catalog = &WorkloadCatalog::BuiltIn();
    options.budget_bytes = uint64_t{20} << 30;
    options.make_library = Library;
    examiner_ = *Examiner::Create(TakeKernels(), options);
  }

  static absl::StatusOr<std::unique_ptr<Baseline>> Library(const sassay::v1::Workload& workload,
                                                           device::Device& device) {
    BaselineOptions options;
    options.candidates = 1;
    return MakeBaseline(workload, device, options);
  }

  Kernels& kernels() { return examiner_->kernels(); }

  // Runs and prints how long it took.
  template <typename Step>
  void Time(const char* name, const Step& step) {
    const absl::Time start = absl::Now();
    step();
    const absl::Status finished = kernels().Finish();
    ASSERT_TRUE(finished.ok()) << finished;
    std::printf("%-34s %-22s %8.2f ms\n", GetParam(), name, absl::ToDoubleMilliseconds(absl::Now() - start));
  }

  DeviceMemory Room(uint64_t size_bytes) {
    auto memory = kernels().Allocate(size_bytes, "test");
    EXPECT_TRUE(memory.ok()) << memory.status();
    return *std::move(memory);
  }

  void MakeCase() {
    Time("inputs", [&] { state_ = *examiner_->Get(workload_, 1234, "normal"); });
    for (int i = 0; i < workload_.inputs_size(); ++i) {
      memory_.push_back(Room(TensorBytes(workload_.inputs(i))));
      seen_.push_back({false, i, memory_.back().address(), 0});
      inputs_.push_back({memory_.back().address(), *ElementOf(workload_.inputs(i).dtype())});
    }
    for (int i = 0; i < workload_.outputs_size(); ++i) {
      memory_.push_back(Room(TensorBytes(workload_.outputs(i))));
      seen_.push_back({true, i, memory_.back().address(), kPoisonSeed});
    }
    Time("copy to the case", [&] {
      for (const SeenTensor& seen : seen_) {
        if (seen.output) continue;
        ASSERT_TRUE(examiner_->WriteInput(*state_, seen.tensor, seen.address).ok());
      }
    });
    Time("poison", [&] {
      for (const SeenTensor& seen : seen_) {
        if (!seen.output) continue;
        ASSERT_TRUE(FillPattern(kernels(), seen.address, Bytes(seen), kPoisonSeed).ok());
      }
    });
  }

  const sassay::v1::TensorSpec& Spec(const SeenTensor& seen) const {
    return seen.output ? workload_.outputs(seen.tensor) : workload_.inputs(seen.tensor);
  }
  uint64_t Bytes(const SeenTensor& seen) const { return TensorBytes(Spec(seen)); }

  // What an ideal kernel writes: the exact values, rounded once.
  void WriteIdealOutputs() {
    const auto reference = *MakeReference(workload_);
    std::vector<ExpectedOutput> expected;
    Time("reference", [&] { expected = *reference->Compute(kernels(), inputs_); });
    for (const SeenTensor& seen : seen_) {
      if (!seen.output) continue;
      const ExpectedOutput& output = expected[seen.tensor];
      ASSERT_TRUE(Convert(kernels(), {output.values.address(), output.values_element},
                          {seen.address, *ElementOf(Spec(seen).dtype())},
                          static_cast<int64_t>(ElementCount(Spec(seen))))
                      .ok());
    }
    ASSERT_TRUE(kernels().Finish().ok());
  }

  JudgeReply Compare() {
    JudgeReply reply;
    const absl::Status compared = examiner_->Compare(*state_, seen_, reply);
    EXPECT_TRUE(compared.ok()) << compared;
    return reply;
  }

  std::vector<SeenTensor> Outputs() const {
    std::vector<SeenTensor> outputs;
    for (const SeenTensor& seen : seen_) {
      if (seen.output) outputs.push_back(seen);
    }
    return outputs;
  }

  sassay::v1::Workload workload_;
  std::unique_ptr<Examiner> examiner_;
  std::shared_ptr<State> state_;
  std::vector<DeviceMemory> memory_;
  std::vector<SeenTensor> seen_;
  std::vector<Tensor> inputs_;
};

TEST_P(JudgedShapes, RightOutputsPassAndCheapOnesDoNot) {
  MakeCase();
  Time("first compare",
       [&] { EXPECT_EQ(Compare().numerics().outputs(0).wrong(), Compare().numerics().outputs(0).unwritten()); });
  WriteIdealOutputs();
  JudgeReply reply;
  Time("compare, right", [&] { reply = Compare(); });
  EXPECT_TRUE(reply.numerics().passed()) << reply.DebugString();
  EXPECT_EQ(reply.findings_size(), 0);
  for (const auto& output : reply.numerics().outputs()) {
    std::printf("%-34s %s: error %.3g of %.3g allowed\n", GetParam(), output.output().c_str(),
                output.relative_rms_error(), output.allowed_relative_rms_error());
    EXPECT_LT(output.relative_rms_error(), 0.75 * output.allowed_relative_rms_error());
  }
  for (const SeenTensor& output : Outputs()) {
    const DeviceMemory right = Room(Bytes(output));
    device::Device& device = kernels().device();
    ASSERT_TRUE(device.Copy(right.address(), output.address, Bytes(output)).ok());
    const auto refused = [&](const char* what) {
      reply = Compare();
      EXPECT_FALSE(reply.numerics().passed()) << what << " as " << Spec(output).name();
      EXPECT_TRUE(device.Copy(output.address, right.address(), Bytes(output)).ok());
      return reply.numerics().outputs(output.tensor).pattern();
    };
    ASSERT_TRUE(device.Fill(output.address, 0, 2, Bytes(output) / 2).ok());
    Time("compare, all zero", [&] { EXPECT_THAT(refused("zero"), HasSubstr("zero")); });
    ASSERT_TRUE(device.Fill(output.address, 0x3F80, 2, Bytes(output) / 2).ok());
    refused("a constant");
    const uint64_t part = std::min(Bytes(output), TensorBytes(workload_.inputs(0)));
    ASSERT_TRUE(device.Copy(output.address, inputs_[0].address, part).ok());
    refused("a copy of an input");
    ASSERT_TRUE(device.Fill(output.address + Bytes(output) - 512, 0, 2, 128).ok());
    refused("a missing part of the last row");
    ASSERT_TRUE(FillPattern(kernels(), output.address, 256, kPoisonSeed).ok());
    refused("unwritten elements");
    ASSERT_TRUE(device.Write(output.address + 4096, std::string("\xFF\x7F\xFF\x7F", 4)).ok());
    refused("NaN");
  }
}

// The library is an honest kernel, whatever the inputs look like.
TEST_P(JudgedShapes, TheVendorLibraryPasses) {
  MakeCase();
  const auto library = Library(workload_, kernels().device());
  if (!library.ok()) GTEST_SKIP() << library.status();
  std::vector<device::DeviceAddress> inputs, outputs;
  for (const SeenTensor& seen : seen_) (seen.output ? outputs : inputs).push_back(seen.address);
  for (const char* distribution : {"normal", "outliers", "small", "structured", "uniform"}) {
    state_ = *examiner_->Get(workload_, 77, distribution);
    for (const SeenTensor& seen : seen_) {
      if (seen.output) continue;
      ASSERT_TRUE(examiner_->WriteInput(*state_, seen.tensor, seen.address).ok());
    }
    ASSERT_TRUE((*library)->Enqueue(inputs, outputs, kernels().device().stream()).ok());
    const JudgeReply reply = Compare();
    EXPECT_TRUE(reply.numerics().passed()) << distribution << " " << reply.DebugString();
    EXPECT_EQ(reply.numerics().library_unavailable(), "");
    for (const auto& output : reply.numerics().outputs()) {
      std::printf("%-34s %-10s %s: %s errs %.3f times the model\n", GetParam(), distribution, output.output().c_str(),
                  reply.numerics().library().c_str(), output.library_error_ratio());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Published, JudgedShapes,
                         testing::Values("gemm_n7168_k5120/M=8192", "mha_with_lse_d128/B=4,H=48,S=4096",
                                         "mha_with_lse_d128_causal/B=4,H=48,S=4096", "mha_bwd_d128/B=4,H=48,S=4096",
                                         "mha_bwd_d128_causal/B=4,H=48,S=4096"));

// A product whose running sums are rounded to bf16 after every 64 terms.
TEST_P(JudgedShapes, AProductAccumulatedInBf16IsRefused) {
  if (workload_.reference() != "builtin:gemm") GTEST_SKIP() << "only products";
  MakeCase();
  const int64_t m = workload_.inputs(0).shape(0), n = workload_.inputs(1).shape(0), k = workload_.inputs(0).shape(1);
  const DeviceMemory sums = Room(static_cast<uint64_t>(m * n) * sizeof(double));
  const Tensor wide{sums.address(), Element::kFloat64}, narrow{seen_[2].address, Element::kBfloat16};
  for (int64_t depth = 0; depth < k; depth += 64) {
    ProductArguments product = ProductOf(m, n, std::min<int64_t>(64, k - depth));
    SetA(product, {At(inputs_[0], depth), inputs_[0].element}, k, 1);
    SetB(product, {At(inputs_[1], depth), inputs_[1].element}, 1, k);
    SetC(product, wide, n, 0, depth > 0);
    ASSERT_TRUE(Multiply(kernels(), product, 1).ok());
    ASSERT_TRUE(Convert(kernels(), wide, narrow, m * n).ok());
    ASSERT_TRUE(Convert(kernels(), narrow, wide, m * n).ok());
  }
  const JudgeReply reply = Compare();
  EXPECT_FALSE(reply.numerics().passed());
  EXPECT_THAT(reply.numerics().outputs(0).pattern(), HasSubstr("lower precision"));
}

}  // namespace
}  // namespace sassay::judge::gpu
