// Examples as lines of a chat data set.
//
// Fixit: system, user, assistant (the failure), user (its feedback), assistant (the repair); only the last is trained
// on. KernelGen: system, user, assistant. A line is one JSON object:
//   {"messages": [{"role": "system", "content": "…", "loss": false}, …], "meta": {…}}
// with keys in this order and no white space, so that equal examples give equal bytes.
#ifndef SASSAY_AGENT_DATASET_RECORDS_H_
#define SASSAY_AGENT_DATASET_RECORDS_H_

#include <string>
#include <vector>

#include "agent/dataset/example.h"
#include "agent/dataset/options.h"

namespace sassay::agent {

// One line without its end.
std::string RecordLine(const Example& example, const DatasetOptions& options);

// All of them, each ended by a newline.
std::string RecordLines(const std::vector<Example>& examples, const DatasetOptions& options);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_DATASET_RECORDS_H_
