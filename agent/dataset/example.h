// One thing to learn from, taken out of a run: everything a record needs, before it is filtered or written.
#ifndef SASSAY_AGENT_DATASET_EXAMPLE_H_
#define SASSAY_AGENT_DATASET_EXAMPLE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "sassay/v1/verdict.pb.h"

namespace sassay::agent {

// Where a text of an example comes from, for the data card.
enum class TextOrigin { kNone, kModel, kTeacher, kReasoningModel };

// A failed turn with its repair (fixit), or a correct turn alone (kernelgen; the failed side is empty).
struct Example {
  std::string run_id;
  std::string label;
  // "cuda" or "triton".
  std::string language;
  std::string model;
  std::string trajectory;
  std::string workload;
  std::string arch;
  // The first turn of the example, and the one that is learnt from; the same for kernelgen.
  uint32_t turn = 0;
  uint32_t solution_turn = 0;

  std::string system;
  std::string user;

  // Fixit only.
  std::string failed_source;
  std::string feedback;
  v1::VerdictStatus failed_status = v1::VERDICT_STATUS_UNSPECIFIED;
  v1::VerdictCode failed_code = v1::VERDICT_CODE_UNSPECIFIED;

  // Judged CORRECT and scorable. Empty while a repair is still to be asked for.
  std::string solution;
  TextOrigin solution_origin = TextOrigin::kNone;
  // The model's own reasoning, and the words of its answer around the code.
  std::string reasoning;
  TextOrigin reasoning_origin = TextOrigin::kNone;
  std::string explanation;

  // Of the solution.
  std::optional<double> speedup;
  bool has_target_instructions = false;
  std::string rules;
  std::string device;
  std::string sassay_version;
  // Model that gave the solution, and the one that gave the reasoning.
  std::string solution_model;
  std::string reasoning_model;
};

// "exp_000/3" within its run; orders examples.
std::string PlaceOf(const Example& example);

// By run, trajectory and turn: the order of everything that is written.
bool Before(const Example& a, const Example& b);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_DATASET_EXAMPLE_H_
