// One pass over one GPU: calls made, answers turned into samples, failures sorted into "it lacks that" and "it is
// gone".
#ifndef SASSAY_MONITOR_SOURCES_NVML_READER_H_
#define SASSAY_MONITOR_SOURCES_NVML_READER_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "monitor/sources/nvml/gpus.h"
#include "monitor/sources/nvml/library.h"
#include "monitor/sources/source.h"

namespace sassay::monitor::nvml {

// Collects the samples of one GPU at one moment. Thread-compatible.
class Reader {
 public:
  Reader(const Library& library, const Gpu& gpu, Lacks& lacks, std::vector<Sample>& samples);

  const Gpu& gpu() const { return gpu_; }
  void Add(const char* signal, double value, std::string text = "");

  // Calls `function(device, arguments…)`. True if it answered. Otherwise: a function that is missing or not supported
  // is said once; a GPU that is lost or wants a reset is lost(); anything else is an error(). Once it is lost, nothing
  // is called any more.
  template <typename Function, typename... Arguments>
  bool Call(const char* signal, Function function, Arguments... arguments) {
    if (lost_) return false;
    if (function == nullptr) return Judge(signal, kNotSupported);
    return Judge(signal, function(gpu_.device, arguments...));
  }

  bool lost() const { return lost_; }
  // Empty: every call that this GPU supports has answered.
  const std::string& error() const { return error_; }

 private:
  bool Judge(const char* signal, int result);

  const Library& library_;
  const Gpu& gpu_;
  Lacks& lacks_;
  std::vector<Sample>& samples_;
  const absl::Time at_;
  bool lost_ = false;
  std::string error_;
};

}  // namespace sassay::monitor::nvml

#endif  // SASSAY_MONITOR_SOURCES_NVML_READER_H_
