// Remembers which bundle and workload a replay id belongs to, so that `replay ID` needs nothing else.
#ifndef SASSAY_AGENT_CLI_FOLLOW_REPLAY_JOURNAL_H_
#define SASSAY_AGENT_CLI_FOLLOW_REPLAY_JOURNAL_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "sassay/v1/verdict.pb.h"

namespace sassay::agent {

// What a replay needs.
struct ReplayRecord {
  std::string replay_id;
  std::string bundle_sha256;
  std::string workload;
};

// Whether `id` can be a file's name here: letters, digits, '.', '_', '-', not beginning with '.', at most 128.
bool IsJournalName(const std::string& id);

// Writes a small file under $XDG_STATE_HOME/sassay/replays (or ~/.local/state); nothing if the verdict has no replay
// id. Best effort: a full disk must not cost a verdict.
void RememberReplay(const std::map<std::string, std::string>& environment, const v1::Verdict& verdict);

// NOT_FOUND if this machine has not seen the verdict.
absl::StatusOr<ReplayRecord> FindReplay(const std::map<std::string, std::string>& environment,
                                        const std::string& replay_id);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_CLI_FOLLOW_REPLAY_JOURNAL_H_
