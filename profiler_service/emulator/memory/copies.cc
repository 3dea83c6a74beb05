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
  if (reads_.empty()) reads_.resize((shared_bytes + kPiece - 1) / kPiece);
  for (uint32_t piece = offset / kPiece; piece < (offset + bytes) / kPiece; ++piece) Mark(reads_[piece], by);
}

void CopiesUnderWay::EndRead(uint32_t offset, uint32_t bytes) {
  for (uint32_t piece = offset / kPiece; piece < (offset + bytes) / kPiece; ++piece) --reads_[piece].count;
}

const CopyMark* CopiesUnderWay::Find(const std::vector<CopyMark>& marks, uint32_t unit, uint32_t offset,
                                     uint32_t bytes) {
  if (marks.empty()) return nullptr;
  for (uint32_t at = offset / unit; at <= (offset + bytes - 1) / unit; ++at) {
    if (marks[at].count != 0) return &marks[at];
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
