// SIGKILL at any moment, to the service, a runner or the judge, while real clients submit 200 real candidates: every
// accepted submission ends with exactly one verdict, the one that its candidate deserves, and nothing is left behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "agent/submit/calls.h"
#include "agent/submit/submission.h"
#include "agent/submit/upload.h"
#include "common/base/files.h"
#include "common/base/proto_json.h"
#include "common/base/sha256.h"
#include "common/base/status_macros.h"
#include "profiler_service/store/sqlite/sqlite_db.h"
#include "profiler_service/store/sqlite/sqlite_store.h"
#include "tests/end_to_end/killer.h"
#include "tests/end_to_end/process_tree.h"
#include "tests/end_to_end/service_fixture.h"

namespace sassay::testing {
namespace {

namespace fs = std::filesystem;
using sassay::v1::Event;
using sassay::v1::ProfileRequest;
using sassay::v1::Verdict;

constexpr int kSubmissions = 200;
constexpr int kClients = 8;
constexpr char kWorkload[] = "gemm_n256_k256/M=8";
constexpr char kTenant[] = "local";
constexpr absl::Duration kHangs = absl::Seconds(6);
// Tries again soon, so that the service is not idle for long after its death.
constexpr agent::RetryPolicy kPatient = {absl::Milliseconds(50), absl::Milliseconds(500), absl::Minutes(5)};

// What is submitted, and how often.
struct Candidate {
  const char* source;
  const char* status;  // what it deserves
  int count;           // 0: the rest
  bool hangs = false;
  std::string bundle = {};
  fs::path file = {};
};

std::vector<Candidate> Candidates() {
  return {{"agent/examples/gemm_naive.cu", "CORRECT", 0},
          {"tests/hostile/numerics/wrong_transposition.cu", "INCORRECT_NUMERICAL", 25},
          // Evaluate finds nothing wrong with it: a sanitize stage that was lost must not acquit it.
          {"tests/hostile/memory/unwritten_workspace.cu", "SANITIZER_ERROR", 40},
          {"tests/hostile/memory/store_past_output.cu", "SANITIZER_ERROR", 20},
          {"tests/hostile/hang/trap.cu", "RUNTIME_ERROR", 15},
          {"tests/hostile/hang/endless_loop.cu", "TIMEOUT", 3, true},
          // Runs to its deadline.
          {"tests/hostile/hang/barrier_one_warp_skips.cu", "TIMEOUT", 3, true}};
}

uint64_t Seed() {
  uint64_t seed = 0;
  const char* given = std::getenv("SASSAY_KILL_SEED");
  if (given != nullptr && absl::SimpleAtoi(given, &seed)) return seed;
  return std::random_device{}();
}

// One client's intention and what came of it.
struct Turn {
  const Candidate* candidate = nullptr;
  std::string request_id;
  std::string submission_id;
  Verdict verdict;
  std::string failure;
};

// How a client follows its submission.
enum class Manner { kFollows, kLeavesAndAttaches, kRealAgent };

class KilledAnywhereTest : public ::testing::Test {
 protected:
  void SetUp() override {
    AdoptOrphans();
    // What the service and the agents leave in their temporary folders is found here.
    setenv("TMPDIR", (directory_.path() / "tmp").c_str(), 1);
    ASSERT_TRUE(fs::create_directory(directory_.path() / "tmp"));
    for (Candidate& candidate : candidates_) Compile(candidate);
  }

  fs::path State() const { return directory_.path() / "state"; }

  void Compile(Candidate& candidate) {
    candidate.file = directory_.path() / absl::StrCat(fs::path(candidate.source).stem().string(), ".bundle");
    const AgentResult compiled = RunAgent(
        {"compile", SourcePath(candidate.source), "--workload", kWorkload, "-o", candidate.file.string(), "--json"});
    ASSERT_EQ(compiled.exit_code, 0) << compiled.stdout_text << compiled.stderr_text;
    const auto bytes = ReadFile(candidate.file);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    candidate.bundle = *bytes;
  }

