#include "monitor/sources/xid_filter.h"

namespace sassay::monitor {
namespace {

constexpr absl::Duration kSame = absl::Seconds(2);
constexpr size_t kMost = 1024;

}  // namespace

bool XidFilter::IsNew(absl::string_view gpu, int code, absl::string_view teller, absl::Time at) {
  absl::MutexLock lock(&mutex_);
  while (!unmatched_.empty() && (at - unmatched_.front().at > kSame || unmatched_.size() > kMost))
    unmatched_.pop_front();
  for (auto report = unmatched_.begin(); report != unmatched_.end(); ++report) {
    if (report->gpu != gpu || report->code != code || report->teller == teller) continue;
    unmatched_.erase(report);
    return false;
  }
  unmatched_.push_back({std::string(gpu), code, std::string(teller), at});
  return true;
}

}  // namespace sassay::monitor
