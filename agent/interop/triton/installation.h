// Where Triton lies on this machine: an environment of its own, made by deploy/install_triton.sh.
#ifndef SASSAY_AGENT_INTEROP_TRITON_INSTALLATION_H_
#define SASSAY_AGENT_INTEROP_TRITON_INSTALLATION_H_

#include <string>

#include "absl/status/statusor.h"

namespace sassay::agent {

struct TritonInstallation {
  // Of the system, because the sandbox shows no other: /usr/bin/python3.11.
  std::string python;
  // The environment's packages.
  std::string site_packages;
  // "3.9.0".
  std::string version;
};

// `environment` (a virtual environment's folder), or $SASSAY_TRITON_VENV, or the nearest .venv/triton above this
// program or the working directory. FAILED_PRECONDITION with the command that installs it.
absl::StatusOr<TritonInstallation> FindTriton(const std::string& environment = "");

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_INTEROP_TRITON_INSTALLATION_H_
