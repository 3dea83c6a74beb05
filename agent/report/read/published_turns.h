// PTXBench's published table of turns (arXiv 2608.17379; github.com/zhang677/PTXBench), so that its scores and ours
// come from one place.
#ifndef SASSAY_AGENT_REPORT_READ_PUBLISHED_TURNS_H_
#define SASSAY_AGENT_REPORT_READ_PUBLISHED_TURNS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "agent/report/turn_table.h"

namespace sassay::agent {

// The version of the rules that such turns were judged by, as reports name it.
inline constexpr char kPublishedRules[] = "PTXBench";

// Adds the turns of one table.
//
// Columns, in any order: model, arch, definition, workload, trajectory_id, turn (from 0), correctness (the benchmark's
// class), speedup, correct_with_arch (0 or 1). label, language and prompt are kept where they are; others are passed
// over. A trajectory is model, arch, definition, workload, label, language, prompt and trajectory_id; it has ended. The
// table does not say how many turns it was allowed: `turn_limit`, 8 in the benchmark, or as many as any has. A class
// that is not known counts as not correct and gets a note. `name` stands before messages: "NAME: line 3, column 17: …".
absl::Status ReadPublishedTurns(absl::string_view untrusted_text, absl::string_view name, uint32_t turn_limit,
                                TurnTable& table);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_REPORT_READ_PUBLISHED_TURNS_H_
