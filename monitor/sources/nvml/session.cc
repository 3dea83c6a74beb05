#include "monitor/sources/nvml/session.h"

#include <malloc.h>

#include "common/base/status_macros.h"
#include "common/base/steady_time.h"
#include "monitor/sources/nvml/zero_pages.h"

namespace sassay::monitor::nvml {

namespace {

constexpr absl::Duration kRetry = absl::Seconds(1);

}  // namespace

absl::Status Session::Open() {
  absl::MutexLock lock(&mutex_);
  if (open_) return absl::OkStatus();
  const absl::Time now = SteadyNow();
  if (now - tried_ < kRetry) return last_;
  tried_ = now;
  last_ = TryOpen();
  open_ = last_.ok();
  return last_;
}

absl::Status Session::TryOpen() {
  ASSIGN_OR_RETURN(library_, Library::Load());
  ASSIGN_OR_RETURN(gpus_, ListGpus(library_));
  GiveBackZeroPages("libnvidia-ml");
  // NVML's start leaves megabytes of heap that it does not use any more.
  malloc_trim(0);
  return absl::OkStatus();
}

}  // namespace sassay::monitor::nvml
