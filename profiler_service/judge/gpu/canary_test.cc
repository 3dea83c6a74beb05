#include "profiler_service/judge/gpu/canary.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_service/judge/gpu/testing/judge_device.h"

namespace sassay::judge::gpu {
namespace {

// The emulator has no bf16 tensor cores and no time: what is tested are the kernels' sums against the host's.
class CanaryKernels : public JudgeDeviceTest {
 protected:
  static constexpr uint32_t kBlocks = 2;

  template <typename Arguments>
  uint64_t SumOf(const std::string& kernel, Arguments arguments) {
    arguments.partials = Room(kBlocks * sizeof(CanaryPartial));
    EXPECT_TRUE(kernels().Launch(kernel, {kBlocks}, arguments).ok());
    uint64_t sum = 0;
    for (const CanaryPartial& block : DownloadAs<CanaryPartial>(arguments.partials, kBlocks)) {
      EXPECT_LE(block.begin_ns, block.end_ns);
      sum += block.sum;
    }
    return sum;
  }

  device::DeviceAddress Filled(uint64_t words) {
    const device::DeviceAddress memory = Room(words * 8);
    EXPECT_TRUE(kernels().Walk("sassay_canary_fill", words, CanaryFillArguments{memory, words}).ok());
    return memory;
  }
};

TEST_F(CanaryKernels, TheTensorKernelsSumIsTheHostsHoweverLongItWorks) {
  for (const uint32_t rounds : {0u, 1u, 3u}) {
    EXPECT_EQ(SumOf("sassay_canary_tensor", CanaryTensorArguments{0, rounds}), ExpectedTensorSum(kBlocks)) << rounds;
  }
}

TEST_F(CanaryKernels, TheCopyReadsEveryWordInEveryPassAndWritesWhatTheNextOneReads) {
  CanaryWork work;
  work.words = 4098;
  work.passes = 3;
  const device::DeviceAddress from = Filled(work.words), to = Room(work.words * 8);
  constexpr uint64_t kAdded = 0x1234567;
  EXPECT_EQ(SumOf("sassay_canary_copy", CanaryCopyArguments{from, to, work.words, kAdded, 0, work.passes}),
            ExpectedCopySum(work, 0));
  EXPECT_EQ(SumOf("sassay_canary_copy", CanaryCopyArguments{to, from, work.words, kAdded, 0, work.passes}),
            ExpectedCopySum(work, 1));
}

TEST_F(CanaryKernels, AWordThatChangedIsInTheSum) {
  CanaryWork work;
  work.words = 4096;
  work.passes = 1;
  const device::DeviceAddress from = Filled(work.words), to = Room(work.words * 8);
  const uint64_t spoilt = CanaryWord(1000) ^ (uint64_t{1} << 63);
  ASSERT_TRUE(kernels()
                  .device()
                  .Write(from + 8000, absl::MakeConstSpan(reinterpret_cast<const char*>(&spoilt), sizeof(spoilt)))
                  .ok());
  EXPECT_NE(SumOf("sassay_canary_copy", CanaryCopyArguments{from, to, work.words, 1, 0, work.passes}),
            ExpectedCopySum(work, 0));
}

TEST_F(CanaryKernels, ADeviceWithoutTimeHasNoCanary) {
  CanaryWork work;
  work.launches = 1;
  work.rounds = 0;
  work.words = 2;
  work.passes = 1;
  work.warm_up = absl::ZeroDuration();
  auto canary = Canary::Create(kernels(), work);
  ASSERT_TRUE(canary.ok()) << canary.status();
  EXPECT_EQ((*canary)->Run().status().code(), absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace sassay::judge::gpu
