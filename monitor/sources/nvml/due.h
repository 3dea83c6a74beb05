// When something is to be read again.
#ifndef SASSAY_MONITOR_SOURCES_NVML_DUE_H_
#define SASSAY_MONITOR_SOURCES_NVML_DUE_H_

#include "absl/time/time.h"
#include "monitor/sources/source.h"

namespace sassay::monitor::nvml {

// Thread-compatible; times are steady. Due from the beginning. Readings come at beats: what is due up to half a beat
// later is due now, so that a period of whole beats does not become one more.
class Due {
 public:
  // Whether it is due; if so, it is again `every` later.
  bool Take(absl::Time now, absl::Duration every) {
    if (now + kBeat / 2 < next_) return false;
    next_ = now + every;
    return true;
  }
  // It is due at once.
  void Rush() { next_ = absl::InfinitePast(); }
  // It was due longer than `grace` ago.
  bool IsLate(absl::Time now, absl::Duration grace) const {
    return next_ != absl::InfinitePast() && now > next_ + grace;
  }

 private:
  absl::Time next_ = absl::InfinitePast();
};

}  // namespace sassay::monitor::nvml

#endif  // SASSAY_MONITOR_SOURCES_NVML_DUE_H_