  // In an order of chance.
  void MakeTurns(std::mt19937_64& random) {
    for (const Candidate& candidate : candidates_) {
      for (int i = 0; i < candidate.count; ++i) turns_.emplace_back().candidate = &candidate;
    }
    while (turns_.size() < kSubmissions) turns_.emplace_back().candidate = &candidates_.front();
    std::shuffle(turns_.begin(), turns_.end(), random);
    for (size_t i = 0; i < turns_.size(); ++i) turns_[i].request_id = absl::StrCat("turn-", i);
  }

  void RunClients() {
    std::vector<std::thread> clients;
    for (int i = 0; i < kClients; ++i) clients.emplace_back([this] { RunClient(); });
    for (std::thread& client : clients) client.join();
  }

  void RunClient() {
    auto connection = Connect();
    for (size_t i = next_++; i < turns_.size(); i = next_++) {
      const Manner manner = i % 10 == 0  ? Manner::kRealAgent
                            : i % 3 == 0 ? Manner::kLeavesAndAttaches
                                         : Manner::kFollows;
      if (absl::Status status = Play(*connection, turns_[i], manner); !status.ok())
        turns_[i].failure = status.ToString();
    }
  }

  std::unique_ptr<agent::Connection> Connect() const {
    ConnectionOptions options;
    options.service = killer_->address();
    return *agent::Connection::Open(options);
  }

  // What a user does who finds the service gone: the same request once more.
  absl::Status Play(agent::Connection& connection, Turn& turn, Manner manner) {
    for (;;) {
      const absl::Status status =
          manner == Manner::kRealAgent ? PlayByAgent(connection, turn) : PlayHere(connection, turn, manner);
      if (!absl::IsUnavailable(status)) return status;
      ++refused_;
      if (!killer_->WaitUntilUp()) return status;
    }
  }

  absl::Status PlayHere(agent::Connection& connection, Turn& turn, Manner manner) {
    Stopper stopper;
    const std::string sha256 = Sha256Hex(turn.candidate->bundle);
    RETURN_IF_ERROR(agent::Upload(connection, turn.candidate->bundle, sha256, kPatient, stopper).status());
    ProfileRequest request;
    request.set_request_id(turn.request_id);
    request.set_bundle_sha256(sha256);
    request.set_workload(kWorkload);
    request.set_fresh(true);  // each of the 200 is to be run
    if (turn.candidate->hangs) request.mutable_run_deadline()->set_seconds(absl::ToInt64Seconds(kHangs));
    agent::Submission submission(connection, kPatient, stopper, Listener());
    if (manner == Manner::kFollows) {
      ASSIGN_OR_RETURN(turn.verdict, submission.Profile(request));
      return Remember(turn, submission.id());
    }
    ASSIGN_OR_RETURN(const Event accepted, submission.Detach(request));
    RETURN_IF_ERROR(Remember(turn, accepted.submission_id()));
    ASSIGN_OR_RETURN(turn.verdict, Attach(connection, turn));
    return absl::OkStatus();
  }

  agent::SubmissionListener Listener() {
    agent::SubmissionListener listener;
    listener.on_event = [this](const Event&) { killer_->OnEvent(); };
    listener.on_note = [this](absl::string_view) { ++reconnects_; };
    return listener;
  }

  // The same request is the same submission, however often it is made.
  static absl::Status Remember(Turn& turn, const std::string& id) {
    if (!turn.submission_id.empty() && turn.submission_id != id) {
      return absl::InternalError(absl::StrCat(turn.request_id, " was ", turn.submission_id, " and is now ", id));
    }
    turn.submission_id = id;
    return absl::OkStatus();
  }

