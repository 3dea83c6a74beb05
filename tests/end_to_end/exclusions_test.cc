// Turns that do not count, from outside: the real service, the real agent, and a monitor's calls.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/proto_time.h"
#include "sassay/v1/control.grpc.pb.h"
#include "tests/end_to_end/service_fixture.h"

namespace sassay::testing {
namespace {

using sassay::v1::Control;
using ::testing::HasSubstr;

constexpr char kFirst[] = "emulated:sm_90a#0";
constexpr char kSecond[] = "emulated:sm_90a#1";

class ExclusionsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto directory = TemporaryDirectory::Create("exclusions");
    ASSERT_TRUE(directory.ok());
    state_.emplace(*std::move(directory));
    StartService();
  }
  void StartService() {
    auto service = Service::Start(state_->path().string(), {"--device", "emulated:sm_90a,emulated:sm_90a"});
    ASSERT_TRUE(service.ok()) << service.status();
    service_ = *std::move(service);
    control_ = Control::NewStub(grpc::CreateChannel(service_->address(), grpc::InsecureChannelCredentials()));
  }
  // Whatever has had a place on the GPU until now does not count; how many submissions that concerned.
  int Exclude(const std::string& gpu, const std::string& incident) {
    sassay::v1::ExcludeTurnsRequest request;
    request.set_uuid(gpu);
    request.mutable_from();
    SetTimestamp(absl::Now(), *request.mutable_to());
    request.set_incident_id(incident);
    request.set_reason("the GPU throttled");
    grpc::ClientContext context;
    sassay::v1::ExcludeTurnsResponse response;
    const grpc::Status status = control_->ExcludeTurns(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.submission_ids_size();
  }
  AgentResult Attach(const std::string& id) {
    return RunAgent({"attach", id, "--service", service_->address(), "--json"});
  }
  std::string Submit() {
    const AgentResult result = RunAgent({"submit", SourcePath("agent/examples/gemm_tiled.cu"), "--workload",
                                         "gemm_n256_k256/M=16", "--fresh", "--service", service_->address(), "--json"});
    EXPECT_EQ(result.exit_code, 0) << result.stdout_text << result.stderr_text;
    return result.json.value("submission_id", "");
  }

  std::optional<TemporaryDirectory> state_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<Control::Stub> control_;
};

TEST_F(ExclusionsTest, ATurnThatIsExcludedAfterItEndedIsRunAgainElsewhereWhateverDiesMeanwhile) {
  const std::string id = Submit();
  ASSERT_EQ(Exclude(kFirst, "i-1") + Exclude(kSecond, "i-1"), 1);
  service_->Crash();
  StartService();
  const AgentResult again = Attach(id);
  EXPECT_EQ(again.exit_code, 0) << again.stdout_text << again.stderr_text;
  EXPECT_EQ(again.json.value("status", ""), "CORRECT");
  EXPECT_GE(again.json.value("attempt", 0), 2) << "the crash may have cost one";
  EXPECT_FALSE(again.json.contains("excluded"));
  EXPECT_THAT(again.stderr_text, HasSubstr("attempt 1: excluded (incident i-1: the GPU throttled), running again"));
  EXPECT_EQ(Attach(id).json, again.json) << "the same story is told to everybody";
  grpc::ClientContext context;
  sassay::v1::GetUsageResponse usage;
  ASSERT_TRUE(control_->GetUsage(&context, {}, &usage).ok());
  ASSERT_EQ(usage.tenants_size(), 1);
  EXPECT_EQ(usage.tenants(0).verdicts(), 1u);
  EXPECT_EQ(usage.tenants(0).excluded_verdicts(), 1u);
}

TEST_F(ExclusionsTest, OneThatIsExcludedTooOftenIsNobodysFault) {
  const std::string id = Submit();
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(Exclude(kFirst, absl::StrCat("i-", i)) + Exclude(kSecond, absl::StrCat("i-", i)), 1) << i;
    EXPECT_EQ(Attach(id).exit_code, 0) << i;
  }
  ASSERT_EQ(Exclude(kFirst, "i-last") + Exclude(kSecond, "i-last"), 1);
  const AgentResult last = Attach(id);
  EXPECT_EQ(last.exit_code, 3) << last.stdout_text << last.stderr_text;
  EXPECT_EQ(last.json["excluded"].value("incident_id", ""), "i-last") << last.stdout_text;
}

