#include "agent/interop/flashinfer/workload_line.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay::agent {
namespace {

using testing::HasSubstr;

TEST(WorkloadLineTest, ReadsAxesAndSources) {
  const auto line =
      ParseWorkloadLine(R"({"definition": "d", "solution": null, "workload": {"uuid": "u", "axes": {"M": 8},
      "inputs": {"a": {"type": "random"}, "s": {"type": "scalar", "value": 0.5}, "f": {"type": "scalar", "value": true},
                 "t": {"type": "safetensors", "path": "blob/x.safetensors", "tensor_key": "k"}}}, "evaluation": null})");
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->axes.at("M"), 8);
  EXPECT_EQ(line->inputs.at("a").kind, TensorSource::Kind::kRandom);
  EXPECT_EQ(line->inputs.at("s").value, 0.5);
  EXPECT_EQ(line->inputs.at("f").value, 1);
  EXPECT_EQ(line->inputs.at("t").tensor_key, "k");
  EXPECT_TRUE(line->outputs.empty());
}

TEST(WorkloadLineTest, NamesTheFieldThatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "line"},
      {"[]", "line"},
      {R"({"workload": {}})", "definition"},
      {R"({"definition": "d"})", "workload"},
      {R"({"definition": "d", "workload": {"uuid": "u"}})", "axes"},
      {R"({"definition": "d", "workload": {"uuid": "u", "axes": {"M": -1}}})", "axes.M"},
      {R"({"definition": "d", "workload": {"uuid": "u", "axes": {}, "inputs": {"a": {"type": "file"}}}})",
       "inputs.a.type"},
      {R"({"definition": "d", "workload": {"uuid": "u", "axes": {}, "inputs": {"a": {"type": "safetensors"}}}})",
       "path"}};
  for (const auto& [text, field] : cases)
    EXPECT_THAT(std::string(ParseWorkloadLine(text).status().message()), HasSubstr(field)) << text;
}

TEST(WorkloadLineTest, WhatIsNestedWithoutEndOrSaysTwoThingsIsRefused) {
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  EXPECT_THAT(std::string(ParseWorkloadLine("{\"definition\": " + deep + "}").status().message()), HasSubstr("line"));
  EXPECT_THAT(std::string(ParseWorkloadLine(R"({"definition": "a", "definition": "b"})").status().message()),
              HasSubstr("twice"));
}

}  // namespace
}  // namespace sassay::agent
