#include "profiler_service/judge/gpu/bytes.h"

#include "common/workload/definition.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_service/device/poison.h"
#include "profiler_service/judge/gpu/operations.h"
#include "profiler_service/judge/gpu/testing/judge_device.h"
#include "profiler_service/judge/numerics/element.h"

namespace sassay::judge::gpu {
namespace {

constexpr sassay::v1::DType kDTypes[] = {
    sassay::v1::DTYPE_FLOAT64,       sassay::v1::DTYPE_FLOAT32, sassay::v1::DTYPE_FLOAT16,
    sassay::v1::DTYPE_BFLOAT16,      sassay::v1::DTYPE_INT64,   sassay::v1::DTYPE_FLOAT8_E5M2,
    sassay::v1::DTYPE_FLOAT8_E4M3FN, sassay::v1::DTYPE_INT32,   sassay::v1::DTYPE_INT16,
    sassay::v1::DTYPE_INT8,          sassay::v1::DTYPE_UINT8,   sassay::v1::DTYPE_BOOL};

sassay::v1::TensorSpec Spec(sassay::v1::DType dtype, std::vector<int64_t> shape) {
  sassay::v1::TensorSpec spec;
  spec.set_name("T");
  spec.set_dtype(dtype);
  for (int64_t extent : shape) spec.add_shape(extent);
  return spec;
}

std::string Pattern(uint64_t size, uint64_t seed, uint64_t offset) {
  std::string bytes(size, '\0');
  device::FillPoison(absl::MakeSpan(bytes.data(), bytes.size()), seed, offset);
  return bytes;
}

class Bytes : public JudgeDeviceTest {
 protected:
  void ExpectSameTensor(const sassay::v1::TensorSpec& spec, Distribution distribution, const IntegerRange& range) {
    const uint64_t seed = 0xFEDCBA9876543210, size = TensorBytes(spec);
    const device::DeviceAddress at = Room(size + 8);
    const absl::Status made = GenerateTensor(kernels(), spec, seed, 3, distribution, range, at);
    ASSERT_TRUE(made.ok()) << made;
    const std::string want = judge::GenerateTensor(spec, seed, 3, distribution, 1, range);
    EXPECT_EQ(Download(at, size + 8), want + std::string(8, '\x5A'))
        << DTypeName(spec.dtype()) << ", distribution " << static_cast<int>(distribution);
  }
};

TEST_F(Bytes, InputsOfEveryTypeAndDistributionAreTheCpusToTheBit) {
  for (sassay::v1::DType dtype : kDTypes) {
    for (int distribution = 0; distribution <= static_cast<int>(Distribution::kDecoy); ++distribution) {
      ExpectSameTensor(Spec(dtype, {7, 53}), static_cast<Distribution>(distribution), {});
    }
    ExpectSameTensor(Spec(dtype, {1001}), Distribution::kNormal, {-3, 100000});
  }
}

TEST_F(Bytes, AConvertedTensorIsTheCpusToTheBit) {
  std::vector<double> values = {0.0,   -0.0,     1,      -1,     1.0 / 3, 1e-3,   448,      465,       57344,
                                65504, 65519.99, 65520,  3.4e38, 1e300,   -1e300, HUGE_VAL, -HUGE_VAL, 1e-8,
                                6e-8,  1e-40,    5e-324, 255.5,  127.5,   -128.5, 2.5,      3.5};
  for (int i = 0; i < 500; ++i) values.push_back(std::sin(i * 12.9898) * std::exp2(i % 60 - 30));
  const std::string doubles = EncodeDoubles(sassay::v1::DTYPE_FLOAT64, values);
  const device::DeviceAddress from = Upload(doubles);
  for (sassay::v1::DType dtype : kDTypes) {
    const Element element = *ElementOf(dtype);
    const std::string want = EncodeDoubles(dtype, values);
    const device::DeviceAddress to = Room(want.size()), back = Room(doubles.size());
    const auto count = static_cast<int64_t>(values.size());
    ASSERT_TRUE(Convert(kernels(), {from, Element::kFloat64}, {to, element}, count).ok());
    ASSERT_TRUE(Convert(kernels(), {to, element}, {back, Element::kFloat64}, count).ok());
    EXPECT_EQ(Download(to, want.size()), want) << DTypeName(dtype);
    EXPECT_EQ(DownloadAs<double>(back, values.size()), DecodeDoubles(dtype, want)) << DTypeName(dtype);
  }
}

TEST_F(Bytes, APatternIsThatOfPoisonWhereverItStarts) {
  for (uint64_t offset : {0, 1, 7, 8, 65536 + 3}) {
    for (uint64_t size : {0, 1, 7, 8, 9, 4099}) {
      const device::DeviceAddress at = Room(size + 24);
      ASSERT_TRUE(FillPattern(kernels(), at + 3, size, 99, offset).ok());
      EXPECT_EQ(Download(at, size + 24), std::string(3, '\x5A') + Pattern(size, 99, offset) + std::string(21, '\x5A'));
    }
  }
}

TEST_F(Bytes, AChangedGuardIsCountedWithItsFirstAndLastByte) {
  std::string bytes = Pattern(9001, 5, 13);
  const auto check = [&] { return *CheckPattern(kernels(), Upload(bytes), bytes.size(), 5, 13); };
  EXPECT_EQ(check().count, 0);
  for (size_t at : {17, 18, 8999}) bytes[at] ^= 1;
  const ByteDifference found = check();
  EXPECT_EQ(found.count, 3);
  EXPECT_EQ(found.first, 17);
  EXPECT_EQ(found.last, 8999);
}

TEST_F(Bytes, ADifferenceIsCountedByteByByte) {
  const std::string before = Pattern(5003, 1, 0);
  std::string after = before;
  const auto difference = [&] { return *Difference(kernels(), Upload(before), Upload(after), before.size()); };
  EXPECT_EQ(difference().count, 0);
  for (size_t at : {4, 5, 5002}) after[at] ^= 0x80;
  const ByteDifference found = difference();
  EXPECT_EQ(found.count, 3);
  EXPECT_EQ(found.first, 4);
  EXPECT_EQ(found.last, 5002);
}

}  // namespace
}  // namespace sassay::judge::gpu
