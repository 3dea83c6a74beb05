#include "profiler_service/pipeline/barred_digests.h"

#include <unistd.h>

#include <filesystem>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay::pipeline {
namespace {

using testing::HasSubstr;

TEST(BarredDigests, OutliveARestart) {
  const std::string path = testing::TempDir() + "/barred_digests_test_" + std::to_string(getpid());
  std::filesystem::remove(path);
  BarredDigests(path).Wedged("d1", "GPU-1");
  BarredDigests(path).Wedged("d1", "GPU-1");
  EXPECT_FALSE(BarredDigests(path).WhyBarred("d1").has_value());
  BarredDigests(path).Wedged("d1", "GPU-2");
  EXPECT_THAT(BarredDigests(path).WhyBarred("d1"), testing::Optional(HasSubstr("GPU-1 and GPU-2")));
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace sassay::pipeline