  absl::Status PlayByAgent(agent::Connection& connection, Turn& turn) {
    std::vector<std::string> arguments = {"submit",       turn.candidate->file.string(),
                                          "--workload",   kWorkload,
                                          "--request-id", turn.request_id,
                                          "--service",    killer_->address(),
                                          "--fresh",      "--json"};
    if (turn.candidate->hangs) {
      arguments.insert(arguments.end(), {"--run-deadline", absl::FormatDuration(kHangs)});
    }
    const AgentResult result = RunAgent(arguments);
    killer_->OnEvent();
    if (!result.json.is_object() || !result.json.contains("submission_id")) {
      if (result.exit_code == 3) return absl::UnavailableError(result.stderr_text);
      return absl::InternalError(absl::StrCat(result.exit_code, ": ", result.stdout_text, result.stderr_text));
    }
    RETURN_IF_ERROR(Remember(turn, result.json["submission_id"]));
    ASSIGN_OR_RETURN(turn.verdict, Attach(connection, turn));
    if (EnumName(turn.verdict.status()) == result.json.value("status", "")) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("the agent saw ", result.json.dump()));
  }

  absl::StatusOr<Verdict> Attach(agent::Connection& connection, const Turn& turn) {
    Stopper stopper;
    agent::Submission submission(connection, kPatient, stopper, Listener());
    return submission.Attach(turn.submission_id);
  }

  // ---- what must hold ----

  void ExpectDeservedVerdicts() const {
    std::set<std::string> ids;
    for (const Turn& turn : turns_) {
      EXPECT_EQ(turn.failure, "") << turn.request_id << " " << turn.candidate->source;
      EXPECT_EQ(EnumName(turn.verdict.status()), turn.candidate->status) << turn.candidate->source << "\n"
                                                                         << turn.verdict.DebugString();
      EXPECT_EQ(turn.verdict.submission_id(), turn.submission_id);
      ids.insert(turn.submission_id);
    }
    EXPECT_EQ(ids.size(), turns_.size());
  }

  void ExpectTheSameOnAttach() {
    const auto connection = Connect();
    for (const Turn& turn : turns_) {
      const auto verdict = Attach(*connection, turn);
      ASSERT_TRUE(verdict.ok()) << verdict.status();
      EXPECT_EQ(verdict->SerializeAsString(), turn.verdict.SerializeAsString()) << turn.request_id;
    }
  }

  void ExpectOneVerdictEachInTheStore() {
    const std::string file = State() / "sassay.db";
    const auto store = store::OpenSqliteStore(file);
    ASSERT_TRUE(store.ok()) << store.status();
    for (const Turn& turn : turns_) {
      const auto submission = (*store)->Get(kTenant, turn.submission_id);
      ASSERT_TRUE(submission.ok()) << submission.status();
      EXPECT_EQ(submission->state, store::State::kFinished);
      const auto events = (*store)->Events(turn.submission_id, 0, 1000);
      ASSERT_TRUE(events.ok()) << events.status();
      ExpectOneLife(*events, turn);
    }
    EXPECT_EQ(CountRows(file, "SELECT count(*) FROM submissions"), kSubmissions);
    EXPECT_EQ(CountRows(file, "SELECT count(*) FROM verdicts"), kSubmissions);
  }

  static int64_t CountRows(const std::string& file, const char* sql) {
    auto db = *store::SqliteDb::Open(file);
    store::sql::Query query = db->Prepare(sql);
    EXPECT_TRUE(*query.Step());
    return query.Int(0);
  }

  void ExpectOneLife(const std::vector<Event>& events, const Turn& turn) {
    int accepted = 0, verdicts = 0;
    for (size_t i = 0; i < events.size(); ++i) {
      EXPECT_EQ(events[i].sequence(), i + 1) << turn.request_id;
      accepted += events[i].has_accepted();
      verdicts += events[i].has_verdict();
      if (events[i].has_retrying()) ++retries_[events[i].retrying().reason().substr(0, 40)];
    }
    EXPECT_EQ(accepted, 1) << turn.request_id;
    EXPECT_EQ(verdicts, 1) << turn.request_id;
    EXPECT_TRUE(events.back().has_verdict()) << turn.request_id;
    EXPECT_EQ(events.back().verdict().SerializeAsString(), turn.verdict.SerializeAsString());
    most_attempts_ = std::max(most_attempts_, turn.verdict.attempt());
  }

