// What cudaGetDeviceProperties fills in candidates that CUDA 12 has compiled: its headers call it
// cudaGetDeviceProperties_v2, and the struct has members that CUDA 13 took out. Offsets are those of CUDA 12.4
// and 12.8, which are the same (runtime_test holds them).
#ifndef SASSAY_AGENT_CAPTURE_RUNTIME_API_DEVICE_PROPERTIES_12_H_
#define SASSAY_AGENT_CAPTURE_RUNTIME_API_DEVICE_PROPERTIES_12_H_

#include <cstddef>

namespace sassay::capture {

// Members that are answered have the header's names; the others are kept together.
struct DeviceProperties12 {
  char name[256];
  char identity[32];
  size_t totalGlobalMem;
  size_t sharedMemPerBlock;
  int regsPerBlock;
  int warpSize;
  size_t memPitch;
  int maxThreadsPerBlock;
  int maxThreadsDim[3];
  int maxGridSize[3];
  int clock_rate;
  size_t totalConstMem;
  int major;
  int minor;
  size_t texture_alignments[2];
  int device_overlap;
  int multiProcessorCount;
  int textures_and_surfaces[44];
  size_t surface_alignment;
  int concurrentKernels;
  int ECCEnabled;
  int bus_and_driver[4];
  int asyncEngineCount;
  int unifiedAddressing;
  int memory_clock_rate;
  int memoryBusWidth;
  int l2CacheSize;
  int persistingL2CacheMaxSize;
  int maxThreadsPerMultiProcessor;
  int streamPrioritiesSupported;
  int l1_caches[2];
  size_t sharedMemPerMultiprocessor;
  int regsPerMultiprocessor;
  int sharing_with_the_host[9];
  int cooperativeLaunch;
  int cooperative_multi_device_launch;
  size_t sharedMemPerBlockOptin;
  int page_tables[2];
  int maxBlocksPerMultiProcessor;
  int accessPolicyMaxWindowSize;
  size_t reservedSharedMemPerBlock;
  int registered_memory[4];
  int memoryPoolsSupported;
  int sharing_with_others[6];
  int clusterLaunch;
  int reserved[64];
};

}  // namespace sassay::capture

#endif  // SASSAY_AGENT_CAPTURE_RUNTIME_API_DEVICE_PROPERTIES_12_H_
