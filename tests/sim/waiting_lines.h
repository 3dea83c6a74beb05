// What waits, as the stores' indexes give it to the policy: the first of each line.
#ifndef SASSAY_TESTS_SIM_WAITING_LINES_H_
#define SASSAY_TESTS_SIM_WAITING_LINES_H_

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "profiler_service/scheduling/policy.h"
#include "tests/sim/demand.h"

namespace sassay::sim {

// What the policy has to know of a submission that waits.
struct Waiting {
  size_t job = 0;
  Ns accepted = 0;
  scheduling::Priority priority = scheduling::Priority::kBatch;
  std::string model;
  std::string state;
  std::vector<std::string> lost_on;
};

// Of one tenant in one pool. Jobs are in the order of their numbers.
class WaitingLines {
 public:
  void Add(Waiting waiting);
  // Takes off what `head`, one of Heads, stands for.
  Waiting Take(const scheduling::Head& head);
  // The first of each line; of those that were lost before, the first few.
  std::vector<scheduling::Head> Heads() const;

 private:
  static constexpr size_t kLostAtOnce = 8;
  using Key = std::tuple<int, std::string, std::string, bool>;

  std::map<Key, std::deque<Waiting>> lines_;
};

}  // namespace sassay::sim

#endif  // SASSAY_TESTS_SIM_WAITING_LINES_H_
