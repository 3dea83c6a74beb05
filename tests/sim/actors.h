// What there is in the simulated cluster besides tenants: jobs, nodes, and what happens to them.
#ifndef SASSAY_TESTS_SIM_ACTORS_H_
#define SASSAY_TESTS_SIM_ACTORS_H_

#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/time/time.h"
#include "tests/sim/demand.h"
#include "tests/sim/gpu.h"

namespace sassay::sim {

inline constexpr size_t kNobody = SIZE_MAX;

enum class Happens {
  kSubmit,
  kBurst,
  kBegin,
  kArrive,
  kAsk,
  kDecide,
  kStageEnds,
  kStart,
  kGrant,
  kLose,
  kExpire,
  kRepair,
  kDrain,
  kUndrain,
  kPoll,
  kPiece
};

struct Event {
  Ns at;
  uint64_t order;  // equal times: first come, first
  Happens what;
  size_t subject;   // tenant, node, job
  uint64_t detail;  // epoch of the job, GPU, or when the place became free
  bool operator>(const Event& other) const { return std::tie(at, order) > std::tie(other.at, other.order); }
};

struct Job {
  size_t tenant = 0;
  Kind kind = Kind::kRight;
  Ns accepted = 0;
  size_t workload = 0;
  bool trajectory = false;
  bool ended = false;
  bool started = false;
  uint32_t losses = 0;
  std::vector<std::string> lost_on;
  // Of the attempt that runs.
  uint64_t epoch = 0;
  size_t node = kNobody, gpu = 0, stage = 0;
  std::vector<Stage> stages;
  Ns stage_since = -1;
  absl::Duration charged, used;
};

struct SimNode {
  std::string name;
  size_t pool = 0;
  std::string model;
  std::vector<Gpu> gpus;
  std::set<size_t> jobs;
  uint32_t suspects = 0;
  uint32_t asking = 0;  // places for which an answer is under way
  bool alive = true, draining = false;
  Ns up = 0, up_since = 0;
};

}  // namespace sassay::sim

#endif  // SASSAY_TESTS_SIM_ACTORS_H_
