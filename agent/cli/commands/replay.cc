#include <memory>

#include "absl/strings/str_cat.h"
#include "agent/cli/commands/commands.h"
#include "agent/cli/follow/follow.h"
#include "agent/cli/follow/replay_journal.h"
#include "agent/cli/session.h"
#include "common/base/status_macros.h"

namespace sassay::agent {
namespace {

// This machine's journal knows replay ids that it has seen; the service knows submissions.
absl::StatusOr<ReplayRecord> FindRecord(Session& session, const std::string& id) {
  const absl::StatusOr<ReplayRecord> record = FindReplay(session.terminal().environment, id);
  if (record.ok()) return record;
  ASSIGN_OR_RETURN(const v1::Verdict verdict, FetchVerdict(session, id));
  if (!verdict.replay_id().empty())
    return ReplayRecord{verdict.replay_id(), verdict.bundle_sha256(), verdict.workload()};
  return absl::FailedPreconditionError(
      absl::StrCat("the verdict of ", id, " has no replay id: its stages used no secret inputs."));
}

int Replay(Session& session, const std::string& id) {
  const absl::StatusOr<ReplayRecord> record = FindRecord(session, id);
  if (!record.ok()) return session.Fail(record.status());
  absl::StatusOr<v1::ProfileRequest> request = MakeRequest(session.settings(), record->workload);
  if (!request.ok()) return session.Fail(request.status());
  request->set_bundle_sha256(record->bundle_sha256);
  request->set_replay_id(record->replay_id);
  return SubmitKnownBundle(session, *request);
}

}  // namespace

void AddReplayCommand(CLI::App& root, Invocation& invocation) {
  CLI::App* command = root.add_subcommand("replay", "Judges a bundle again with the inputs of an earlier verdict");
  const auto id = std::make_shared<std::string>();
  command->add_option("ID", *id, "a verdict's replay id, or a submission's id")->required()->type_name("");
  command->footer(
      "Shows the same worst element as the verdict did.\n\nExample:\n  mini-ptx-agent replay "
      "r1-5d2f0c7a91e34b68d0f2a5c7e9b1d3f405162738495a6b7c");
  AddCommonFlags(*command, invocation);
  AddSettingFlags(*command, invocation,
                  {"stages", "sanitize", "diagnose", "artifacts", "priority", "gpu_model", "queue_deadline",
                   "run_deadline", "reconnect_deadline"});
  command->callback([&invocation, id] { invocation.action = [id](Session& session) { return Replay(session, *id); }; });
}

}  // namespace sassay::agent
