#include "profiler_service/reuse/reuse.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/proto_time.h"
#include "common/base/sha256.h"
#include "profiler_service/verdict/verdict.h"

namespace sassay::reuse {
namespace {

using sassay::v1::ProfileRequest;
using sassay::v1::StageReport;
using sassay::v1::Verdict;

constexpr int kOptionalStages[] = {sassay::v1::STAGE_SANITIZE, sassay::v1::STAGE_EVIDENCE, sassay::v1::STAGE_TIMING};

bool Asks(const ProfileRequest& request, int stage) {
  const auto& stages = request.stages();
  return stages.empty() || std::find(stages.begin(), stages.end(), stage) != stages.end();
}

// The request without what says who asks, how urgently, and what may stand for its answer; with everything else spelled
// in one way. Fields that this build does not know stay.
ProfileRequest Essence(const ProfileRequest& request, const Subject& subject) {
  ProfileRequest essence = request;
  essence.clear_request_id();
  essence.clear_queue_deadline();
  essence.clear_run_deadline();
  essence.clear_priority();
  essence.clear_gpu_model();  // CopyOf looks at it
  essence.clear_max_age();
  essence.clear_fresh();
  essence.set_workload(subject.workload);
  essence.clear_stages();
  essence.add_stages(sassay::v1::STAGE_ADMISSION);  // an empty list would mean all of them
  for (const int stage : kOptionalStages) {
    if (Asks(request, stage)) essence.add_stages(static_cast<sassay::v1::Stage>(stage));
  }
  return essence;
}

// Each part with its length, so that no two lists of parts look alike.
class Digest {
 public:
  void Add(absl::string_view part) { absl::StrAppend(&bytes_, part.size(), ":", part); }
  void Add(const std::set<std::string>& parts) {
    absl::StrAppend(&bytes_, parts.size(), "[");
    for (const std::string& part : parts) Add(part);
  }
  std::string Hex() const { return Sha256Hex(bytes_); }

 private:
  std::string bytes_;
};

bool SharesAnArch(const DeviceKind& one, const DeviceKind& other) {
  return std::any_of(one.archs.begin(), one.archs.end(),
                     [&](const std::string& arch) { return other.archs.count(arch) > 0; });
}

// A pure function of the bundle's bytes and the definition: no device, no limit and no list of an operator has a say.
bool IsRefusedByItself(sassay::v1::VerdictCode code) {
  switch (code) {
    case sassay::v1::VERDICT_CODE_BUNDLE_MALFORMED:
    case sassay::v1::VERDICT_CODE_CUBIN_MALFORMED:
    case sassay::v1::VERDICT_CODE_KERNEL_MISSING:
    case sassay::v1::VERDICT_CODE_PARAMETERS_MISMATCH:
    case sassay::v1::VERDICT_CODE_PLAN_POINTER_INVALID:
    case sassay::v1::VERDICT_CODE_WORKLOAD_MISMATCH:
    case sassay::v1::VERDICT_CODE_DEVICE_RUNTIME:
      return true;
    default:
      return false;
  }
}

// By its own word another run may end otherwise.
bool MayDiffer(sassay::v1::VerdictCode code) { return code == sassay::v1::VERDICT_CODE_NONDETERMINISTIC; }

// On a GPU these stand on outputs that differed between equal calls.
bool StandsOnDifferences(sassay::v1::VerdictCode code) {
  return code == sassay::v1::VERDICT_CODE_SHARED_RACE || code == sassay::v1::VERDICT_CODE_ASYNC_RACE ||
         code == sassay::v1::VERDICT_CODE_BARRIER_DIVERGENCE;
}

bool WasWrongTwiceAlike(const Verdict& verdict) {
  const auto& notes = verdict.details().notes();
  return std::find(notes.begin(), notes.end(), verdict::kWrongTwiceAlike) != notes.end();
}

// One submission's look at one earlier verdict.
class Look {
 public:
  Look(const Verdict& earlier, const ProfileRequest& request, const Judges& judges)
      : earlier_(earlier), request_(request), judges_(judges), device_(FindDevice()) {}

  bool MayStand(const Subject& subject, absl::Time now) const {
    const sassay::v1::Versions& versions = earlier_.versions();
    if (versions.rules() != judges_.rules || versions.sassay() != judges_.sassay) return false;
    if (earlier_.definition_sha256() != subject.definition_sha256 || earlier_.has_excluded()) return false;
    if (earlier_.provenance() == sassay::v1::PROVENANCE_UNAVAILABLE) return false;
    if (earlier_.status() == sassay::v1::VERDICT_STATUS_CORRECT) return IsComplete() && TimingMayStand(now);
    return IsProven();
  }

 private:
  // One that could run it now and judges as the one that did; null if there is none.
  const DeviceKind* FindDevice() const {
    for (const DeviceKind& device : judges_.devices) {
      if (device.model == earlier_.versions().device() && device.driver == earlier_.versions().driver() &&
          MayRun(device)) {
        return &device;
      }
    }
    return nullptr;
  }

  bool MayRun(const DeviceKind& device) const {
    return request_.gpu_model().empty() || request_.gpu_model() == device.model;
  }

