#include "common/toolchain/places.h"

#include <glob.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "common/process/subprocess.h"

namespace sassay {
namespace {

namespace fs = std::filesystem;

// The same folder under two names is one folder; the first name stays.
std::vector<std::string> EachOnce(const std::vector<std::string>& paths) {
  std::set<std::string> seen;
  std::vector<std::string> once;
  for (const std::string& path : paths) {
    std::error_code error;
    const fs::path real = path.empty() ? fs::path() : fs::canonical(path, error);
    if (!real.empty() && !error && seen.insert(real.string()).second) once.push_back(path);
  }
  return once;
}

void Append(std::vector<std::string>& paths, const std::vector<std::string>& more) {
  paths.insert(paths.end(), more.begin(), more.end());
}

// A virtual environment's python3 is a symbolic link: both sides have packages.
std::vector<std::string> PackagesOfPythonInPath() {
  std::vector<std::string> found;
  const auto python = FindProgram("python3");
  if (!python.ok()) return found;
  std::error_code error;
  for (const fs::path& program : {fs::path(*python), fs::canonical(*python, error)}) {
    Append(found, GlobPaths((program.parent_path().parent_path() / "lib/python3*/*-packages").string()));
  }
  return found;
}

}  // namespace

std::string EnvironmentValue(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::vector<std::string> GlobPaths(const std::string& pattern) {
  glob_t found = {};
  std::vector<std::string> paths;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return paths;
}

std::vector<std::string> GlobUpwards(const std::string& relative) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::path start : {fs::read_symlink("/proc/self/exe", error).parent_path(), fs::current_path(error)}) {
    for (fs::path folder = start; !folder.empty(); folder = folder.parent_path()) {
      Append(found, GlobPaths((folder / relative).string()));
      if (folder == folder.root_path()) break;
    }
  }
  return found;
}

std::vector<std::string> SitePackages() {
  const std::string home = EnvironmentValue("HOME"), venv = EnvironmentValue("VIRTUAL_ENV");
  std::vector<std::string> found = GlobUpwards(".venv/lib/python3*/site-packages");
  if (!venv.empty()) Append(found, GlobPaths(venv + "/lib/python3*/site-packages"));
  if (!home.empty()) {
    Append(found, GlobPaths(home + "/.local/lib/python3*/site-packages"));
    Append(found, GlobPaths(home + "/.pyenv/versions/*/lib/python3*/site-packages"));
  }
  Append(found, PackagesOfPythonInPath());
  for (const char* pattern : {"/usr/local/lib/python3*/*-packages", "/usr/lib/python3/dist-packages",
                              "/opt/*/.venv/lib/python3*/site-packages", "/opt/*/lib/python3*/site-packages"}) {
    Append(found, GlobPaths(pattern));
  }
  return EachOnce(found);
}

std::vector<std::string> ToolkitRoots() {
  std::vector<std::string> roots = {EnvironmentValue("SASSAY_CUDA_HOME"), EnvironmentValue("CUDA_HOME"),
                                    "/usr/local/cuda"};
  std::vector<std::string> versions = GlobPaths("/usr/local/cuda-*");
  std::reverse(versions.begin(), versions.end());
  Append(roots, versions);
  Append(roots, GlobUpwards(".venv/cuda"));
  return EachOnce(roots);
}

}  // namespace sassay
