// Every candidate in tests/hostile, every example and every candidate that checks the template library, submitted for
// real; its first line says what must become of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tests/end_to_end/service_fixture.h"

namespace sassay::testing {
namespace {

namespace fs = std::filesystem;

struct Expectation {
  std::set<std::string> statuses, codes;
  std::string workload, arch = "sm_90a", profile = "strict", compile_deadline = "2m", match;
};

// "// expect: STATUS[,…] CODE[,…] workload=NAME [arch=A] [profile=P] [compile_deadline=D] [match="REGEX"]"
Expectation ParseExpectation(const fs::path& candidate) {
  std::ifstream file(candidate);
  std::string line;
  std::getline(file, line);
  static const std::regex form(
      R"re(// expect: (\S+) (\S+) workload=(\S+)(?: arch=(\S+))?(?: profile=(\S+))?(?: compile_deadline=(\S+))?(?: match="(.*)")?\s*)re");
  std::smatch parts;
  Expectation expectation;
  if (!std::regex_match(line, parts, form)) {
    ADD_FAILURE() << candidate << ": the first line is not an expectation: " << line;
    return expectation;
  }
  expectation.statuses = absl::StrSplit(parts[1].str(), ',');
  expectation.codes = absl::StrSplit(parts[2].str(), ',');
  expectation.workload = parts[3];
  if (parts[4].matched) expectation.arch = parts[4];
  if (parts[5].matched) expectation.profile = parts[5];
  if (parts[6].matched) expectation.compile_deadline = parts[6];
  expectation.match = parts[7];
  return expectation;
}

std::vector<std::string> Candidates() {
  std::vector<std::string> found;
  for (const char* folder : {"tests/hostile", "agent/examples", "agent/knowledge/testdata", "agent/knowledge/text"}) {
    for (const auto& entry : fs::recursive_directory_iterator(SourcePath(folder))) {
      if (entry.path().extension() == ".cu") found.push_back(fs::relative(entry.path(), SourcePath("")).string());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

// Everything in a verdict that is written for the reader.
std::string Words(const nlohmann::json& verdict) {
  std::string words = verdict.value("reason", "");
  for (const char* part : {"details", "numerics", "evidence"}) {
    absl::StrAppend(&words, "\n", verdict.value(part, nlohmann::json::object()).dump());
  }
  return words;
}

int ExpectedExit(const std::string& status) {
  if (status == "CORRECT") return 0;
  return status == "INFRA_ERROR" || status == "CANCELLED" ? 3 : 1;
}

class CandidateTest : public ::testing::TestWithParam<std::string> {};

TEST_P(CandidateTest, EndsAsItsFirstLineSays) {
  const Expectation expectation = ParseExpectation(SourcePath(GetParam()));
  auto service = Service::Start("", {"--device", "emulated:" + expectation.arch});
  ASSERT_TRUE(service.ok()) << service.status();
  const AgentResult result = RunAgent({"submit", SourcePath(GetParam()), "--workload", expectation.workload, "--arch",
                                       expectation.arch, "--profile", expectation.profile, "--compile-deadline",
                                       expectation.compile_deadline, "--service", (*service)->address(), "--json"});
  ASSERT_TRUE(result.json.is_object()) << result.stdout_text << result.stderr_text;
  const std::string status = result.json.value("status", "");
  const std::string all = result.json.dump(2);
  EXPECT_THAT(expectation.statuses, ::testing::Contains(status)) << all;
  EXPECT_THAT(expectation.codes, ::testing::Contains(result.json.value("code", ""))) << all;
  EXPECT_EQ(result.exit_code, ExpectedExit(status)) << all;
  if (!expectation.match.empty()) {
    EXPECT_TRUE(std::regex_search(Words(result.json), std::regex(expectation.match))) << expectation.match << "\n"
                                                                                      << all;
  }
  // What a machine is called and where its files lie is nobody's business.
  for (const char* secret : {"/root/", "/home/", "/tmp/", "root:x:0"}) {
    EXPECT_EQ(all.find(secret), std::string::npos) << secret << "\n" << all;
  }
}

std::string NameOf(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, CandidateTest, ::testing::ValuesIn(Candidates()), NameOf);

}  // namespace
}  // namespace sassay::testing
