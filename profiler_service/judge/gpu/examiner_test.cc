#include "profiler_service/judge/gpu/examiner.h"

#include <algorithm>
#include <cmath>

#include "common/workload/definition.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_service/judge/baseline/testing/fake_baseline.h"
#include "profiler_service/judge/gpu/bytes.h"
#include "profiler_service/judge/gpu/testing/judge_device.h"
#include "profiler_service/judge/inputs/indices.h"
#include "profiler_service/judge/inputs/inputs.h"
#include "profiler_service/judge/numerics/element.h"

namespace sassay::judge::gpu {
namespace {

using sassay::worker::JudgeReply;
using testing::HasSubstr;
using testing::Not;

constexpr uint64_t kPoisonSeed = 4;

class ExaminerTest : public JudgeDeviceTest {
 protected:
  void SetUp() override {
    JudgeDeviceTest::SetUp();
    if (!IsSkipped()) Start(uint64_t{1} << 30);
  }

  void Start(uint64_t budget_bytes, LibraryNoise::MakeLibrary library = nullptr) {
    ExaminerOptions options;
    options.catalog = &WorkloadCatalog::BuiltIn();
    options.budget_bytes = budget_bytes;
    options.make_library = std::move(library);
    examiner_ = *Examiner::Create(TakeKernels(), options);
  }

  std::shared_ptr<State> Get(uint64_t seed, const std::string& distribution = "normal") {
    auto state = examiner_->Get(workload_, seed, distribution);
    EXPECT_TRUE(state.ok()) << state.status();
    return state.value_or(nullptr);
  }

  device::DeviceAddress Room(uint64_t size_bytes) {
    memory_.push_back(*examiner_->kernels().Allocate(size_bytes, "test"));
    EXPECT_TRUE(FillPattern(examiner_->kernels(), memory_.back().address(), size_bytes, kPoisonSeed).ok());
    return memory_.back().address();
  }

  // A case's buffers, inputs filled in.
  void Prepare(const State& state) {
    seen_.clear();
    for (int i = 0; i < 2; ++i) {
      seen_.push_back({false, i, Room(TensorBytes(workload_.inputs(i))), 0});
      ASSERT_TRUE(examiner_->WriteInput(state, i, seen_.back().address).ok());
    }
    seen_.push_back({true, 0, Room(TensorBytes(workload_.outputs(0))), kPoisonSeed});
  }

  // The same device with a judge that asks a library.
  void Restart(LibraryNoise::MakeLibrary library) {
    memory_.clear();
    examiner_ = nullptr;
    JudgeDeviceTest::SetUp();
    Start(uint64_t{1} << 30, std::move(library));
  }

  // A library whose answer is off by `error`, up and down in turn.
  LibraryNoise::MakeLibrary Library(double error) {
    return [this, error](const sassay::v1::Workload&, device::Device&) -> absl::StatusOr<std::unique_ptr<Baseline>> {
      return std::make_unique<FakeBaseline>(2, 1, [this, error](const FakeBaseline::Call& call) {
        ++library_calls_;
        std::vector<double> c = Product(call.inputs[0], call.inputs[1]);
        for (size_t i = 0; i < c.size(); ++i) c[i] += i % 2 == 0 ? error : -error;
        return Device().Write(call.outputs[0], EncodeDoubles(sassay::v1::DTYPE_BFLOAT16, c));
      });
    };
  }

  // The honest kernel, on the host.
  void RunGemm() {
    const std::vector<double> c = Product(seen_[0].address, seen_[1].address);
    ASSERT_TRUE(Device().Write(seen_[2].address, EncodeDoubles(sassay::v1::DTYPE_BFLOAT16, c)).ok());
  }

  std::vector<double> Product(device::DeviceAddress a_at, device::DeviceAddress b_at) {
    const std::vector<double> a = Values(a_at, 16 * 256), b = Values(b_at, 256 * 256);
    std::vector<double> c(16 * 256);
    for (int i = 0; i < 16; ++i) {
      for (int j = 0; j < 256; ++j) {
        float sum = 0;
        for (int k = 0; k < 256; ++k) sum += static_cast<float>(a[i * 256 + k] * b[j * 256 + k]);
        c[i * 256 + j] = sum;
      }
    }
    return c;
  }

