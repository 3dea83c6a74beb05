#include "agent/interop/flashinfer/import.h"

#include <cstring>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/workload/catalog.h"
#include "common/workload/safetensors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay::agent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kDefinition[] = R"({"name": "scale_n4", "op_type": "scale",
  "axes": {"M": {"type": "var"}, "N": {"type": "const", "value": 4}},
  "inputs": {"x": {"shape": ["M", "N"], "dtype": "float32"}, "s": {"shape": null, "dtype": "float32"}},
  "outputs": {"y": {"shape": ["M", "N"], "dtype": "float32"}},
  "reference": "def run(x, s): return x * s"})";

class ImportTest : public testing::Test {
 protected:
  void SetUp() override { Write("definitions/scale/scale_n4.json", kDefinition); }

  void Write(const std::string& path, const std::string& content) {
    const std::filesystem::path full = root() / path;
    std::filesystem::create_directories(full.parent_path());
    ASSERT_TRUE(WriteFileAtomically(full, content).ok());
  }

  // Two tensors of 2 x 4 floats.
  void WriteTensors(const std::string& path) {
    const std::string bytes(32, '\0');
    const StoredTensor tensor = {v1::DTYPE_FLOAT32, {2, 4}, bytes};
    Write(path, SerializeSafetensors({{"in", tensor}, {"out", tensor}}));
  }

  static std::string Line(const std::string& path, int m) {
    return absl::StrCat(
        R"({"definition": "scale_n4", "workload": {"uuid": "AB12-cd34-ef", "axes": {"M": )", m,
        R"(}, "inputs": {"x": {"type": "safetensors", "path": ")", path,
        R"(", "tensor_key": "in"}, "s": {"type": "scalar", "value": 2.5}}, "outputs": {"y": {"type": "safetensors", "path": ")",
        path, R"(", "tensor_key": "out"}}}})", "\n");
  }

  v1::ImportReport Import() {
    const absl::StatusOr<v1::ImportReport> report = ImportFlashInferTrace(root(), output());
    EXPECT_TRUE(report.ok()) << report.status();
    return report.value_or(v1::ImportReport());
  }

  std::filesystem::path root() const { return scratch_.path() / "set"; }
  std::filesystem::path output() const { return scratch_.path() / "out"; }

  TemporaryDirectory scratch_ = TemporaryDirectory::Create("import").value();
};

TEST_F(ImportTest, StoredInputsAndOutputsBecomeAGoldenDefinitionThatLoads) {
  WriteTensors("blob/workloads/a.safetensors");
  Write("workloads/scale/scale_n4.jsonl", Line("blob/workloads/a.safetensors", 2));
  const v1::ImportReport report = Import();
  ASSERT_EQ(report.definitions_size(), 1);
  EXPECT_THAT(report.refused(), IsEmpty());
  EXPECT_THAT(report.definitions(0).workloads(), ElementsAre("scale_n4/M=2"));
  ASSERT_THAT(report.definitions(0).golden(), ElementsAre("scale_n4_ab12cd34"));
  const std::filesystem::path folders[] = {output()};
  const absl::StatusOr<WorkloadCatalog> catalog = WorkloadCatalog::Load(folders);
  ASSERT_TRUE(catalog.ok()) << catalog.status();
  const absl::StatusOr<v1::Workload> workload = catalog->Resolve("scale_n4_ab12cd34");
  ASSERT_TRUE(workload.ok()) << workload.status();
  EXPECT_EQ(ScalarValue(*workload, workload->inputs(1)).value(), 2.5);
  const auto file = ReadFile(catalog->GoldenPath(*catalog->FindDefinition("scale_n4_ab12cd34")));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE(TakeTensor(ParseSafetensors(*file).value(), workload->outputs(0)).ok());
}

TEST_F(ImportTest, DefinitionsWithoutAnswersAreKeptAndSaidToNeedAReference) {
  Write(
      "workloads/scale/scale_n4.jsonl",
      R"({"definition": "scale_n4", "workload": {"uuid": "u", "axes": {"M": 3}, "inputs": {"x": {"type": "random"}, "s": {"type": "scalar", "value": 1}}}})");
  const v1::ImportReport report = Import();
  ASSERT_EQ(report.definitions_size(), 1);
  EXPECT_EQ(report.definitions(0).judged_by(), "");
  EXPECT_THAT(report.definitions(0).golden(), IsEmpty());
  EXPECT_TRUE(std::filesystem::exists(output() / "scale/scale_n4.json"));
}

