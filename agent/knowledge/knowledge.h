// What a model is told before it writes a kernel: who asks for what (role, task), and three parts of knowledge that can
// be left out one by one, to measure what each is worth.
#ifndef SASSAY_AGENT_KNOWLEDGE_KNOWLEDGE_H_
#define SASSAY_AGENT_KNOWLEDGE_KNOWLEDGE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sassay/v1/plan.pb.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::agent {

// The parts that `--knowledge` selects.
struct KnowledgeParts {
  // Numbers of the architecture: multiprocessors, memories, limits, peak rates.
  bool params = true;
  // The headers <sassay/ptx/*.cuh>, as they compile, and what they cannot say themselves.
  bool templates = true;
  // Entry point, rules of host code, what is judged, hints by symptom, one complete candidate.
  bool contract = true;
};

// "params,templates,contract" in any order, or "all", or "none". INVALID_ARGUMENT names the word that is none of these.
absl::StatusOr<KnowledgeParts> ParseKnowledgeParts(absl::string_view untrusted);

// The canonical spelling, for labels and records: "params,contract", "none".
std::string KnowledgePartsText(const KnowledgeParts& parts);

// About how many tokens a model's tokenizer makes of `text`. An estimate from the kinds of characters
// (docs/knowledge.md says how far off); what a provider reports as usage is the truth.
uint64_t EstimateTokens(absl::string_view text);

// What to say, and to whom.
struct PromptRequest {
  // Without a name there is no task, only knowledge.
  sassay::v1::Workload workload;
  // "sm_90a" or "sm_100a".
  std::string arch = "sm_90a";
  // UNSPECIFIED is taken for C.
  sassay::v1::EntryAbi abi = sassay::v1::ENTRY_ABI_C;
  KnowledgeParts parts;
};

// One piece of a prompt.
struct PromptPart {
  // "role", "params", "templates", "contract" (these make the system message, in this order) or "task".
  std::string name;
  std::string text;
  uint64_t bytes = 0;
  uint64_t estimated_tokens = 0;
};

// The first two messages of a conversation.
struct Prompt {
  // The system message: the role and the selected parts, joined.
  std::string system;
  // The first user message: the workload and the signature of run(). Needs no other part to be understood.
  std::string task;
  // Every piece, in order, with its size.
  std::vector<PromptPart> parts;
};

// The prompt for one workload. Deterministic: the same request gives the same bytes. Every piece of code in it is
// compiled by tests. INVALID_ARGUMENT for an architecture that there is no knowledge of. Thread-safe.
absl::StatusOr<Prompt> MakePrompt(const PromptRequest& request);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_KNOWLEDGE_KNOWLEDGE_H_
