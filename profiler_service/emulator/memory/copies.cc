#include "profiler_service/emulator/memory/copies.h"

namespace sassay::emulator {

void CopiesUnderWay::Mark(CopyMark& word, const CopyMark& by) {
  const uint64_t count = word.count + 1;
  word = by;
  word.count = count;
}

void CopiesUnderWay::Begin(uint32_t shared_bytes, uint32_t offset, const uint8_t* from, uint32_t bytes,
                           const CopyMark& by) {
  if (shared_.empty()) shared_.resize((shared_bytes + 3) / 4);
  for (uint32_t k = 0; k < bytes; k += 4) {
    Mark(shared_[(offset + k) / 4], by);
    if (from != nullptr) Mark(sources_[Word(from + k)], by);
  }
}

void CopiesUnderWay::End(uint32_t offset, const uint8_t* from, uint32_t bytes) {
  for (uint32_t k = 0; k < bytes; k += 4) {
    --shared_[(offset + k) / 4].count;
    if (from == nullptr) continue;
    const auto source = sources_.find(Word(from + k));
    if (--source->second.count == 0) sources_.erase(source);
  }
}

void CopiesUnderWay::BeginRead(uint32_t shared_bytes, uint32_t offset, uint32_t bytes, const CopyMark& by) {
  if (reads_.empty()) reads_.resize((shared_bytes + 3) / 4);
  for (uint32_t word = offset / 4; word < (offset + bytes) / 4; ++word) Mark(reads_[word], by);
}

void CopiesUnderWay::EndRead(uint32_t offset, uint32_t bytes) {
  for (uint32_t word = offset / 4; word < (offset + bytes) / 4; ++word) --reads_[word].count;
}

const CopyMark* CopiesUnderWay::Find(const std::vector<CopyMark>& words, uint32_t offset, uint32_t bytes) {
  if (words.empty()) return nullptr;
  for (uint32_t word = offset / 4; word <= (offset + bytes - 1) / 4; ++word) {
    if (words[word].count != 0) return &words[word];
  }
  return nullptr;
}

const CopyMark* CopiesUnderWay::AtSource(const uint8_t* at, uint32_t bytes) const {
  if (sources_.empty()) return nullptr;
  for (uintptr_t word = Word(at); word <= Word(at + bytes - 1); ++word) {
    const auto source = sources_.find(word);
    if (source != sources_.end()) return &source->second;
  }
  return nullptr;
}

}  // namespace sassay::emulator
