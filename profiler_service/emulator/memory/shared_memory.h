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
  std::vector<Clock> others;  // what the blocks of the cluster have done, by rank; empty where nothing is known of them
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
  uint8_t rank = 0;          // of the thread's block in its cluster
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
// are honest); two volatile stores that both change the value race, for volatile makes a flag, not an atomic.
//
// A granule remembers its last writer and its last readers of two different warps. It has 16 bytes as long as all
// accesses cover all of them, as those of TMA and of matrix instructions do; else two.
//
// Blocks of a cluster: each knows of the others what has reached it (a cluster barrier, an mbarrier, a flag), all of
// its warps alike, so that more is taken as ordered than is and no honest code is accused.
//
// Thread-compatible: a block runs on one thread at a time, and so do all of a cluster.
class SharedMemory {
 public:
  // What a life begins with. `past`: the latest time of any block of the cluster (LatestTime).
  struct Life {
    uint32_t bytes = 0, warps = 0;
    bool checked = false;
    uint32_t rank = 0, blocks = 1;  // in its cluster
    uint32_t past = 0;
  };
  // Clears everything. `checked` allocates the shadow. Touches of an earlier life are not wiped but made to lie in
  // everybody's past, which costs nothing.
  void Reset(const Life& life);
  uint32_t LatestTime() const;

  uint8_t* data() { return data_.data(); }
  uint32_t size() const { return size_; }

  // 1 for each byte never written; null unless checked.
  uint8_t* unwritten() { return unwritten_.empty() ? nullptr : unwritten_.data(); }

  // Notes an access of [offset, offset + bytes) (inside the memory) by `touch`'s thread at its warp's present. Returns
  // whether it races, and with whom in `race`. `touch.time` and `touch.bytes` are filled in here. `by`: the memory of
  // the thread's own block, where that is another one of the cluster.
  bool Read(uint32_t offset, uint32_t bytes, Touch touch, Race& race, const SharedMemory& by);
  bool Read(uint32_t offset, uint32_t bytes, const Touch& touch, Race& race) {
    return Read(offset, bytes, touch, race, *this);
  }
  bool Write(uint32_t offset, uint32_t bytes, Touch touch, Race& race, const SharedMemory& by);
  bool Write(uint32_t offset, uint32_t bytes, const Touch& touch, Race& race) {
    return Write(offset, bytes, touch, race, *this);
  }

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

  // ---- between the blocks of a cluster ----

  // What `warp` and its warpgroup, or all warps, did so far, and what the block knows of others, happens before what
  // another block learns from `place`; or what `cause`, a past of this block, holds.
  void Tell(uint32_t warp, Past& place);
  void TellAll(Past& place);
  void TellOf(const Past& cause, Past& place) const;
  void Learn(const Past& place);
  // Tell and Learn by way of an address in the shared memory of another block.
  void TellAt(SharedMemory& owner, uint32_t warp, uint64_t address);
  void LearnAt(const SharedMemory& owner, uint64_t address);
  // Whether anything of the block `rank` is known: that it has begun at all.
  bool HeardOf(uint32_t rank) const;
  // The last accesses of other blocks' warps to this memory that the block does not know of. Nothing but that
  // knowledge keeps it from exiting before them.
  std::vector<Touch> StillToCome() const;

  // For what is kept elsewhere (tensor memory): the present time of `warp`; whether `warp` comes after what `by` did at
  // `time`.
  uint32_t Now(uint32_t warp) const { return clocks_[warp].seen[warp]; }
  bool Sees(uint32_t warp, uint32_t by, uint32_t time) const { return by == warp || time <= clocks_[warp].seen[by]; }
  // fence.proxy.async: what `warp` has seen, the async proxy will see when it is asked to do something after this.
  void FenceProxy(uint32_t warp);
  // Whether [offset, offset + bytes) holds something that a thread of this block wrote, which the async proxy need not
  // see if `warp` now asks it to read there; who wrote goes to `writer`.
  bool Unfenced(uint32_t offset, uint32_t bytes, uint32_t warp, Touch& writer) const;
  // The copy by a tensor map that brought what lies at `offset`; null if something else did.
  const Touch* BroughtBy(uint32_t offset) const {
    const Piece& piece = pieces_[offset / kPiece];
    const Touch& write = piece.split == 0 ? piece.whole.write : split_[piece.split - 1][offset % kPiece / 2].write;
    return write.swizzle != 0 && write.time > past_ ? &write : nullptr;
  }
  // The same for a thread of another block: whether no warp of this one has fenced it.
  bool FencedByNobody(uint32_t offset, uint32_t bytes, Touch& writer) const;

 private:
  static constexpr uint32_t kPiece = 16;
  struct Granule {
    Touch write, read[2];
  };
  struct Piece {
    Granule whole;
    uint32_t split = 0;  // 0, or 1 + where in split_ its eight granules are
  };
  using Split = std::array<Granule, kPiece / 2>;

  bool Unordered(const Touch& earlier, uint32_t warp) const {
    if (earlier.rank != rank_) return earlier.time > past_ && earlier.time > others_[earlier.rank][earlier.warp()];
    return earlier.warp() != warp && earlier.time > clocks_[warp].seen[earlier.warp()];
  }
  Split& SplitOf(Piece& piece);
  template <class Visit>
  void ForGranules(uint32_t offset, uint32_t bytes, const Visit& visit);
  template <class Visit>
  void ForWrites(uint32_t offset, uint32_t bytes, const Visit& visit) const;
  void Note(Granule& granule, const Touch& touch);
  void NoteAbroad(const Touch& touch);
  Past& Published(uint64_t address);

  uint32_t size_ = 0, rank_ = 0;
  std::vector<uint8_t> data_, unwritten_;
  std::vector<Piece> pieces_;
  std::vector<Split> split_;
  std::vector<uint32_t> free_;  // of split_
  std::vector<Past> clocks_;
  std::vector<Clock> others_;  // of a cluster: what is known of each block, by rank
  std::vector<Touch> abroad_;  // of a cluster: the last access by each warp of each other block
  uint32_t past_ = 0;          // the latest time of earlier lives
  absl::flat_hash_map<uint64_t, Past> published_;
};

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_MEMORY_SHARED_MEMORY_H_