TEST_F(ImportTest, DefinitionsThatShipHereAreJudgedByWhatShips) {
  const Definition& shipped = *WorkloadCatalog::BuiltIn().FindDefinition("gemm_n256_k256");
  Write("definitions/gemm/gemm_n256_k256.json", shipped.canonical_json);
  const v1::ImportReport report = Import();
  ASSERT_EQ(report.definitions_size(), 2);
  EXPECT_EQ(report.definitions(0).judged_by(), "builtin:gemm");
  EXPECT_FALSE(std::filesystem::exists(output() / "gemm"));
}

TEST_F(ImportTest, TheFolderIsThereAlsoWhereNothingIsKept) {
  std::filesystem::remove_all(root() / "definitions");
  const Definition& shipped = *WorkloadCatalog::BuiltIn().FindDefinition("gemm_n256_k256");
  Write("definitions/gemm/gemm_n256_k256.json", shipped.canonical_json);
  EXPECT_EQ(Import().definitions_size(), 1);
  EXPECT_TRUE(WorkloadCatalog::Load({output()}).ok());
}

TEST_F(ImportTest, WhatCannotBeUsedIsNamedAndStopsNothing) {
  WriteTensors("blob/a.safetensors");
  Write("definitions/bad.json", "{");
  Write("workloads/scale/scale_n4.jsonl",
        absl::StrCat("{}\n", Line("blob/a.safetensors", 3), Line("../../etc/passwd", 2), Line("blob/missing", 2),
                     Line("blob/a.safetensors", 2)));
  Write("solutions/a/b.json", "{}");
  const v1::ImportReport report = Import();
  ASSERT_EQ(report.refused_size(), 6);
  EXPECT_EQ(report.refused(0).path(), "definitions/bad.json");
  EXPECT_THAT(report.refused(1).reason(), HasSubstr("line 1: definition"));
  EXPECT_THAT(report.refused(2).reason(), HasSubstr("line 2: tensor x"));
  EXPECT_THAT(report.refused(4).reason(), HasSubstr("line 4: no file blob/missing"));
  EXPECT_THAT(report.definitions(0).golden(), ElementsAre("scale_n4_ab12cd34"));
}

TEST_F(ImportTest, JsonThatIsNestedWithoutEndIsRefused) {
  const std::string deep = std::string(400'000, '[') + std::string(400'000, ']');
  Write("definitions/deep.json", absl::StrCat("{\"name\": ", deep, "}"));
  Write("workloads/scale/deep.jsonl", absl::StrCat("{\"definition\": \"scale_n4\", \"workload\": ", deep, "}\n"));
  Write("solutions/a/deep.json", absl::StrCat("{\"definition\": \"scale_n4\", \"spec\": ", deep, "}"));
  const v1::ImportReport report = Import();
  ASSERT_EQ(report.refused_size(), 3);
  for (const v1::ImportRefusal& refusal : report.refused()) EXPECT_THAT(refusal.reason(), HasSubstr("levels deep"));
}

TEST_F(ImportTest, IdsThatBeginAlikeDoNotReplaceEachOther) {
  WriteTensors("blob/a.safetensors");
  const std::string line = Line("blob/a.safetensors", 2);
  Write("workloads/scale/scale_n4.jsonl", absl::StrCat(line, line));
  const v1::ImportReport report = Import();
  EXPECT_THAT(report.definitions(0).golden(), ElementsAre("scale_n4_ab12cd34"));
  ASSERT_EQ(report.refused_size(), 1);
  EXPECT_THAT(report.refused(0).reason(), HasSubstr("line 2: a second definition would be called scale_n4_ab12cd34"));
}

TEST_F(ImportTest, LinksOutOfTheDataSetAreNotFollowed) {
  WriteTensors("../outside.safetensors");
  std::filesystem::create_directories(root() / "blob");
  std::filesystem::create_symlink(scratch_.path() / "outside.safetensors", root() / "blob/link");
  Write("workloads/scale/scale_n4.jsonl", Line("blob/link", 2));
  const v1::ImportReport report = Import();
  ASSERT_EQ(report.refused_size(), 1);
  EXPECT_THAT(report.refused(0).reason(), HasSubstr("outside of "));
}

TEST_F(ImportTest, SolutionsAreListedWithTheirLanguage) {
  Write("solutions/a/scale/s.json",
        R"({"name": "s", "definition": "scale_n4", "spec": {"language": "triton"}, "sources": []})");
  const v1::ImportReport report = Import();
  ASSERT_EQ(report.solutions_size(), 1);
  EXPECT_EQ(report.solutions(0).language(), "triton");
}

TEST(ImportFailureTest, AFolderWithoutDefinitionsIsNoDataSet) {
  EXPECT_EQ(ImportFlashInferTrace("/nonexistent", "/tmp/x").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace sassay::agent
