// mini-ptx-capture-host: runs inside the sandbox. Reads capture tasks from standard input (separated by lines of
// "---"), runs each in a process of its own, and prints one serialized Recording.
//
//   mini-ptx-capture-host CANDIDATE.so ENTRY TIMEOUT_MS
#include <sys/personality.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "agent/capture/host/debug_info.h"
#include "agent/capture/host/supervise.h"

namespace {

using sassay::capture::DebugInfo;
using sassay::capture::Entry;
using sassay::capture::Record;
using sassay::capture::Recording;
using sassay::capture::SuperviseOptions;

int Fail(const std::string& why) {
  std::cerr << "mini-ptx-capture-host: " << why << "\n";
  return 3;
}

SuperviseOptions Options(const char* timeout_ms) {
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
  SuperviseOptions options;
  options.child_program = self.parent_path() / "mini-ptx-capture-child";
  options.runtime_directory = self.parent_path().parent_path() / "lib" / "sassay-capture";
  options.timeout = absl::Milliseconds(std::atoll(timeout_ms));
  return options;
}

// A task that leaves the ABI open ("abi auto") gets the one that the candidate exports.
std::string Settle(const std::string& task, const Entry& entry) {
  const bool tvm_ffi = entry.has_tvm_ffi() && !entry.has_c();
  std::string settled;
  for (absl::string_view line : absl::StrSplit(task, '\n')) {
    if (line == "abi auto") {
      absl::StrAppend(&settled, "tvm_ffi ", tvm_ffi ? 1 : 0, "\n");
    } else {
      absl::StrAppend(&settled, line, "\n");
    }
  }
  return settled;
}

int Run(const char* candidate, const char* entry_name, const char* timeout_ms) {
  // The candidate has our uid: without this it could open our memory and our descriptors through /proc.
  if (prctl(PR_SET_DUMPABLE, 0) != 0) return Fail("this process cannot be closed to others (PR_SET_DUMPABLE)");
  // Inherited by the children: equal addresses in every run are what makes plans comparable and reproducible.
  if (personality(ADDR_NO_RANDOMIZE) < 0) return Fail("address randomisation cannot be switched off (personality)");
  const std::string input{std::istreambuf_iterator<char>(std::cin), {}};
  const DebugInfo debug_info(candidate);
  const Entry entry = debug_info.DescribeEntry(entry_name);
  Recording recording;
  for (absl::string_view task : absl::StrSplit(input, "---\n", absl::SkipEmpty())) {
    auto record = sassay::capture::Supervise(Settle(std::string(task), entry), debug_info, entry, Options(timeout_ms));
    if (!record.ok()) return Fail(record.status().ToString());
    *recording.add_records() = *std::move(record);
  }
  return recording.SerializeToOstream(&std::cout) && std::cout.flush() ? 0 : Fail("cannot write the recording");
}

}  // namespace

#if defined(__SANITIZE_ADDRESS__)
// Looking for leaks takes ptrace, which the sandbox refuses.
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() { return "detect_leaks=0"; }
#endif

int main(int argc, char** argv) {
  if (argc != 4) return Fail("usage: mini-ptx-capture-host CANDIDATE.so ENTRY TIMEOUT_MS < TASKS");
  return Run(argv[1], argv[2], argv[3]);
}
