#include "common/workload/index_definition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/workload/catalog.h"

namespace sassay {
namespace {

using ::testing::HasSubstr;

constexpr char kPaged[] = R"({
  "name": "paged", "axes": {"B": {"type": "var"}, "L": {"type": "var"}, "T": {"type": "var"}, "N": {"type": "var"},
                            "P": {"type": "const", "value": 4}},
  "inputs": {"qo": {"shape": ["L"], "dtype": "int32"}, "kv": {"shape": ["L"], "dtype": "int32"},
             "pages": {"shape": ["N"], "dtype": "int64"}, "last": {"shape": ["B"], "dtype": "int32"},
             "x": {"shape": ["N", 2], "dtype": "int32"}},
  "outputs": {"y": {"shape": ["T"], "dtype": "float32"}},
  "sassay": {
    "reference": "kernel:gqa_paged_prefill", "minimum_bytes": "4*T",
    "indices": {"qo": {"kind": "offsets", "total": "T", "empty_sequences": true},
                "kv": {"kind": "offsets", "total": "N", "covers": "qo", "page_size": "P", "empty_sequences": true},
                "pages": {"kind": "distinct", "below": "2*N"}, "last": {"kind": "last_lengths", "of": "kv"}},
    "requires": ["L == B + 1"], "suggested_axes": [{"B": 2, "L": 3, "T": 8, "N": 6}]
  }})";

std::string With(absl::string_view from, absl::string_view to) {
  std::string text = absl::StrReplaceAll(kPaged, {{from, to}});
  EXPECT_NE(text, kPaged) << from;
  return text;
}

absl::Status Resolved(int64_t b, int64_t l, int64_t t, int64_t n, const std::string& json = kPaged) {
  const auto definition = ParseDefinition(json);
  if (!definition.ok()) return definition.status();
  return MakeWorkload(*definition, {{"B", b}, {"L", l}, {"T", t}, {"N", n}}).status();
}

TEST(IndexDefinition, ReadsEveryKind) {
  const auto definition = ParseDefinition(kPaged);
  ASSERT_TRUE(definition.ok()) << definition.status();
  EXPECT_EQ(definition->reference_kind, ReferenceKind::kKernel);
  EXPECT_EQ(definition->reference_name, "gqa_paged_prefill");
  EXPECT_EQ(definition->indices.at("qo").total, "T");
  EXPECT_TRUE(definition->indices.at("qo").empty_sequences);
  EXPECT_EQ(definition->indices.at("kv").covers, "qo");
  EXPECT_EQ(definition->indices.at("pages").kind, IndexKind::kDistinct);
  EXPECT_EQ(definition->indices.at("last").of, "kv");
  EXPECT_EQ(definition->requirements.at(0).relation, "==");
}

TEST(IndexDefinition, SizesFollowTheAxes) {
  const auto definition = ParseDefinition(kPaged);
  ASSERT_TRUE(definition.ok()) << definition.status();
  const std::map<std::string, int64_t> axes = {{"B", 2}, {"L", 3}, {"T", 8}, {"N", 6}, {"P", 4}};
  const auto kv = IndexSizesOf(*definition, "kv", axes);
  ASSERT_TRUE(kv.ok()) << kv.status();
  EXPECT_EQ(kv->sequences, 2);
  EXPECT_EQ(kv->total, 6);
  EXPECT_EQ(kv->page_size, 4);
  EXPECT_EQ(IndexSizesOf(*definition, "pages", axes)->below, 12);
  EXPECT_EQ(IndexSizesOf(*definition, "last", axes)->sequences, 2);
}

TEST(IndexDefinition, AxesThatBreakARequirementAreRefusedWithBothSides) {
  EXPECT_THAT(std::string(Resolved(3, 3, 8, 6).message()),
              HasSubstr("paged/B=3,L=3,T=8,N=6: it requires L == B + 1, which would be 3 == 4; for example "
                        "paged/B=2,L=3,T=8,N=6"));
}

TEST(IndexDefinition, OffsetsThatCannotCoverWhatTheyMustAreRefused) {
  // Two sequences of together 8 tokens may need ceil(7 / 4) + ceil(1 / 4) = 3 pages.
  EXPECT_TRUE(Resolved(2, 3, 8, 3).ok());
  EXPECT_THAT(std::string(Resolved(2, 3, 8, 2).message()),
              HasSubstr("kv: its last offset N is 2, but 2 sequences need 3 to cover qo"));
}

