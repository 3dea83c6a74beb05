#include "profiler_service/judge/inputs/indices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "common/workload/catalog.h"
#include "profiler_service/judge/numerics/element.h"

namespace sassay::judge {
namespace {

constexpr uint64_t kSeeds = 200;

// The index tensors of a shipped workload, decoded, by name.
using Tensors = std::map<std::string, std::vector<int64_t>>;

Tensors Made(const sassay::v1::Workload& workload, uint64_t seed, Distribution distribution = Distribution::kNormal) {
  const Definition* definition = WorkloadCatalog::BuiltIn().FindDefinition(workload.definition());
  const auto bytes = GenerateIndices(*definition, workload, seed, distribution);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  Tensors tensors;
  if (!bytes.ok()) return tensors;
  for (const auto& [input, content] : *bytes) {
    const auto& spec = workload.inputs(input);
    EXPECT_EQ(content.size(), TensorBytes(spec)) << spec.name();
    for (const double value : DecodeDoubles(spec.dtype(), content)) {
      tensors[spec.name()].push_back(static_cast<int64_t>(value));
    }
  }
  return tensors;
}

std::vector<int64_t> Lengths(const std::vector<int64_t>& offsets) {
  std::vector<int64_t> lengths;
  for (size_t i = 1; i < offsets.size(); ++i) lengths.push_back(offsets[i] - offsets[i - 1]);
  return lengths;
}

void ExpectOffsets(const std::vector<int64_t>& offsets, int64_t total) {
  EXPECT_EQ(offsets.front(), 0);
  EXPECT_EQ(offsets.back(), total);
  EXPECT_TRUE(std::is_sorted(offsets.begin(), offsets.end()));
}

// Everything that a workload of paged or ragged attention promises about its index tensors.
void ExpectValid(const sassay::v1::Workload& workload, const Tensors& made) {
  const auto& axes = workload.axes();
  const auto& kv_indptr = made.at("kv_indptr");
  const bool paged = made.count("kv_indices") > 0;
  ExpectOffsets(kv_indptr, paged ? axes.at("num_kv_indices") : axes.at("total_kv"));
  if (paged) {
    const auto& pages = made.at("kv_indices");
    EXPECT_EQ(std::set<int64_t>(pages.begin(), pages.end()).size(), pages.size()) << "a page belongs to one sequence";
    EXPECT_GE(*std::min_element(pages.begin(), pages.end()), 0);
    EXPECT_LT(*std::max_element(pages.begin(), pages.end()), axes.at("num_pages"));
  }
  std::vector<int64_t> tokens = Lengths(kv_indptr);
  const int64_t page_size = paged ? axes.at("page_size") : 1;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const int64_t last = made.count("kv_last_page_len") > 0 ? made.at("kv_last_page_len")[i] : page_size;
    EXPECT_GE(last, 1);
    EXPECT_LE(last, page_size);
    tokens[i] = tokens[i] == 0 ? 0 : (tokens[i] - 1) * page_size + last;
  }
  if (made.count("qo_indptr") == 0) return;
  ExpectOffsets(made.at("qo_indptr"), axes.at("total_q"));
  const std::vector<int64_t> queries = Lengths(made.at("qo_indptr"));
  for (size_t i = 0; i < queries.size(); ++i) EXPECT_LE(queries[i], tokens[i]) << "a query token sees a key";
}

std::vector<sassay::v1::Workload> WorkloadsWithIndices() {
  std::vector<sassay::v1::Workload> workloads;
  for (const sassay::v1::Workload& workload : WorkloadCatalog::BuiltIn().List()) {
    const Definition* definition = WorkloadCatalog::BuiltIn().FindDefinition(workload.definition());
    if (!definition->indices.empty()) workloads.push_back(workload);
  }
  return workloads;
}

sassay::v1::Workload SmallDecode() {
  return *WorkloadCatalog::BuiltIn().Resolve(
      "gqa_paged_decode_h4_kv2_d32_ps1/batch_size=6,num_pages=96,len_indptr=7,num_kv_indices=64");
}

TEST(Indices, AreValidForEveryShippedWorkload) {
  const auto workloads = WorkloadsWithIndices();
  EXPECT_EQ(workloads.size(), 15u);
  for (const sassay::v1::Workload& workload : workloads) {
    SCOPED_TRACE(workload.name());
    ExpectValid(workload, Made(workload, 7));
  }
}

TEST(Indices, AreValidWhateverTheSeedWhereRoomIsTight) {
  for (const char* name :
       {"gqa_paged_decode_h4_kv2_d32_ps1/batch_size=5,num_pages=3,len_indptr=6,num_kv_indices=3",
        "gqa_paged_prefill_causal_h4_kv2_d32_ps1/len_indptr=5,total_q=9,num_kv_indices=9,num_pages=9",
        "gqa_paged_prefill_causal_h4_kv2_d32_ps4/"
        "len_indptr=6,total_q=20,num_kv_indices=8,num_pages=8,batch_size=5",
        "gqa_ragged_prefill_causal_h4_kv2_d32/len_indptr=2,total_q=1,total_kv=1"}) {
    SCOPED_TRACE(name);
    const auto workload = WorkloadCatalog::BuiltIn().Resolve(name);
    ASSERT_TRUE(workload.ok()) << workload.status();
    for (uint64_t seed = 0; seed < kSeeds; ++seed) ExpectValid(*workload, Made(*workload, seed));
  }
}

TEST(Indices, FollowFromTheSeedAndTheDistribution) {
  EXPECT_EQ(Made(SmallDecode(), 1), Made(SmallDecode(), 1));
  EXPECT_NE(Made(SmallDecode(), 1), Made(SmallDecode(), 2));
  EXPECT_NE(Made(SmallDecode(), 1), Made(SmallDecode(), 1, Distribution::kSmall));
}

TEST(Indices, OfFourOrMoreSequencesOneIsEmptyAndLengthsDiffer) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const std::vector<int64_t> lengths = Lengths(Made(SmallDecode(), seed).at("kv_indptr"));
    EXPECT_EQ(*std::min_element(lengths.begin(), lengths.end()), 0);
    EXPECT_GT(*std::max_element(lengths.begin(), lengths.end()), 64 / 6);
  }
}

