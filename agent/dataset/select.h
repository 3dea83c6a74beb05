// From all examples to those that a data set keeps: filters, duplicates, strata, and what is held out.
#ifndef SASSAY_AGENT_DATASET_SELECT_H_
#define SASSAY_AGENT_DATASET_SELECT_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/dataset/example.h"
#include "agent/dataset/options.h"

namespace sassay::agent {

// What is kept, in order, and how many were left out by which rule, in the rules' order.
struct Selection {
  std::vector<Example> train;
  std::vector<Example> held_out;
  std::vector<std::pair<std::string, uint64_t>> left_out;
};

// INVALID_ARGUMENT for an error name, a stratum or a pattern that means nothing.
absl::Status CheckOptions(const DatasetOptions& options);

// The filters alone: error, turn, reasoning apart, which can still be asked for. For choosing what to ask a teacher.
std::vector<Example> Filtered(std::vector<Example> examples, const DatasetOptions& options);

// Pure: the same examples and options give the same selection, whatever the examples' order.
absl::StatusOr<Selection> Select(std::vector<Example> examples, const DatasetOptions& options);

// SHA-256 over the normalised sources (both of them for fixit), hex: equal for duplicates.
std::string DuplicateKey(const Example& example);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_DATASET_SELECT_H_
