// `mini-ptx-agent batch` against a real service: every line gets its record, whatever ends it may be told to go on.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "tests/end_to_end/process_tree.h"
#include "tests/end_to_end/service_fixture.h"

namespace sassay::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Of a candidate that keeps its runner busy for 20 s.
constexpr absl::Duration kLongBeforeItsEnd = absl::Seconds(12);
constexpr char kWorkload[] = "gemm_n256_k256/M=8";

json Item(const std::string& id, const std::string& source) { return {{"id", id}, {"source", source}}; }

class BatchesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto directory = TemporaryDirectory::Create("batch_test");
    ASSERT_TRUE(directory.ok());
    directory_.emplace(*std::move(directory));
    auto service = Service::Start();
    ASSERT_TRUE(service.ok()) << service.status();
    service_ = *std::move(service);
    naive_ = *ReadFile(SourcePath("agent/examples/gemm_naive.cu"));
    // Leaves the last row out.
    wrong_ = absl::StrReplaceAll(naive_, {{"row >= m ||", "row >= m - 1 ||"}});
    // Works until the emulated device's deadline, 20 s.
    busy_ = absl::StrReplaceAll(
        naive_, {{"float sum = 0.f;", "float sum = 0.f; for (volatile long long i = 0; i < 1ll << 40; ++i) { }"}});
  }
  std::string Path(const std::string& name) const { return (directory_->path() / name).string(); }
  void WriteItems(const std::vector<std::string>& lines) const {
    std::string text;
    for (const std::string& line : lines) absl::StrAppend(&text, line, "\n");
    ASSERT_TRUE(WriteNamedFile(Path("items.jsonl"), text).ok());
  }
  std::vector<std::string> Arguments(std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {
        "batch",    Path("items.jsonl"), "--workload",     kWorkload, "--service", service_->address(),
        "--stages", "evaluate",          "--run-deadline", "10m"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  static std::vector<json> Records(const std::string& text) {
    std::vector<json> records;
    for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
      records.push_back(json::parse(line, nullptr, false));
      EXPECT_TRUE(records.back().is_object()) << line;
    }
    return records;
  }
  static std::map<std::string, json> ById(const std::string& text) {
    std::map<std::string, json> records;
    for (const json& record : Records(text)) records[record.value("id", "")] = record;
    return records;
  }
  size_t Runners() const { return LivingDescendants(service_->pid(), "profiler-runner").size(); }

  std::optional<TemporaryDirectory> directory_;
  std::unique_ptr<Service> service_;
  std::string naive_, wrong_, busy_;
};

TEST_F(BatchesTest, EveryLineGetsTheVerdictThatItsCandidateDeserves) {
  ASSERT_TRUE(WriteNamedFile(Path("kernel.cu"), naive_).ok());
  WriteItems({Item("right", naive_).dump(), Item("wrong", wrong_).dump(), Item("no cuda", "no CUDA").dump(), "{",
              json({{"id", "path"}, {"path", Path("kernel.cu")}}).dump(),
              json({{"id", "gone"}, {"path", Path("gone.cu")}}).dump(),
              json({{"id", "answer"}, {"answer", absl::StrCat("So:\n```cuda\n", naive_, "\n```\n")}}).dump(),
              json({{"id", "talk"}, {"answer", "I cannot."}}).dump()});
  const AgentResult result = RunAgent(Arguments({"--keep-order"}), absl::Seconds(240));
  EXPECT_EQ(result.exit_code, 2) << result.stderr_text;
  std::vector<std::string> ids;
  for (const json& record : Records(result.stdout_text)) ids.push_back(record["id"]);
  EXPECT_THAT(ids, ElementsAre("right", "wrong", "no cuda", "4", "path", "gone", "answer", "talk"));
  std::map<std::string, json> records = ById(result.stdout_text);
  EXPECT_EQ(records["right"]["verdict"]["status"], "CORRECT") << records["right"];
  EXPECT_EQ(records["wrong"]["verdict"]["code"], "UNWRITTEN_OUTPUT") << records["wrong"];
  EXPECT_EQ(records["no cuda"]["verdict"]["status"], "COMPILE_ERROR");
  EXPECT_EQ(records["4"]["failure"]["exit_status"], 2);
  EXPECT_EQ(records["path"]["verdict"]["status"], "CORRECT");
  EXPECT_EQ(records["gone"]["failure"]["error"], "NOT_FOUND");
  EXPECT_EQ(records["answer"]["verdict"]["status"], "CORRECT");
  EXPECT_FALSE(records["talk"].value("no_candidate", "").empty());
  EXPECT_THAT(result.stderr_text, HasSubstr("8 items: 3 correct, 3 at fault, 0 not judged, 2 unusable"));
}

