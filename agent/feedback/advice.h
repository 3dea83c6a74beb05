// What a model can do about a verdict code. The tables of agent/explain speak to people with a command line; where they
// name commands or flags, or where a model needs more, this says it in the model's terms.
#ifndef SASSAY_AGENT_FEEDBACK_ADVICE_H_
#define SASSAY_AGENT_FEEDBACK_ADVICE_H_

#include <string>

#include "sassay/v1/verdict.pb.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::agent {

// What a candidate is written in, as far as its entry point goes.
enum class CandidateKind { kCuda, kPython };

// One or two sentences; empty for codes that need none.
std::string AdviceFor(v1::VerdictCode code, const v1::Workload& workload, CandidateKind kind);

// "usually: a missing bounds check for the last tile; …"; empty where the code has no list.
std::string UsualCauses(v1::VerdictCode code);

// The entry point to write, on one line.
std::string ExpectedEntry(const v1::Workload& workload, CandidateKind kind);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_FEEDBACK_ADVICE_H_
