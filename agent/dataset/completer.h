// Whoever fills in what runs do not hold: repairs and reasoning.
#ifndef SASSAY_AGENT_DATASET_COMPLETER_H_
#define SASSAY_AGENT_DATASET_COMPLETER_H_

#include <vector>

#include "absl/status/status.h"
#include "agent/dataset/example.h"
#include "agent/dataset/teacher_counts.h"
#include "common/rpc/stopper.h"

namespace sassay::agent {

class Completer {
 public:
  virtual ~Completer() = default;
  // What cannot be completed stays as it is; a failure is trouble that ends the data set's making.
  virtual absl::Status Complete(std::vector<Example>& examples, Stopper& stopper) = 0;
  // Of what was done so far.
  virtual const TeacherCounts& counts() const = 0;
};

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_DATASET_COMPLETER_H_
