// Streams, events and host waits to "this step comes after those".
#ifndef SASSAY_AGENT_CAPTURE_PLAN_ORDERING_H_
#define SASSAY_AGENT_CAPTURE_PLAN_ORDERING_H_

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "agent/capture/record/record.pb.h"

namespace sassay::capture {

// The order of one call's steps. Feed it events in order; it numbers the streams (0: the one handed to run() and the
// default stream; others by first appearance) and names the earlier steps that each step must wait for beyond those of
// its own stream. The legacy default stream waits for, and holds up, all others, as CUDA's does for blocking streams.
class Ordering {
 public:
  struct Position {
    uint32_t stream = 0;
    std::vector<uint32_t> depends_on;
  };

  // The next step, `index`, is asked for on `recorded_stream`.
  Position Next(uint32_t index, uint64_t recorded_stream);
  void OnEventRecord(const EventRecord& event);
  void OnStreamWait(const StreamWait& wait);
  void OnHostWait(const HostWait& wait);

 private:
  uint32_t Ordinal(uint64_t recorded_stream);
  // Steps that have ended when everything asked for on `stream` has.
  std::set<uint32_t> Frontier(uint32_t stream) const;
  void HoldUp(uint32_t stream, const std::set<uint32_t>& steps);
  void HoldUpAll(const std::set<uint32_t>& steps);
  std::set<uint32_t> FrontierOfAll() const;

  std::map<uint64_t, uint32_t> ordinals_;
  std::map<uint32_t, uint32_t> last_;               // stream -> its last step
  std::map<uint32_t, std::set<uint32_t>> waiting_;  // stream -> what its next step waits for
  std::map<uint64_t, std::set<uint32_t>> events_;
  std::set<uint32_t> host_waited_;  // holds up streams that appear later, too
  std::vector<uint32_t> stream_of_step_;
};

}  // namespace sassay::capture

#endif  // SASSAY_AGENT_CAPTURE_PLAN_ORDERING_H_
