// A model that says what was said before: for tests, demonstrations, and to judge old answers anew.
#ifndef SASSAY_AGENT_MODELS_LOCAL_REPLAY_MODEL_H_
#define SASSAY_AGENT_MODELS_LOCAL_REPLAY_MODEL_H_

#include <filesystem>
#include <memory>

#include "absl/status/statusor.h"
#include "agent/models/model.h"

namespace sassay::agent {

// Opens a folder of answers, which is one of
//   a folder that `run` wrote             the same trajectory's answer at the same turn, with its usage
//   DIR/exp_000/turn_00.md, …             the same, as text; turn_00.reasoning.md beside it may hold the reasoning
//   DIR/turn_00.md, …                     one answer to each turn, for all trajectories
// The first that exists is used. A turn without an answer is INVALID_ARGUMENT: its trajectory cannot go on.
//
// NOT_FOUND if the folder holds none of these.
absl::StatusOr<std::unique_ptr<Model>> OpenReplay(const std::filesystem::path& folder);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_MODELS_LOCAL_REPLAY_MODEL_H_
