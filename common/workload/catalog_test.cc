#include "common/workload/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/files.h"
#include "common/base/sha256.h"
#include "common/workload/builtin_definitions.h"

namespace sassay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kTiny[] = R"({"name": "tiny", "axes": {"N": {"type": "var"}},
  "inputs": {"x": {"shape": ["N"], "dtype": "float32"}, "scale": {"shape": null, "dtype": "float32"}},
  "outputs": {"y": {"shape": ["N", 3], "dtype": "int32"}}, "sassay": {"flop": "N"}})";

void Put(const std::filesystem::path& path, absl::string_view text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

TEST(WorkloadCatalog, EveryShippedDefinitionParses) {
  ASSERT_EQ(BuiltInDefinitionJson().size(), 20u);
  for (const absl::string_view json : BuiltInDefinitionJson()) {
    const auto definition = ParseDefinition(json);
    ASSERT_TRUE(definition.ok()) << definition.status();
    EXPECT_TRUE(definition->reference_kind == ReferenceKind::kBuiltin ||
                definition->reference_kind == ReferenceKind::kKernel)
        << definition->name;
    EXPECT_FALSE(definition->suggested_axes.empty()) << definition->name;
    EXPECT_EQ(definition->required_sass.at("sm_90a"), "H");
    EXPECT_EQ(definition->required_sass.at("sm_100a"), "B");
  }
  EXPECT_EQ(WorkloadCatalog::BuiltIn().definitions().size(), 20u);
}

TEST(WorkloadCatalog, ResolvesTheGemmOfThePaper) {
  const auto workload = WorkloadCatalog::BuiltIn().Resolve("gemm_n7168_k5120/M=8192");
  ASSERT_TRUE(workload.ok()) << workload.status();
  EXPECT_EQ(workload->name(), "gemm_n7168_k5120/M=8192");
  EXPECT_THAT(workload->variable_axes(), ElementsAre("M"));
  EXPECT_EQ(workload->axes().at("K"), 5120);
  ASSERT_EQ(workload->inputs_size(), 2);
  EXPECT_THAT(workload->inputs(0).shape(), ElementsAre(8192, 5120));
  EXPECT_THAT(workload->inputs(1).shape(), ElementsAre(7168, 5120));
  EXPECT_THAT(workload->outputs(0).shape(), ElementsAre(8192, 7168));
  EXPECT_EQ(workload->outputs(0).dtype(), v1::DTYPE_BFLOAT16);
  EXPECT_DOUBLE_EQ(workload->flop(), 2.0 * 8192 * 7168 * 5120);
  EXPECT_EQ(workload->minimum_bytes(), 2ull * (8192ull * 5120 + 7168ull * 5120 + 8192ull * 7168));
  EXPECT_EQ(workload->reference(), "builtin:gemm");
  EXPECT_EQ(workload->definition_sha256().size(), 32u);
}

// FACTS.md, section 4.
TEST(WorkloadCatalog, AttentionFlopsAreThoseOfThePaper) {
  const WorkloadCatalog& catalog = WorkloadCatalog::BuiltIn();
  EXPECT_NEAR(catalog.Resolve("mha_with_lse_d128/B=4,H=48,S=4096")->flop(), 1.649e12, 1e9);
  EXPECT_NEAR(catalog.Resolve("mha_with_lse_d128_causal/B=4,H=48,S=4096")->flop(), 1.649e12 / 2, 1e9);
  EXPECT_NEAR(catalog.Resolve("mha_bwd_d128/B=4,H=48,S=4096")->flop(), 4.12e12, 5e9);
  EXPECT_NEAR(catalog.Resolve("mha_bwd_d128_causal/B=4,H=48,S=4096")->flop(), 4.12e12 / 2, 5e9);
}

TEST(WorkloadCatalog, BackwardTensorsComeInTheOrderOfTheContract) {
  const auto workload = WorkloadCatalog::BuiltIn().Resolve("mha_bwd_b1_h2_d64_causal/S=256");
  ASSERT_TRUE(workload.ok()) << workload.status();
  std::vector<std::string> names;
  for (const auto& tensor : workload->inputs()) names.push_back(tensor.name());
  for (const auto& tensor : workload->outputs()) names.push_back(tensor.name());
  EXPECT_THAT(names, ElementsAre("Q", "K", "V", "O", "dO", "L", "dQ", "dK", "dV"));
  EXPECT_EQ(workload->inputs(5).dtype(), v1::DTYPE_FLOAT32);
  EXPECT_THAT(workload->inputs(5).shape(), ElementsAre(1, 2, 256));
}

// op_type_schema/gqa_paged.md in the documents of FlashInfer-Bench.
TEST(WorkloadCatalog, PagedDecodeHasTheAxesAndTensorsOfFlashInferBench) {
  const auto workload = WorkloadCatalog::BuiltIn().Resolve(
      "gqa_paged_decode_h32_kv8_d128_ps1/batch_size=64,num_pages=98304,len_indptr=65,num_kv_indices=65536");
  ASSERT_TRUE(workload.ok()) << workload.status();
  EXPECT_THAT(workload->variable_axes(), ElementsAre("batch_size", "num_pages", "len_indptr", "num_kv_indices"));
  std::vector<std::string> names;
  for (const auto& tensor : workload->inputs()) names.push_back(tensor.name());
  for (const auto& tensor : workload->outputs()) names.push_back(tensor.name());
  EXPECT_THAT(names, ElementsAre("q", "k_cache", "v_cache", "kv_indptr", "kv_indices", "sm_scale", "output", "lse"));
  EXPECT_THAT(workload->inputs(1).shape(), ElementsAre(98304, 1, 8, 128));
  EXPECT_TRUE(workload->inputs(5).scalar());
  EXPECT_FLOAT_EQ(static_cast<float>(*ScalarValue(*workload, workload->inputs(5))), 0.088388346f);
  EXPECT_DOUBLE_EQ(workload->flop(), 4.0 * 65536 * 32 * 128);
  // Pages that are in no sequence need not be read.
  EXPECT_EQ(workload->minimum_bytes(), 4ull * 65536 * 8 * 128 + 4ull * 64 * 32 * 128);
}

TEST(WorkloadCatalog, PagedWorkloadsWhoseAxesDoNotFitTogetherAreRefused) {
  const WorkloadCatalog& catalog = WorkloadCatalog::BuiltIn();
  EXPECT_THAT(
      catalog.Resolve("gqa_paged_decode_h4_kv2_d32_ps1/batch_size=6,num_pages=96,len_indptr=6,num_kv_indices=64")
          .status()
          .message(),
      HasSubstr("it requires len_indptr == batch_size + 1, which would be 6 == 7"));
  EXPECT_THAT(
      catalog.Resolve("gqa_ragged_prefill_causal_h4_kv2_d32/len_indptr=6,total_q=33,total_kv=32").status().message(),
      HasSubstr("it requires total_kv >= total_q"));
}

TEST(WorkloadCatalog, AxesMayComeInAnyOrderAndTheNameIsCanonical) {
  const auto workload = WorkloadCatalog::BuiltIn().Resolve("mha_with_lse_d128/S=256,B=1,H=2");
  ASSERT_TRUE(workload.ok()) << workload.status();
  EXPECT_EQ(workload->name(), "mha_with_lse_d128/B=1,H=2,S=256");
}

TEST(WorkloadCatalog, UnknownNameIsAnsweredWithANearOneAndTheList) {
  const auto status = WorkloadCatalog::BuiltIn().Resolve("gemm_n256_k255/M=1").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("Did you mean \"gemm_n256_k256\"?"));
  EXPECT_THAT(status.message(), HasSubstr("mha_bwd_d128_causal"));
}

