#include "common/bundle/tensor_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace sassay {
namespace {

using ::testing::HasSubstr;

// A[128, 256] in bf16, boxes of 64 x 64 with a 128-byte swizzle: what every Hopper GEMM has.
v1::TensorMap Good() {
  v1::TensorMap map;
  map.set_data_type(9);
  map.mutable_base()->set_buffer(0);
  for (const uint64_t extent : {256, 128}) map.add_global_dim(extent);
  map.add_global_stride_bytes(512);
  for (const uint32_t extent : {64, 64}) map.add_box_dim(extent);
  for (int i = 0; i < 2; ++i) map.add_element_stride(1);
  map.set_swizzle(3);
  map.set_l2_promotion(2);
  return map;
}

TEST(TensorMap, AcceptsWhatAGemmAsksFor) {
  EXPECT_EQ(ValidateTensorMap(Good()), absl::OkStatus());
  EXPECT_EQ(TensorMapExtentBytes(Good()), 127u * 512 + 512);
}

TEST(TensorMap, ExtentOverflowIsSeen) {
  v1::TensorMap map = Good();
  for (int i = 0; i < 3; ++i) {
    map.add_global_dim(uint64_t{1} << 32);
    map.add_global_stride_bytes((uint64_t{1} << 40) - 16);
  }
  EXPECT_FALSE(TensorMapExtentBytes(map).has_value());
}

struct BadCase {
  const char* name;
  std::function<void(v1::TensorMap&)> damage;
  const char* words;
};

class BadTensorMap : public ::testing::TestWithParam<BadCase> {};

TEST_P(BadTensorMap, IsRefusedWithTheField) {
  v1::TensorMap map = Good();
  GetParam().damage(map);
  EXPECT_THAT(std::string(ValidateTensorMap(map).message()), HasSubstr(GetParam().words));
}

INSTANTIATE_TEST_SUITE_P(
    Cases, BadTensorMap,
    ::testing::Values(
        BadCase{"DataType", [](auto& m) { m.set_data_type(16); }, "data_type: 16"},
        BadCase{"Rank0", [](auto& m) { m.clear_global_dim(); }, "global_dim: 0"},
        BadCase{"Rank6",
                [](auto& m) {
                  for (int i = 0; i < 4; ++i) m.add_global_dim(1);
                },
                "global_dim: 6"},
        BadCase{"StrideCount", [](auto& m) { m.add_global_stride_bytes(16); }, "global_stride_bytes: 2"},
        BadCase{"BoxCount", [](auto& m) { m.add_box_dim(1); }, "box_dim: 3"},
        BadCase{"ElementStrideCount", [](auto& m) { m.clear_element_stride(); }, "element_stride: 0"},
        BadCase{"DimZero", [](auto& m) { m.set_global_dim(1, 0); }, "global_dim[1]: 0"},
        BadCase{"DimHuge", [](auto& m) { m.set_global_dim(1, (uint64_t{1} << 32) + 1); }, "global_dim[1]"},
        BadCase{"BoxZero", [](auto& m) { m.set_box_dim(1, 0); }, "box_dim[1]: 0"},
        BadCase{"BoxHuge", [](auto& m) { m.set_box_dim(1, 257); }, "box_dim[1]: 257"},
        BadCase{"ElementStride", [](auto& m) { m.set_element_stride(1, 9); }, "element_stride[1]: 9"},
        BadCase{"BaseAlignment", [](auto& m) { m.mutable_base()->set_offset_bytes(8); }, "base.offset_bytes: 8"},
        BadCase{"StrideAlignment", [](auto& m) { m.set_global_stride_bytes(0, 520); }, "global_stride_bytes[0]: 520"},
        BadCase{"StrideHuge", [](auto& m) { m.set_global_stride_bytes(0, uint64_t{1} << 40); }, "less than 2^40"},
        BadCase{"SwizzleSpan", [](auto& m) { m.set_box_dim(0, 128); }, "at most the swizzle's span of 128"},
        BadCase{"InnerBytes", [](auto& m) { m.set_box_dim(0, 4); }, "a multiple of 16"},
        BadCase{"Interleave32",
                [](auto& m) {
                  m.add_global_dim(1);
                  m.add_global_stride_bytes(512);
                  m.add_box_dim(1);
                  m.add_element_stride(1);
                  m.set_interleave(2);
                },
                "swizzle: 3, expected 1"},
        BadCase{"InterleaveInnerBytes",
                [](auto& m) {
                  m.add_global_dim(1);
                  m.add_global_stride_bytes(512);
                  m.add_box_dim(1);
                  m.add_element_stride(1);
                  m.set_interleave(1);
                  m.set_box_dim(0, 4);
                },
                "a multiple of 16"},
        BadCase{"InterleaveRank", [](auto& m) { m.set_interleave(1); }, "3 to 5 extents"},
        BadCase{"Swizzle", [](auto& m) { m.set_swizzle(7); }, "swizzle: 7"},
        BadCase{"L2", [](auto& m) { m.set_l2_promotion(4); }, "l2_promotion: 4"},
        BadCase{"Fill", [](auto& m) { m.set_oob_fill(2); }, "oob_fill: 2"},
        BadCase{"FillOfIntegers",
                [](auto& m) {
                  m.set_data_type(1);
                  m.set_oob_fill(1);
                },
                "not a floating-point type"},
        BadCase{"GappedBox", [](auto& m) { m.set_data_type(15); }, "box_dim[0]: 64, expected 128"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace sassay
