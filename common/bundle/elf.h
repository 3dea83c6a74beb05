// A reader of ELF64 files that were written by somebody else. CUDA's cubins are ELF; the facts admission decides by
// (kernels, parameters, shared memory) come out of their sections, so every length here is checked against the bytes
// that exist before it is used.
#ifndef SASSAY_COMMON_BUNDLE_ELF_H_
#define SASSAY_COMMON_BUNDLE_ELF_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace sassay {

// Copies a little-endian value out of `bytes` at `offset`; nullopt if it does not lie inside whole. No alignment
// needed.
template <typename T>
absl::optional<T> ReadAt(absl::string_view bytes, uint64_t offset) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return absl::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

struct ElfSection {
  absl::string_view name;
  uint32_t type = 0;
  uint64_t flags = 0;
  uint32_t link = 0;
  uint32_t info = 0;
  // What the header claims. `bytes` has the same size, except for NOBITS sections, whose `bytes` are empty.
  uint64_t size_bytes = 0;
  absl::string_view bytes;
};

struct ElfSymbol {
  absl::string_view name;
  uint8_t type = 0;      // STT_FUNC is 2, STT_OBJECT is 1
  uint8_t binding = 0;   // STB_LOCAL is 0
  uint8_t other = 0;     // NVIDIA keeps "is an entry" here
  uint16_t section = 0;  // 0 is undefined
  uint64_t value = 0;
  uint64_t size_bytes = 0;
};

// A parsed ELF64 little-endian file.
//
// Life cycle: immutable once parsed. Ownership: every view points into the bytes given to Parse, which must outlive it.
// Threads: thread-compatible. Failure: INVALID_ARGUMENT that names the header field.
class Elf {
 public:
  // Refuses what no cubin needs: extended section numbering, sections or segments that reach past the end of the file,
  // sections that share bytes with each other, names without terminator, two symbol tables.
  static absl::StatusOr<Elf> Parse(absl::string_view untrusted);

  uint16_t type() const { return type_; }
  uint16_t machine() const { return machine_; }
  uint32_t flags() const { return flags_; }
  uint8_t os_abi() const { return os_abi_; }
  uint8_t abi_version() const { return abi_version_; }
  const std::vector<ElfSection>& sections() const { return sections_; }
  // Symbols in file order; a symbol's index is what `.nv.info` names it by.
  const std::vector<ElfSymbol>& symbols() const { return symbols_; }
  // The first section of that name, or null.
  const ElfSection* FindSection(absl::string_view name) const;

 private:
  Elf() = default;
  absl::Status ReadSections(absl::string_view bytes);
  absl::Status ReadSymbols();

  uint16_t type_ = 0;
  uint16_t machine_ = 0;
  uint32_t flags_ = 0;
  uint8_t os_abi_ = 0;
  uint8_t abi_version_ = 0;
  std::vector<ElfSection> sections_;
  std::vector<ElfSymbol> symbols_;
};

}  // namespace sassay

#endif  // SASSAY_COMMON_BUNDLE_ELF_H_
