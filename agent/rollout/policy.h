// What is whose trouble, and what to do about it. docs/rollouts.md is the prose.
#ifndef SASSAY_AGENT_ROLLOUT_POLICY_H_
#define SASSAY_AGENT_ROLLOUT_POLICY_H_

#include <string>

#include "absl/status/status.h"
#include "sassay/v1/trajectory.pb.h"
#include "sassay/v1/verdict.pb.h"

namespace sassay::agent {

// Whether a verdict says something about the candidate, and so reaches the model. INFRA_ERROR, CANCELLED and excluded
// ones do not.
bool IsAboutCandidate(const v1::Verdict& verdict);

// Of one that does not: one line that says why.
std::string TroubleOf(const v1::Verdict& verdict);

// Whether trying again cannot give another verdict: the emulator lacks an instruction, the digest is barred.
bool IsHopeless(const v1::Verdict& verdict);

// Whether a failure to get a verdict may pass by itself. What does not (no toolkit, a refused token) ends the run.
bool IsWorthWaiting(const absl::Status& status);

// Whether a model's refusal concerns this conversation alone.
bool EndsConversation(const absl::Status& status);

// Fills in what an answer cost where the provider did not say and the prices are known.
void Price(const v1::Prices& prices, v1::Usage& usage);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_ROLLOUT_POLICY_H_
