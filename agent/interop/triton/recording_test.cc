#include "agent/interop/triton/recording.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace sassay::agent {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

Json Good() {
  const Json step = {{"launch",
                      {{"kernel", 0},
                       {"grid", {2, 1, 1}},
                       {"args", {{"p", "t1", 16}, {"i", "i32", -1}, {"f", "fp32", 1.5}, {"p", "a0", 0}}}}},
                     {"line", 7}};
  const Json call = {{{"alloc", {{"id", 0}, {"bytes", 64}}}, {"line", 6}},
                     {{"memset", {{"buffer", "a0"}, {"offset", 0}, {"bytes", 64}, {"value", 0}}}},
                     step};
  return {{"triton", "3.9.0"},
          {"kernels", {{{"name", "k"}, {"ptx", "ptx"}, {"threads", 128}, {"shared", 1024}, {"pdl", false}}}},
          {"calls", {call, call, call}},
          {"assumptions", {{"cudaDevAttrMultiProcessorCount", 132}}},
          {"warnings", {"a warning"}}};
}

absl::StatusOr<TritonRecording> Parse(const Json& json) { return ParseTritonRecording(json.dump(), 3); }

TEST(TritonRecordingTest, ReadsLaunchesAllocationsAndFills) {
  const absl::StatusOr<TritonRecording> recording = Parse(Good());
  ASSERT_TRUE(recording.ok()) << recording.status();
  ASSERT_EQ(recording->calls.size(), 3);
  const auto& launch = std::get<TritonLaunch>(recording->calls[1][2].what);
  EXPECT_EQ(recording->calls[1][2].line, 7);
  ASSERT_EQ(launch.arguments.size(), 4);
  EXPECT_EQ(std::get<TritonPlace>(launch.arguments[0]), (TritonPlace{true, 1, 16}));
  EXPECT_EQ(std::get<std::string>(launch.arguments[1]), "\xff\xff\xff\xff");
  EXPECT_EQ(std::get<std::string>(launch.arguments[2]), std::string("\x00\x00\xc0\x3f", 4));
  EXPECT_EQ(recording->assumptions.at("cudaDevAttrMultiProcessorCount"), 132);
}

TEST(TritonRecordingTest, ReadsAFailureWithoutCalls) {
  const absl::StatusOr<TritonRecording> recording =
      Parse({{"triton", "3.9.0"},
             {"kernels", Json::array()},
             {"assumptions", Json::object()},
             {"warnings", Json::array()},
             {"failure", {{"stage", "compile"}, {"code", "NVCC_ERROR"}, {"message", "m"}, {"line", -4}}}});
  ASSERT_TRUE(recording.ok()) << recording.status();
  EXPECT_TRUE(recording->failure->in_compilation);
  EXPECT_EQ(recording->failure->line, 0);
}

struct Damage {
  const char* name;
  void (*damage)(Json&);
  const char* field;
};

class DamagedRecordingTest : public testing::TestWithParam<Damage> {};

TEST_P(DamagedRecordingTest, IsRefusedByField) {
  Json json = Good();
  GetParam().damage(json);
  const absl::StatusOr<TritonRecording> recording = Parse(json);
  ASSERT_FALSE(recording.ok());
  EXPECT_EQ(recording.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(recording.status().message()), HasSubstr(GetParam().field));
}

Json& Launch(Json& json) { return json["calls"][0][2]["launch"]; }

INSTANTIATE_TEST_SUITE_P(
    All, DamagedRecordingTest,
    testing::Values(Damage{"TwoCalls", [](Json& j) { j["calls"].erase(0); }, "calls"},
                    Damage{"NoSuchKernel", [](Json& j) { Launch(j)["kernel"] = 1; }, "kernel"},
                    Damage{"EmptyGrid", [](Json& j) { Launch(j)["grid"][0] = 0; }, "grid"},
                    Damage{"NegativeGrid", [](Json& j) { Launch(j)["grid"][0] = -1; }, "grid"},
                    Damage{"NoSuchTensor", [](Json& j) { Launch(j)["args"][0][1] = "t3"; }, "buffer"},
                    Damage{"NoSuchAllocation", [](Json& j) { Launch(j)["args"][3][1] = "a1"; }, "buffer"},
                    Damage{"OddBuffer", [](Json& j) { Launch(j)["args"][0][1] = "x0"; }, "buffer"},
                    Damage{"OddType", [](Json& j) { Launch(j)["args"][1][1] = "i7"; }, "i7"},
                    Damage{"HugeNumber", [](Json& j) { Launch(j)["args"][1][2] = 1e30; }, "args"},
                    Damage{"HalfScalar", [](Json& j) { Launch(j)["args"][2][1] = "fp16"; }, "fp16"},
                    Damage{"NoBytes", [](Json& j) { j["calls"][0][0]["alloc"]["bytes"] = 0; }, "bytes"},
                    Damage{"OddId", [](Json& j) { j["calls"][0][0]["alloc"]["id"] = 5; }, "id"},
                    Damage{"OddStep", [](Json& j) { j["calls"][0][0] = "x"; }, "calls[0][0]"},
                    Damage{"OddKernelName", [](Json& j) { j["kernels"][0]["name"] = "a b"; }, "name"},
                    Damage{"NoKernels", [](Json& j) { j.erase("kernels"); }, "kernels"},
                    Damage{"List", [](Json& j) { j = Json::array(); }, "document"}),
    [](const auto& info) { return info.param.name; });

TEST(TritonRecordingTest, NonsenseIsNoDocument) {
  for (const char* text : {"", "{", "null", "{\"triton\": 1}", "\xff"})
    EXPECT_EQ(ParseTritonRecording(text, 3).status().code(), absl::StatusCode::kInvalidArgument) << text;
}

}  // namespace
}  // namespace sassay::agent