TEST_F(BatchesTest, CtrlCCancelsAndTheSameCommandGoesOn) {
  WriteItems({Item("right", naive_).dump(), Item("busy", busy_).dump()});
  const size_t idle = Runners();
  auto process = Subprocess::Start(AgentCommand(Arguments({"-o", Path("out.jsonl")}), directory_->path().string()));
  ASSERT_TRUE(process.ok()) << process.status();
  // Until one is judged and the other one runs.
  const absl::Time deadline = absl::Now() + absl::Seconds(120);
  const auto one_is_judged = [&] { return Records(ReadFile(Path("out.jsonl")).value_or("")).size() == 1; };
  while ((!one_is_judged() || Runners() <= idle) && absl::Now() < deadline)
    ASSERT_TRUE(absl::IsDeadlineExceeded(process->Wait(absl::Now() + absl::Milliseconds(50)).status()));
  ASSERT_TRUE(one_is_judged());
  kill(process->pid(), SIGINT);
  const auto report = process->Wait(absl::Now() + kLongBeforeItsEnd);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->exit_code, 3);
  EXPECT_LE(Runners(), idle + 1) << "one may be ready for the next candidate";
  const std::string before = *ReadFile(Path("out.jsonl"));
  EXPECT_THAT(Records(before), SizeIs(1));

  // The file knows the first; the second one is another candidate now, under its old id.
  WriteItems({Item("right", naive_).dump(), Item("busy", wrong_).dump()});
  const AgentResult result = RunAgent(Arguments({"-o", Path("out.jsonl"), "--json"}), absl::Seconds(120));
  EXPECT_EQ(result.exit_code, 0) << result.stderr_text;
  EXPECT_EQ(result.json["state"], "finished");
  EXPECT_EQ(result.json.value("found", 0), 1) << result.stdout_text;
  EXPECT_EQ(result.json.value("correct", 0), 1);
  EXPECT_EQ(result.json.value("at_fault", 0), 1);
  const std::string after = *ReadFile(Path("out.jsonl"));
  EXPECT_EQ(after.substr(0, before.size()), before);
  EXPECT_THAT(Records(after), SizeIs(2));
}

TEST_F(BatchesTest, ABatchThatWasKilledFindsItsSubmissionAgain) {
  WriteItems({Item("right", naive_).dump(), Item("wrong", wrong_).dump(), Item("again", naive_ + "// x").dump(),
              Item("more", naive_ + "// y").dump()});
  const std::string home = directory_->path().string();
  for (int kills = 0; kills < 4; ++kills) {
    auto process = Subprocess::Start(AgentCommand(Arguments({"-o", Path("out.jsonl")}), home));
    ASSERT_TRUE(process.ok());
    const size_t had = Records(ReadFile(Path("out.jsonl")).value_or("")).size();
    const absl::Time deadline = absl::Now() + absl::Seconds(120);
    while (Records(ReadFile(Path("out.jsonl")).value_or("")).size() == had && absl::Now() < deadline) {
      if (process->Wait(absl::Now() + absl::Milliseconds(20)).ok()) break;
    }
    process->Kill();
    process->Wait(absl::Now() + absl::Seconds(10)).IgnoreError();
  }
  const AgentResult result = RunAgent(Arguments({"-o", Path("out.jsonl"), "--json"}), absl::Seconds(120));
  EXPECT_EQ(result.exit_code, 0) << result.stderr_text;
  EXPECT_EQ(result.json.value("correct", 0), 3) << result.stdout_text;
  EXPECT_EQ(result.json.value("at_fault", 0), 1);
  std::map<std::string, int> times;
  for (const json& record : Records(*ReadFile(Path("out.jsonl")))) ++times[record["id"]];
  for (const auto& [id, count] : times) EXPECT_EQ(count, 1) << id;
  EXPECT_THAT(times, SizeIs(4));
}

TEST_F(BatchesTest, WithoutAReaderEverythingIsCancelled) {
  WriteItems({Item("busy", busy_).dump()});
  const size_t idle = Runners();
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  UniqueFd reader(ends[0]), writer(ends[1]);
  Command command = AgentCommand(Arguments(), directory_->path().string());
  command.inherit_fds = {{writer.get(), 1}};
  auto process = Subprocess::Start(command);
  ASSERT_TRUE(process.ok());
  writer.reset();
  const absl::Time deadline = absl::Now() + absl::Seconds(120);
  while (Runners() <= idle && absl::Now() < deadline)
    ASSERT_TRUE(absl::IsDeadlineExceeded(process->Wait(absl::Now() + absl::Milliseconds(50)).status()));
  reader.reset();
  const auto report = process->Wait(absl::Now() + kLongBeforeItsEnd);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->exit_code, 3);
  EXPECT_LE(Runners(), idle + 1);
}

TEST_F(BatchesTest, WhatConcernsEveryItemIsSaidOnce) {
  WriteItems({Item("right", naive_).dump(), Item("other", naive_).dump()});
  const std::string service = service_->address();
  service_->Crash();
  const AgentResult result = RunAgent(Arguments());
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.stdout_text, IsEmpty());
  EXPECT_THAT(result.stderr_text, HasSubstr(absl::StrCat("at ", service)));
}

}  // namespace
}  // namespace sassay::testing
