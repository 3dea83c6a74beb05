// The judge with an examiner: everything on the device, nothing computed on the CPU.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_service/judge/gpu/examiner.h"
#include "profiler_service/judge/gpu/testing/judge_device.h"
#include "profiler_service/judge/judge.h"
#include "profiler_service/judge/numerics/element.h"

namespace sassay::judge {
namespace {

using sassay::worker::JudgeReply;
using sassay::worker::JudgeRequest;
using testing::HasSubstr;

class DeviceJudgeTest : public gpu::JudgeDeviceTest {
 protected:
  static constexpr uint64_t kCase = 8, kKept = 9;
  static constexpr uint64_t kRows = 16, kColumns = 256, kDepth = 256;

  void SetUp() override {
    JudgeDeviceTest::SetUp();
    if (IsSkipped()) return;
    device_ = &kernels().device();
    options_.catalog = &WorkloadCatalog::BuiltIn();
    // Whatever would compute on the CPU is refused.
    options_.reference_limit_seconds = 0;
    gpu::ExaminerOptions options;
    options.catalog = options_.catalog;
    options.budget_bytes = 1 << 28;
    judge_ = std::make_unique<Judge>(*device_, options_, 0, *gpu::Examiner::Create(TakeKernels(), options));
  }

  JudgeReply Ask(JudgeRequest request, uint64_t id = kCase) {
    request.set_case_id(id);
    EXPECT_EQ(judge_->Prework(request), nullptr);
    std::vector<int> descriptors;
    const JudgeReply reply = judge_->Handle(request, descriptors);
    if (!request.has_prepare() || !reply.error().empty()) return reply;
    for (const auto& region : reply.regions()) {
      const auto mapped = device_->MapShared(descriptors[region.memory()], region.object_bytes());
      EXPECT_TRUE(mapped.ok()) << mapped.status();
      buffers_.push_back(mapped.value_or(0) + region.offset_bytes());
    }
    return reply;
  }

  JudgeReply Prepare() {
    JudgeRequest request;
    *request.mutable_prepare()->mutable_workload() = *options_.catalog->Resolve("gemm_n256_k256/M=16");
    request.mutable_prepare()->set_seed(3);
    request.mutable_prepare()->set_distribution("normal");
    for (const char* name : {"A", "B", "C"}) {
      auto* need = request.mutable_prepare()->add_needs();
      need->set_buffer(request.prepare().needs_size() - 1);
      need->set_tensor(name);
      need->set_output(*name == 'C');
      need->set_size_bytes(*name == 'B' ? kColumns * kDepth * 2 : kRows * kDepth * 2);
    }
    return Ask(request);
  }

  JudgeReply Refill(uint64_t seed, const std::string& distribution) {
    JudgeRequest request;
    request.mutable_refill()->set_seed(seed);
    request.mutable_refill()->set_distribution(distribution);
    return Ask(request);
  }

  // New contents of which the judge keeps nothing.
  JudgeReply RefillForOnce(uint64_t seed) {
    JudgeRequest request;
    request.mutable_refill()->set_seed(seed);
    request.mutable_refill()->set_distribution("normal");
    request.mutable_refill()->set_passing(true);
    return Ask(request);
  }

  JudgeReply Keep() {
    JudgeRequest request;
    request.mutable_keep()->set_as(kKept);
    return Ask(request);
  }

  JudgeReply Compare(uint64_t id = kCase) {
    JudgeRequest request;
    request.mutable_compare();
    return Ask(request, id);
  }

  std::vector<double> Values(int buffer, uint64_t count) {
    std::string bytes(count * 2, '\0');
    EXPECT_TRUE(device_->Read(absl::MakeSpan(bytes.data(), bytes.size()), buffers_[buffer]).ok());
    return DecodeDoubles(sassay::v1::DTYPE_BFLOAT16, bytes);
  }

  // The honest kernel, on the host.
  void RunGemm() {
    const std::vector<double> a = Values(0, kRows * kDepth), b = Values(1, kColumns * kDepth);
    std::vector<double> c(kRows * kColumns);
    for (uint64_t i = 0; i < c.size(); ++i) {
      float sum = 0;
      for (uint64_t k = 0; k < kDepth; ++k) {
        sum += static_cast<float>(a[i / kColumns * kDepth + k] * b[i % kColumns * kDepth + k]);
      }
      c[i] = sum;
    }
    ASSERT_TRUE(device_->Write(buffers_[2], EncodeDoubles(sassay::v1::DTYPE_BFLOAT16, c)).ok());
  }

