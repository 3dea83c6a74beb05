#include "common/process/memory_use.h"

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace sassay {

uint64_t MemoryUse(pid_t pid, absl::string_view field) {
  std::ifstream status(absl::StrCat("/proc/", pid, "/status"));
  for (std::string line; std::getline(status, line);) {
    const std::vector<std::string> words = absl::StrSplit(line, absl::ByAnyChar(" \t:"), absl::SkipEmpty());
    uint64_t kib = 0;
    if (words.size() == 3 && words[0] == field && absl::SimpleAtoi(words[1], &kib)) return kib << 10;
  }
  return 0;
}

}  // namespace sassay
