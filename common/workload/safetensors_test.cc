#include "common/workload/safetensors.h"

#include <cstring>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay {
namespace {

using testing::HasSubstr;

std::string File(const std::string& header, const std::string& data) {
  const uint64_t size = header.size();
  std::string file(sizeof(size), '\0');
  std::memcpy(file.data(), &size, sizeof(size));
  return file + header + data;
}

constexpr char kGood[] = R"({"__metadata__":{"a":"b"},"x":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},
                             "y":{"dtype":"U8","shape":[3],"data_offsets":[8,11]}})";

TEST(Safetensors, ReadsNamesTypesShapesAndBytes) {
  const std::string file = File(kGood, "abcdefghijk");
  const auto tensors = ParseSafetensors(file);
  ASSERT_TRUE(tensors.ok()) << tensors.status();
  ASSERT_EQ(tensors->size(), 2u);
  EXPECT_EQ(tensors->at("x").dtype, sassay::v1::DTYPE_FLOAT32);
  EXPECT_THAT(tensors->at("x").shape, testing::ElementsAre(2, 1));
  EXPECT_EQ(tensors->at("y").bytes, "ijk");
}

TEST(Safetensors, TakesOnlyATensorOfTheRightTypeAndShape) {
  const std::string file = File(kGood, "abcdefghijk");
  const auto tensors = *ParseSafetensors(file);
  sassay::v1::TensorSpec spec;
  spec.set_name("y");
  spec.set_dtype(sassay::v1::DTYPE_UINT8);
  spec.add_shape(3);
  EXPECT_EQ(*TakeTensor(tensors, spec), "ijk");
  spec.set_shape(0, 4);
  EXPECT_THAT(std::string(TakeTensor(tensors, spec).status().message()), HasSubstr("the workload wants"));
  spec.set_name("z");
  EXPECT_EQ(TakeTensor(tensors, spec).status().code(), absl::StatusCode::kNotFound);
}

TEST(Safetensors, TrustsNoLengthAndNoOffset) {
  for (const std::string& file : {
           std::string("abc"),
           File("{", ""),
           File("[]", ""),
           File("{\"x\":" + std::string(1'000'000, '[') + std::string(1'000'000, ']') + "}", ""),
           std::string(8, '\xff'),
           File(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", "short"),
           File(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", "12345678"),
           File(R"({"x":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", "12345678"),
           File(R"({"x":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", "12345678"),
           File(R"({"x":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", ""),
           File(R"({"x":{"dtype":"Q4","shape":[2],"data_offsets":[0,8]}})", "12345678"),
           File(R"({"x":{"dtype":"F32","shape":[2]}})", "12345678"),
           File(R"({"x":7})", ""),
       }) {
    EXPECT_EQ(ParseSafetensors(file).status().code(), absl::StatusCode::kInvalidArgument) << file.substr(0, 200);
  }
}

TEST(Safetensors, WhatIsWrittenIsReadAgain) {
  const std::string file = File(kGood, "abcdefghijk");
  const auto tensors = ParseSafetensors(file);
  ASSERT_TRUE(tensors.ok()) << tensors.status();
  const std::string written = SerializeSafetensors(*tensors);
  const auto again = ParseSafetensors(written);
  ASSERT_TRUE(again.ok()) << again.status();
  ASSERT_EQ(again->size(), 2u);
  EXPECT_EQ(again->at("x").dtype, sassay::v1::DTYPE_FLOAT32);
  EXPECT_THAT(again->at("x").shape, testing::ElementsAre(2, 1));
  EXPECT_EQ(again->at("x").bytes, "abcdefgh");
  EXPECT_EQ(again->at("y").bytes, "ijk");
}

}  // namespace
}  // namespace sassay
