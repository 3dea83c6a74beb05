#include "common/workload/definition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/sha256.h"
#include "common/workload/json_text.h"

namespace sassay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kWhole[] = R"({
  "name": "scale", "op_type": "misc", "description": "y = s * x",
  "axes": {"N": {"type": "var"}, "K": {"type": "const", "value": 64}},
  "inputs": {"x": {"shape": ["N", "K"], "dtype": "bfloat16"}, "s": {"shape": null, "dtype": "float32"},
             "idx": {"shape": ["N", 4], "dtype": "int32"}},
  "outputs": {"y": {"shape": ["N", "K"], "dtype": "bfloat16"}},
  "reference": "def run(x, s, idx): ...", "constraints": ["N > 0"], "tags": ["test"],
  "sassay": {
    "reference": "builtin:gemm", "baseline": "cublaslt", "distributions": ["uniform", "integers"],
    "tolerance": {"y": {"rms_multiple": 3, "noise_of_rms": 0.01}},
    "sanitize_axes": {"N": 4}, "flop": "N*K", "required_sass": {"sm_90a": "H"},
    "ranges": {"idx": {"minimum": 0, "maximum": "N-1"}}, "suggested_axes": [{"N": 16}]
  }})";

// kWhole with one piece of text replaced.
std::string With(absl::string_view from, absl::string_view to) {
  std::string text = absl::StrReplaceAll(kWhole, {{from, to}});
  EXPECT_NE(text, kWhole) << from;
  return text;
}

std::string Error(absl::string_view json) { return std::string(ParseDefinition(json).status().message()); }

TEST(Definition, AnOpTypeIsAPlainName) {
  for (const char* path : {"/etc", "..", "a/b", ".ssh"})
    EXPECT_THAT(Error(With("\"misc\"", absl::StrCat("\"", path, "\""))), HasSubstr("op_type: expected")) << path;
}

TEST(Definition, ReadsEveryField) {
  const auto definition = ParseDefinition(kWhole);
  ASSERT_TRUE(definition.ok()) << definition.status();
  EXPECT_EQ(definition->name, "scale");
  EXPECT_EQ(definition->op_type, "misc");
  ASSERT_EQ(definition->axes.size(), 2u);
  EXPECT_FALSE(definition->axes[0].value.has_value());
  EXPECT_EQ(*definition->axes[1].value, 64);
  ASSERT_EQ(definition->inputs.size(), 3u);
  EXPECT_TRUE(definition->inputs[1].scalar);
  EXPECT_THAT(definition->inputs[2].shape, ElementsAre("N", "4"));
  EXPECT_EQ(definition->reference_kind, ReferenceKind::kBuiltin);
  EXPECT_EQ(definition->reference_name, "gemm");
  EXPECT_EQ(definition->baseline, "cublaslt");
  EXPECT_THAT(definition->distributions, ElementsAre("uniform", "integers"));
  EXPECT_EQ(*definition->tolerance.at("y").rms_multiple, 3);
  EXPECT_FALSE(definition->tolerance.at("y").element_multiple.has_value());
  EXPECT_EQ(definition->tolerance.at("y").noise_of_rms, 0.01);
  EXPECT_EQ(definition->sanitize_axes.at("N"), 4);
  EXPECT_EQ(definition->required_sass.at("sm_90a"), "H");
  EXPECT_EQ(definition->ranges.at("idx").maximum, "N-1");
  EXPECT_EQ(definition->suggested_axes.at(0).at("N"), 16);
}

// The value of kWhole's scalar `s` with `scalars` in its sassay section.
absl::StatusOr<double> ScalarOf(absl::string_view scalars, absl::string_view dtype = "float32") {
  const std::string json = absl::StrReplaceAll(
      With("\"flop\": \"N*K\"", absl::StrCat("\"scalars\": ", scalars)),
      {{"\"shape\": null, \"dtype\": \"float32\"", absl::StrCat("\"shape\": null, \"dtype\": \"", dtype, "\"")}});
  auto definition = ParseDefinition(json);
  if (!definition.ok()) return definition.status();
  v1::TensorSpec scalar;
  scalar.set_name("s");
  scalar.set_dtype(definition->inputs[1].dtype);
  return ScalarValue(*definition, scalar, {{"N", 4}, {"K", 64}});
}

