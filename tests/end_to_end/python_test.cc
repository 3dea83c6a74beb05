// The Python package as a user has it: a wheel in a fresh environment, without network, against a real service.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "tests/end_to_end/service_fixture.h"

namespace sassay::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;

constexpr int kMany = 200;

// "python3.11"
std::string PythonFolder(const fs::path& venv) {
  for (const auto& entry : fs::directory_iterator(venv / "lib")) return entry.path().filename().string();
  return "";
}

std::string PythonOfTools() { return SourcePath(".venv/bin/python"); }

struct Ran {
  bool ok = false;
  std::string out, text;
};

Ran Execute(std::vector<std::string> argv, const std::map<std::string, std::string>& more, absl::Duration timeout) {
  Command command;
  command.argv = std::move(argv);
  command.environment = {{"PATH", std::getenv("PATH")}, {"HOME", ::testing::TempDir()}};
  for (const char* name : {"CUDA_HOME", "SASSAY_CUDA_HOME", "TMPDIR"}) {
    if (const char* value = std::getenv(name)) command.environment[name] = value;
  }
  for (const auto& [name, value] : more) command.environment[name] = value;
  command.working_directory = SourcePath("");
  const auto report = RunToCompletion(command, timeout, 4 << 20);
  if (!report.ok()) return {false, "", std::string(report.status().message())};
  return {report->Succeeded(), report->stdout_text,
          absl::StrCat(DescribeExit(*report), "\n", report->stdout_text, report->stderr_text)};
}

class PythonTest : public ::testing::Test {
 protected:
  // With sanitizers the agent is not one file, and no wheel can be made.
  static bool CanBeMade() {
    return fs::exists(PythonOfTools()) &&
           fs::exists(fs::path(SASSAY_PROGRAMS).parent_path() / "archives/mini-ptx-agent");
  }
  // One wheel and one environment for all.
  static void SetUpTestSuite() {
    if (!CanBeMade()) return;
    directory_ = new TemporaryDirectory(*TemporaryDirectory::Create("python_test"));
    const std::string wheels = Path("wheels");
    const fs::path build = fs::path(SASSAY_PROGRAMS).parent_path();
    const Ran made = Execute({"/bin/bash", SourcePath("deploy/python.sh"), wheels, build.filename().string()},
                             {{"SASSAY_PYTHON_BUILT", "1"}}, absl::Minutes(3));
    ASSERT_TRUE(made.ok) << made.text;
    wheel_ = std::string(absl::StripTrailingAsciiWhitespace(made.out));
    const Ran venv = Execute({"/usr/bin/python3", "-m", "venv", Path("venv")}, {}, absl::Minutes(2));
    ASSERT_TRUE(venv.ok) << venv.text;
    const Ran installed =
        Execute({Path("venv/bin/pip"), "install", "--no-index", "--disable-pip-version-check", "--quiet", wheel_}, {},
                absl::Minutes(2));
    ASSERT_TRUE(installed.ok) << installed.text;
  }
  static void TearDownTestSuite() {
    delete directory_;
    directory_ = nullptr;
  }
  void SetUp() override {
    if (!CanBeMade()) GTEST_SKIP() << "no .venv (deploy/install_dependencies.sh makes it), or a build with sanitizers";
    ASSERT_FALSE(wheel_.empty());
    auto service = Service::Start();
    ASSERT_TRUE(service.ok()) << service.status();
    service_ = *std::move(service);
  }
  static std::string Path(const std::string& name) { return (directory_->path() / name).string(); }
  std::map<std::string, std::string> Environment() const {
    return {{"SASSAY_SERVICE", service_->address()},
            {"SASSAY_SERVICE_PID", absl::StrCat(service_->pid())},
            {"SASSAY_TEST_SOURCE", SourcePath("")},
            {"SASSAY_TEST_FOLDER", directory_->path().string()},
            {"XDG_CACHE_HOME", std::string(SASSAY_PROGRAMS) + "/../tests/cache"}};
  }
  Ran Python(std::vector<std::string> arguments, absl::Duration timeout = absl::Minutes(8)) const {
    arguments.insert(arguments.begin(), Path("venv/bin/python"));
    return Execute(std::move(arguments), Environment(), timeout);
  }

  static TemporaryDirectory* directory_;
  static std::string wheel_;
  std::unique_ptr<Service> service_;
};

TemporaryDirectory* PythonTest::directory_ = nullptr;
std::string PythonTest::wheel_;

TEST_F(PythonTest, TheWheelIsWhatItsTagSays) {
  EXPECT_THAT(wheel_, HasSubstr("-py3-none-manylinux_2_34_")) << "nothing newer is asked of a host's glibc";
  // The command comes along, and works in a place that is not the one it was built in.
  const Ran version = Execute({Path("venv/bin/mini-ptx-agent"), "--version"}, {}, absl::Minutes(1));
  EXPECT_TRUE(version.ok) << version.text;
  EXPECT_THAT(version.out, HasSubstr("mini-ptx-agent 0."));
  const Ran same = Python({"-c", "import sassay; print('mini-ptx-agent', sassay.__version__)"});
  EXPECT_EQ(same.out, version.out) << same.text;
}

