// Interleaved layouts: which 16 bytes of global memory lie where in a box, as an H200 dumped them
// (tests/gpu/tma_interleave.py), row by row.
#include "profiler_service/emulator/descriptor/tensor_geometry.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay::emulator {
namespace {

constexpr uint32_t kUint16 = 1, kFloat32 = 7;  // CUtensorMapDataType
constexpr uint64_t kBase = 1 << 20;

struct Layout {
  std::vector<uint64_t> extents, strides;
  std::vector<uint32_t> box;
  uint32_t interleave = 1, data_type = kUint16, swizzle = 0;
};

sassay::v1::TensorMap Map(const Layout& layout) {
  sassay::v1::TensorMap map;
  map.set_data_type(layout.data_type);
  map.set_interleave(layout.interleave);
  map.set_swizzle(layout.swizzle);
  for (const uint64_t extent : layout.extents) map.add_global_dim(extent), map.add_element_stride(1);
  for (const uint64_t stride : layout.strides) map.add_global_stride_bytes(stride);
  for (const uint32_t extent : layout.box) map.add_box_dim(extent);
  return map;
}

// "289-304 545-560": of each row the first and the last piece of 16 bytes that it has of the tensor, counted from the
// tensor's base; "3+288-300" where three pieces outside come first, "-" where all are outside.
std::string Rows(const Layout& layout, const std::vector<int32_t>& at) {
  const auto encoded = EncodeTensorGeometry(Map(layout), kBase);
  if (!encoded.ok()) return encoded.status().ToString();
  TensorGeometry geometry;
  if (!DecodeTensorGeometry(reinterpret_cast<const uint8_t*>(encoded->data()), geometry)) return "no map";
  int32_t coordinates[kMaxTensorRank] = {};
  std::copy(at.begin(), at.end(), coordinates);
  std::string text;
  ForBoxRows(geometry, coordinates, [&](const BoxRow& row) {
    if (!text.empty()) text += ' ';
    if (row.begin >= row.end) {
      text += '-';
      return;
    }
    const uint64_t first = (row.address - kBase) / 16;
    if (row.begin != 0) text += std::to_string(row.begin / 16) + "+";
    text += std::to_string(first) + "-" + std::to_string(first + (row.end - row.begin) / 16 - 1);
  });
  return text + ", " + std::to_string(geometry.BoxBytes()) + " bytes";
}

TEST(InterleaveTest, ABoxHasOneSliceOfChannelsAlongW) {
  EXPECT_EQ(Rows({{32, 64, 6}, {512, 4096}, {16, 8, 2}}, {1, 1, 1}), "289-304 545-560, 512 bytes");
  // However many channels the box counts, and whatever a channel is.
  EXPECT_EQ(Rows({{32, 64, 6}, {512, 4096}, {16, 1, 2}}, {1, 1, 1}), "289-304 545-560, 512 bytes");
  EXPECT_EQ(Rows({{32, 64, 6}, {512, 4096}, {16, 32, 2}}, {1, 0, 1}), "257-272 513-528, 512 bytes");
  EXPECT_EQ(Rows({{32, 64, 6}, {512, 4096}, {16, 8, 2}, 1, kFloat32}, {1, 4, 1}), "385-400 641-656, 512 bytes");
}

TEST(InterleaveTest, CoordinatesCountSlices) {
  EXPECT_EQ(Rows({{32, 64, 6}, {512, 4096}, {16, 16, 2}}, {1, 63, 1}), "2273-2288 2529-2544, 512 bytes");
  EXPECT_EQ(Rows({{32, 8, 6}, {512, 4096}, {16, 1, 2}}, {1, 7, 1}), "481-496 737-752, 512 bytes");
  EXPECT_EQ(Rows({{32, 8, 6}, {512, 4096}, {16, 1, 2}}, {1, 8, 1}), "- -, 512 bytes");
  EXPECT_EQ(Rows({{32, 64, 6}, {512, 4096}, {16, 16, 2}}, {1, -1, 1}), "- -, 512 bytes");
}

TEST(InterleaveTest, WhatIsOutsideAlongWIsLeftOut) {
  EXPECT_EQ(Rows({{30, 64, 6}, {512, 4096}, {16, 8, 2}}, {20, 1, 1}), "308-317 564-573, 512 bytes");
  EXPECT_EQ(Rows({{30, 64, 6}, {512, 4096}, {16, 8, 2}}, {-3, 1, 1}), "3+288-300 3+544-556, 512 bytes");
}

TEST(InterleaveTest, FourAndFiveDimensions) {
  EXPECT_EQ(Rows({{32, 4, 64, 3}, {512, 2048, 16384}, {16, 3, 16, 2}}, {1, 2, 1, 1}),
            "1217-1232 1249-1264 - 2241-2256 2273-2288 -, 1536 bytes");
  EXPECT_EQ(Rows({{32, 4, 2, 64, 3}, {512, 2048, 4096, 32768}, {16, 2, 2, 16, 2}}, {1, 1, 0, 1, 0}),
            "289-304 321-336 417-432 449-464 2337-2352 2369-2384 2465-2480 2497-2512, 2048 bytes");
}

TEST(InterleaveTest, SlicesOf32Bytes) {
  EXPECT_EQ(Rows({{16, 8, 6}, {32, 256}, {16, 4, 2}, 2, kUint16, 1}, {0, 1, 1}), "18-49 34-65, 1024 bytes");
  EXPECT_EQ(Rows({{128, 8, 6}, {32, 2048}, {16, 4, 2}, 2, kUint16, 1}, {16, 1, 1}), "162-193 290-321, 1024 bytes");
}

TEST(InterleaveTest, AStrideAlongWIsRefusedByName) {
  sassay::v1::TensorMap map = Map({{32, 64, 6}, {512, 4096}, {16, 8, 2}});
  map.set_element_stride(0, 2);
  EXPECT_THAT(EncodeTensorGeometry(map, kBase).status().ToString(), ::testing::HasSubstr("stride along W"));
}

}  // namespace
}  // namespace sassay::emulator
