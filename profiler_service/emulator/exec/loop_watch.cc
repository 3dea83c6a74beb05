#include "profiler_service/emulator/exec/loop_watch.h"

#include <algorithm>
#include <cstring>

#include "profiler_service/emulator/exec/warp.h"

namespace sassay::emulator {
namespace {

constexpr uint64_t kFirstLaps = 64;
constexpr uint32_t kFirstPause = 64, kLongestPause = 256;
constexpr size_t kProbeBytes = 32;  // frames are multiples of it

}  // namespace

void LoopWatch::Forget() {
  kept_ = false;
  pause_ = kFirstPause;
  next_pause_ = kFirstPause;
  most_laps_ = kFirstLaps;
}

void LoopWatch::WorldChanged(uint64_t reads) {
  if (kept_ && reads != facts_.reads) Forget();
}

void LoopWatch::Keep(const Split& split, const LoopFacts& facts) {
  kept_ = true;
  laps_ = 0;
  facts_ = facts;
  pc_ = split.pc;
  mask_ = split.mask;
  probe_ = 0;
  frames_.clear();
  registers_.clear();
  for (const Frame* frame = split.frame; frame != nullptr; frame = frame->caller) {
    frames_.push_back({frame, frame->code, frame->return_pc});
    registers_.insert(registers_.end(), frame->registers.begin(), frame->registers.end());
  }
}

// The snapshot can prove nothing any more.
void LoopWatch::Renew(uint32_t pause) {
  kept_ = false;
  pause_ = pause;
  next_pause_ = std::min(next_pause_ * 2, kLongestPause);
}

bool LoopWatch::SameFrames(const Frame* frame) const {
  for (const Activation& kept : frames_) {
    if (frame != kept.frame || frame->code != kept.code || frame->return_pc != kept.return_pc) return false;
    frame = frame->caller;
  }
  return frame == nullptr;
}

// Looks where they differed last, then everywhere.
bool LoopWatch::SameRegisters() {
  auto same = [this](const std::vector<uint8_t>& now, size_t begin, size_t at) {
    return std::memcmp(&registers_[begin + at], &now[at], std::min(kProbeBytes, now.size() - at)) == 0;
  };
  size_t begin = 0;
  for (const Activation& kept : frames_) {
    const auto& now = kept.frame->registers;
    if (probe_ >= begin && probe_ < begin + now.size() && !same(now, begin, probe_ - begin)) return false;
    begin += now.size();
  }
  begin = 0;
  for (const Activation& kept : frames_) {
    const auto& now = kept.frame->registers;
    for (size_t at = 0; at < now.size(); at += kProbeBytes) {
      if (same(now, begin, at)) continue;
      probe_ = begin + at;
      return false;
    }
    begin += now.size();
  }
  return true;
}

LoopWatch::Verdict LoopWatch::AtBackwardBranch(const Split& split, const LoopFacts& facts) {
  if (!kept_) {
    if (pause_ > 0) {
      --pause_;
    } else {
      Keep(split, facts);
    }
    return kUnknown;
  }
  if (facts.changes != facts_.changes && facts.reads != facts_.reads) {
    Renew(next_pause_);
    return kUnknown;
  }
  const bool same = split.pc == pc_ && split.mask == mask_ && facts.carry == facts_.carry &&
                    facts.local == facts_.local && SameFrames(split.frame) && SameRegisters();
  if (same) return facts.reads == facts_.reads ? kEndless : kIdle;
  if (++laps_ >= most_laps_) {
    most_laps_ *= 2;
    Keep(split, facts);
  }
  return kUnknown;
}

}  // namespace sassay::emulator
