#include "monitor/sources/nvml/reader.h"

#include "absl/strings/str_cat.h"
#include "common/base/steady_time.h"

namespace sassay::monitor::nvml {

Reader::Reader(const Library& library, const Gpu& gpu, Lacks& lacks, std::vector<Sample>& samples)
    : library_(library), gpu_(gpu), lacks_(lacks), samples_(samples), at_(SteadyNow()) {}

void Reader::Add(const char* signal, double value, std::string text) {
  samples_.push_back({at_, gpu_.uuid, signal, value, std::move(text)});
}

bool Reader::Judge(const char* signal, int result) {
  if (result == kSuccess) return true;
  if (result == kNotSupported) {
    lacks_.Say(gpu_, signal, "this GPU or driver does not have it");
  } else if (result == kGpuIsLost || result == kResetRequired) {
    lost_ = true;
    error_ = library_.Describe(result);
  } else {
    error_ = absl::StrCat(signal, ": ", library_.Describe(result));
  }
  return false;
}

}  // namespace sassay::monitor::nvml
