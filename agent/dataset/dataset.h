// Data sets for training, made out of recorded runs: from run folders to files, in one call.
//
// The same runs, options and teacher's answers give the same bytes.
#ifndef SASSAY_AGENT_DATASET_DATASET_H_
#define SASSAY_AGENT_DATASET_DATASET_H_

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "agent/dataset/card.h"
#include "agent/dataset/completer.h"
#include "agent/dataset/options.h"
#include "agent/trajectory/trajectory.h"

namespace sassay::agent {

// What a data set consists of: one line per record, and its card twice.
struct Dataset {
  std::string train;
  // Empty without DatasetOptions.hold_out.
  std::string held_out;
  std::string card_json;
  std::string card_markdown;
  uint64_t train_records = 0;
  uint64_t held_out_records = 0;
};

// Where a data set lies: OUT.jsonl, OUT.heldout.jsonl, OUT.card.json and OUT.card.md.
struct DatasetPaths {
  explicit DatasetPaths(const std::filesystem::path& output);
  std::filesystem::path train;
  std::filesystem::path held_out;
  std::filesystem::path card_json;
  std::filesystem::path card_markdown;
  // Of the teacher.
  std::filesystem::path cache;
};

// `completer` may be null. Failure: INVALID_ARGUMENT for options that mean nothing; a run that cannot be read; trouble
// with a teacher.
absl::StatusOr<Dataset> MakeDataset(absl::Span<const Run> runs, const DatasetOptions& options,
                                    const DatasetPaths& paths, Completer* completer, Stopper& stopper);

// Writes every file, each as a whole.
absl::Status WriteDataset(const Dataset& dataset, const DatasetPaths& paths, bool with_held_out);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_DATASET_DATASET_H_