TEST(IndexDefinition, SequencesThatMayNotBeEmptyNeedAnElementEach) {
  const std::string json = With("\"total\": \"T\", \"empty_sequences\": true", "\"total\": \"T\"");
  EXPECT_TRUE(Resolved(2, 3, 2, 6, json).ok());
  EXPECT_THAT(std::string(Resolved(2, 3, 1, 6, json).message()),
              HasSubstr("qo: its last offset T is 1, but 2 sequences need 2"));
}

TEST(IndexDefinition, IndexTensorsThatTheHostCouldNotMakeAreRefused) {
  EXPECT_THAT(std::string(Resolved(2, 3, 8, 1 << 25).message()),
              HasSubstr("pages: an index tensor of 33554432 elements, at most 16777216 are made"));
}

TEST(IndexDefinition, LeastBytesAreThoseOfTheDefinition) {
  const auto definition = ParseDefinition(kPaged);
  ASSERT_TRUE(definition.ok()) << definition.status();
  EXPECT_EQ(MakeWorkload(*definition, {{"B", 2}, {"L", 3}, {"T", 8}, {"N", 6}})->minimum_bytes(), 32u);
}

struct BadCase {
  const char* name;
  const char* from;
  const char* to;
  const char* words;
};

class BadIndex : public ::testing::TestWithParam<BadCase> {};

TEST_P(BadIndex, IsRefusedWithTheField) {
  const absl::Status status = ParseDefinition(With(GetParam().from, GetParam().to)).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().words));
}

INSTANTIATE_TEST_SUITE_P(
    Cases, BadIndex,
    ::testing::Values(
        BadCase{"Kind", "\"kind\": \"distinct\"", "\"kind\": \"unique\"",
                "sassay.indices.pages.kind: expected offsets, distinct or last_lengths, got unique"},
        BadCase{"NoInput", "{\"qo\": {\"kind\"", "{\"y\": {\"kind\"", "sassay.indices.y: no such input"},
        BadCase{"Rank", "\"pages\": {\"kind\"", "\"x\": {\"kind\"",
                "sassay.indices.x: expected an int32 or int64 input"},
        BadCase{"Total", "\"total\": \"T\", ", "", "sassay.indices.qo.total: missing"},
        BadCase{"Formula", "\"below\": \"2*N\"", "\"below\": \"2*M\"",
                "sassay.indices.pages.below: '2*M', character 3"},
        BadCase{"Key", "\"below\": \"2*N\"", "\"below\": \"2*N\", \"total\": 3",
                "sassay.indices.pages.total: unknown key"},
        BadCase{"Covers", "\"covers\": \"qo\"", "\"covers\": \"kv\"",
                "'kv' is no input of kind offsets that covers nothing"},
        BadCase{"Of", "\"of\": \"kv\"", "\"of\": \"qo\"", "'qo' is no input of kind offsets with a page_size"},
        BadCase{"Empty", "\"empty_sequences\": true}", "\"empty_sequences\": 1}", "expected true or false, got 1"},
        BadCase{"Both", "\"requires\"", "\"ranges\": {\"qo\": {\"minimum\": 0, \"maximum\": 1}}, \"requires\"",
                "sassay.ranges.qo: sassay.indices says already"},
        BadCase{"Relation", "L == B + 1", "L > B", "expected two expressions with ==, >= or <= between them"},
        BadCase{"Side", "L == B + 1", "L == B +", "sassay.requires: "},
        BadCase{"Suggested", "\"T\": 8, \"N\": 6}]", "\"T\": 8, \"N\": 1}]",
                "sassay.suggested_axes: kv: its last offset"},
        BadCase{"TooFew", "\"below\": \"2*N\"", "\"below\": \"N-1\"",
                "sassay.suggested_axes: pages: 6 distinct numbers below N-1 = 5"},
        BadCase{"Kernel", "kernel:gqa_paged_prefill", "kernel:conv",
                "no reference kernel 'conv'; there are gqa_paged_decode"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace sassay
