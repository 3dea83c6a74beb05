#include "agent/capture/devices/device_table.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace sassay::capture {
namespace {

TEST(DeviceTable, KnowsTheThreeModelsOfTheLab) {
  for (const auto& [name, arch, multiprocessors] : {std::tuple{"NVIDIA H100 80GB HBM3", "sm_90a", 132},
                                                    {"NVIDIA H200", "sm_90a", 132},
                                                    {"NVIDIA B200", "sm_100a", 148}}) {
    const auto model = DeviceTable::BuiltIn().Find(name, arch);
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_EQ(model->attributes.at(DeviceAttributeNumber("cudaDevAttrMultiProcessorCount")), multiprocessors);
    EXPECT_EQ(model->attributes.at(DeviceAttributeNumber("cudaDevAttrMaxSharedMemoryPerBlockOptin")), 227 << 10);
  }
}

TEST(DeviceTable, ClustersCoverEveryMultiprocessor) {
  for (const DeviceModel& model : DeviceTable::BuiltIn().models()) {
    int total = 0;
    for (int count : model.gpc_multiprocessors) total += count;
    EXPECT_EQ(total, model.attributes.at(16)) << model.name;
  }
}

TEST(DeviceTable, GivesTheDefaultModelOfAnArch) {
  EXPECT_EQ(DeviceTable::BuiltIn().Find("", "sm_90a")->name, "NVIDIA H200");
  EXPECT_EQ(DeviceTable::BuiltIn().Find("", "sm_100a")->name, "NVIDIA B200");
}

TEST(DeviceTable, RefusesAModelOfAnotherArch) {
  EXPECT_EQ(DeviceTable::BuiltIn().Find("NVIDIA B200", "sm_90a").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(DeviceTable, NamesWhatItKnowsWhereAModelIsUnknown) {
  const absl::Status status = DeviceTable::BuiltIn().Find("NVIDIA X", "sm_90a").status();
  EXPECT_NE(status.message().find("NVIDIA H200"), absl::string_view::npos) << status;
}

TEST(DeviceTable, WritesWhatItReads) {
  const DeviceModel model = *DeviceTable::BuiltIn().Find("NVIDIA H200", "sm_90a");
  const auto again = DeviceTable::Parse(ToJson(model));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->models()[0].attributes, model.attributes);
  EXPECT_EQ(again->models()[0].memory_bytes, model.memory_bytes);
}

TEST(DeviceTable, RefusesBadTablesNamingTheField) {
  EXPECT_FALSE(DeviceTable::Parse("[]").ok());
  const auto bad =
      DeviceTable::Parse(R"({"models":[{"name":"X","arch":"sm_90a","memory_bytes":1,"attributes":{"nope":1}}]})");
  EXPECT_NE(bad.status().message().find("'nope'"), absl::string_view::npos) << bad.status();
}

TEST(DeviceTable, FieldsOfTheWrongTypeAreErrors) {
  for (const char* model :
       {R"({"name":1,"arch":"sm_90a","memory_bytes":1})", R"({"name":"X","arch":[],"memory_bytes":1})",
        R"({"name":"X","arch":"sm_90a","memory_bytes":"1"})",
        R"({"name":"X","arch":"sm_90a","memory_bytes":1,"gpc_multiprocessors":18})",
        R"({"name":"X","arch":"sm_90a","memory_bytes":1,"attributes":[1]})", "7"}) {
    const auto table = DeviceTable::Parse(absl::StrCat(R"({"models":[)", model, "]}"));
    EXPECT_EQ(table.status().code(), absl::StatusCode::kInvalidArgument) << model;
  }
}

TEST(DeviceTable, AModelWithoutTheAttributesThatDecideLaunchesNamesThem) {
  const auto thin = DeviceTable::Parse(R"({"models":[{"name":"X","arch":"sm_90a","memory_bytes":1}]})");
  EXPECT_EQ(thin.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(thin.status().message().find("cudaDevAttrMaxThreadsPerBlock"), absl::string_view::npos) << thin.status();
}

}  // namespace
}  // namespace sassay::capture
