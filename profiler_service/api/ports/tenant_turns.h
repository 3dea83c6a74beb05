// What waits, of several tenants.
#ifndef SASSAY_PROFILER_SERVICE_API_PORTS_TENANT_TURNS_H_
#define SASSAY_PROFILER_SERVICE_API_PORTS_TENANT_TURNS_H_

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace sassay::api {

// Tenants in turn, of one tenant first come first served. Not thread-safe.
template <class Work>
class TenantTurns {
 public:
  bool empty() const { return turns_.empty(); }

  void Push(const std::string& tenant, Work work) {
    std::deque<Work>& own = waiting_[tenant];
    if (own.empty()) turns_.push_back(tenant);
    own.push_back(std::move(work));
  }

  // The next one; there must be one.
  Work Take() {
    const std::string tenant = std::move(turns_.front());
    turns_.pop_front();
    const auto own = waiting_.find(tenant);
    Work work = std::move(own->second.front());
    own->second.pop_front();
    if (own->second.empty()) {
      waiting_.erase(own);
    } else {
      turns_.push_back(tenant);
    }
    return work;
  }

  // Takes the first of the tenant's out of turn for which `is_it` holds; nothing if there is none.
  template <class IsIt>
  std::optional<Work> Remove(const std::string& tenant, const IsIt& is_it) {
    const auto own = waiting_.find(tenant);
    if (own == waiting_.end()) return std::nullopt;
    const auto found = std::find_if(own->second.begin(), own->second.end(), is_it);
    if (found == own->second.end()) return std::nullopt;
    std::optional<Work> work(std::move(*found));
    own->second.erase(found);
    if (own->second.empty()) {
      waiting_.erase(own);
      turns_.erase(std::find(turns_.begin(), turns_.end(), tenant));
    }
    return work;
  }

 private:
  std::map<std::string, std::deque<Work>> waiting_;  // of the tenants in `turns_`
  std::deque<std::string> turns_;                    // each tenant that has something, once
};

}  // namespace sassay::api

#endif  // SASSAY_PROFILER_SERVICE_API_PORTS_TENANT_TURNS_H_
