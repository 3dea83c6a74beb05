#include "profiler_service/device/cuda/cupti/cupti.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/toolchain/vendor_libraries.h"

namespace sassay::device::cuda {
namespace {

constexpr const char* kDriverParameters = "/proc/driver/nvidia/params";

template <typename Function>
absl::Status Resolve(const LoadedLibrary& library, const char* name, Function& function) {
  ASSIGN_OR_RETURN(function, library.Symbol<Function>(name));
  return absl::OkStatus();
}

absl::StatusOr<Cupti> Load() {
  ASSIGN_OR_RETURN(const LoadedLibrary library, LoadVendorLibrary(VendorLibrary::kCupti));
  Cupti cupti;
#define SASSAY_CUPTI_RESOLVE(name) RETURN_IF_ERROR(Resolve(library, #name, cupti.name));
  SASSAY_CUPTI_FUNCTIONS(SASSAY_CUPTI_RESOLVE)
#undef SASSAY_CUPTI_RESOLVE
  return cupti;
}

std::string MendFor(CUptiResult result) {
  switch (result) {
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
      return absl::StrCat("; ", PermissionReason(ReadFile(kDriverParameters, 1 << 16).value_or("")));
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
      return "; another tool (ncu, nsys, compute-sanitizer) is in the same process: start the service without it";
    default:
      return "";
  }
}

}  // namespace

absl::StatusOr<const Cupti*> Cupti::Get() {
  static const absl::StatusOr<Cupti>* const cupti = new absl::StatusOr<Cupti>(Load());
  if (!cupti->ok()) return cupti->status();
  return &**cupti;
}

absl::Status Cupti::Check(CUptiResult result, absl::string_view doing) const {
  if (result == CUPTI_SUCCESS) return absl::OkStatus();
  const char* text = nullptr;
  if (cuptiGetResultString(result, &text) != CUPTI_SUCCESS || text == nullptr) text = "unknown to this CUPTI";
  return absl::UnavailableError(
      absl::StrCat("CUPTI, ", doing, ": ", text, " (", static_cast<int>(result), ")", MendFor(result)));
}

std::string PermissionReason(absl::string_view params) {
  const absl::string_view restricted = "RmProfilingAdminOnly: 1";
  const absl::string_view why = absl::StrContains(params, restricted)
                                    ? "the driver lets administrators alone profile (RmProfilingAdminOnly: 1)"
                                    : "the driver does not let this process profile";
  return absl::StrCat(why,
                      ". Mend: echo 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' > "
                      "/etc/modprobe.d/nvidia-profiling.conf, then load the nvidia module again (or reboot)");
}

}  // namespace sassay::device::cuda
