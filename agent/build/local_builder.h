// Builds on this machine.
#ifndef SASSAY_AGENT_BUILD_LOCAL_BUILDER_H_
#define SASSAY_AGENT_BUILD_LOCAL_BUILDER_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "agent/build/builder.h"
#include "agent/capture/devices/device_table.h"
#include "agent/compile/compiler.h"

namespace sassay::agent {

// See Builder. The toolkit is the settings' or the first one found.
class LocalBuilder : public Builder {
 public:
  // NOT_FOUND if there is no toolkit, or no GPU model of that name.
  static absl::StatusOr<std::unique_ptr<Builder>> Make(const Settings& settings,
                                                       const std::map<std::string, std::string>& environment);

  absl::Status CheckLanguage(absl::string_view language) const override;
  absl::StatusOr<BuildOutcome> Build(const BuildInput& input, const BuildListener& listener) const override;

 private:
  LocalBuilder() = default;
  absl::StatusOr<CompileOutcome> Compile(const BuildInput& input, const BuildListener& listener) const;
  absl::StatusOr<BuildOutcome> Capture(const BuildInput& input, const CompiledCandidate& compiled,
                                       const BuildListener& listener) const;
  absl::StatusOr<BuildOutcome> BuildFromTriton(const BuildInput& input, const BuildListener& listener) const;

  CompilerOptions compiler_;
  // With the programs of capture in bin/.
  std::filesystem::path programs_;
  std::string arch_;
  v1::EntryAbi abi_ = v1::ENTRY_ABI_UNSPECIFIED;
  v1::CaptureProfile profile_ = v1::CAPTURE_PROFILE_STRICT;
  std::string device_model_;
  std::optional<capture::DeviceTable> device_table_;
  std::string triton_environment_;
  uint32_t autotune_config_ = 0;
};

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_BUILD_LOCAL_BUILDER_H_
