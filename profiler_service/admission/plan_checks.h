// The walk over a launch plan: buffers, tensor maps, then every step of setup and of one steady call, in order, with a
// note of which buffers are alive.
#ifndef SASSAY_PROFILER_SERVICE_ADMISSION_PLAN_CHECKS_H_
#define SASSAY_PROFILER_SERVICE_ADMISSION_PLAN_CHECKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/bundle/cubin.h"
#include "profiler_service/admission/admission.h"
#include "profiler_service/admission/arch_limits.h"
#include "profiler_service/admission/launch_checks.h"
#include "sassay/v1/plan.pb.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::admission {

// Checks one plan.
//
// Life cycle: Check once, then read the results. Ownership: everything given to the constructor must outlive it.
// Threads: thread-compatible.
class PlanChecker {
 public:
  // `path` is the plan's own ("plans[0]").
  PlanChecker(const sassay::v1::LaunchPlan& untrusted_plan, const sassay::v1::Workload& workload, const Cubin& cubin,
              const ArchLimits& arch, const Limits& limits, const DeviceFacts& device, std::string path);

  // The first thing wrong, or nothing.
  Complaint Check();

  // Valid after Check said nothing.
  uint64_t memory_bytes() const { return memory_bytes_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  enum class Life { kNotYet, kAlive, kFreed };
  using Steps = google::protobuf::RepeatedPtrField<sassay::v1::Step>;

  Complaint CheckHead() const;
  Complaint CheckWarnings() const;
  Complaint CheckText(absl::string_view text, const std::string& path) const;
  Complaint CheckBuffers();
  Complaint CheckTensors() const;
  Complaint CheckTensor(const sassay::v1::TensorSpec& tensor, sassay::v1::BufferKind kind, int index) const;
  Complaint CheckBuffer(int index);
  Complaint CheckMemory() const;
  Complaint CheckTensorMaps();
  Complaint CheckAssumptions() const;

  Complaint CheckSteps(const Steps& steps, bool setup);
  Complaint CheckOrder(const sassay::v1::Step& step, int index, const std::string& path) const;
  Complaint CheckAction(const sassay::v1::Step& step, bool setup, const std::string& path);
  Complaint CheckLaunch(const sassay::v1::KernelLaunch& launch, const std::string& path);
  Complaint CheckUpload(const sassay::v1::Upload& upload, const std::string& path);
  Complaint CheckCopy(const sassay::v1::DeviceCopy& copy, const std::string& path);
  Complaint CheckMemset(const sassay::v1::DeviceMemset& memset, const std::string& path);
  Complaint CheckAllocate(const sassay::v1::Lifetime& lifetime, bool setup, const std::string& path);
  Complaint CheckFree(const sassay::v1::Lifetime& lifetime, bool setup, const std::string& path);
  Complaint CheckOwner(const sassay::v1::Lifetime& lifetime, bool setup, const std::string& path) const;

  Complaint CheckBytes(const sassay::v1::RelocatableBytes& bytes, const std::string& path);
  Complaint CheckRelocation(const sassay::v1::RelocatableBytes& bytes, int index, uint64_t free_from,
                            const std::string& path) const;
  Complaint CheckPointer(const sassay::v1::BufferPointer& pointer, const std::string& path) const;
  // `rows` rows of `width` bytes, `pitch` apart, from `pointer` on. Adds what is written to the total.
  Complaint CheckRange(const sassay::v1::BufferPointer& pointer, uint64_t width, uint64_t rows, uint64_t pitch,
                       const std::string& path) const;
  Complaint AddTransfer(uint64_t width_bytes, uint64_t rows, const std::string& path);

  std::string BufferText(uint32_t index) const;
  Rejection Refuse(sassay::v1::VerdictCode code, absl::string_view field, std::string reason) const;

  const sassay::v1::LaunchPlan& plan_;
  const sassay::v1::Workload& workload_;
  const Cubin& cubin_;
  const ArchLimits& arch_;
  const Limits& limits_;
  const DeviceFacts& device_;
  const std::string path_;

  std::vector<Life> life_;
  uint64_t memory_bytes_ = 0;
  uint64_t relocations_ = 0;
  uint64_t transfer_bytes_ = 0, transfer_rows_ = 0;
  std::vector<std::string> warnings_;
};

}  // namespace sassay::admission

#endif  // SASSAY_PROFILER_SERVICE_ADMISSION_PLAN_CHECKS_H_
