// From recorded runs to examples. Turns that were excluded, that are nobody's fault (INFRA_ERROR, CANCELLED), and
// correct ones that may not be scored, are never in them.
#ifndef SASSAY_AGENT_DATASET_COLLECT_H_
#define SASSAY_AGENT_DATASET_COLLECT_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "agent/dataset/example.h"
#include "agent/dataset/options.h"
#include "agent/trajectory/trajectory.h"

namespace sassay::agent {

// What was read, for the data card.
struct CollectCounts {
  uint64_t runs = 0;
  uint64_t trajectories = 0;
  uint64_t turns = 0;
  uint64_t turns_without_candidate = 0;
  uint64_t turns_correct = 0;
  uint64_t turns_failed = 0;
  // Left out for good.
  uint64_t turns_unscorable = 0;
  uint64_t turns_excluded_or_infrastructure = 0;
};

struct Collected {
  // In order. With fixit, those without `solution` are failures that no later turn repaired.
  std::vector<Example> examples;
  CollectCounts counts;
};

// A run that is named twice counts once. Failure: a text of the run's folder that cannot be read.
absl::StatusOr<Collected> Collect(absl::Span<const Run> runs, const DatasetOptions& options);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_DATASET_COLLECT_H_
