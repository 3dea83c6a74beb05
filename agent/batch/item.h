// One line of a batch's input.
#ifndef SASSAY_AGENT_BATCH_ITEM_H_
#define SASSAY_AGENT_BATCH_ITEM_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "sassay/v1/bundle.pb.h"

namespace sassay::agent {

// What one line asks for. Exactly one of sources, answer, paths, bundle and cancel is there.
struct BatchItem {
  // As the line says it, or the number of its line.
  std::string id;
  uint64_t line = 0;
  // Empty: the batch's own, or the only one of a bundle.
  std::string workload;
  // Given in the line itself.
  std::vector<v1::SourceFile> sources;
  // A model's answer, with the candidate in a fenced block; what it is written in is `triton` or CUDA.
  std::optional<std::string> answer;
  bool triton = false;
  // Of files, as `submit` takes them.
  std::vector<std::string> paths;
  // Path of a bundle.
  std::string bundle;
  // The id of an earlier item that is not wanted any more.
  std::string cancel;
};

// Reads {"id", "workload", and one of "source" (text, or an object of path and text), "answer", "path", "paths",
// "bundle", "cancel"; "language"}. INVALID_ARGUMENT says what is wrong; `item.id` and `item.line` are filled in as far
// as they can be even then, so that the answer finds its way back.
absl::Status ParseBatchItem(absl::string_view untrusted_line, uint64_t line, BatchItem& item);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_BATCH_ITEM_H_