  void ExpectNothingLeftBehind() const {
    const auto orphans = WaitForOrphansToDie({}, {}, absl::Now() + absl::Seconds(10));
    EXPECT_TRUE(orphans.ok()) << orphans.status();
    for (const Process& process : DescendantsOf(getpid())) {
      ADD_FAILURE() << process.name << " (pid " << process.pid << ", " << process.state << ") is left";
    }
    for (const auto& entry : fs::directory_iterator(directory_.path() / "tmp")) {
      ADD_FAILURE() << entry.path() << " is left";
    }
    const std::set<std::string> expected = {"blobs",         "crash_report",  "sassay.db",
                                            "sassay.db-shm", "sassay.db-wal", "sassay.db.lock",
                                            "scratch",       "seed_secret",   "lock"};
    for (const auto& entry : fs::directory_iterator(State())) {
      EXPECT_THAT(expected, ::testing::Contains(entry.path().filename().string()));
    }
    EXPECT_TRUE(fs::is_empty(State() / "crash_report")) << *ReadFile(State() / "crash_report");
    EXPECT_TRUE(fs::is_empty(State() / "scratch"));
    for (const auto& entry : fs::recursive_directory_iterator(State() / "blobs" / "partial")) {
      EXPECT_TRUE(entry.is_directory()) << entry.path() << " is left";
    }
  }

  static std::string Times(std::vector<absl::Duration> times) {
    if (times.empty()) return "none";
    std::sort(times.begin(), times.end());
    return absl::StrFormat("median %d ms, longest %d ms", absl::ToInt64Milliseconds(times[times.size() / 2]),
                           absl::ToInt64Milliseconds(times.back()));
  }

  void Report(uint64_t seed, absl::Duration wall) const {
    const KillReport& report = killer_->report();
    std::cout << absl::StrFormat(
        "seed %d: %d submissions in %.1f s; SIGKILL to %d services, %d starting services, %d runners, %d judges\n"
        "  from kill to ready: %s\n  from kill to the next event: %s\n  until the last of %d orphans had died: %s\n"
        "  reconnects %d, refused %d, most attempts %d, retries: %s\n",
        seed, kSubmissions, absl::ToDoubleSeconds(wall), report.services, report.starting_services, report.runners,
        report.judges, Times(report.until_ready), Times(report.until_event), report.orphans,
        Times(report.until_no_orphan), reconnects_.load(), refused_.load(), most_attempts_,
        absl::StrJoin(retries_, ", ", absl::PairFormatter(" ")));
  }

  TemporaryDirectory directory_ = *TemporaryDirectory::Create("killed_anywhere");
  std::vector<Candidate> candidates_ = Candidates();
  std::vector<Turn> turns_;
  std::unique_ptr<Killer> killer_;
  std::atomic<size_t> next_ = 0;
  std::atomic<int> reconnects_ = 0, refused_ = 0;
  std::map<std::string, int> retries_;
  uint32_t most_attempts_ = 0;
};

TEST_F(KilledAnywhereTest, EveryAcceptedSubmissionEndsWithTheOneVerdictThatItsCandidateDeserves) {
  KillPlan plan;
  plan.seed = Seed();
  plan.services = 25;
  plan.runners = 30;
  plan.judges = 15;
  std::cout << "SASSAY_KILL_SEED=" << plan.seed << std::endl;
  std::mt19937_64 random(plan.seed);
  MakeTurns(random);
  const absl::Time start = absl::Now();
  auto killer = Killer::Start(State(), {}, plan);
  ASSERT_TRUE(killer.ok()) << killer.status();
  killer_ = *std::move(killer);
  RunClients();
  const absl::Status killing = killer_->Rest();
  EXPECT_TRUE(killing.ok()) << killing;
  const absl::Duration wall = absl::Now() - start;
  ExpectDeservedVerdicts();
  ExpectTheSameOnAttach();
  EXPECT_EQ(killer_->service().Stop(), 0) << killer_->service().Log();
  ExpectOneVerdictEachInTheStore();
  Report(plan.seed, wall);
  EXPECT_GE(killer_->report().services, 10) << "too few kills: the test has proved nothing";
  EXPECT_GE(killer_->report().runners, 10);
  EXPECT_GE(killer_->report().judges, 5);
  killer_.reset();
  ExpectNothingLeftBehind();
}

}  // namespace
}  // namespace sassay::testing
