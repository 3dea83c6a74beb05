// For tests alone: who holds a GPU, as NVML tells it, and which of them is ours.
//
// NVML gives process ids of the host's outermost pid namespace. A runner sits in a namespace of its own, where it calls
// itself 1 or 2; the kernel shows it to the service as a descendant of the process that the service started. On a host
// whose own processes are namespaced (a container with a pid namespace) NVML's numbers mean nothing here.
#ifndef SASSAY_TESTS_WORKERS_GPU_PROCESSES_H_
#define SASSAY_TESTS_WORKERS_GPU_PROCESSES_H_

#include <sys/types.h>

#include <set>
#include <string>

#include "absl/status/statusor.h"

namespace sassay::runner {

// Processes with a context on the GPU with this UUID.
absl::StatusOr<std::set<pid_t>> GpuProcesses(const std::string& uuid);

// `pid` and every process below it.
std::set<pid_t> WithDescendants(pid_t pid);

}  // namespace sassay::runner

#endif  // SASSAY_TESTS_WORKERS_GPU_PROCESSES_H_
