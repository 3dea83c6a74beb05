// What was asked of other models for a data set, and what came of it.
#ifndef SASSAY_AGENT_DATASET_TEACHER_COUNTS_H_
#define SASSAY_AGENT_DATASET_TEACHER_COUNTS_H_

#include <cstdint>
#include <string>

namespace sassay::agent {

struct TeacherCounts {
  std::string teacher;
  std::string reasoning_model;
  uint64_t repairs_asked = 0;
  uint64_t repairs_without_code = 0;
  // Judged, and not CORRECT or not scorable.
  uint64_t repairs_refuted = 0;
  uint64_t repairs_verified = 0;
  uint64_t reasonings_asked = 0;
  uint64_t reasonings_given = 0;
};

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_DATASET_TEACHER_COUNTS_H_
