// Streams, events and host waits to "this step comes after those".
#ifndef SASSAY_AGENT_CAPTURE_PLAN_ORDERING_H_
#define SASSAY_AGENT_CAPTURE_PLAN_ORDERING_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "agent/capture/record/record.pb.h"

namespace sassay::capture {

// A step of each of some streams. It stands for everything that those streams did up to it, so one step a stream is
// enough.
using Cut = std::map<uint32_t, uint32_t>;
void Join(Cut& into, const Cut& more);

// The order of one call's steps. Feed it events in order; it numbers the streams (0: the one handed to run() and the
// default stream; others by first appearance) and names the earlier steps that each step must wait for beyond those of
// its own stream: at most one a stream. The legacy default stream waits for, and holds up, all others, as CUDA's does
// for blocking streams. Time per event: the streams that were used since all streams last met.
class Ordering {
 public:
  struct Position {
    uint32_t stream = 0;
    std::vector<uint32_t> depends_on;  // ascending
  };

  // The next step, `index`, is asked for on `recorded_stream`.
  Position Next(uint32_t index, uint64_t recorded_stream);
  void OnEventRecord(const EventRecord& event);
  void OnStreamWait(const StreamWait& wait);
  void OnHostWait(const HostWait& wait);
  // Streams that had something to do, the handed one among them.
  size_t streams() const { return ordinals_.size() + 1; }

 private:
  uint32_t Ordinal(uint64_t recorded_stream);
  // What the next step of `stream` waits for.
  Cut Pending(uint32_t stream) const;
  // What has ended when everything asked for on `stream` has.
  Cut Frontier(uint32_t stream) const;
  Cut FrontierOfAll() const;
  // Everything asked for from now on waits for `cut`. If that is everything asked for so far, what streams wait for on
  // their own is forgotten.
  void RaiseBarrier(Cut cut, bool everything);

  std::map<uint64_t, uint32_t> ordinals_;
  std::map<uint32_t, uint32_t> last_;  // stream -> its last step
  std::map<uint32_t, Cut> waiting_;    // stream -> what its next step waits for, besides the barrier
  std::map<uint64_t, Cut> events_;
  Cut barrier_;  // holds up every stream, those that appear later too, until its next step
  uint64_t barriers_ = 0;
  std::map<uint32_t, uint64_t> barriers_seen_;  // stream -> barriers_ at its last step
  std::set<uint32_t> touched_;                  // streams that the barrier does not cover
};

}  // namespace sassay::capture

#endif  // SASSAY_AGENT_CAPTURE_PLAN_ORDERING_H_
