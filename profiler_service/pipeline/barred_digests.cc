#include "profiler_service/pipeline/barred_digests.h"

#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace sassay::pipeline {

BarredDigests::BarredDigests(std::filesystem::path path) : path_(std::move(path)) {
  std::ifstream file(path_);
  std::string digest, device;
  absl::MutexLock lock(&mutex_);
  while (file >> digest >> device) devices_[digest].insert(device);
}

void BarredDigests::Wedged(absl::string_view digest, absl::string_view device) {
  absl::MutexLock lock(&mutex_);
  if (!devices_[std::string(digest)].insert(std::string(device)).second || path_.empty()) return;
  std::ofstream(path_, std::ios::app) << digest << " " << device << std::endl;
}

absl::optional<std::string> BarredDigests::WhyBarred(absl::string_view digest) const {
  absl::MutexLock lock(&mutex_);
  const auto found = devices_.find(std::string(digest));
  if (found == devices_.end() || found->second.size() < kEnough) return absl::nullopt;
  return absl::StrCat(
      "bundle ", digest.substr(0, 12), "… wedged ", absl::StrJoin(found->second, " and "),
      "; change the kernel, a new bundle has a new digest (an admin lifts the bar in STATE/barred_digests)");
}

}  // namespace sassay::pipeline
