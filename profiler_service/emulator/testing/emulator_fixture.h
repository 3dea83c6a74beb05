// What the emulator's tests share: bundles from PTX text or from kernels that nvcc compiled at build time, and
// launches.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_TESTING_EMULATOR_FIXTURE_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_TESTING_EMULATOR_FIXTURE_H_

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "profiler_service/device/device.h"
#include "sassay/v1/bundle.pb.h"

namespace sassay::emulator {

// The PTX of testing/<name>.cu, with that source, so that findings carry its lines.
sassay::v1::Bundle CompiledBundle(const std::string& name);
// The cubin of testing/<name>.cu, where the tests have one made.
std::string CompiledCubin(const std::string& name);
// Hand-written PTX: adds the header (.version, .target, .address_size).
sassay::v1::Bundle TextBundle(const std::string& body, const std::string& arch = "sm_90a");

template <class T>
std::string Bytes(const T& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
}

// One emulated device with one module. Failures of our own end the test.
class Emulated {
 public:
  Emulated(const sassay::v1::Bundle& bundle, sassay::worker::RunMode mode, const std::string& arch = "sm_90a");

  device::Device& device() { return *device_; }
  // A buffer with these contents.
  template <class T>
  uint64_t Upload(const std::vector<T>& values, const std::string& label = "buffer") {
    return UploadBytes(values.data(), values.size() * sizeof(T), label);
  }
  // A buffer never written.
  uint64_t Allocate(uint64_t size_bytes, const std::string& label = "buffer");
  template <class T>
  std::vector<T> Download(uint64_t address, size_t count) {
    std::vector<T> values(count);
    DownloadBytes(values.data(), count * sizeof(T), address);
    return values;
  }
  // Launches and waits. A Status of the device comes as an INFRA outcome with its text.
  device::Execution Run(const std::string& kernel, std::array<uint32_t, 3> grid, std::array<uint32_t, 3> block,
                        const std::vector<std::string>& arguments, uint32_t dynamic_shared_bytes = 0,
                        bool cooperative = false, absl::Duration deadline = absl::Seconds(60));

 private:
  uint64_t UploadBytes(const void* data, uint64_t size_bytes, const std::string& label);
  void DownloadBytes(void* data, uint64_t size_bytes, uint64_t address);

  std::unique_ptr<device::Device> device_;
};

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_TESTING_EMULATOR_FIXTURE_H_
