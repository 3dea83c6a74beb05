#include <set>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/sha256.h"
#include "common/base/status_macros.h"
#include "profiler_service/queue/queue.h"

namespace sassay::queue {
namespace {

using sassay::v1::ProfileRequest;

constexpr size_t kMaxRequestIdCharacters = 128;
constexpr size_t kMaxNameCharacters = 512;
constexpr size_t kMaxModelCharacters = 64;
constexpr int kMaxStages = 8;
// Requests are kept: this bounds what the other limits cannot see, fields that this build does not know.
constexpr size_t kMaxRequestBytes = 4096;

absl::Status CheckPlace(const ProfileRequest& request) {
  if (!sassay::v1::Priority_IsValid(request.priority())) {
    return absl::InvalidArgumentError(
        absl::StrCat("priority: expected INTERACTIVE or BATCH, got enum value ", request.priority()));
  }
  if (request.gpu_model().size() > kMaxModelCharacters) {
    return absl::InvalidArgumentError(absl::StrCat("gpu_model: expected at most ", kMaxModelCharacters,
                                                   " characters, got ", request.gpu_model().size()));
  }
  return absl::OkStatus();
}

absl::Status CheckReuse(const ProfileRequest& request) {
  if (!request.has_max_age()) return absl::OkStatus();
  const google::protobuf::Duration& age = request.max_age();
  if (request.fresh()) {
    return absl::InvalidArgumentError(
        "max_age: expected none together with fresh, which asks for everything anew; send one of the two");
  }
  if (age.seconds() < 0 || age.nanos() < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_age: expected how old a timing may be that stands for a new one, 0 or more, got ",
                     absl::FormatDuration(absl::Seconds(age.seconds()) + absl::Nanoseconds(age.nanos()))));
  }
  return absl::OkStatus();
}

absl::Status CheckDiagnostics(const ProfileRequest& request) {
  if (!sassay::v1::SanitizePolicy_IsValid(request.sanitize())) {
    return absl::InvalidArgumentError(
        absl::StrCat("sanitize: expected NONE, FAST or FULL, got enum value ", request.sanitize()));
  }
  if (!sassay::v1::BaselineChoice_IsValid(request.baseline())) {
    return absl::InvalidArgumentError(
        absl::StrCat("baseline: expected UNSPECIFIED or ITSELF, got enum value ", request.baseline()));
  }
  std::set<int> seen;
  for (const int diagnosis : request.diagnose()) {
    if (!sassay::v1::Diagnosis_IsValid(diagnosis) || diagnosis == sassay::v1::DIAGNOSIS_UNSPECIFIED) {
      return absl::InvalidArgumentError(
          absl::StrCat("diagnose: expected NCU, HOTSPOTS or DEBUG, got enum value ", diagnosis));
    }
    if (!seen.insert(diagnosis).second) {
      return absl::InvalidArgumentError(absl::StrCat("diagnose: expected each diagnosis once, got ",
                                                     sassay::v1::Diagnosis_Name(diagnosis), " twice"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckRequest(const ProfileRequest& request) {
  if (request.stages_size() > kMaxStages) {
    return absl::InvalidArgumentError(
        absl::StrCat("stages: expected each stage once, got ", request.stages_size(), " entries"));
  }
  if (request.ByteSizeLong() > kMaxRequestBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the request: expected at most ", kMaxRequestBytes, " bytes, got ", request.ByteSizeLong()));
  }
  if (request.request_id().empty() || request.request_id().size() > kMaxRequestIdCharacters) {
    return absl::InvalidArgumentError(absl::StrCat("request_id: expected 1 to ", kMaxRequestIdCharacters,
                                                   " characters, unique per intention; got ",
                                                   request.request_id().size()));
  }
  if (!IsSha256Hex(request.bundle_sha256())) {
    return absl::InvalidArgumentError(absl::StrCat("bundle_sha256: expected 64 lower-case hex digits, got '",
                                                   absl::CEscape(request.bundle_sha256().substr(0, 80)), "'"));
  }
  if (request.workload().empty() || request.workload().size() > kMaxNameCharacters) {
    return absl::InvalidArgumentError(absl::StrCat("workload: expected 'definition/AXIS=value,...' of at most ",
                                                   kMaxNameCharacters, " characters, got ", request.workload().size()));
  }
  if (request.replay_id().size() > kMaxNameCharacters) {
    return absl::InvalidArgumentError(absl::StrCat("replay_id: expected at most ", kMaxNameCharacters,
                                                   " characters, got ", request.replay_id().size()));
  }
  for (const int stage : request.stages()) {
    if (stage < sassay::v1::STAGE_ADMISSION || stage > sassay::v1::STAGE_TIMING) {
      return absl::InvalidArgumentError(
          absl::StrCat("stages: expected ADMISSION, EVALUATE, SANITIZE, EVIDENCE or TIMING, got enum value ", stage));
    }
  }
  RETURN_IF_ERROR(CheckPlace(request));
  RETURN_IF_ERROR(CheckReuse(request));
  return CheckDiagnostics(request);
}

}  // namespace sassay::queue
