#include "profiler_service/emulator/exec/launch_context.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace sassay::emulator {

void PrintBuffer::Append(absl::string_view text) {
  absl::MutexLock lock(&mutex_);
  const size_t room = kCapBytes - text_.size();
  capped_ |= text.size() > room;
  absl::StrAppend(&text_, text.substr(0, room));
}

std::string PrintBuffer::Take() {
  absl::MutexLock lock(&mutex_);
  if (std::exchange(capped_, false)) absl::StrAppend(&text_, "\n[output capped at ", kCapBytes, " bytes]\n");
  return std::exchange(text_, std::string());
}

void LaunchContext::Hold(int64_t bytes) {
  if ((held_bytes_ += bytes) <= most_held_bytes || bytes <= 0) return;
  Fail(
      absl::UnimplementedError(absl::StrCat("emulator lacks memory: registers and local memory of the resident warps "
                                            "take more than ",
                                            most_held_bytes, " bytes")));
}

void LaunchContext::Fault(Misuse misuse) {
  absl::MutexLock lock(&mutex_);
  if (!faulted_ || misuse.where.block < fault_.where.block) fault_ = std::move(misuse);
  faulted_ = true;
  stop = true;
}

void LaunchContext::Fail(absl::Status status) {
  absl::MutexLock lock(&mutex_);
  if (failure_.ok()) failure_ = std::move(status);
  stop = true;
}

bool LaunchContext::faulted() const {
  absl::MutexLock lock(&mutex_);
  return faulted_;
}

Misuse LaunchContext::fault() const {
  absl::MutexLock lock(&mutex_);
  return fault_;
}

absl::Status LaunchContext::failure() const {
  absl::MutexLock lock(&mutex_);
  return failure_;
}

}  // namespace sassay::emulator