TEST_F(PythonTest, WhatNeedsNoService) {
  const Ran ran = Python({SourcePath("agent/python/tests/test_offline.py"), "-q"});
  EXPECT_TRUE(ran.ok) << ran.text;
}

TEST_F(PythonTest, TypesAreTheProtos) {
  const Ran ran = Python({SourcePath("agent/python/generate_types.py"), "--check"});
  EXPECT_TRUE(ran.ok) << ran.text;
}

TEST_F(PythonTest, ClientsJudgeCancelAndFailAsTheyShould) {
  const Ran ran = Python({SourcePath("agent/python/tests/test_service.py"), "-v"});
  EXPECT_TRUE(ran.ok) << ran.text;
}

TEST_F(PythonTest, ExamplesOfTheManualPrintWhatTheySay) {
  const Ran ran = Python({SourcePath("agent/python/tests/test_docs.py"), "-v"});
  EXPECT_TRUE(ran.ok) << ran.text;
}

TEST_F(PythonTest, TwoHundredCandidatesTakeLessThanTwiceTheBatchsTime) {
  const std::string naive = *ReadFile(SourcePath("agent/examples/gemm_naive.cu"));
  const std::pair<const char*, std::string> kinds[] = {
      {"CORRECT", naive},
      {"INCORRECT_NUMERICAL", absl::StrReplaceAll(naive, {{"row >= m ||", "row >= m - 1 ||"}})},
      {"COMPILE_ERROR", "no CUDA"}};
  std::string items;
  for (int i = 0; i < kMany; ++i) {
    const auto& [status, source] = kinds[i % std::size(kinds)];
    absl::StrAppend(&items, json({{"id", absl::StrCat(i, " ", status)}, {"source", source}}).dump(), "\n");
  }
  ASSERT_TRUE(WriteNamedFile(Path("items.jsonl"), items).ok());
  // The compiler runs once for each kind, before either is timed.
  const std::vector<std::string> batch = {
      "batch",    Path("items.jsonl"), "--workload", "gemm_n256_k256/M=8", "--service", service_->address(), "--stages",
      "evaluate", "--concurrency",     "32"};
  ASSERT_EQ(RunAgent(batch, absl::Minutes(5)).exit_code, 0);
  const absl::Time begin = absl::Now();
  const AgentResult command = RunAgent(batch, absl::Minutes(5));
  const double batch_s = absl::ToDoubleSeconds(absl::Now() - begin);
  ASSERT_EQ(command.exit_code, 0) << command.stderr_text;
  const Ran ran = Python({SourcePath("agent/python/tests/many.py"), Path("items.jsonl")});
  ASSERT_TRUE(ran.ok) << ran.text;
  double python_s = 0;
  ASSERT_TRUE(absl::SimpleAtod(absl::StripAsciiWhitespace(ran.out), &python_s)) << ran.out;
  std::printf("%d candidates: batch %.1f s, evaluate_many %.1f s\n", kMany, batch_s, python_s);
  EXPECT_LT(python_s, 2 * batch_s);
}

TEST_F(PythonTest, ANotebookIsExecuted) {
  const std::string tools = SourcePath(".venv/python_tools/bin/python3");
  if (!fs::exists(SourcePath(".venv/python_tools/bin/jupyter-nbconvert")))
    GTEST_SKIP() << "no Jupyter: bash deploy/install_python_tools.sh";
  auto environment = Environment();
  environment["PYTHONPATH"] = Path(absl::StrCat("venv/lib/", PythonFolder(Path("venv")), "/site-packages"));
  const Ran ran = Execute({tools, "-m", "nbconvert", "--execute", "--to", "html", "--output-dir", directory_->path(),
                           "--output", "notebook.html", SourcePath("agent/python/tests/notebook.ipynb")},
                          environment, absl::Minutes(4));
  ASSERT_TRUE(ran.ok) << ran.text;
  const std::string page = *ReadFile(Path("notebook.html"));
  EXPECT_THAT(page, HasSubstr(">CORRECT</b>"));
  EXPECT_THAT(page, HasSubstr(">COMPILE_ERROR</b>"));
  EXPECT_THAT(page, HasSubstr("speed-up 1.250"));
  EXPECT_THAT(page, HasSubstr("<circle"));
  EXPECT_THAT(page, ::testing::Not(HasSubstr("<script>alert(1)")));
}

TEST_F(PythonTest, TypeHintsHold) {
  const std::string tools = SourcePath(".venv/python_tools/bin/python3");
  if (!fs::exists(SourcePath(".venv/python_tools/bin/mypy")))
    GTEST_SKIP() << "no mypy: bash deploy/install_python_tools.sh";
  const Ran ran = Execute({tools, "-m", "mypy", "--config-file", SourcePath("agent/python/pyproject.toml"),
                           "--cache-dir", Path("mypy"), SourcePath("agent/python/src/sassay")},
                          {}, absl::Minutes(4));
  EXPECT_TRUE(ran.ok) << ran.text;
}

}  // namespace
}  // namespace sassay::testing
