#include "profiler_service/runner/output_capture.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace sassay::runner {

absl::StatusOr<OutputCapture> OutputCapture::Start() {
  UniqueFd memory(memfd_create("device_output", MFD_CLOEXEC));
  if (!memory.valid() || dup2(memory.get(), STDOUT_FILENO) < 0) {
    return absl::InternalError(absl::StrCat("capturing standard output: ", std::strerror(errno)));
  }
  return OutputCapture(std::move(memory));
}

std::string OutputCapture::Take() {
  std::fflush(stdout);
  struct stat info {};
  if (fstat(memory_.get(), &info) != 0 || info.st_size == 0) return "";
  const size_t printed = static_cast<size_t>(info.st_size);
  std::string text(std::min(printed, kMaxBytes), '\0');
  const ssize_t read = pread(memory_.get(), text.data(), text.size(), 0);
  text.resize(read < 0 ? 0 : static_cast<size_t>(read));
  if (printed > kMaxBytes) absl::StrAppend(&text, "\n[capped: ", printed, " bytes were printed]");
  if (ftruncate(memory_.get(), 0) != 0 || lseek(memory_.get(), 0, SEEK_SET) != 0) text += "\n[output was lost]";
  return text;
}

}  // namespace sassay::runner