  // Nothing is missing that a device could add that is here now.
  bool IsComplete() const {
    if (device_ == nullptr) return false;
    for (const StageReport& report : earlier_.stages()) {
      if (report.outcome() == StageReport::UNAVAILABLE && SomebodyRuns(report.stage())) return false;
    }
    for (const sassay::v1::SanitizerReport& tool : earlier_.sanitizers()) {
      if (tool.outcome() == sassay::v1::SanitizerReport::UNAVAILABLE) return false;
    }
    return true;
  }

  bool SomebodyRuns(int stage) const {
    return std::any_of(judges_.devices.begin(), judges_.devices.end(), [&](const DeviceKind& device) {
      return MayRun(device) && SharesAnArch(device, *device_) && device.stages.count(stage) > 0;
    });
  }

  bool TimingMayStand(absl::Time now) const {
    if (!earlier_.has_timing() || earlier_.timing().status() == sassay::v1::Timing::UNAVAILABLE) return true;
    if (earlier_.timing().status() != sassay::v1::Timing::MEASURED || !request_.has_max_age()) return false;
    const absl::Duration age = now - TimeOf(earlier_.decided_at());
    return age >= absl::ZeroDuration() && age <= absl::Seconds(SecondsOf(request_.max_age()));
  }

  // A mistake that the same bytes make again.
  bool IsProven() const {
    const sassay::v1::VerdictCode code = earlier_.code();
    switch (earlier_.stage()) {
      case sassay::v1::STAGE_ADMISSION:
        return earlier_.status() == sassay::v1::VERDICT_STATUS_REJECTED && IsRefusedByItself(code);
      case sassay::v1::STAGE_SANITIZE:
        return earlier_.status() == sassay::v1::VERDICT_STATUS_SANITIZER_ERROR && device_ != nullptr &&
               (device_->emulated || !StandsOnDifferences(code));
      case sassay::v1::STAGE_EVALUATE:
        return IsCandidates(earlier_.status()) && !MayDiffer(code) && device_ != nullptr &&
               (device_->emulated || WasSeenTwice());
      default:
        return false;
    }
  }

  static bool IsCandidates(sassay::v1::VerdictStatus status) {
    return status == sassay::v1::VERDICT_STATUS_SANITIZER_ERROR || status == sassay::v1::VERDICT_STATUS_RUNTIME_ERROR ||
           status == sassay::v1::VERDICT_STATUS_INCORRECT_NUMERICAL;
  }

  // On a GPU a fault stands only if it happened again in a fresh runner. A launch that the driver refused may have
  // lacked what others held.
  bool WasSeenTwice() const {
    if (earlier_.code() == sassay::v1::VERDICT_CODE_LAUNCH_REFUSED) return false;
    return earlier_.status() == sassay::v1::VERDICT_STATUS_RUNTIME_ERROR || WasWrongTwiceAlike(earlier_);
  }

  const Verdict& earlier_;
  const ProfileRequest& request_;
  const Judges& judges_;
  const DeviceKind* const device_;
};

}  // namespace

DeviceKind::DeviceKind(const sassay::v1::DeviceCapability& device)
    : model(device.model()),
      driver(device.driver_version()),
      emulated(device.kind() == "emulated"),
      archs(device.archs().begin(), device.archs().end()),
      stages(device.stages().begin(), device.stages().end()) {}

bool DeviceKind::operator==(const DeviceKind& other) const {
  const auto all = [](const DeviceKind& kind) {
    return std::tie(kind.model, kind.driver, kind.emulated, kind.archs, kind.stages);
  };
  return all(*this) == all(other);
}

void Judges::Add(const sassay::v1::DeviceCapability& device) {
  DeviceKind kind(device);
  if (std::find(devices.begin(), devices.end(), kind) == devices.end()) devices.push_back(std::move(kind));
}

std::string KeyOf(const ProfileRequest& request, const Subject& subject, const Judges& judges) {
  if (!request.replay_id().empty() || request.diagnose_size() > 0) return "";
  Digest digest;
  digest.Add(Essence(request, subject).SerializeAsString());
  digest.Add(subject.definition_sha256);
  digest.Add(judges.rules);
  digest.Add(judges.sassay);
  digest.Add(judges.provenance_toolkits);
  digest.Add(judges.settings);
  return digest.Hex();
}

absl::optional<Verdict> CopyOf(const Verdict& earlier, const ProfileRequest& request, const Subject& subject,
                               const Judges& judges, absl::Time now) {
  if (!Look(earlier, request, judges).MayStand(subject, now)) return absl::nullopt;
  Verdict copy = earlier;
  copy.set_reused_from(earlier.submission_id());
  copy.set_attempt(0);
  SetTimestamp(now, *copy.mutable_decided_at());
  for (StageReport& report : *copy.mutable_stages()) report.set_cached(report.outcome() != StageReport::SKIPPED);
  if (copy.timing().status() == sassay::v1::Timing::MEASURED) {
    copy.mutable_timing()->add_warnings(absl::StrCat(
        "measured at ", absl::FormatTime(absl::RFC3339_sec, TimeOf(earlier.decided_at()), absl::UTCTimeZone()),
        " for submission ", earlier.submission_id()));
  }
  return copy;
}

}  // namespace sassay::reuse
