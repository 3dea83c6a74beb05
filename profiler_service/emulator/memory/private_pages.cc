#include "profiler_service/emulator/memory/private_pages.h"

#include "profiler_service/emulator/memory/racing.h"

namespace sassay::emulator {

uint8_t* PrivatePages::At(uint8_t* host, uint32_t bytes, bool writes) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(host);
  const uintptr_t number = address / kPageBytes, end = (address + bytes - 1) / kPageBytes;
  if (number != end) {
    const bool shared = !writes && !pages_.contains(number) && !pages_.contains(end);
    return shared ? host : nullptr;
  }
  if (number != last_) {
    const auto known = pages_.find(number);
    last_ = number;
    last_copy_ = known == pages_.end() ? nullptr : known->second.get();
  }
  if (last_copy_ == nullptr && writes) last_copy_ = Copy(number);
  if (last_copy_ == nullptr) return writes ? nullptr : host;
  return last_copy_ + address % kPageBytes;
}

uint8_t* PrivatePages::Copy(uintptr_t number) {
  if (pages_.size() >= kMostPages) return nullptr;
  Page page(new uint8_t[kPageBytes]);
  CopyFromRacing(page.get(), reinterpret_cast<const uint8_t*>(number * kPageBytes), kPageBytes);
  return pages_.emplace(number, std::move(page)).first->second.get();
}

void PrivatePages::Clear() {
  pages_.clear();
  last_ = 0;
  last_copy_ = nullptr;
}

}  // namespace sassay::emulator
