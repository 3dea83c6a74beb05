// Folders in which CUDA's programs and libraries may lie, so that everybody looks in the same places in the same order.
#ifndef SASSAY_COMMON_TOOLCHAIN_PLACES_H_
#define SASSAY_COMMON_TOOLCHAIN_PLACES_H_

#include <string>
#include <vector>

namespace sassay {

// The value of an environment variable; empty where it is not set.
std::string EnvironmentValue(const char* name);

// Existing paths that match a shell pattern, in the order of their names.
std::vector<std::string> GlobPaths(const std::string& pattern);

// `relative` (may be a pattern) in every folder above this program and above the working directory, nearest first.
std::vector<std::string> GlobUpwards(const std::string& relative);

// Folders of Python packages: of $VIRTUAL_ENV, of a .venv above, of the user, of python3 in PATH, of the system, and of
// virtual environments in /opt. Those that exist, each once.
std::vector<std::string> SitePackages();

// Roots of CUDA toolkits: $SASSAY_CUDA_HOME, $CUDA_HOME, /usr/local/cuda, other /usr/local/cuda-* (newest first), and
// .venv/cuda above. Those that exist, each once.
std::vector<std::string> ToolkitRoots();

}  // namespace sassay

#endif  // SASSAY_COMMON_TOOLCHAIN_PLACES_H_
