#include "tests/end_to_end/cluster_fixture.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/submit/submission.h"
#include "agent/submit/upload.h"
#include "common/base/proto_json.h"
#include "common/base/sha256.h"
#include "common/base/status_macros.h"

namespace sassay::testing {
namespace {

using sassay::v1::Event;

constexpr char kWorkload[] = "gemm_n256_k256/M=8";
constexpr char kAnyPort[] = ":0";

}  // namespace

absl::Status Member::Start() {
  if (service_ != nullptr) earlier_logs_ += service_->Log();
  service_.reset();
  ASSIGN_OR_RETURN(service_, Service::Start(state_, arguments_, where_));
  // Once: clients read it meanwhile.
  if (absl::EndsWith(where_.listen, kAnyPort)) where_.listen = service_->address();
  return absl::OkStatus();
}

void Member::Pause() { kill(service_->pid(), SIGSTOP); }

void Member::Continue() { kill(service_->pid(), SIGCONT); }

std::string Member::Log() const { return absl::StrCat(earlier_logs_, service_ == nullptr ? "" : service_->Log()); }

Cluster::Cluster(std::string store, Network* network, absl::Duration lease)
    : store_(std::move(store)), network_(network), lease_(lease) {
  for (const auto& [name, role] : {std::pair("ann", "tenant"), std::pair("root", "admin"), std::pair("gpus", "node")}) {
    const absl::Status made = MakeToken(name, role);
    EXPECT_TRUE(made.ok()) << made;
  }
}

absl::Status Cluster::MakeToken(const std::string& name, const std::string& role) const {
  Command command;
  command.argv = {Program("profiler-service"), "token", "add", name, "--role", role, "--token-file", TokenFile("all")};
  ASSIGN_OR_RETURN(const ExitReport report, RunToCompletion(command, absl::Seconds(30)));
  if (!report.Succeeded()) return absl::InternalError(report.stderr_text);
  return WriteFileAtomically(TokenFile(name), report.stdout_text, 0600);
}

absl::StatusOr<std::unique_ptr<Member>> Cluster::NewMember(const std::string& name, std::vector<std::string> arguments,
                                                           bool is_reached_by_others) {
  Host host;
  if (network_ != nullptr) {
    ASSIGN_OR_RETURN(host, network_->AddHost());
  }
  const bool has_an_address = is_reached_by_others && !host.address.empty();
  Placement where(absl::StrCat(has_an_address ? host.address : "127.0.0.1", kAnyPort));
  where.inside = host.inside;
  where.programs = programs_;
  return std::make_unique<Member>(directory_.path() / name, std::move(arguments), std::move(where), std::move(host));
}

absl::StatusOr<Member*> Cluster::AddFrontEnd(const std::vector<std::string>& arguments) {
  std::vector<std::string> all = {"--role", "frontend", "--token-file", TokenFile("all"), "--insecure"};
  if (!store_.empty()) all.insert(all.end(), {"--store", store_});
  all.insert(all.end(), arguments.begin(), arguments.end());
  const std::string name = absl::StrCat("front_end", front_ends_.size());
  ASSIGN_OR_RETURN(std::unique_ptr<Member> member, NewMember(name, std::move(all), /*is_reached_by_others=*/true));
  front_ends_.push_back(std::move(member));
  RETURN_IF_ERROR(front_ends_.back()->Start());
  return front_ends_.back().get();
}

absl::StatusOr<Member*> Cluster::AddNode(const std::vector<std::string>& arguments) {
  const std::string name = absl::StrCat("node", nodes_.size());
  const std::string join =
      absl::StrJoin(front_ends_, ",", [](std::string* out, const auto& each) { out->append(each->address()); });
  std::vector<std::string> all = {"--role",
                                  "node",
                                  "--join",
                                  join,
                                  "--join-insecure",
                                  "--join-token-file",
                                  TokenFile("gpus"),
                                  "--lease",
                                  absl::FormatDuration(lease_),
                                  "--node-name",
                                  name};
  all.insert(all.end(), arguments.begin(), arguments.end());
  ASSIGN_OR_RETURN(std::unique_ptr<Member> member, NewMember(name, std::move(all), /*is_reached_by_others=*/false));
  nodes_.push_back(std::move(member));
  RETURN_IF_ERROR(nodes_.back()->Start());
  return nodes_.back().get();
}

absl::Status Cluster::Compile(Candidate& candidate) const {
  const std::string file = directory_.path() / absl::StrCat(Sha256Hex(candidate.source).substr(0, 8), ".bundle");
  const AgentResult compiled =
      RunAgent({"compile", SourcePath(candidate.source), "--workload", kWorkload, "-o", file, "--json"});
  if (compiled.exit_code != 0) return absl::InternalError(compiled.stdout_text + compiled.stderr_text);
  ASSIGN_OR_RETURN(candidate.bundle, ReadFile(file));
  return absl::OkStatus();
}

std::vector<std::string> Cluster::Connection(const Member& at, const std::string& who) const {
  return {"--service", at.address(), "--token-file", TokenFile(who)};
}

Turn Cluster::Play(const Candidate& candidate, const std::string& request_id, const Member& submit_at,
                   const Member& attach_at, absl::Duration run_deadline,
                   const std::function<void(const Event&)>& on_event) const {
  Turn turn;
  const auto play = [&]() -> absl::Status {
    ConnectionOptions options;
    options.insecure = true;
    options.token_file = TokenFile("ann");
    options.service = submit_at.address();
    ASSIGN_OR_RETURN(const auto connection, agent::Connection::Open(options));
    options.service = attach_at.address();
    ASSIGN_OR_RETURN(const auto other, agent::Connection::Open(options));
    Stopper stopper;
    sassay::v1::ProfileRequest request;
    request.set_request_id(request_id);
    request.set_bundle_sha256(Sha256Hex(candidate.bundle));
    request.set_workload(kWorkload);
    request.set_fresh(true);  // what is submitted many times is to be run as often
    if (run_deadline > absl::ZeroDuration()) {
      request.mutable_run_deadline()->set_seconds(absl::ToInt64Seconds(run_deadline));
    }
    // As a user: whatever was lost on the way is asked for again, with the same request_id.
    absl::StatusOr<Event> accepted = absl::UnavailableError("not asked yet");
    for (const absl::Time until = absl::Now() + kPatientClient.give_up_after;
         absl::IsUnavailable(accepted.status()) && absl::Now() < until;) {
      const auto uploaded =
          agent::Upload(*connection, candidate.bundle, request.bundle_sha256(), kPatientClient, stopper);
      if (!uploaded.ok()) {
        accepted = uploaded.status();
        stopper.Sleep(kPatientClient.first_wait);
        continue;
      }
      agent::Submission submission(*connection, kPatientClient, stopper, {});
      accepted = submission.Detach(request);
    }
    RETURN_IF_ERROR(accepted.status());
    turn.id = accepted->submission_id();
    agent::SubmissionListener listener;
    listener.on_event = [&](const Event& event) {
      turn.events.push_back(event);
      if (on_event) on_event(event);
    };
    agent::Submission following(*other, kPatientClient, stopper, listener);
    following.ServiceAnswered();  // one that is away comes back
    ASSIGN_OR_RETURN(turn.verdict, following.Attach(turn.id));
    return absl::OkStatus();
  };
  turn.status = play();
  return turn;
}

Turn Cluster::Attach(const std::string& id, const Member& at) const {
  Turn turn;
  turn.id = id;
  const auto attach = [&]() -> absl::Status {
    ConnectionOptions options;
    options.insecure = true;
    options.token_file = TokenFile("ann");
    options.service = at.address();
    ASSIGN_OR_RETURN(const auto connection, agent::Connection::Open(options));
    Stopper stopper;
    agent::SubmissionListener listener;
    listener.on_event = [&](const Event& event) { turn.events.push_back(event); };
    agent::Submission submission(*connection, kPatientClient, stopper, listener);
    submission.ServiceAnswered();
    ASSIGN_OR_RETURN(turn.verdict, submission.Attach(id));
    return absl::OkStatus();
  };
  turn.status = attach();
  return turn;
}

void ExpectOneLife(const Turn& turn, const Candidate& candidate) {
  ASSERT_TRUE(turn.status.ok()) << turn.id << " " << candidate.source << ": " << turn.status;
  int accepted = 0, verdicts = 0;
  for (size_t i = 0; i < turn.events.size(); ++i) {
    EXPECT_EQ(turn.events[i].sequence(), i + 1) << turn.id;
    accepted += turn.events[i].has_accepted();
    verdicts += turn.events[i].has_verdict();
  }
  EXPECT_EQ(accepted, 1) << turn.id;
  EXPECT_EQ(verdicts, 1) << turn.id;
  EXPECT_TRUE(turn.events.back().has_verdict()) << turn.id;
  EXPECT_EQ(turn.verdict.submission_id(), turn.id);
  EXPECT_EQ(EnumName(turn.verdict.status()), candidate.status) << candidate.source << "\n"
                                                               << turn.verdict.DebugString();
}

}  // namespace sassay::testing
