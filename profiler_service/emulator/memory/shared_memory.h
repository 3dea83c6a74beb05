// One block's shared memory, and who touched it last: the race detector.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_MEMORY_SHARED_MEMORY_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_MEMORY_SHARED_MEMORY_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace sassay::emulator {

inline constexpr int kMaxWarps = 32;
using Clock = std::array<uint32_t, kMaxWarps>;

// What has happened before a place: everything up to these times, and of that, what the async proxy sees as well (a
// fence.proxy.async has come in between).
struct Past {
  Clock seen{}, fenced{};
  void Join(const Past& other);
};

// Which thread touched a place of shared memory, when (its warp's own clock), and by which instruction.
struct Touch {
  uint32_t time = 0;  // 0: never
  uint16_t thread = 0;
  uint8_t bytes : 2 = 0;  // mask within the 2-byte granule
  bool atomic : 1 = false;
  bool changes : 1 = false;  // a volatile store of another value
  bool of_unit : 1 = false;  // through the async proxy: no fence is needed before that proxy reads it
  uint8_t swizzle : 3 = 0;   // brought by a tensor map: its swizzle + 1
  uint32_t inst = 0;         // Inst::id
  uint32_t warp() const { return thread / 32; }
};

struct Race {
  Touch other;
  bool other_wrote = false;
};

// Happens-before by vector clocks, one component per warp. Barriers join the clocks of those who took part; an atomic
// or a volatile, acquire or release access joins through the clock of its address. Within one warp program order is
// taken as order (warp-synchronous code is honest). A write that changes nothing races with nobody (flags set by many
// are honest); two volatile stores that both change the value race, for volatile makes a flag, not an atomic. A granule
// of two bytes remembers its last writer and its last readers of two different warps. Thread-compatible: a block runs
// on one thread at a time.
class SharedMemory {
 public:
  // Clears everything. `checked` allocates the shadow. Touches of an earlier life are not wiped but made to lie in
  // everybody's past, which costs nothing.
  void Reset(uint32_t bytes, uint32_t warps, bool checked);

  uint8_t* data() { return data_.data(); }
  uint32_t size() const { return size_; }
  bool tracked() const { return !granules_.empty(); }

  // 1 for each byte never written; null unless checked.
  uint8_t* unwritten() { return unwritten_.empty() ? nullptr : unwritten_.data(); }

  // Notes an access of [offset, offset + bytes) (inside the memory) by `touch`'s thread at its warp's present. Returns
  // whether it races, and with whom in `race`. `touch.time` and `touch.bytes` are filled in here.
  bool Read(uint32_t offset, uint32_t bytes, Touch touch, Race& race);
  bool Write(uint32_t offset, uint32_t bytes, Touch touch, Race& race);

  // Everything that `warps` (a mask) did so far happens before everything they do from now on.
  void Join(uint32_t warps);
  // The same through one address: what others published there happens before what `warp` does next.
  void Publish(uint32_t warp, uint64_t address);
  void Observe(uint32_t warp, uint64_t address);
  // The same through a place of the caller's own (the phase of an mbarrier).
  void Publish(uint32_t warp, Past& place);
  void Observe(uint32_t warp, const Past& place);
  // Everything that any warp did so far happens before what learns of it from `place`: for what comes back by way of
  // another block of the cluster, whose clocks are its own. It orders more than the code may have ordered, so that no
  // honest code is accused.
  void PublishAll(Past& place);
  // For what is kept elsewhere (tensor memory): the present time of `warp`; whether `warp` comes after what `by` did at
  // `time`.
  uint32_t Now(uint32_t warp) const { return clocks_[warp].seen[warp]; }
  bool Sees(uint32_t warp, uint32_t by, uint32_t time) const { return by == warp || time <= clocks_[warp].seen[by]; }
  // fence.proxy.async: what `warp` has seen, the async proxy will see when it is asked to do something after this.
  void FenceProxy(uint32_t warp);
  // What lies in [offset, offset + bytes) now comes from another block of the cluster: no touch of ours is to be
  // blamed.
  void Forget(uint32_t offset, uint32_t bytes);
  // Whether [offset, offset + bytes) holds something that a thread wrote, which the async proxy need not see if `warp`
  // now asks it to read there; who wrote goes to `writer`.
  bool Unfenced(uint32_t offset, uint32_t bytes, uint32_t warp, Touch& writer) const;
  // The copy by a tensor map that brought what lies at `offset`; null if something else did.
  const Touch* BroughtBy(uint32_t offset) const {
    const Touch& write = granules_[offset / 2].write;
    return write.swizzle != 0 && write.time > past_ ? &write : nullptr;
  }
  // The same for a thread of another block: whether no warp of this one has fenced it.
  bool FencedByNobody(uint32_t offset, uint32_t bytes, Touch& writer) const;

 private:
  struct Granule {
    Touch write, read[2];
  };
  bool Unordered(const Touch& earlier, uint32_t warp) const {
    return earlier.warp() != warp && earlier.time > clocks_[warp].seen[earlier.warp()];
  }
  void Note(Granule& granule, const Touch& touch);

  uint32_t size_ = 0;
  std::vector<uint8_t> data_, unwritten_;
  std::vector<Granule> granules_;
  std::vector<Past> clocks_;
  uint32_t past_ = 0;  // the latest time of earlier lives
  absl::flat_hash_map<uint64_t, Past> published_;
};

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_MEMORY_SHARED_MEMORY_H_
