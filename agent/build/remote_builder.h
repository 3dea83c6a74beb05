// Builds elsewhere: a builder compiles and captures, and what it answers is what would have been found here.
#ifndef SASSAY_AGENT_BUILD_REMOTE_BUILDER_H_
#define SASSAY_AGENT_BUILD_REMOTE_BUILDER_H_

#include <memory>
#include <string>

#include "agent/build/builder.h"
#include "agent/submit/retry.h"
#include "common/rpc/secure_channel.h"
#include "sassay/v1/builder.grpc.pb.h"

namespace sassay::agent {

// See Builder. The sources travel as text, and nothing else of this machine: no include folder, no device table.
//
// Trust: a builder is believed that its bundle is what its compiler makes of the sources, as one's own compiler is.
// That the bundle is whole, for these sources, this architecture and these workloads is checked here. Failure:
// INVALID_ARGUMENT for settings that only work on this machine; DATA_LOSS for an answer that does not belong to the
// question. A call that broke is made again, as long as `reconnect_deadline` says.
class RemoteBuilder : public Builder {
 public:
  static absl::StatusOr<std::unique_ptr<Builder>> Make(const Settings& settings);

  absl::Status CheckLanguage(absl::string_view language) const override { return absl::OkStatus(); }
  absl::StatusOr<BuildOutcome> Build(const BuildInput& input, const BuildListener& listener) const override;

 private:
  RemoteBuilder(SecureChannel channel, v1::BuildSettings settings, RetryPolicy retry);

  const SecureChannel channel_;
  const std::unique_ptr<v1::Builder::StubInterface> stub_;
  const v1::BuildSettings settings_;
  const RetryPolicy retry_;
};

// What a builder has, for `doctor`.
absl::StatusOr<v1::GetBuilderResponse> GetBuilder(const Settings& settings, absl::Duration timeout);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_BUILD_REMOTE_BUILDER_H_
