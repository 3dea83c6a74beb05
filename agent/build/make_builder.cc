#include "agent/build/builder.h"
#include "agent/build/local_builder.h"
#include "agent/build/remote_builder.h"

namespace sassay::agent {

absl::StatusOr<std::unique_ptr<Builder>> Builder::Make(const Settings& settings,
                                                       const std::map<std::string, std::string>& environment) {
  return settings.Text("builder").empty() ? LocalBuilder::Make(settings, environment) : RemoteBuilder::Make(settings);
}

}  // namespace sassay::agent