  std::vector<double> Values(device::DeviceAddress address, size_t count) {
    std::string bytes(count * 2, '\0');
    EXPECT_TRUE(examiner_->kernels().Fetch(bytes.data(), bytes.size(), address).ok());
    return DecodeDoubles(sassay::v1::DTYPE_BFLOAT16, bytes);
  }

  JudgeReply Compare(State& state) {
    JudgeReply reply;
    const absl::Status compared = examiner_->Compare(state, seen_, reply);
    EXPECT_TRUE(compared.ok()) << compared;
    return reply;
  }

  device::Device& Device() { return examiner_->kernels().device(); }

  sassay::v1::Workload workload_ = *WorkloadCatalog::BuiltIn().Resolve("gemm_n256_k256/M=16");
  std::unique_ptr<Examiner> examiner_;
  std::vector<DeviceMemory> memory_;
  std::vector<SeenTensor> seen_;
  int library_calls_ = 0;
};

TEST_F(ExaminerTest, AcceptsTheRightOutputAndRefusesTheUnwrittenOne) {
  const auto state = Get(1);
  Prepare(*state);
  const JudgeReply unwritten = Compare(*state);
  EXPECT_FALSE(unwritten.numerics().passed());
  EXPECT_GT(unwritten.numerics().outputs(0).unwritten(), 4000);
  RunGemm();
  const JudgeReply right = Compare(*state);
  EXPECT_TRUE(right.numerics().passed()) << right.DebugString();
  EXPECT_EQ(right.numerics().worst_distribution(), "normal");
  EXPECT_EQ(right.findings_size(), 0);
}

TEST_F(ExaminerTest, CheapAnswersAreRefusedInEveryDistribution) {
  for (const char* distribution : {"normal", "outliers", "small", "structured", "integers", "uniform"}) {
    const auto state = Get(2, distribution);
    Prepare(*state);
    for (const uint32_t constant : {0x0000u, 0x3F80u}) {
      ASSERT_TRUE(Device().Fill(seen_[2].address, constant, 2, 16 * 256).ok());
      EXPECT_FALSE(Compare(*state).numerics().passed()) << distribution << " " << constant;
    }
    ASSERT_TRUE(Device().Copy(seen_[2].address, seen_[0].address, 16 * 256 * 2).ok());
    EXPECT_FALSE(Compare(*state).numerics().passed()) << distribution;
  }
}

TEST_F(ExaminerTest, AWrittenInputIsAFinding) {
  const auto state = Get(3);
  Prepare(*state);
  RunGemm();
  ASSERT_TRUE(Device().Write(seen_[1].address + 2 * (3 * 256 + 5), std::string("\x12\x34", 2)).ok());
  const JudgeReply reply = Compare(*state);
  ASSERT_EQ(reply.findings_size(), 1);
  EXPECT_EQ(reply.findings(0).code(), sassay::v1::VERDICT_CODE_INPUT_MODIFIED);
  EXPECT_THAT(reply.findings(0).message(), HasSubstr("B[3,5]"));
}

TEST_F(ExaminerTest, AStateIsKeptAndUsedAgain) {
  const State* first = Get(1).get();
  EXPECT_EQ(Get(1).get(), first);
  EXPECT_NE(Get(2).get(), first);
  EXPECT_NE(Get(1, "small").get(), first);
  EXPECT_EQ(examiner_->states(), 3);
}

TEST_F(ExaminerTest, WhatWasUsedLongestAgoGoesFirstAndWhatIsHeldStays) {
  const uint64_t one = Get(1)->bytes();
  examiner_ = nullptr;
  memory_.clear();
  JudgeDeviceTest::SetUp();
  Start(2 * one);
  const auto held = Get(1);
  Get(2);
  Get(3);
  EXPECT_EQ(examiner_->states(), 2);
  EXPECT_LE(examiner_->bytes(), 2 * one);
  EXPECT_EQ(Get(1), held);
  EXPECT_EQ(examiner_->states(), 2);
}

TEST_F(ExaminerTest, AnAdoptedOutputIsWhatLaterOnesAreComparedWith) {
  workload_.set_reference("bundle:" + std::string(64, 'a'));
  const auto state = Get(1);
  Prepare(*state);
  JudgeReply reply;
  EXPECT_TRUE(absl::IsFailedPrecondition(examiner_->Compare(*state, seen_, reply)));
  RunGemm();
  ASSERT_TRUE(examiner_->AdoptOutputs(*state, {seen_[2].address}).ok());
  EXPECT_TRUE(Compare(*state).numerics().passed());
  ASSERT_TRUE(Device().Write(seen_[2].address + 100, std::string("\x00\x41", 2)).ok());
  const JudgeReply changed = Compare(*state);
  EXPECT_EQ(changed.numerics().outputs(0).wrong(), 1);
  EXPECT_THAT(changed.numerics().outputs(0).worst_index(), testing::ElementsAre(0, 50));
}

TEST_F(ExaminerTest, IndexTensorsAreThoseThatTheHostMakes) {
  workload_ = *WorkloadCatalog::BuiltIn().Resolve(
      "gqa_paged_decode_h4_kv2_d32_ps1/batch_size=6,num_pages=96,len_indptr=7,num_kv_indices=64");
  ASSERT_TRUE(examiner_->Takes(workload_));
  const auto state = Get(5, "outliers");
  ASSERT_NE(state, nullptr);
  const Definition* definition = WorkloadCatalog::BuiltIn().FindDefinition(workload_.definition());
  const auto indices = GenerateIndices(*definition, workload_, 5, Distribution::kOutliers);
  ASSERT_TRUE(indices.ok()) << indices.status();
  EXPECT_EQ(indices->size(), 2u);
  for (const auto& [input, bytes] : *indices) {
    const device::DeviceAddress buffer = Room(bytes.size());
    ASSERT_TRUE(examiner_->WriteInput(*state, input, buffer).ok());
    std::string written(bytes.size(), '\0');
    ASSERT_TRUE(examiner_->kernels().Fetch(written.data(), written.size(), buffer).ok());
    EXPECT_EQ(written, bytes) << workload_.inputs(input).name();
  }
}

TEST_F(ExaminerTest, AnExpectedInfinityMustBeThatInfinity) {
  workload_ =
      *WorkloadCatalog::BuiltIn().Resolve("gqa_ragged_prefill_causal_h4_kv2_d32/len_indptr=6,total_q=20,total_kv=32");
  const auto state = Get(1);
  ASSERT_NE(state, nullptr);
  std::vector<double> lse(20 * 4, 3.0);
  lse[7] = -HUGE_VAL;
  seen_ = {{true, 0, Room(TensorBytes(workload_.outputs(0))), 0}, {true, 1, Room(lse.size() * 4), kPoisonSeed}};
  ASSERT_TRUE(Device().Write(seen_[1].address, EncodeDoubles(sassay::v1::DTYPE_FLOAT32, lse)).ok());
  ASSERT_TRUE(examiner_->AdoptOutputs(*state, {seen_[0].address, seen_[1].address}).ok());
  EXPECT_TRUE(Compare(*state).numerics().passed());
  ASSERT_TRUE(Device().Write(seen_[1].address + 7 * 4, EncodeDoubles(sassay::v1::DTYPE_FLOAT32, {-1e30})).ok());
  EXPECT_EQ(Compare(*state).numerics().outputs(1).wrong(), 1);
}

TEST_F(ExaminerTest, TheNoiseOfAnAdoptedOutputFollowsItsRows) {
  workload_ =
      *WorkloadCatalog::BuiltIn().Resolve("gqa_ragged_prefill_causal_h4_kv2_d32/len_indptr=6,total_q=20,total_kv=32");
  const auto state = Get(1);
  ASSERT_NE(state, nullptr);
  // One row of hundreds, the others of tenths: as of the whole, a tenth would be noise.
  std::vector<double> output(20 * 4 * 32, 0.125);
  std::fill(output.begin(), output.begin() + 32, 256.0);
  const std::string lse = EncodeDoubles(sassay::v1::DTYPE_FLOAT32, std::vector<double>(20 * 4, 3.0));
  seen_ = {{true, 0, Room(output.size() * 2), kPoisonSeed}, {true, 1, Room(lse.size()), kPoisonSeed}};
  ASSERT_TRUE(Device().Write(seen_[0].address, EncodeDoubles(sassay::v1::DTYPE_BFLOAT16, output)).ok());
  ASSERT_TRUE(Device().Write(seen_[1].address, lse).ok());
  ASSERT_TRUE(examiner_->AdoptOutputs(*state, {seen_[0].address, seen_[1].address}).ok());
  EXPECT_TRUE(Compare(*state).numerics().passed());
  output[5 * 32] = 0.140625;
  output[1] = 258.0;  // a unit in the last place of the large row is none
  ASSERT_TRUE(Device().Write(seen_[0].address, EncodeDoubles(sassay::v1::DTYPE_BFLOAT16, output)).ok());
  const JudgeReply reply = Compare(*state);
  EXPECT_EQ(reply.numerics().outputs(0).wrong(), 1);
  EXPECT_THAT(reply.numerics().outputs(0).worst_index(), testing::ElementsAre(1, 1, 0));
}

TEST_F(ExaminerTest, ALibrarysOwnErrorWidensTheRuleAndIsMeasuredOnce) {
  sassay::v1::Numerics model;
  {
    const auto alone = Get(1);
    Prepare(*alone);
    RunGemm();
    model = Compare(*alone).numerics();
  }
  EXPECT_EQ(model.library(), "");
  Restart(Library(0.1));
  const auto state = Get(1);
  Prepare(*state);
  RunGemm();
  const auto numerics = Compare(*state).numerics();
  EXPECT_TRUE(numerics.passed());
  EXPECT_THAT(numerics.library(), Not(testing::IsEmpty()));
  const auto &widened = numerics.outputs(0), &before = model.outputs(0);
  EXPECT_GT(widened.library_error_ratio(), 1.5);
  EXPECT_NEAR(widened.allowed_relative_rms_error(),
              before.allowed_relative_rms_error() * std::min(4.0, widened.library_error_ratio()), 1e-9);
  EXPECT_EQ(widened.relative_rms_error(), before.relative_rms_error());
  Compare(*state);
  EXPECT_EQ(library_calls_, 1);
}

TEST_F(ExaminerTest, ALibraryWidensTheRuleFourTimesAtMostAndNeverNarrowsIt) {
  for (const auto& [error, scale] : {std::pair{40.0, 4.0}, std::pair{0.0, 1.0}}) {
    Restart(Library(error));
    const auto state = Get(1);
    Prepare(*state);
    const auto report = Compare(*state).numerics().outputs(0);
    EXPECT_NEAR(report.allowed_relative_rms_error(), scale * 0.0034, scale * 0.0002) << report.DebugString();
  }
}

TEST_F(ExaminerTest, ALibraryThatIsMissingLeavesTheModelAndSaysWhy) {
  Restart([](const sassay::v1::Workload&, device::Device&) { return absl::UnavailableError("no cuBLASLt here"); });
  const auto state = Get(1);
  Prepare(*state);
  RunGemm();
  const auto numerics = Compare(*state).numerics();
  EXPECT_TRUE(numerics.passed());
  EXPECT_EQ(numerics.library(), "");
  EXPECT_EQ(numerics.library_unavailable(), "no cuBLASLt here");
}

// Without the library a candidate is held to more: that must not outlast the reason.
TEST_F(ExaminerTest, ALibrarysTroubleIsAskedAboutAgainUnlessItStays) {
  const struct {
    absl::Status trouble;
    std::string first, second;  // what the comparisons say of the library's absence
    int made;
  } rows[] = {
      {absl::InternalError("a hiccup"), "a hiccup", "", 2},
      {absl::ResourceExhaustedError("no memory"), "", "", 2},  // room is made at once
      {absl::NotFoundError("none named"), "none named", "none named", 1},
      {absl::UnimplementedError("no engine"), "no engine", "no engine", 1},
  };
  for (const auto& row : rows) {
    int made = 0;
    Restart([&, library = Library(0)](const sassay::v1::Workload& workload,
                                      device::Device& device) -> absl::StatusOr<std::unique_ptr<Baseline>> {
      if (++made == 1) return row.trouble;
      return library(workload, device);
    });
    const auto state = Get(1);
    Prepare(*state);
    RunGemm();
    EXPECT_EQ(Compare(*state).numerics().library_unavailable(), row.first) << row.trouble;
    const auto again = Compare(*state).numerics();
    EXPECT_EQ(again.library_unavailable(), row.second) << row.trouble;
    EXPECT_EQ(again.library().empty(), !row.second.empty()) << row.trouble;
    EXPECT_EQ(made, row.made) << row.trouble;
  }
}

TEST_F(ExaminerTest, GoldenTensorsAreJudgedOnTheHost) {
  EXPECT_TRUE(examiner_->Takes(workload_));
  workload_.set_reference("golden:x.safetensors");
  EXPECT_FALSE(examiner_->Takes(workload_));
}

}  // namespace
}  // namespace sassay::judge::gpu
