// What a data set shall hold.
#ifndef SASSAY_AGENT_DATASET_OPTIONS_H_
#define SASSAY_AGENT_DATASET_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sassay::agent {

enum class DatasetKind { kFixit, kKernelGen };

// How a message says whether it is trained on.
enum class LossMark {
  // "loss": true or false on every message.
  kLoss,
  // "weight": 1 or 0 on the assistant's messages, as OpenAI's fine-tuning format has it.
  kWeight,
};

// Where a record keeps the reasoning before an answer.
enum class ReasoningForm {
  // In the content, between <think> and </think>.
  kThink,
  // In a field of its own, "reasoning_content".
  kField,
  // Before the answer, as plain text.
  kPlain,
};

// Whether examples are spread over the strata before or after duplicates are taken out.
enum class Balance { kBeforeDeduplication, kAfterDeduplication };

struct DatasetOptions {
  DatasetKind kind = DatasetKind::kFixit;

  // Filters. Empty or zero: no filter.
  // Names of VerdictStatus and VerdictCode of the failed turn, without prefix; either suffices.
  std::vector<std::string> errors;
  // Numbers of the (failed) turn, inclusive.
  std::optional<uint32_t> first_turn;
  std::optional<uint32_t> last_turn;
  // The solution comes at most so many turns later; 0: any later turn.
  uint32_t within = 0;
  double min_speedup = 0;
  bool require_target_instructions = false;
  // Examples without reasoning and explanation are left out.
  bool require_reasoning = false;

  // Strata: any of "code", "status", "turn", "workload", "definition", "model". At most `cap` examples each; 0: no cap.
  std::vector<std::string> strata = {"code", "turn"};
  uint32_t cap = 0;
  Balance balance = Balance::kAfterDeduplication;
  // Decides which examples a cap keeps.
  uint64_t seed = 0;

  // Workloads that match go to the second file, and sources that are in it leave the first.
  std::string hold_out;

  LossMark loss_mark = LossMark::kLoss;
  ReasoningForm reasoning_form = ReasoningForm::kThink;
};

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_DATASET_OPTIONS_H_
