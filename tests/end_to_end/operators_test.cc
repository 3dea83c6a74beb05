// Operators that Sassay does not ship, as docs/workloads.md says one adds them: an rmsnorm judged by a kernel that an
// admin approved, an argmax with an integer output judged by golden tensors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/files.h"
#include "common/base/sha256.h"
#include "tests/end_to_end/service_fixture.h"

namespace sassay::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr char kRmsNorm[] = "rmsnorm_h256/batch_size=8";
constexpr char kRowArgmax[] = "row_argmax_m64_n128";
using Edit = std::vector<std::pair<std::string, std::string>>;

std::string ReadData(const std::string& name) {
  auto content = ReadFile(SourcePath(absl::StrCat("tests/data/workloads/", name)));
  EXPECT_TRUE(content.ok()) << content.status();
  return *std::move(content);
}

// A folder for --workloads, a service on it, and candidates for it.
class OperatorsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto directory = TemporaryDirectory::Create("sassay_operators");
    ASSERT_TRUE(directory.ok()) << directory.status();
    directory_ = std::make_unique<TemporaryDirectory>(*std::move(directory));
    ASSERT_TRUE(fs::create_directories(Folder() / "bundles"));
    fs::copy(SourcePath("tests/data/workloads/row_argmax_m64_n128.json"), Folder());
    fs::copy(SourcePath("tests/data/workloads/row_argmax_m64_n128.safetensors"), Folder());
    Define(std::string(64, '0'));
    CompileReference();
  }

  std::unique_ptr<TemporaryDirectory> directory_;

  fs::path Folder() const { return directory_->path() / "workloads"; }
  fs::path Approved() const { return Folder() / "bundles" / absl::StrCat(Sha256Hex(reference_), ".bundle"); }

  // rmsnorm's definition, judged by the bundle of this digest.
  void Define(const std::string& reference_sha256) {
    Write(Folder() / "rmsnorm_h256.json",
          absl::StrReplaceAll(ReadData("rmsnorm_h256.json.in"), {{"@REFERENCE_SHA256@", reference_sha256}}));
  }

  void CompileReference() {
    const std::string output = (directory_->path() / "reference.bundle").string();
    const AgentResult compiled =
        RunAgent({"compile", SourcePath("tests/data/workloads/rmsnorm_reference.cu"), "--definitions",
                  Folder().string(), "--workload", kRmsNorm, "-o", output, "--json"});
    ASSERT_EQ(compiled.exit_code, 0) << compiled.stdout_text << compiled.stderr_text;
    const auto bytes = ReadFile(output);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    reference_ = *bytes;
    EXPECT_EQ(compiled.json.value("bundle_sha256", ""), Sha256Hex(reference_)) << "the digest is sha256sum's";
    Define(Sha256Hex(reference_));
  }

  static void Write(const fs::path& path, const std::string& content) {
    const absl::Status status = WriteFileAtomically(path, content);
    ASSERT_TRUE(status.ok()) << status;
  }

  void Approve() { Write(Approved(), reference_); }

  // The candidate with each text replaced by another; a text that is not there is a broken test.
  nlohmann::json Submit(const std::string& source, const std::string& workload, const Edit& edits = {}) {
    std::string text = ReadData(source);
    for (const auto& [from, to] : edits) {
      EXPECT_THAT(text, HasSubstr(from));
      text = absl::StrReplaceAll(text, {{from, to}});
    }
    const fs::path candidate = directory_->path() / source;
    Write(candidate, text);
    return SubmitFile(candidate, workload);
  }

  nlohmann::json SubmitFile(const fs::path& candidate, const std::string& workload) {
    if (service_ == nullptr) StartService();
    if (service_ == nullptr) return {};
    AgentResult result = RunAgent({"submit", candidate.string(), "--workload", workload, "--definitions",
                                   Folder().string(), "--service", service_->address(), "--json"});
    EXPECT_TRUE(result.json.is_object()) << result.stdout_text << result.stderr_text;
    return result.json.is_object() ? std::move(result.json) : nlohmann::json::object();
  }

 private:
  void StartService() {
    auto service = Service::Start("", {"--workloads", Folder().string()});
    ASSERT_TRUE(service.ok()) << service.status();
    service_ = *std::move(service);
  }

  std::unique_ptr<Service> service_;
  std::string reference_;
};

#define EXPECT_VERDICT(verdict, expected_status, expected_code)                   \
  EXPECT_EQ((verdict).value("status", ""), expected_status) << (verdict).dump(2); \
  EXPECT_EQ((verdict).value("code", ""), expected_code) << (verdict).dump(2)

nlohmann::json Output(const nlohmann::json& verdict) {
  return verdict.value("/numerics/outputs/0"_json_pointer, nlohmann::json::object());
}

TEST_F(OperatorsTest, AnHonestRmsNormIsCorrectByTheApprovedKernel) {
  Approve();
  const nlohmann::json verdict = Submit("rmsnorm.cu", kRmsNorm);
  EXPECT_VERDICT(verdict, "CORRECT", "OK");
  EXPECT_TRUE(verdict.value("scorable", false)) << verdict.dump(2);
  EXPECT_EQ(verdict.value("definition_sha256", "").size(), 64u);
}