TEST(WorkloadCatalog, RefusesAxesThatAreMissingFixedUnknownOrAbsurd) {
  const WorkloadCatalog& catalog = WorkloadCatalog::BuiltIn();
  EXPECT_THAT(catalog.Resolve("gemm_n256_k256").status().message(),
              HasSubstr("axis M needs a value; for example gemm_n256_k256/M=256"));
  EXPECT_THAT(catalog.Resolve("gemm_n256_k256/M=1,N=2").status().message(), HasSubstr("axis N is fixed at 256"));
  EXPECT_THAT(catalog.Resolve("gemm_n256_k256/M=1,Q=2").status().message(), HasSubstr("axis Q does not exist"));
  EXPECT_THAT(catalog.Resolve("gemm_n256_k256/M=9999999999").status().message(), HasSubstr("axis M is 9999999999"));
  EXPECT_THAT(catalog.Resolve("gemm_n7168_k5120/M=2147483648").status().message(),
              HasSubstr("larger than 1099511627776 bytes"));
  EXPECT_THAT(catalog.Resolve("mha_with_lse_d128/B=2147483648,H=2147483648,S=2147483648").status().message(),
              HasSubstr("tensor Q would be larger"));
}

TEST(WorkloadCatalog, RefusesMalformedNames) {
  for (const char* name : {"", "/M=1", "gemm_n256_k256/", "gemm_n256_k256/M", "gemm_n256_k256/M=", "gemm_n256_k256/M=0",
                           "gemm_n256_k256/M=-1", "gemm_n256_k256/M=1,", "gemm_n256_k256/M=1,M=1",
                           "gemm_n256_k256/M=+1", "gemm_n256_k256/M=99999999999999999999", "gemm_n256_k256/M=1/K=1"}) {
    EXPECT_EQ(WorkloadCatalog::BuiltIn().Resolve(name).status().code(), absl::StatusCode::kInvalidArgument) << name;
  }
  EXPECT_FALSE(WorkloadCatalog::BuiltIn().Resolve(std::string(100000, 'x')).ok());
}