  device::Device* device_ = nullptr;
  StateOptions options_;
  std::unique_ptr<Judge> judge_;
  std::vector<device::DeviceAddress> buffers_;  // as a runner maps them
};

TEST_F(DeviceJudgeTest, JudgesACaseWithoutTheCpu) {
  ASSERT_EQ(Prepare().error(), "");
  EXPECT_GT(Compare().numerics().outputs(0).unwritten(), 4000);
  RunGemm();
  const JudgeReply reply = Compare();
  EXPECT_TRUE(reply.numerics().passed()) << reply.DebugString();
  EXPECT_EQ(reply.findings_size(), 0);
}

TEST_F(DeviceJudgeTest, ARefilledCaseHasOtherInputsAndFreshPoison) {
  ASSERT_EQ(Prepare().error(), "");
  RunGemm();
  ASSERT_EQ(Refill(4, "structured").error(), "");
  const JudgeReply stale = Compare();
  EXPECT_GT(stale.numerics().outputs(0).unwritten(), 4000);
  EXPECT_EQ(stale.numerics().worst_distribution(), "structured");
  RunGemm();
  EXPECT_TRUE(Compare().numerics().passed());
}

TEST_F(DeviceJudgeTest, WrittenGuardsAndInputsAreFindings) {
  ASSERT_EQ(Prepare().error(), "");
  RunGemm();
  ASSERT_TRUE(device_->Write(buffers_[2] + kRows * kColumns * 2 + 4, std::string("oops")).ok());
  ASSERT_TRUE(device_->Write(buffers_[0] - 8, std::string("x")).ok());
  ASSERT_TRUE(device_->Write(buffers_[1] + 2 * 258, std::string("\x11\x11", 2)).ok());
  const JudgeReply reply = Compare();
  ASSERT_EQ(reply.findings_size(), 3) << reply.DebugString();
  EXPECT_THAT(reply.findings(0).message(), HasSubstr("1 bytes were written before the start of A"));
  EXPECT_EQ(reply.findings(0).distance_bytes(), -8);
  EXPECT_THAT(reply.findings(1).message(), HasSubstr("4 bytes were written past the end of C"));
  EXPECT_EQ(reply.findings(1).distance_bytes(), 4);
  EXPECT_THAT(reply.findings(2).message(), HasSubstr("input B was written: 2 bytes differ, the first in B[1,2]"));
}

TEST_F(DeviceJudgeTest, InputsMadeInPlaceAreThoseOfTheSeed) {
  ASSERT_EQ(Prepare().error(), "");
  ASSERT_EQ(Refill(5, "normal").error(), "");
  const std::vector<double> a = Values(0, kRows * kDepth), b = Values(1, kColumns * kDepth);
  ASSERT_EQ(Refill(6, "normal").error(), "");
  ASSERT_EQ(RefillForOnce(5).error(), "");
  EXPECT_EQ(Values(0, kRows * kDepth), a);
  EXPECT_EQ(Values(1, kColumns * kDepth), b);
  EXPECT_GT(Compare().numerics().outputs(0).unwritten(), 4000);
  RunGemm();
  EXPECT_TRUE(Compare().numerics().passed());
}

TEST_F(DeviceJudgeTest, WhatWasKeptIsComparedWhenTheCaseHasOtherContents) {
  ASSERT_EQ(Prepare().error(), "");
  ASSERT_EQ(RefillForOnce(5).error(), "");
  RunGemm();
  ASSERT_EQ(Keep().error(), "");
  ASSERT_EQ(RefillForOnce(6).error(), "");
  EXPECT_TRUE(Compare(kKept).numerics().passed());
  EXPECT_GT(Compare().numerics().outputs(0).unwritten(), 4000);
  ASSERT_EQ(Keep().error(), "");
  EXPECT_GT(Compare(kKept).numerics().outputs(0).unwritten(), 4000) << "the later one is in the earlier one's place";
}

TEST_F(DeviceJudgeTest, WhatWasWrongWithInputsAndGuardsIsKeptToo) {
  ASSERT_EQ(Prepare().error(), "");
  ASSERT_EQ(RefillForOnce(5).error(), "");
  RunGemm();
  ASSERT_TRUE(device_->Write(buffers_[0] - 8, std::string("x")).ok());
  ASSERT_TRUE(device_->Write(buffers_[1] + 2 * 258, std::string("\x11\x11", 2)).ok());
  ASSERT_EQ(Keep().error(), "");
  ASSERT_EQ(RefillForOnce(6).error(), "");
  const JudgeReply reply = Compare(kKept);
  ASSERT_EQ(reply.findings_size(), 2) << reply.DebugString();
  EXPECT_THAT(reply.findings(0).message(), HasSubstr("before the start of A"));
  EXPECT_THAT(reply.findings(1).message(), HasSubstr("input B was written: 2 bytes differ"));
}

TEST_F(DeviceJudgeTest, SaysHowMuchMemoryIsItsOwn) {
  EXPECT_GT(judge_->Ready().device().judge_bytes(), uint64_t{1} << 28);
}

TEST_F(DeviceJudgeTest, TheCanaryRunsBesideCasesAndLeavesThemAlone) {
  ASSERT_EQ(Prepare().error(), "");
  JudgeRequest request;
  request.mutable_canary();
  const JudgeReply reply = Ask(request, kKept);
  EXPECT_EQ(reply.error(), "");
  EXPECT_GT(reply.canary().tensor().median_ns(), 0);
  EXPECT_GT(reply.canary().memory().median_ns(), 0);
  EXPECT_EQ(Refill(4, "normal").error(), "");
}

}  // namespace
}  // namespace sassay::judge