TEST(Indices, LengthsAreTheSameForEverySeedButInAnotherOrder) {
  const auto sorted = [](uint64_t seed, Distribution distribution) {
    std::vector<int64_t> lengths = Lengths(Made(SmallDecode(), seed, distribution).at("kv_indptr"));
    std::sort(lengths.begin(), lengths.end());
    return lengths;
  };
  EXPECT_EQ(sorted(1, Distribution::kNormal), sorted(2, Distribution::kNormal)) << "every call has the same work";
  EXPECT_NE(sorted(1, Distribution::kNormal), sorted(1, Distribution::kUniform));
  std::set<std::vector<int64_t>> orders;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) orders.insert(Made(SmallDecode(), seed).at("kv_indptr"));
  EXPECT_GT(orders.size(), 50u);
}

TEST(Indices, EveryPageIsDrawnAboutAsOftenAsAnyOther) {
  std::vector<int> drawn(96, 0);
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Tensors made = Made(SmallDecode(), seed);
    for (const int64_t page : made.at("kv_indices")) ++drawn[page];
  }
  // 200 draws of probability 2/3: 133 expected, deviation 6.7.
  EXPECT_GT(*std::min_element(drawn.begin(), drawn.end()), 133 - 5 * 7);
  EXPECT_LT(*std::max_element(drawn.begin(), drawn.end()), 133 + 5 * 7);
}

TEST(Indices, SomeSequencesHaveNoMoreKeysThanQueriesAndSomeHave) {
  const auto workload =
      *WorkloadCatalog::BuiltIn().Resolve("gqa_ragged_prefill_causal_h4_kv2_d32/len_indptr=6,total_q=20,total_kv=32");
  int same = 0, more = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Tensors made = Made(workload, seed);
    const auto queries = Lengths(made.at("qo_indptr")), keys = Lengths(made.at("kv_indptr"));
    for (size_t i = 0; i < queries.size(); ++i) {
      if (queries[i] > 0) ++(queries[i] == keys[i] ? same : more);
    }
  }
  EXPECT_GT(same, 50);
  EXPECT_GT(more, 50);
}

TEST(Indices, WorkloadsWithoutThemHaveNone) {
  EXPECT_TRUE(Made(*WorkloadCatalog::BuiltIn().Resolve("gemm_n256_k256/M=64"), 1).empty());
}

}  // namespace
}  // namespace sassay::judge