TEST(WorkloadCatalog, ListShowsEverySuggestionAndEachResolves) {
  const auto workloads = WorkloadCatalog::BuiltIn().List();
  EXPECT_EQ(workloads.size(), 35u);
  for (const auto& workload : workloads) {
    const auto again = WorkloadCatalog::BuiltIn().Resolve(workload.name());
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->SerializeAsString().size(), workload.SerializeAsString().size());
  }
}

TEST(WorkloadCatalog, LoadsAUsersDirectoryAndReportsItsFileOnError) {
  const auto directory = TemporaryDirectory::Create("catalog");
  ASSERT_TRUE(directory.ok());
  Put(directory->path() / "definitions/misc/tiny.json", kTiny);
  const std::filesystem::path paths[] = {directory->path()};
  const auto catalog = WorkloadCatalog::Load(paths);
  ASSERT_TRUE(catalog.ok()) << catalog.status();
  const auto workload = catalog->Resolve("tiny/N=5");
  ASSERT_TRUE(workload.ok()) << workload.status();
  EXPECT_TRUE(workload->inputs(1).scalar());
  EXPECT_THAT(workload->outputs(0).shape(), ElementsAre(5, 3));
  EXPECT_EQ(workload->reference(), "");

  Put(directory->path() / "broken.json", "{\"name\": 3}");
  EXPECT_THAT(std::string(WorkloadCatalog::Load(paths).status().message()),
              HasSubstr("broken.json: name: expected a string, got 3"));
}

TEST(WorkloadCatalog, RefusesAUserDefinitionThatShadowsABuiltInOne) {
  const auto directory = TemporaryDirectory::Create("catalog");
  ASSERT_TRUE(directory.ok());
  Put(directory->path() / "gemm.json", BuiltInDefinitionJson()[0]);
  const std::filesystem::path paths[] = {directory->path()};
  EXPECT_EQ(WorkloadCatalog::Load(paths).status().code(), absl::StatusCode::kAlreadyExists);
}

TEST(WorkloadCatalog, GoldenTensorsArePartOfTheDigest) {
  const auto directory = TemporaryDirectory::Create("catalog");
  ASSERT_TRUE(directory.ok());
  const std::filesystem::path paths[] = {directory->path()};
  Put(directory->path() / "g.json", R"({"name": "g", "axes": {}, "inputs": {},
      "outputs": {"y": {"shape": [4], "dtype": "int32"}}, "sassay": {"reference": "golden:g.safetensors"}})");
  EXPECT_EQ(WorkloadCatalog::Load(paths).status().code(), absl::StatusCode::kNotFound);
  Put(directory->path() / "g.safetensors", "one");
  const auto first = WorkloadCatalog::Load(paths);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->GoldenPath(*first->FindDefinition("g")), directory->path() / "g.safetensors");
  Put(directory->path() / "g.safetensors", "two");
  EXPECT_NE(first->Resolve("g")->definition_sha256(), WorkloadCatalog::Load(paths)->Resolve("g")->definition_sha256());
}

// tests/data/workloads: what a user adds.
TEST(WorkloadCatalog, LoadsTheOperatorsOfTheTests) {
  const std::filesystem::path data = std::filesystem::path(SASSAY_TEST_DATA) / "workloads";
  const std::filesystem::path paths[] = {data};
  const auto catalog = WorkloadCatalog::Load(paths);
  ASSERT_TRUE(catalog.ok()) << catalog.status();
  const auto argmax = catalog->Resolve("row_argmax_m64_n128");
  ASSERT_TRUE(argmax.ok()) << argmax.status();
  EXPECT_EQ(argmax->outputs(0).dtype(), v1::DTYPE_INT32);
  EXPECT_TRUE(std::filesystem::exists(catalog->GoldenPath(*catalog->FindDefinition("row_argmax_m64_n128"))));
  const auto json = ReadFile(data / "rmsnorm_h256.json.in");
  ASSERT_TRUE(json.ok());
  const auto rmsnorm = ParseDefinition(absl::StrReplaceAll(*json, {{"@REFERENCE_SHA256@", std::string(64, '0')}}));
  ASSERT_TRUE(rmsnorm.ok()) << rmsnorm.status();
  EXPECT_EQ(rmsnorm->reference_kind, ReferenceKind::kBundle);
}

TEST(WorkloadCatalog, MissingDirectoryIsNamed) {
  const std::filesystem::path paths[] = {"/nonexistent/workloads"};
  EXPECT_THAT(std::string(WorkloadCatalog::Load(paths).status().message()), HasSubstr("/nonexistent/workloads"));
}

}  // namespace
}  // namespace sassay