TEST(Definition, ScalarsHaveTheValueThatTheDefinitionSays) {
  EXPECT_EQ(*ScalarOf("{}"), 1) << "what is not said is 1";
  EXPECT_EQ(*ScalarOf("{\"s\": 1e-6}"), 1e-6);
  EXPECT_EQ(*ScalarOf("{\"s\": -2.5}"), -2.5);
  EXPECT_EQ(*ScalarOf("{\"s\": \"1/K\"}"), 1.0 / 64);
  EXPECT_EQ(*ScalarOf("{\"s\": \"N-1\"}", "int32"), 3);
  EXPECT_EQ(*ScalarOf("{\"s\": -9007199254740992}", "int64"), -9007199254740992.0);
}

TEST(Definition, RefusesScalarsThatRunCannotGet) {
  EXPECT_THAT(std::string(ScalarOf("{\"s\": 0.5}", "int32").status().message()),
              HasSubstr("sassay.scalars.s: 0.5 is no int32"));
  EXPECT_FALSE(ScalarOf("{\"s\": 2147483648}", "int32").ok());
  EXPECT_FALSE(ScalarOf("{\"s\": 2}", "bool").ok());
  EXPECT_FALSE(ScalarOf("{\"s\": -1}", "uint8").ok());
  EXPECT_THAT(std::string(ScalarOf("{\"x\": 1}").status().message()), HasSubstr("sassay.scalars.x: no such scalar"));
  EXPECT_THAT(std::string(ScalarOf("{\"s\": \"1/\"}").status().message()), HasSubstr("sassay.scalars.s"));
  EXPECT_THAT(std::string(ScalarOf("{\"s\": [1]}").status().message()), HasSubstr("a number or an expression"));
}

TEST(Definition, APlainFlashInferDefinitionLoadsWithoutReference) {
  const auto definition = ParseDefinition(R"({"name": "rmsnorm_h128", "op_type": "rmsnorm",
      "axes": {"batch_size": {"type": "var", "description": "rows"}, "hidden_size": {"type": "const", "value": 128}},
      "inputs": {"x": {"shape": ["batch_size", "hidden_size"], "dtype": "bfloat16"}},
      "outputs": {"y": {"shape": ["batch_size", "hidden_size"], "dtype": "bfloat16"}}, "reference": "import torch"})");
  ASSERT_TRUE(definition.ok()) << definition.status();
  EXPECT_EQ(definition->reference_kind, ReferenceKind::kNone);
  EXPECT_EQ(definition->reference, "");
  EXPECT_THAT(definition->distributions, ElementsAre("normal"));
}

TEST(Definition, TheDigestIgnoresWhiteSpaceAndNothingElse) {
  const auto one = ParseDefinition(kWhole);
  const auto two = ParseDefinition(absl::StrReplaceAll(kWhole, {{"\n", " "}, {"  ", " "}}));
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(one->sha256, two->sha256);
  EXPECT_EQ(one->sha256, Sha256(one->canonical_json));
  EXPECT_NE(one->sha256, ParseDefinition(With("\"rms_multiple\": 3", "\"rms_multiple\": 4"))->sha256);
  // The order of tensors is the order of run()'s parameters.
  EXPECT_NE(one->sha256,
            ParseDefinition(With("\"N\": {\"type\": \"var\"}, \"K\": {\"type\": \"const\", \"value\": 64}",
                                 "\"K\": {\"type\": \"const\", \"value\": 64}, \"N\": {\"type\": \"var\"}"))
                ->sha256);
}

