#include "profiler_service/judge/numerics/element.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "common/workload/definition.h"
#include "gtest/gtest.h"

namespace sassay::judge {
namespace {

using namespace sassay::v1;  // NOLINT: dtype names

double ViaBits(DType dtype, uint32_t bits) {
  char bytes[8] = {};
  std::memcpy(bytes, &bits, sizeof(bits));
  return LoadElement(dtype, bytes);
}

uint32_t BitsOf(DType dtype, double value) {
  char bytes[8] = {};
  StoreElement(dtype, value, bytes);
  uint32_t bits;
  std::memcpy(&bits, bytes, sizeof(bits));
  return bits;
}

TEST(Element, EveryBfloatAndHalfAndFp8PatternSurvivesARoundTrip) {
  for (DType dtype : {DTYPE_BFLOAT16, DTYPE_FLOAT16, DTYPE_FLOAT8_E4M3FN, DTYPE_FLOAT8_E5M2}) {
    const uint32_t patterns = 1u << (8 * DTypeBytes(dtype));
    for (uint32_t bits = 0; bits < patterns; ++bits) {
      const double value = ViaBits(dtype, bits);
      if (!std::isnan(value)) {
        ASSERT_EQ(BitsOf(dtype, value), bits) << DType_Name(dtype) << " " << value;
      }
    }
  }
}

TEST(Element, RoundsToNearestEven) {
  EXPECT_EQ(RoundTo(DTYPE_BFLOAT16, 1.0 + 1.0 / 256), 1.0);              // half way, even below
  EXPECT_EQ(RoundTo(DTYPE_BFLOAT16, 1.0 + 3.0 / 256), 1.0 + 4.0 / 256);  // half way, even above
  EXPECT_EQ(RoundTo(DTYPE_FLOAT16, 2049.0), 2048.0);
  EXPECT_EQ(RoundTo(DTYPE_FLOAT16, 65520.0), std::numeric_limits<double>::infinity());
  EXPECT_EQ(RoundTo(DTYPE_FLOAT8_E4M3FN, 1000.0), 448.0);
  EXPECT_EQ(RoundTo(DTYPE_FLOAT16, std::ldexp(1.0, -25)), 0.0);
  EXPECT_EQ(RoundTo(DTYPE_FLOAT16, std::ldexp(1.5, -24)), std::ldexp(2.0, -24));
}

TEST(Element, IntegersSaturate) {
  EXPECT_EQ(RoundTo(DTYPE_INT8, 300), 127);
  EXPECT_EQ(RoundTo(DTYPE_UINT8, -3), 0);
  EXPECT_EQ(RoundTo(DTYPE_INT32, -1e12), -2147483648.0);
  EXPECT_EQ(RoundTo(DTYPE_INT64, 1e30), static_cast<double>(std::numeric_limits<int64_t>::max()));
}

TEST(Element, UlpIsTheDistanceToTheNextNumber) {
  EXPECT_EQ(UlpAt(DTYPE_BFLOAT16, 1.0), 1.0 / 128);
  EXPECT_EQ(UlpAt(DTYPE_BFLOAT16, -3.9), 2.0 / 128);
  EXPECT_EQ(UlpAt(DTYPE_FLOAT16, 0.0), std::ldexp(1.0, -24));
  EXPECT_EQ(UlpAt(DTYPE_FLOAT32, 1.0), std::ldexp(1.0, -23));
  EXPECT_EQ(UlpAt(DTYPE_INT32, 7.0), 0.0);
}

}  // namespace
}  // namespace sassay::judge
