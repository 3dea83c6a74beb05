// Admission: the door between bytes from outside and everything that acts on them. Whatever passes has been checked to
// mean what the device layer takes for granted; whatever does not is refused with the field and a reason. Pure: no
// files, no clock, no device; fuzzed (admission_fuzz.cc).
//
// What is checked: the bundle is canonical and of this format; the cubin is a whole ELF for the device's architecture
// without device-runtime launches or missing functions; the PTX targets the same and has the launched kernels; there is
// a plan for the workload; its buffers are the workload's tensors, then allocations and symbols that exist; every
// pointer lies in a declared buffer that is alive there; relocations are in order, apart and inside; arguments match
// the cubin's own parameter table; grids, blocks, clusters, shared memory, registers and residency fit the
// architecture; tensor maps are what the driver takes; copies and fills stay inside; counts and memory stay under the
// limits; what the host code was told about the device is true of the device at hand.
//
// What is not: whether the kernel is right, safe or honest (later stages), and where the cubin came from
// (provenance.h).
#ifndef SASSAY_PROFILER_SERVICE_ADMISSION_ADMISSION_H_
#define SASSAY_PROFILER_SERVICE_ADMISSION_ADMISSION_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/bundle/bundle.h"
#include "common/bundle/cubin.h"
#include "sassay/v1/bundle.pb.h"
#include "sassay/v1/verdict.pb.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::admission {

// What a bundle may ask for. The defaults are generous to honest candidates: the largest known one (a CUTLASS backward
// pass) has 5 launches, 20 buffers and a cubin of 2 MB.
struct Limits {
  // Size of the bundle and number of messages in it.
  BundleLimits bundle;
  uint64_t max_cubin_bytes = uint64_t{64} << 20;
  uint64_t max_ptx_bytes = uint64_t{64} << 20;
  // Launches of one call, and of setup.
  uint64_t max_launches = 10'000;
  // Steps of one call, and of setup; launches included.
  uint64_t max_steps = 20'000;
  uint64_t max_buffers = 4'096;
  uint64_t max_tensor_maps = 4'096;
  // Relocations of the whole plan.
  uint64_t max_relocations = 1'000'000;
  uint32_t max_streams = 256;
  uint32_t max_assumptions = 10'000;
  // Text that messages and verdicts repeat: warnings of capture, source lines, the toolkit's version. In bytes each.
  uint32_t max_warnings = 64;
  uint64_t max_text_bytes = 1'000;
  // Bytes that copies, uploads and fills of one call may write; an absurd fill would hold the device for minutes.
  uint64_t max_transfer_bytes = uint64_t{1} << 40;
  // Rows of the same: each is a transfer of its own for the driver, however short it is.
  uint64_t max_transfer_rows = uint64_t{1} << 18;
  // Memory of all buffers together, tensors included. The device's own memory limits it too.
  uint64_t max_memory_bytes = uint64_t{256} << 30;
  // Share of the device's memory that a plan may use; the judge needs the rest for references and rings of inputs.
  double max_device_memory_share = 0.6;
};

// What is known about the device that will run the plan.
struct DeviceFacts {
  std::string arch;   // "sm_90a"
  std::string model;  // "NVIDIA H200"; for messages
  // An emulated device has no SM count of its own: it is whatever the plan was captured for.
  bool emulated = false;
  uint32_t multiprocessors = 0;
  uint64_t memory_bytes = 0;
  // Further answers of the device by the name the plan's assumptions use ("cudaDevAttrL2CacheSize"). Assumptions about
  // what is neither here nor above are not checked: they follow from the architecture.
  std::map<std::string, int64_t> attributes;
};

// Why a bundle was refused.
struct Rejection {
  sassay::v1::VerdictCode code = sassay::v1::VERDICT_CODE_BUNDLE_MALFORMED;
  // Path of the field: "plans[0].steady[3].launch.arguments[2]", "cubin", "ptx".
  std::string field;
  // What was expected, what came, what to do; without the field.
  std::string reason;
  // "plans[0].steady[3].launch.arguments[2]: 4 bytes, expected 8 …"
  std::string Line() const { return field.empty() ? reason : field + ": " + reason; }
};

// A bundle that passed, for one workload. Only Admit makes one.
//
// Life cycle: immutable; copies share the content. Threads: const methods from any thread.
class AdmittedBundle {
 public:
  const sassay::v1::Bundle& bundle() const { return content_->bundle; }
  const Cubin& cubin() const { return content_->cubin; }
  // The plan for workload(); points into bundle().
  const sassay::v1::LaunchPlan& plan() const { return *content_->plan; }
  const sassay::v1::Workload& workload() const { return content_->workload; }
  // SHA-256 of the bundle's bytes, lower-case hex.
  const std::string& digest() const { return content_->digest; }
  // Device memory of all buffers, in bytes.
  uint64_t memory_bytes() const { return content_->memory_bytes; }
  // What a reader of the verdict should know; not a reason to refuse.
  const std::vector<std::string>& warnings() const { return content_->warnings; }

 private:
  friend class Admission;
  struct Content {
    explicit Content(Cubin parsed) : cubin(std::move(parsed)) {}
    sassay::v1::Bundle bundle;
    Cubin cubin;
    const sassay::v1::LaunchPlan* plan = nullptr;
    sassay::v1::Workload workload;
    std::string digest;
    uint64_t memory_bytes = 0;
    std::vector<std::string> warnings;
  };
  explicit AdmittedBundle(std::shared_ptr<const Content> content) : content_(std::move(content)) {}

  std::shared_ptr<const Content> content_;
};

using AdmissionResult = std::variant<AdmittedBundle, Rejection>;

// Checks everything said above. Never fails otherwise than by a Rejection. `workload` is the service's own (from its
// catalogue).
AdmissionResult Admit(absl::string_view untrusted_bundle, const sassay::v1::Workload& workload, const Limits& limits,
                      const DeviceFacts& device);

}  // namespace sassay::admission

#endif  // SASSAY_PROFILER_SERVICE_ADMISSION_ADMISSION_H_