TEST(Definition, UnderstandsBundleAndGoldenReferences) {
  const std::string hex(64, 'a');
  const auto bundle = ParseDefinition(With("builtin:gemm", absl::StrCat("bundle:sha256:", hex)));
  ASSERT_TRUE(bundle.ok()) << bundle.status();
  EXPECT_EQ(bundle->reference_kind, ReferenceKind::kBundle);
  EXPECT_EQ(bundle->reference_name, hex);
  const auto golden = ParseDefinition(With("builtin:gemm", "golden:data/g.safetensors"));
  ASSERT_TRUE(golden.ok()) << golden.status();
  EXPECT_EQ(golden->reference_kind, ReferenceKind::kGolden);
  EXPECT_EQ(golden->reference_name, "data/g.safetensors");
}

TEST(Definition, RefusesGoldenPathsThatLeaveTheFolder) {
  EXPECT_THAT(Error(With("builtin:gemm", "golden:/etc/passwd")), HasSubstr("sassay.reference"));
  EXPECT_THAT(Error(With("builtin:gemm", "golden:a/../../b")), HasSubstr("sassay.reference"));
}

struct BadCase {
  const char* name;
  const char* from;
  const char* to;
  const char* words;
};

class BadDefinition : public ::testing::TestWithParam<BadCase> {};

TEST_P(BadDefinition, IsRefusedWithTheField) {
  EXPECT_THAT(Error(With(GetParam().from, GetParam().to)), HasSubstr(GetParam().words));
}

