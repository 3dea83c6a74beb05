// Stands for a release of cuDNN in tests: asks the linker for its part by plain name, as the real one does.
#include <dlfcn.h>

#include <cstddef>

extern "C" size_t cudnnGetVersion() {
  void* part = dlopen("libcudnn_graph.so.9", RTLD_LAZY);
  auto* const release = part == nullptr ? nullptr : reinterpret_cast<size_t (*)()>(dlsym(part, "PartRelease"));
  return release == nullptr ? 0 : release();
}

extern "C" size_t ShimRelease() { return RELEASE; }
// The older one was made for CUDA 13.0, the newer for 13.1.
extern "C" size_t cudnnGetCudartVersion() { return RELEASE >= 91900 ? 13010 : 13000; }
