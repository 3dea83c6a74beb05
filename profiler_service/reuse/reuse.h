// What an earlier verdict may stand for: a pure function of both submissions and of who would judge the new one.
//
// A verdict is reused only where running the same bytes again could teach nothing (docs/decisions/0021): a mistake that
// was seen twice, or by a device that makes no difference between two runs; a right answer under the same rules; and a
// measurement only for who says how old it may be.
#ifndef SASSAY_PROFILER_SERVICE_REUSE_REUSE_H_
#define SASSAY_PROFILER_SERVICE_REUSE_REUSE_H_

#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "sassay/v1/profiler.pb.h"
#include "sassay/v1/verdict.pb.h"

namespace sassay::reuse {

// Devices that judge alike.
struct DeviceKind {
  std::string model;
  std::string driver;  // empty on an emulated device
  bool emulated = false;
  std::set<std::string> archs;
  std::set<int> stages;  // sassay.v1.Stage: what can run there

  explicit DeviceKind(const sassay::v1::DeviceCapability& device);
  bool operator==(const DeviceKind& other) const;
};

// Who would judge a submission that came now, as far as its verdict depends on that.
struct Judges {
  std::string rules, sassay;                  // versions of this process: what others decide is not reused
  std::set<std::string> provenance_toolkits;  // of all that may judge; empty strings for those that have none
  std::set<std::string> settings;             // of all that may judge: NodeFacts.settings_sha256
  std::vector<DeviceKind> devices;            // each kind once

  void Add(const sassay::v1::DeviceCapability& device);
};

// The workload of a submission, as its definition stands now.
struct Subject {
  std::string workload;           // in full, "definition/AXIS=value,…"
  std::string definition_sha256;  // hex
};

// Equal for submissions of one tenant that ask the same of the same judges, in hex. Empty: this one's verdict stands
// for no other, and no other for it (a replay; a diagnosis, whose files would have to live on).
std::string KeyOf(const sassay::v1::ProfileRequest& request, const Subject& subject, const Judges& judges);

// The verdict of `request`, copied of one that was reached under the same key and that counts; nothing where it has to
// be run. `earlier`: as its submission ended, its timing MEASURED if that is settled.
absl::optional<sassay::v1::Verdict> CopyOf(const sassay::v1::Verdict& earlier,
                                           const sassay::v1::ProfileRequest& request, const Subject& subject,
                                           const Judges& judges, absl::Time now);

}  // namespace sassay::reuse

#endif  // SASSAY_PROFILER_SERVICE_REUSE_REUSE_H_