INSTANTIATE_TEST_SUITE_P(
    Cases, BadDefinition,
    ::testing::Values(
        BadCase{"Name", "\"scale\"", "\"a/b\"", "name: expected"},
        BadCase{"NameMissing", "\"name\"", "\"nome\"", "name: missing"},
        BadCase{"AxisType", "\"var\"", "\"free\"", "axes.N.type: expected const or var, got free"},
        BadCase{"AxisValue", "\"value\": 64", "\"value\": 0", "axes.K.value: expected a positive integer, got 0"},
        BadCase{"AxisFraction", "\"value\": 64", "\"value\": 1.5", "axes.K.value"},
        BadCase{"AxisHuge", "\"value\": 64", "\"value\": 99999999999", "axes.K: larger than"},
        BadCase{"AxisWrap", "\"value\": 64", "\"value\": 18446744073709551615", "axes.K.value"},
        BadCase{"AxisName", "\"N\": {\"type\"", "\"N+1\": {\"type\"", "axes.N+1: an axis is named by an identifier"},
        BadCase{"Extent", "[\"N\", \"K\"]", "[\"N\", \"Q\"]", "'Q' is neither an axis nor a positive integer"},
        BadCase{"ExtentNegative", "[\"N\", 4]", "[\"N\", -4]", "inputs.idx.shape: expected a positive integer, got -4"},
        BadCase{"Rank", "[\"N\", 4]", "[1,1,1,1,1,1,1,1,1]", "more than 8 extents"},
        BadCase{"DType", "\"int32\"", "\"int33\"", "inputs.idx.dtype: unknown element type int33"},
        BadCase{"ScalarOutput", "\"y\": {\"shape\": [\"N\", \"K\"]", "\"y\": {\"shape\": null",
                "an output cannot be a scalar"},
        BadCase{"InputAndOutput", "\"idx\": {\"shape\"", "\"y\": {\"shape\"", "y: is both an input and an output"},
        BadCase{"DoubledKey", "\"op_type\": \"misc\"", "\"name\": \"other\"", "the key \"name\" appears twice"},
        BadCase{"UnknownSection", "\"flop\"", "\"flops\"", "sassay.flops: unknown key"},
        BadCase{"Reference", "builtin:gemm", "python:gemm", "sassay.reference: expected builtin:NAME"},
        BadCase{"UnknownBuiltin", "builtin:gemm", "builtin:conv", "no built-in reference 'conv'; there are gemm"},
        BadCase{"BundleDigest", "builtin:gemm", "bundle:sha256:xyz", "64 lower-case hex digits"},
        BadCase{"Baseline", "cublaslt", "magic", "sassay.baseline: expected cublaslt, cudnn_sdpa"},
        BadCase{"Distribution", "\"uniform\"", "\"cauchy\"", "no distribution 'cauchy'; there are normal"},
        BadCase{"ToleranceOutput", "\"tolerance\": {\"y\"", "\"tolerance\": {\"x\"",
                "sassay.tolerance.x: no such output"},
        BadCase{"ToleranceKey", "noise_of_rms", "noise", "unknown key noise"},
        BadCase{"ToleranceNegative", "0.01", "-0.01", "a number of at least 0"},
        BadCase{"SanitizeConst", "\"sanitize_axes\": {\"N\"", "\"sanitize_axes\": {\"K\"",
                "sassay.sanitize_axes.K: not a variable axis"},
        BadCase{"Flop", "\"N*K\"", "\"N*Q\"", "sassay.flop: 'N*Q', character 3"},
        BadCase{"SassArch", "\"sm_90a\"", "\"hopper\"", "expected an architecture such as sm_90a"},
        BadCase{"RangeInput", "\"ranges\": {\"idx\"", "\"ranges\": {\"y\"", "sassay.ranges.y: no such input"},
        BadCase{"RangeFormula", "\"N-1\"", "\"N-\"", "sassay.ranges.idx.maximum"},
        BadCase{"Suggestion", "[{\"N\": 16}]", "[{}]", "a value for every variable axis"},
        BadCase{"SectionType", "\"sassay\": {", "\"sassay\": [], \"x\": {", "sassay: expected an object, got []"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Definition, RefusesMoreTensorsThanCanBeLentAtOnce) {
  const auto with_inputs = [](int count) {
    std::string inputs;
    for (int i = 0; i < count; ++i) {
      inputs +=
          (i == 0 ? "" : ",") + std::string("\"t") + std::to_string(i) + "\": {\"shape\": [4], \"dtype\": \"int32\"}";
    }
    return "{\"name\": \"many\", \"op_type\": \"misc\", \"axes\": {}, \"inputs\": {" + inputs +
           "}, \"outputs\": {\"y\": {\"shape\": [4], \"dtype\": \"int32\"}}}";
  };
  EXPECT_TRUE(ParseDefinition(with_inputs(63)).ok()) << ParseDefinition(with_inputs(63)).status();
  EXPECT_THAT(Error(with_inputs(64)), HasSubstr("more than 64 tensors in memory"));
}

TEST(Definition, RefusesForeignBytes) {
  EXPECT_FALSE(ParseDefinition("").ok());
  EXPECT_FALSE(ParseDefinition("[]").ok());
  EXPECT_FALSE(ParseDefinition("{").ok());
  EXPECT_THAT(Error(std::string(2 << 20, ' ')), HasSubstr("at most 1048576"));
  EXPECT_THAT(Error("{\"a\":" + std::string(100000, '[')), HasSubstr("levels deep"));
  EXPECT_FALSE(ParseDefinition("{\"name\": \"\xff\"}").ok());
}

TEST(DType, NamesAndSizesAgreeForEveryType) {
  for (int i = v1::DTYPE_UNSPECIFIED + 1; i <= v1::DType_MAX; ++i) {
    const auto dtype = static_cast<v1::DType>(i);
    EXPECT_EQ(DTypeFromName(DTypeName(dtype)), dtype);
    EXPECT_GT(DTypeBytes(dtype), 0u) << DTypeName(dtype);
  }
  EXPECT_EQ(DTypeBytes(v1::DTYPE_UNSPECIFIED), 0u);
  EXPECT_EQ(DTypeFromName("float"), v1::DTYPE_UNSPECIFIED);
}

TEST(TensorBytes, AScalarHasOneElement) {
  v1::TensorSpec tensor;
  tensor.set_dtype(v1::DTYPE_FLOAT64);
  EXPECT_EQ(ElementCount(tensor), 1u);
  EXPECT_EQ(TensorBytes(tensor), 8u);
  tensor.add_shape(3);
  tensor.add_shape(5);
  EXPECT_EQ(TensorBytes(tensor), 120u);
}

}  // namespace
}  // namespace sassay
