#include "common/bundle/wire_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sassay/v1/bundle.pb.h"

namespace sassay {
namespace {

using ::testing::HasSubstr;

absl::Status Scan(absl::string_view bytes, WireLimits limits = {}) {
  return ScanWire(*v1::Bundle::descriptor(), bytes, limits);
}

v1::Bundle WithSteps(int steps) {
  v1::Bundle bundle;
  bundle.add_plans();
  v1::LaunchPlan& plan = *bundle.add_plans();
  for (int i = 0; i < steps; ++i) plan.add_steady()->mutable_launch()->set_kernel("k");
  return bundle;
}

TEST(WireScan, AcceptsWhatProtobufWrites) {
  v1::Bundle bundle = WithSteps(3);
  bundle.add_kernels()->add_parameter_bytes(4);
  (*bundle.mutable_kernels(0)->mutable_sass_families())["GMMA"] = 1;
  bundle.mutable_plans(1)->add_assumptions()->set_value(-1);
  EXPECT_EQ(Scan(bundle.SerializeAsString()), absl::OkStatus());
  EXPECT_EQ(Scan(""), absl::OkStatus());
}

TEST(WireScan, NamesWhereTheLimitWasPassed) {
  WireLimits limits;
  limits.max_messages = 100;
  const absl::Status status = Scan(WithSteps(1000).SerializeAsString(), limits);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("plans[1].steady[48].launch: more than 100 messages"));
}

TEST(WireScan, CountsPackedElementsToo) {
  v1::Bundle bundle;
  for (int i = 0; i < 1000; ++i) bundle.add_kernels()->add_parameter_bytes(4);
  bundle.mutable_kernels(0)->mutable_parameter_bytes()->Resize(100000, 1);
  WireLimits limits;
  limits.max_messages = 5000;
  EXPECT_EQ(Scan(bundle.SerializeAsString(), limits).code(), absl::StatusCode::kResourceExhausted);
}

TEST(WireScan, NamesUnknownFieldsInside) {
  v1::Bundle bundle = WithSteps(1);
  bundle.mutable_plans(1)
      ->mutable_steady(0)
      ->mutable_launch()
      ->GetReflection()
      ->MutableUnknownFields(bundle.mutable_plans(1)->mutable_steady(0)->mutable_launch())
      ->AddVarint(77, 1);
  EXPECT_THAT(std::string(Scan(bundle.SerializeAsString()).message()),
              HasSubstr("plans[1].steady[0].launch: unknown field 77 of KernelLaunch"));
}

TEST(WireScan, RefusesBrokenWireFormat) {
  EXPECT_FALSE(Scan("\x0a").ok());                                              // a length is missing
  EXPECT_FALSE(Scan("\x3a\x7f").ok());                                          // plans[0] is cut off
  EXPECT_FALSE(Scan(std::string("\x0f\x00", 2)).ok());                          // wire type 7
  EXPECT_FALSE(Scan(std::string("\x3a\x02\x0b\x0c", 4)).ok());                  // a group
  EXPECT_FALSE(Scan(std::string("\x00", 1)).ok());                              // field 0
  EXPECT_FALSE(Scan("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff").ok());  // endless varint
  EXPECT_FALSE(Scan("\x3a\xff\xff\xff\xff\xff").ok());                          // a length of more than 32 bits
}

TEST(WireScan, RefusesAWrongWireType) {
  EXPECT_THAT(std::string(Scan(std::string("\x38\x01", 2)).message()),
              HasSubstr("plans[0]: broken wire format: wrong wire type"));
}

}  // namespace
}  // namespace sassay
