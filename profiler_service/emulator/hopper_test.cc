// TMA and wgmma against plain loops: boxes of tensors, products in every layout; and what goes wrong with them.
#include <bit>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_service/emulator/descriptor/shared_matrix.h"
#include "profiler_service/emulator/ops/arithmetic/numeric.h"
#include "profiler_service/emulator/testing/emulator_fixture.h"

namespace sassay::emulator {
namespace {

using sassay::worker::RUN_MODE_CHECKED;
using sassay::worker::RUN_MODE_PLAIN;
using ::testing::HasSubstr;

#define ASSERT_RAN(execution)                                              \
  {                                                                        \
    const auto ran = (execution);                                          \
    ASSERT_EQ(ran.outcome, sassay::worker::RUN_OUTCOME_OK) << ran.message; \
  }

constexpr uint32_t kInt32 = 3, kFloat32 = 7, kBf16 = 9;  // CUtensorMapDataType

struct Coordinates {
  int32_t at[5] = {};
};

sassay::v1::TensorMap Map(uint32_t type, uint32_t element_bytes, const std::vector<uint64_t>& extents,
                          const std::vector<uint32_t>& box, uint32_t swizzle = 0) {
  sassay::v1::TensorMap map;
  map.set_data_type(type);
  map.set_swizzle(swizzle);
  uint64_t stride = element_bytes;
  for (size_t d = 0; d < extents.size(); ++d) {
    map.add_global_dim(extents[d]);
    map.add_box_dim(box[d]);
    map.add_element_stride(1);
    stride *= extents[d];
    if (d + 1 < extents.size()) map.add_global_stride_bytes(stride);
  }
  return map;
}

class HopperTest : public testing::TestWithParam<sassay::worker::RunMode> {
 protected:
  std::string Encoded(const sassay::v1::TensorMap& map, uint64_t base) {
    const auto bytes = emulated_.device().EncodeTensorMap(map, base);
    EXPECT_TRUE(bytes.ok()) << bytes.status();
    return bytes.ok() ? std::string(bytes->begin(), bytes->end()) : std::string(128, 0);
  }
  std::vector<int32_t> LoadBox(const sassay::v1::TensorMap& map, uint64_t base, const Coordinates& at, int bytes) {
    const uint64_t out = emulated_.Allocate(static_cast<uint64_t>(bytes), "out");
    const auto ran =
        emulated_.Run("load_box", {1, 1, 1}, {64, 1, 1},
                      {Encoded(map, base), Bytes(at), Bytes(map.global_dim_size()), Bytes(bytes), Bytes(out)},
                      static_cast<uint32_t>(bytes));
    EXPECT_EQ(ran.outcome, sassay::worker::RUN_OUTCOME_OK) << ran.message;
    return emulated_.Download<int32_t>(out, static_cast<size_t>(bytes) / 4);
  }
  Emulated emulated_{CompiledBundle("hopper"), GetParam()};
};

TEST_P(HopperTest, BoxesOfAnyRankComeRowByRowWithZerosOutside) {
  const std::vector<uint64_t> extents = {12, 5, 4, 3, 2};
  const std::vector<uint32_t> box = {8, 3, 2, 2, 2};
  std::vector<int32_t> values(12 * 5 * 4 * 3 * 2);
  std::iota(values.begin(), values.end(), 1);
  const uint64_t tensor = emulated_.Upload(values, "tensor");
  for (size_t rank = 1; rank <= 5; ++rank) {
    const Coordinates at = {{-4, 3, -1, 2, 1}};
    const auto map = Map(kInt32, 4, {extents.begin(), extents.begin() + static_cast<long>(rank)},
                         {box.begin(), box.begin() + static_cast<long>(rank)});
    std::vector<int32_t> expected;
    uint32_t count = 1;
    for (size_t d = 0; d < rank; ++d) count *= box[d];
    for (uint32_t i = 0; i < count; ++i) {
      uint32_t rest = i;
      bool inside = true;
      int64_t index = 0, stride = 1;
      for (size_t d = 0; d < rank; ++d) {
        const int64_t x = at.at[d] + static_cast<int64_t>(rest % box[d]);
        rest /= box[d];
        inside &= x >= 0 && x < static_cast<int64_t>(extents[d]);
        index += x * stride;
        stride *= static_cast<int64_t>(extents[d]);
      }
      expected.push_back(inside ? values[static_cast<size_t>(index)] : 0);
    }
    EXPECT_EQ(LoadBox(map, tensor, at, static_cast<int>(count * 4)), expected) << rank;
  }
}

// An H200 calls anything else an illegal instruction, inside of the tensor as before it.
TEST_P(HopperTest, BoxesBeginAtMultiplesOf16Bytes) {
  for (const int x : {-2, 1, 2, 6}) {
    Emulated emulated(CompiledBundle("hopper"), GetParam());
    const uint64_t tensor = emulated.Upload(std::vector<int32_t>(64), "tensor");
    const auto map = emulated.device().EncodeTensorMap(Map(kInt32, 4, {8, 8}, {8, 8}), tensor);
    ASSERT_TRUE(map.ok()) << map.status();
    const auto execution = emulated.Run("load_box", {1, 1, 1}, {64, 1, 1},
                                        {std::string(map->data(), map->size()), Bytes(Coordinates{{x, 0, 0, 0, 0}}),
                                         Bytes(2), Bytes(256), Bytes(emulated.Allocate(256))},
                                        1024);
    ASSERT_FALSE(execution.findings.empty()) << execution.message;
    EXPECT_EQ(execution.findings[0].code(), sassay::v1::VERDICT_CODE_ILLEGAL_INSTRUCTION);
    EXPECT_THAT(execution.findings[0].message(), HasSubstr("TMA takes multiples of 16 bytes"));
  }
}

TEST_P(HopperTest, SwizzlesExchangePiecesByTheAddressOfTheirRow) {
  std::vector<int32_t> values(32 * 16);
  std::iota(values.begin(), values.end(), 0);
  const uint64_t tensor = emulated_.Upload(values, "tensor");
  // Width in words; 16-byte piece p of row r comes to p ^ (row of 128 bytes % (width / 16)).
  for (const auto& [swizzle, width] : std::vector<std::pair<uint32_t, uint32_t>>{{1, 8}, {2, 16}, {3, 32}}) {
    const auto map = Map(kInt32, 4, {32, 16}, {width, 16}, swizzle);
    const auto out = LoadBox(map, tensor, {}, static_cast<int>(width * 16 * 4));
    for (uint32_t row = 0; row < 16; ++row) {
      for (uint32_t column = 0; column < width; ++column) {
        const uint32_t address = (row * width + column) * 4;
        const uint32_t swizzled = address ^ ((address >> 7) % (width / 4)) << 4;
        ASSERT_EQ(out[swizzled / 4], static_cast<int32_t>(row * 32 + column)) << swizzle << " " << row << " " << column;
      }
    }
  }
}

TEST_P(HopperTest, StridesBetweenElementsSkipRows) {
  std::vector<int32_t> values(8 * 9);
  std::iota(values.begin(), values.end(), 0);
  const uint64_t tensor = emulated_.Upload(values, "tensor");
  auto map = Map(kInt32, 4, {8, 9}, {8, 5});
  map.set_element_stride(1, 2);
  const auto out = LoadBox(map, tensor, {{0, 1, 0, 0, 0}}, 3 * 8 * 4);
  for (int row = 0; row < 3; ++row) EXPECT_EQ(out[static_cast<size_t>(row) * 8], (1 + 2 * row) * 8);
}

TEST_P(HopperTest, StoresLeaveOutWhatLiesOutside) {
  const auto map = Map(kFloat32, 4, {32, 16}, {32, 8}, 3);
  for (const int adds : {0, 1}) {
    const uint64_t tensor = emulated_.Upload(std::vector<float>(32 * 16, 100), "tensor");
    std::vector<float> tile(32 * 8);
    for (uint32_t row = 0; row < 8; ++row) {
      for (uint32_t column = 0; column < 32; ++column) {
        tile[((row * 128 + column * 4) ^ row % 8 << 4) / 4] = static_cast<float>(row * 32 + column);
      }
    }
    const uint64_t in = emulated_.Upload(tile, "in");
    const Coordinates at = {{4, 12, 0, 0, 0}};
    ASSERT_RAN(emulated_.Run("store_box", {1, 1, 1}, {64, 1, 1},
                             {Encoded(map, tensor), Bytes(at), Bytes(adds), Bytes(1024), Bytes(in), Bytes(1)}, 1024));
    const auto out = emulated_.Download<float>(tensor, 32 * 16);
    for (int row = 0; row < 16; ++row) {
      for (int column = 0; column < 32; ++column) {
        const bool stored = row >= 12 && column >= 4;
        const float value = static_cast<float>((row - 12) * 32 + column - 4);
        ASSERT_EQ(out[static_cast<size_t>(row) * 32 + static_cast<size_t>(column)], !stored ? 100
                                                                                    : adds  ? 100 + value
                                                                                            : value);
      }
    }
  }
}

TEST_P(HopperTest, PlainBulkCopiesGoThereAndBack) {
  std::vector<int32_t> values(64);
  std::iota(values.begin(), values.end(), -9);
  const uint64_t in = emulated_.Upload(values), out = emulated_.Allocate(256), sums = emulated_.Upload(values);
  ASSERT_RAN(emulated_.Run("bulk_round_trip", {1, 1, 1}, {32, 1, 1},
                           {Bytes(in), Bytes(out), Bytes(sums), Bytes(256), Bytes(256)}, 1024));
  EXPECT_EQ(emulated_.Download<int32_t>(out, 64), values);
  for (int32_t& value : values) value *= 2;
  EXPECT_EQ(emulated_.Download<int32_t>(sums, 64), values);
}

TEST_P(HopperTest, BytesThatNoCopyBringsAreADeadlock) {
  const uint64_t buffer = emulated_.Upload(std::vector<int32_t>(64, 1));
  const auto execution = emulated_.Run("bulk_round_trip", {1, 1, 1}, {32, 1, 1},
                                       {Bytes(buffer), Bytes(buffer), Bytes(buffer), Bytes(192), Bytes(256)}, 1024);
  EXPECT_EQ(execution.code, sassay::v1::VERDICT_CODE_MBARRIER_DEADLOCK);
  EXPECT_THAT(execution.message, HasSubstr("expect_tx asked for 256 bytes at the mbarrier at offset 0 of barrier, the "
                                           "copies deliver 192"));
}

TEST_P(HopperTest, CopiesPastTheirBufferAreFound) {
  const uint64_t small = emulated_.Upload(std::vector<int32_t>(32, 1), "A");
  const auto map = Map(kInt32, 4, {32, 512}, {32, 8});
  const auto execution = emulated_.Run("load_box", {1, 1, 1}, {64, 1, 1},
                                       {Encoded(map, small), Bytes(Coordinates{{0, 500, 0, 0, 0}}), Bytes(2),
                                        Bytes(1024), Bytes(emulated_.Allocate(1024))},
                                       1024);
  ASSERT_FALSE(execution.findings.empty()) << execution.message;
  EXPECT_EQ(execution.findings[0].code(), sassay::v1::VERDICT_CODE_OOB_GLOBAL_READ);
  EXPECT_EQ(execution.findings[0].buffer(), "A");
}

// ---- wgmma ----

constexpr uint32_t kM = 64, kN = 32;

struct Form {
  const char* name;
  uint32_t k, bytes;
  bool a_mn = false, b_mn = false, integer = false, negate_b = false;
  std::function<double(uint32_t)> value;          // of an element's bits
  std::function<uint32_t(std::mt19937&)> random;  // bits
  std::function<double(uint32_t)> value_b = {};   // where B's type is another
};

double Signed8(uint32_t bits) { return static_cast<int8_t>(bits); }

std::vector<Form> Forms() {
  const auto bf16 = [](uint32_t bits) { return double{Bf16ToFloat(static_cast<uint16_t>(bits))}; };
  const auto random_bf16 = [](std::mt19937& random) {
    return uint32_t{FloatToBf16(std::normal_distribution<float>()(random))};
  };
  const auto any = [](std::mt19937& random) { return random() & 0xff; };
  const auto small_float = [](std::mt19937& random) { return (random() & 0x80) | (0x28 + random() % 0x18); };
  return {
      {"product_0", 16, 2, false, false, false, false, bf16, random_bf16},
      {"product_1", 16, 2, false, false, false, true,
       [](uint32_t bits) { return double{HalfToFloat(static_cast<uint16_t>(bits))}; },
       [](std::mt19937& random) { return uint32_t{FloatToHalf(std::normal_distribution<float>()(random))}; }},
      {"product_2", 8, 4, false, false, false, false,
       [](uint32_t bits) { return double{std::bit_cast<float>(bits & 0xffffe000)}; },
       [](std::mt19937& random) { return std::bit_cast<uint32_t>(std::normal_distribution<float>()(random)); }},
      {"product_3", 32, 1, false, false, false, false, [](uint32_t bits) { return double{Decode(bits, kE4m3Format)}; },
       small_float},
      {"product_4", 32, 1, false, false, false, false, [](uint32_t bits) { return double{Decode(bits, kE5m2Format)}; },
       small_float, [](uint32_t bits) { return double{Decode(bits, kE4m3Format)}; }},
      {"product_5", 32, 1, false, false, true, false, Signed8, any},
      {"product_8", 32, 1, false, false, true, false, [](uint32_t bits) { return double{static_cast<double>(bits)}; },
       any},
      {"product_6", 16, 2, true, true, false, false, bf16, random_bf16},
      {"product_7", 16, 2, false, true, false, false, bf16, random_bf16},
  };
}

uint64_t Descriptor(uint32_t start, uint32_t lbo, uint32_t sbo, uint64_t mode) {
  return uint64_t{start >> 4} | uint64_t{lbo >> 4} << 16 | uint64_t{sbo >> 4} << 32 | mode << 62;
}

// Width of the swizzle's row in bytes by wgmma's code for it.
uint32_t WidthOf(uint64_t mode) { return mode == 0 ? 16 : 256 >> mode; }

// The layouts of PTX ISA 9.0, 9.7.15.5.1.2, written down once more and from the other side: where TMA would put it.
uint32_t Place(const Form& form, bool mn_major, uint64_t mode, uint32_t rows, uint32_t mn, uint32_t k) {
  const uint32_t width = WidthOf(mode), inner = (mn_major ? mn : k) * form.bytes, outer = mn_major ? k : mn;
  const uint32_t outers = mn_major ? form.k : rows;
  const uint32_t linear = inner / width * (outers * width) + outer * width + inner % width;
  return mode == 0 ? linear : linear ^ ((linear >> 7) % (width / 16)) << 4;
}

uint64_t DescribeFactor(const Form& form, bool mn_major, uint64_t mode, uint32_t rows, uint32_t start) {
  const uint32_t width = WidthOf(mode), outers = mn_major ? form.k : rows;
  const uint32_t box = outers * width, eight = 8 * width;
  // Along the inner dimension from box to box, along the outer one from eight rows to the next.
  if (mode == 0 && mn_major) return Descriptor(start, eight, box, mode);
  if (mn_major) return Descriptor(start, box, eight, mode);
  return Descriptor(start, mode == 0 ? box : 16, eight, mode);
}

TEST_P(HopperTest, ProductsAreRightInEveryTypeAndLayout) {
  std::mt19937 random(7);
  for (const Form& form : Forms()) {
    for (uint64_t mode = 0; mode < 4; ++mode) {
      std::vector<uint32_t> a(kM * form.k), b(kN * form.k);
      for (uint32_t& bits : a) bits = form.random(random);
      for (uint32_t& bits : b) bits = form.random(random);
      constexpr uint32_t kStartOfB = 16384;
      std::vector<uint8_t> image(2 * kStartOfB);
      for (uint32_t k = 0; k < form.k; ++k) {
        for (uint32_t m = 0; m < kM; ++m) {
          std::memcpy(&image[Place(form, form.a_mn, mode, kM, m, k)], &a[m * form.k + k], form.bytes);
        }
        for (uint32_t n = 0; n < kN; ++n) {
          std::memcpy(&image[kStartOfB + Place(form, form.b_mn, mode, kN, n, k)], &b[n * form.k + k], form.bytes);
        }
      }
      const uint64_t out = emulated_.Allocate(128 * 16 * 4, "out"), in = emulated_.Upload(image, "image");
      ASSERT_RAN(emulated_.Run(
          form.name, {1, 1, 1}, {128, 1, 1},
          {Bytes(in), Bytes(static_cast<int>(image.size())), Bytes(DescribeFactor(form, form.a_mn, mode, kM, 0)),
           Bytes(DescribeFactor(form, form.b_mn, mode, kN, kStartOfB)), Bytes(out), Bytes(0)},
          static_cast<uint32_t>(image.size())));
      const auto result = emulated_.Download<uint32_t>(out, 128 * 16);
      for (uint32_t thread = 0; thread < 128; ++thread) {
        for (uint32_t i = 0; i < 16; ++i) {
          const uint32_t m = thread / 32 * 16 + thread % 32 / 4 + i % 4 / 2 * 8, n = i / 4 * 8 + thread % 4 * 2 + i % 2;
          double expected = i;
          for (uint32_t k = 0; k < form.k; ++k) {
            const double factor = form.value(a[m * form.k + k]);
            expected +=
                factor * (form.value_b ? form.value_b : form.value)(b[n * form.k + k]) * (form.negate_b ? -1 : 1);
          }
          const uint32_t bits = result[thread * 16 + i];
          const double actual = form.integer ? static_cast<int32_t>(bits) : std::bit_cast<float>(bits);
          const double bound = form.bytes == 1 ? 1e-3 : 1e-5;  // wgmma keeps 13 bits of sums of 8-bit floats
          ASSERT_NEAR(actual, expected, form.integer ? 0 : bound * (16 + std::fabs(expected)))
              << form.name << " mode " << mode << " (" << m << ", " << n << ")";
        }
      }
    }
  }
}

TEST_P(HopperTest, FactorsInRegistersAndResultsInHalves) {
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  const Form form = Forms()[1];
  std::vector<uint16_t> a(kM * 16), b(kN * 16);
  for (uint16_t& bits : a) bits = FloatToHalf(normal(random));
  for (uint16_t& bits : b) bits = FloatToHalf(normal(random));
  std::vector<uint8_t> image(4096);
  for (uint32_t n = 0; n < kN; ++n) {
    for (uint32_t k = 0; k < 16; ++k) std::memcpy(&image[Place(form, false, 3, kN, n, k)], &b[n * 16 + k], 2);
  }
  std::vector<uint32_t> registers(128 * 4);
  for (uint32_t thread = 0; thread < 128; ++thread) {
    for (uint32_t reg = 0; reg < 4; ++reg) {
      const uint32_t m = thread / 32 * 16 + thread % 32 / 4 + reg % 2 * 8, k = thread % 4 * 2 + reg / 2 * 8;
      registers[thread * 4 + reg] = a[m * 16 + k] | uint32_t{a[m * 16 + k + 1]} << 16;
    }
  }
  const uint64_t in = emulated_.Upload(image), factor = emulated_.Upload(registers), out = emulated_.Allocate(4096);
  ASSERT_RAN(emulated_.Run(
      "product_registers", {1, 1, 1}, {128, 1, 1},
      {Bytes(in), Bytes(4096), Bytes(factor), Bytes(DescribeFactor(form, false, 3, kN, 0)), Bytes(out)}, 4096));
  const auto result = emulated_.Download<uint16_t>(out, 128 * 16);
  for (uint32_t thread = 0; thread < 128; ++thread) {
    for (uint32_t i = 0; i < 16; ++i) {
      const uint32_t m = thread / 32 * 16 + thread % 32 / 4 + i % 4 / 2 * 8, n = i / 4 * 8 + thread % 4 * 2 + i % 2;
      double expected = 0;
      for (uint32_t k = 0; k < 16; ++k) expected += HalfToFloat(a[m * 16 + k]) * HalfToFloat(b[n * 16 + k]);
      ASSERT_NEAR(HalfToFloat(result[thread * 16 + i]), expected, 2e-3 * (1 + std::fabs(expected)));
    }
  }
}

// ---- clusters ----

TEST_P(HopperTest, BlocksOfAClusterSeeEachOthersSharedMemory) {
  const uint64_t out = emulated_.Allocate(4 * 32 * 4), atomics = emulated_.Allocate(8);
  ASSERT_RAN(emulated_.Run("exchange", {4, 1, 1}, {32, 1, 1}, {Bytes(out), Bytes(atomics)}));
  const auto values = emulated_.Download<int>(out, 128);
  for (int i = 0; i < 128; ++i) EXPECT_EQ(values[static_cast<size_t>(i)], (i / 32 ^ 1) * 100 + i % 32);
  EXPECT_THAT(emulated_.Download<int>(atomics, 2), testing::ElementsAre(64, 64));
}

TEST_P(HopperTest, OneFetchServesAllBlocksOfACluster) {
  std::vector<int> values(3 * 128);
  std::iota(values.begin(), values.end(), 5);
  const uint64_t in = emulated_.Upload(values), out = emulated_.Allocate(2 * 3 * 512);
  ASSERT_RAN(emulated_.Run("multicast", {2, 1, 1}, {32, 1, 1}, {Bytes(in), Bytes(out)}));
  auto twice = values;
  twice.insert(twice.end(), values.begin(), values.end());
  EXPECT_EQ(emulated_.Download<int>(out, 2 * 3 * 128), twice);
}

TEST_P(HopperTest, GridsThatAreNoMultipleOfTheClusterAreRefused) {
  const auto execution = emulated_.Run("exchange", {3, 1, 1}, {32, 1, 1}, {Bytes(uint64_t{0}), Bytes(uint64_t{0})});
  EXPECT_THAT(execution.message, HasSubstr("no multiple of the cluster 2x1x1"));
}

INSTANTIATE_TEST_SUITE_P(Modes, HopperTest, testing::Values(RUN_MODE_PLAIN, RUN_MODE_CHECKED),
                         [](const auto& info) { return sassay::worker::RunMode_Name(info.param); });

// ---- one mistake each, in a checked run ----

class HopperFindingsTest : public testing::Test {
 protected:
  device::Execution Product(int flaw) {
    const uint64_t in = emulated_.Upload(std::vector<uint8_t>(32768, 1), "image"),
                   out = emulated_.Allocate(8192, "out");
    const uint64_t descriptor = Descriptor(0, 16, 1024, 1);
    return emulated_.Run("product_0", {1, 1, 1}, {128, 1, 1},
                         {Bytes(in), Bytes(32768), Bytes(descriptor), Bytes(descriptor), Bytes(out), Bytes(flaw)},
                         32768);
  }
  Emulated emulated_{CompiledBundle("hopper"), RUN_MODE_CHECKED};
};

TEST_F(HopperFindingsTest, HonestProductsDrawNone) { EXPECT_EQ(Product(0).code, sassay::v1::VERDICT_CODE_OK); }

TEST_F(HopperFindingsTest, StoresThatNoProxyFenceFollows) {
  const auto execution = Product(1);
  EXPECT_EQ(execution.code, sassay::v1::VERDICT_CODE_ASYNC_RACE);
  EXPECT_THAT(execution.message, HasSubstr("no fence.proxy.async between"));
}

TEST_F(HopperFindingsTest, FactorsOverwrittenBeforeTheWait) {
  const auto execution = Product(2);
  EXPECT_EQ(execution.code, sassay::v1::VERDICT_CODE_ASYNC_RACE);
  EXPECT_THAT(execution.message, HasSubstr("still reads there"));
}

TEST_F(HopperFindingsTest, ResultsReadBeforeTheWait) {
  const auto execution = Product(3);
  EXPECT_EQ(execution.code, sassay::v1::VERDICT_CODE_ASYNC_RACE);
  EXPECT_THAT(execution.message, HasSubstr("before a wgmma.wait_group has waited for its group"));
}

TEST_F(HopperFindingsTest, ProductsWithoutAFenceBefore) {
  const auto execution = Product(4);
  EXPECT_EQ(execution.code, sassay::v1::VERDICT_CODE_ASYNC_RACE);
  EXPECT_THAT(execution.message, HasSubstr("by a warp that has executed no wgmma.fence"));
}

TEST_F(HopperFindingsTest, DescriptorsOfAnotherSwizzleThanTheTensorMaps) {
  const uint64_t tensor = emulated_.Upload(std::vector<uint16_t>(64 * 64, 0x3f80), "tensor"),
                 out = emulated_.Allocate(8192, "out");
  const auto encoded = emulated_.device().EncodeTensorMap(Map(kBf16, 2, {64, 64}, {64, 64}, 3), tensor);
  ASSERT_TRUE(encoded.ok()) << encoded.status();
  for (const uint64_t mode : {1, 2, 0}) {  // of wgmma's: 128 bytes, 64, none
    const auto execution = emulated_.Run(
        "product_of_box", {1, 1, 1}, {128, 1, 1},
        {std::string(encoded->begin(), encoded->end()), Bytes(Descriptor(0, 16, 1024, mode)), Bytes(out)}, 8192);
    if (mode == 1) {
      EXPECT_EQ(execution.code, sassay::v1::VERDICT_CODE_OK) << execution.message;
      continue;
    }
    EXPECT_EQ(execution.code, sassay::v1::VERDICT_CODE_DESCRIPTOR_INVALID) << execution.message;
    EXPECT_THAT(execution.message, HasSubstr(mode == 2 ? "says a swizzle of 64 bytes" : "says no swizzle"));
    EXPECT_THAT(execution.message, HasSubstr("by a tensor map with a swizzle of 128 bytes at hopper.cu:"));
  }
}

TEST_F(HopperFindingsTest, TilesReadBeforeTheyHaveCome) {
  const uint64_t in = emulated_.Upload(std::vector<int32_t>(64, 5)), out = emulated_.Allocate(4);
  const auto execution = emulated_.Run("read_early", {1, 1, 1}, {1, 1, 1}, {Bytes(in), Bytes(out)});
  EXPECT_EQ(execution.code, sassay::v1::VERDICT_CODE_ASYNC_RACE);
  EXPECT_THAT(execution.message, HasSubstr("nobody has waited for it"));
}

TEST_F(HopperFindingsTest, TilesStoredWithoutAProxyFence) {
  const auto map = Map(kFloat32, 4, {32, 16}, {32, 8}, 3);
  const uint64_t tensor = emulated_.Upload(std::vector<float>(32 * 16)), in = emulated_.Upload(std::vector<float>(256));
  const auto encoded = emulated_.device().EncodeTensorMap(map, tensor);
  ASSERT_TRUE(encoded.ok());
  for (const int fenced : {0, 1}) {
    const auto execution = emulated_.Run("store_box", {1, 1, 1}, {64, 1, 1},
                                         {std::string(encoded->begin(), encoded->end()), Bytes(Coordinates()), Bytes(0),
                                          Bytes(1024), Bytes(in), Bytes(fenced)},
                                         1024);
    EXPECT_EQ(execution.code, fenced ? sassay::v1::VERDICT_CODE_OK : sassay::v1::VERDICT_CODE_ASYNC_RACE)
        << execution.message;
  }
}

TEST_F(HopperFindingsTest, PeersThatHaveLeftTheCluster) {
  const auto execution = emulated_.Run("left_early", {2, 1, 1}, {32, 1, 1}, {Bytes(emulated_.Allocate(128))});
  EXPECT_EQ(execution.code, sassay::v1::VERDICT_CODE_OOB_SHARED);
  EXPECT_THAT(execution.message, HasSubstr("of block 1 of the cluster, which has exited"));
}

TEST_F(HopperFindingsTest, BytesThatAreNoTensorMap) {
  const auto execution = emulated_.Run(
      "load_box", {1, 1, 1}, {64, 1, 1},
      {std::string(128, 7), Bytes(Coordinates()), Bytes(2), Bytes(0), Bytes(emulated_.Allocate(16))}, 1024);
  ASSERT_FALSE(execution.findings.empty()) << execution.message;
  EXPECT_EQ(execution.findings[0].code(), sassay::v1::VERDICT_CODE_DESCRIPTOR_INVALID);
}

}  // namespace
}  // namespace sassay::emulator
