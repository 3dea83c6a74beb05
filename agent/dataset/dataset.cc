#include "agent/dataset/dataset.h"

#include "agent/dataset/collect.h"
#include "agent/dataset/records.h"
#include "agent/dataset/select.h"
#include "common/base/files.h"
#include "common/base/sha256.h"
#include "common/base/status_macros.h"

namespace sassay::agent {
namespace {

std::filesystem::path WithEnding(const std::filesystem::path& output, const char* ending) {
  std::filesystem::path stem = output;
  if (stem.extension() == ".jsonl") stem.replace_extension();
  return stem.string() + ending;
}

}  // namespace

DatasetPaths::DatasetPaths(const std::filesystem::path& output)
    : train(output),
      held_out(WithEnding(output, ".heldout.jsonl")),
      card_json(WithEnding(output, ".card.json")),
      card_markdown(WithEnding(output, ".card.md")),
      cache(WithEnding(output, ".answers")) {}

absl::StatusOr<Dataset> MakeDataset(absl::Span<const Run> runs, const DatasetOptions& options,
                                    const DatasetPaths& paths, Completer* completer, Stopper& stopper) {
  RETURN_IF_ERROR(CheckOptions(options));
  ASSIGN_OR_RETURN(Collected collected, Collect(runs, options));
  if (completer != nullptr) {
    collected.examples = Filtered(std::move(collected.examples), options);
    RETURN_IF_ERROR(completer->Complete(collected.examples, stopper));
  }
  ASSIGN_OR_RETURN(const Selection selection, Select(std::move(collected.examples), options));
  Dataset dataset;
  dataset.train = RecordLines(selection.train, options);
  dataset.held_out = RecordLines(selection.held_out, options);
  dataset.train_records = selection.train.size();
  dataset.held_out_records = selection.held_out.size();
  const TeacherCounts none;
  const CardInput card = {&options,
                          &collected.counts,
                          &selection,
                          completer == nullptr ? &none : &completer->counts(),
                          paths.train.filename().string(),
                          Sha256Hex(dataset.train),
                          paths.held_out.filename().string(),
                          Sha256Hex(dataset.held_out)};
  dataset.card_json = CardJson(card);
  dataset.card_markdown = CardMarkdown(card);
  return dataset;
}

absl::Status WriteDataset(const Dataset& dataset, const DatasetPaths& paths, bool with_held_out) {
  RETURN_IF_ERROR(WriteNamedFile(paths.train, dataset.train));
  if (with_held_out) RETURN_IF_ERROR(WriteNamedFile(paths.held_out, dataset.held_out));
  RETURN_IF_ERROR(WriteNamedFile(paths.card_json, dataset.card_json));
  return WriteNamedFile(paths.card_markdown, dataset.card_markdown);
}

}  // namespace sassay::agent