// The next line of a pipe, as JSON; null at its end.
nlohmann::json ReadRecord(int fd) {
  std::string line;
  for (char c = 0; read(fd, &c, 1) == 1 && c != '\n';) line += c;
  return nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
}

std::string BatchItem(const std::string& id) {
  const nlohmann::json item = {
      {"id", id}, {"workload", "gemm_n256_k256/M=16"}, {"path", SourcePath("agent/examples/gemm_tiled.cu")}};
  return item.dump() + "\n";
}

TEST_F(ExclusionsTest, ABatchThatWorksCorrectsItsRecord) {
  int input[2], output[2];
  ASSERT_EQ(pipe2(input, O_CLOEXEC) + pipe2(output, O_CLOEXEC), 0);
  UniqueFd items_in(input[0]), items(input[1]), records(output[0]), records_out(output[1]);
  Command command = AgentCommand({"batch", "--service", service_->address()}, state_->path().string());
  command.inherit_fds = {{items_in.get(), 0}, {records_out.get(), 1}};
  auto batch = Subprocess::Start(command);
  ASSERT_TRUE(batch.ok()) << batch.status();
  items_in = UniqueFd();
  records_out = UniqueFd();
  const std::string item = BatchItem("a");
  ASSERT_EQ(write(items.get(), item.data(), item.size()), static_cast<ssize_t>(item.size()));
  const nlohmann::json first = ReadRecord(records.get());
  ASSERT_TRUE(first.is_object());
  EXPECT_EQ(first["verdict"].value("status", ""), "CORRECT") << first.dump(2);
  ASSERT_EQ(Exclude(kFirst, "i-1") + Exclude(kSecond, "i-1"), 1);
  const nlohmann::json second = ReadRecord(records.get());
  ASSERT_TRUE(second.is_object());
  for (const char* same : {"id", "line", "item_sha256", "request_id"}) EXPECT_EQ(second[same], first[same]) << same;
  EXPECT_EQ(second["verdict"]["submission_id"], first["verdict"]["submission_id"]);
  EXPECT_EQ(second["verdict"].value("status", ""), "CORRECT");
  EXPECT_GT(second["verdict"].value("attempt", 0), first["verdict"].value("attempt", 0));
  items = UniqueFd();
  EXPECT_TRUE(ReadRecord(records.get()).is_discarded()) << "nothing else is written";
  const auto ended = batch->Wait(absl::Now() + absl::Minutes(1));
  ASSERT_TRUE(ended.ok()) << ended.status();
  EXPECT_EQ(ended->exit_code, 0);
}

TEST_F(ExclusionsTest, ABatchThatGoesOnJudgesAgainWhatWasExcludedSince) {
  const std::string items = (state_->path() / "items.jsonl").string(),
                    records = (state_->path() / "out.jsonl").string();
  ASSERT_TRUE(WriteFileAtomically(items, BatchItem("a")).ok());
  const std::vector<std::string> batch = {"batch", items, "-o", records, "--service", service_->address(), "--json"};
  ASSERT_EQ(RunAgent(batch).exit_code, 0);
  ASSERT_EQ(Exclude(kFirst, "i-1") + Exclude(kSecond, "i-1"), 1);
  const AgentResult again = RunAgent(batch);
  EXPECT_EQ(again.exit_code, 0) << again.stderr_text;
  EXPECT_EQ(again.json.value("found", 0), 0) << again.stdout_text;
  const std::string text = *ReadFile(records);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  const AgentResult nothing = RunAgent(batch);
  EXPECT_EQ(nothing.json.value("found", 0), 1) << nothing.stdout_text;
}

}  // namespace
}  // namespace sassay::testing