TEST_F(OperatorsTest, AnRmsNormThatForgetsTheWeightIsIncorrectAndTheWorstElementIsNamed) {
  Approve();
  const nlohmann::json verdict = Submit("rmsnorm.cu", kRmsNorm, {{" * __bfloat162float(weight[at])", ""}});
  EXPECT_VERDICT(verdict, "INCORRECT_NUMERICAL", "MISMATCH");
  EXPECT_THAT(verdict.value("reason", ""),
              ::testing::ContainsRegex("worst is y\\[[0-9]+,[0-9]+\\]: expected .*, got "));
  EXPECT_EQ(Output(verdict).value("worst_index", nlohmann::json::array()).size(), 2u) << verdict.dump(2);
}

TEST_F(OperatorsTest, AnRmsNormThatSkipsTheLastRowsIsToldWhichRows) {
  Approve();
  const nlohmann::json verdict = Submit("rmsnorm.cu", kRmsNorm, {{"if (row >= rows)", "if (row >= rows - 2)"}});
  EXPECT_VERDICT(verdict, "INCORRECT_NUMERICAL", "UNWRITTEN_OUTPUT");
  EXPECT_THAT(verdict.value("reason", ""), HasSubstr("row >= 6"));
}

TEST_F(OperatorsTest, AReferenceThatNobodyApprovedIsRefusedAndSaysHowToApproveIt) {
  const nlohmann::json verdict = Submit("rmsnorm.cu", kRmsNorm);
  EXPECT_VERDICT(verdict, "REJECTED", "NO_REFERENCE");
  EXPECT_THAT(verdict.value("reason", ""), HasSubstr(Approved().filename().string()));
  EXPECT_THAT(verdict.value("reason", ""), HasSubstr("an admin approves it by putting it there"));
}

TEST_F(OperatorsTest, AReferenceChangedAfterItsApprovalIsRefused) {
  Approve();
  fs::resize_file(Approved(), fs::file_size(Approved()) - 1);
  const nlohmann::json verdict = Submit("rmsnorm.cu", kRmsNorm);
  EXPECT_VERDICT(verdict, "REJECTED", "NO_REFERENCE");
  EXPECT_THAT(verdict.value("reason", ""), HasSubstr("does not have the digest of its name"));
}

TEST_F(OperatorsTest, AReferenceCompiledForAnotherSizeIsRefusedNamingTheSize) {
  Approve();
  const nlohmann::json verdict = Submit("rmsnorm.cu", "rmsnorm_h256/batch_size=32");
  EXPECT_VERDICT(verdict, "REJECTED", "NO_REFERENCE");
  EXPECT_THAT(verdict.value("reason", ""), HasSubstr("rmsnorm_h256/batch_size=32"));
}

TEST_F(OperatorsTest, AnHonestArgmaxIsCorrectByGoldenTensors) {
  const nlohmann::json verdict = Submit("row_argmax.cu", kRowArgmax);
  EXPECT_VERDICT(verdict, "CORRECT", "OK");
  EXPECT_EQ(Output(verdict).value("allowed_relative_rms_error", 0.0), 0.0) << verdict.dump(2);
}

TEST_F(OperatorsTest, AnIndexOffByOneInOneRowIsIncorrect) {
  const nlohmann::json verdict =
      Submit("row_argmax.cu", kRowArgmax, {{"y[row] = index;", "y[row] = index + (row == 63 ? 1 : 0);"}});
  EXPECT_VERDICT(verdict, "INCORRECT_NUMERICAL", "MISMATCH");
  EXPECT_THAT(verdict.value("reason", ""), HasSubstr("y: 1 of 64 elements are wrong; worst is y[63]: expected "));
  const nlohmann::json output = Output(verdict);
  EXPECT_EQ(output.value("worst_actual", 0.0), output.value("worst_expected", 0.0) + 1) << verdict.dump(2);
}

// y = alpha * x + beta / K over four elements, with golden tensors for alpha = -0.25 and beta = 3.
TEST_F(OperatorsTest, ScalarsReachTheCandidateWithTheValuesOfTheDefinition) {
  const std::string header =
      R"({"x":{"dtype":"F32","shape":[4],"data_offsets":[0,16]},"y":{"dtype":"F32","shape":[4],"data_offsets":[16,32]}})";
  const float tensors[] = {1, 2, 3, 4, 0.5f, 0.25f, 0, -0.25f};
  std::string golden(8, '\0');
  golden[0] = static_cast<char>(header.size());
  golden += header + std::string(reinterpret_cast<const char*>(tensors), sizeof(tensors));
  Write(Folder() / "affine.safetensors", golden);
  Write(Folder() / "affine.json", R"({"name": "affine", "axes": {"K": {"type": "const", "value": 4}},
    "inputs": {"x": {"shape": ["K"], "dtype": "float32"}, "alpha": {"shape": null, "dtype": "float32"},
               "beta": {"shape": null, "dtype": "int32"}, "scale": {"shape": null, "dtype": "float64"}},
    "outputs": {"y": {"shape": ["K"], "dtype": "float32"}},
    "sassay": {"reference": "golden:affine.safetensors", "scalars": {"alpha": -0.25, "beta": 3, "scale": "1/K"}}})");
  Write(directory_->path() / "affine.cu", R"(#include <cuda_runtime.h>
__global__ void Affine(const float* x, float alpha, int beta, double scale, float* y) {
  y[threadIdx.x] = alpha * x[threadIdx.x] + beta * static_cast<float>(scale);
}
extern "C" void run(const float* x, float alpha, int beta, double scale, float* y, cudaStream_t stream) {
  Affine<<<1, 4, 0, stream>>>(x, alpha, beta, scale, y);
}
)");
  const nlohmann::json verdict = SubmitFile(directory_->path() / "affine.cu", "affine");
  EXPECT_VERDICT(verdict, "CORRECT", "OK");
}

}  // namespace
}  // namespace sassay::testing
