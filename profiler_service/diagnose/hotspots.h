// The instructions that executed most, as evidence counted them.
#ifndef SASSAY_PROFILER_SERVICE_DIAGNOSE_HOTSPOTS_H_
#define SASSAY_PROFILER_SERVICE_DIAGNOSE_HOTSPOTS_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "profiler_service/diagnose/diagnosed.h"
#include "profiler_service/evidence/sass_summary.h"
#include "sassay/v1/bundle.pb.h"

namespace sassay::diagnose {

inline constexpr int kMaxHot = 100;

// `hot` comes hottest first; the texts of its source lines are looked up in the bundle. `why_none` is the reason where
// nothing was counted.
Diagnosed Hotspots(const std::vector<evidence::HotInstruction>& hot, absl::string_view why_none,
                   const sassay::v1::Bundle& bundle);

}  // namespace sassay::diagnose

#endif  // SASSAY_PROFILER_SERVICE_DIAGNOSE_HOTSPOTS_H_
