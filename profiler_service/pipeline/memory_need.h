// How much of a device's memory a job holds: what the lease adds up.
#ifndef SASSAY_PROFILER_SERVICE_PIPELINE_MEMORY_NEED_H_
#define SASSAY_PROFILER_SERVICE_PIPELINE_MEMORY_NEED_H_

#include <cstdint>

#include "profiler_service/admission/admission.h"
#include "profiler_service/timing/measurement.h"

namespace sassay::pipeline {

// Bytes of the device that a stage of the job holds, at most: the plan's buffers, its tensors once more (the
// sanitizer's run works on exact copies of the judge's), and the same of the reference kernel where there is one. An
// emulated device's memory is the machine's, in which the judge also keeps inputs and right outputs: as fp64, with
// their noise, and what came out decoded beside them.
uint64_t MemoryNeed(const admission::AdmittedBundle& candidate, const admission::AdmittedBundle* reference,
                    bool emulated);

// Sets of tensors for timing: each of the candidate, of what the judge keeps of it, and of the baseline; twice that
// where a bundle takes the baseline's place, whose tensors the judge keeps, too. At least 1.
int RingSize(const timing::Rules& rules, const admission::AdmittedBundle& candidate, bool bundle_baseline,
             uint64_t device_bytes);

}  // namespace sassay::pipeline

#endif  // SASSAY_PROFILER_SERVICE_PIPELINE_MEMORY_NEED_H_
