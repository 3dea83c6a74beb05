// The data card: what is in a data set, where it comes from, and what was left out. The same data give the same bytes,
// so a card holds no time of making.
#ifndef SASSAY_AGENT_DATASET_CARD_H_
#define SASSAY_AGENT_DATASET_CARD_H_

#include <string>

#include "agent/dataset/collect.h"
#include "agent/dataset/options.h"
#include "agent/dataset/select.h"
#include "agent/dataset/teacher_counts.h"

namespace sassay::agent {

// What a card is made from.
struct CardInput {
  const DatasetOptions* options = nullptr;
  const CollectCounts* counts = nullptr;
  const Selection* selection = nullptr;
  const TeacherCounts* teacher = nullptr;
  // Of the two files.
  std::string train_name;
  std::string train_sha256;
  std::string held_out_name;
  std::string held_out_sha256;
};

// One JSON document.
std::string CardJson(const CardInput& input);
// The same for people.
std::string CardMarkdown(const CardInput& input);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_DATASET_CARD_H_
