#include "common/bundle/elf.h"

#include <elf.h>

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace sassay {
namespace {

// Blackwell cubins carry a second view of the module under this prefix, which shares bytes with the first by design.
constexpr absl::string_view kMercury = ".nv.merc.";

absl::Status Malformed(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("malformed ELF: ", what));
}

bool Inside(absl::string_view bytes, uint64_t offset, uint64_t size) {
  return offset <= bytes.size() && size <= bytes.size() - offset;
}

// The NUL-terminated string at `offset` of a string table; nullopt if it has no end.
absl::optional<absl::string_view> StringAt(absl::string_view table, uint64_t offset) {
  if (offset >= table.size()) return absl::nullopt;
  const size_t end = table.find('\0', offset);
  if (end == absl::string_view::npos) return absl::nullopt;
  return table.substr(offset, end - offset);
}

absl::Status CheckIdentity(const Elf64_Ehdr& header) {
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return Malformed("the file does not begin with \\x7fELF");
  if (header.e_ident[EI_CLASS] != ELFCLASS64) return Malformed("e_ident[EI_CLASS] is not ELFCLASS64");
  if (header.e_ident[EI_DATA] != ELFDATA2LSB) return Malformed("e_ident[EI_DATA] is not little-endian");
  if (header.e_shnum == 0) return Malformed("e_shnum is 0");
  if (header.e_shentsize != sizeof(Elf64_Shdr)) {
    return Malformed(absl::StrCat("e_shentsize is ", header.e_shentsize, ", expected ", sizeof(Elf64_Shdr)));
  }
  if (header.e_shstrndx >= header.e_shnum) return Malformed("e_shstrndx is not a section");
  return absl::OkStatus();
}

// The driver loads by segments; they must lie inside the file like everything else.
absl::Status CheckSegments(absl::string_view bytes, const Elf64_Ehdr& header) {
  if (header.e_phnum == 0) return absl::OkStatus();
  if (header.e_phentsize != sizeof(Elf64_Phdr)) {
    return Malformed(absl::StrCat("e_phentsize is ", header.e_phentsize, ", expected ", sizeof(Elf64_Phdr)));
  }
  if (!Inside(bytes, header.e_phoff, uint64_t{header.e_phnum} * sizeof(Elf64_Phdr))) {
    return Malformed(absl::StrCat("the program headers (", header.e_phnum, " entries at offset ", header.e_phoff,
                                  ") reach past the end of the file (", bytes.size(), " bytes)"));
  }
  for (uint32_t i = 0; i < header.e_phnum; ++i) {
    const auto segment = *ReadAt<Elf64_Phdr>(bytes, header.e_phoff + uint64_t{i} * sizeof(Elf64_Phdr));
    if (!Inside(bytes, segment.p_offset, segment.p_filesz)) {
      return Malformed(absl::StrCat("segment ", i, " (", segment.p_filesz, " bytes at offset ", segment.p_offset,
                                    ") reaches past the end of the file (", bytes.size(), " bytes)"));
    }
  }
  return absl::OkStatus();
}

// Two sections that share bytes let one reader see a number and another reader a different one.
absl::Status CheckNoOverlap(absl::string_view file, const std::vector<ElfSection>& sections) {
  std::vector<absl::string_view> ranges;
  for (const ElfSection& section : sections) {
    if (!section.bytes.empty() && !absl::StartsWith(section.name, kMercury)) ranges.push_back(section.bytes);
  }
  std::sort(ranges.begin(), ranges.end(), [](auto a, auto b) { return a.data() < b.data(); });
  for (size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].data() < ranges[i - 1].data() + ranges[i - 1].size()) {
      return Malformed(absl::StrCat("two sections share the bytes at offset ", ranges[i].data() - file.data()));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Elf> Elf::Parse(absl::string_view untrusted) {
  const auto header = ReadAt<Elf64_Ehdr>(untrusted, 0);
  if (!header) return Malformed(absl::StrCat("expected a header of 64 bytes, the file has ", untrusted.size()));
  RETURN_IF_ERROR(CheckIdentity(*header));
  RETURN_IF_ERROR(CheckSegments(untrusted, *header));
  Elf elf;
  elf.type_ = header->e_type;
  elf.machine_ = header->e_machine;
  elf.flags_ = header->e_flags;
  elf.os_abi_ = header->e_ident[EI_OSABI];
  elf.abi_version_ = header->e_ident[EI_ABIVERSION];
  RETURN_IF_ERROR(elf.ReadSections(untrusted));
  RETURN_IF_ERROR(elf.ReadSymbols());
  return elf;
}

absl::Status Elf::ReadSections(absl::string_view bytes) {
  const auto header = *ReadAt<Elf64_Ehdr>(bytes, 0);
  if (!Inside(bytes, header.e_shoff, uint64_t{header.e_shnum} * sizeof(Elf64_Shdr))) {
    return Malformed(absl::StrCat("the section table (", header.e_shnum, " entries at offset ", header.e_shoff,
                                  ") reaches past the end of the file (", bytes.size(), " bytes)"));
  }
  std::vector<uint32_t> names;
  for (uint32_t i = 0; i < header.e_shnum; ++i) {
    const auto raw = *ReadAt<Elf64_Shdr>(bytes, header.e_shoff + uint64_t{i} * sizeof(Elf64_Shdr));
    ElfSection section;
    section.type = raw.sh_type;
    section.flags = raw.sh_flags;
    section.link = raw.sh_link;
    section.info = raw.sh_info;
    section.size_bytes = raw.sh_size;
    if (raw.sh_type != SHT_NOBITS && raw.sh_type != SHT_NULL) {
      if (!Inside(bytes, raw.sh_offset, raw.sh_size)) {
        return Malformed(absl::StrCat("section ", i, " (", raw.sh_size, " bytes at offset ", raw.sh_offset,
                                      ") reaches past the end of the file (", bytes.size(), " bytes)"));
      }
      section.bytes = bytes.substr(raw.sh_offset, raw.sh_size);
    }
    names.push_back(raw.sh_name);
    sections_.push_back(section);
  }
  const absl::string_view table = sections_[header.e_shstrndx].bytes;
  for (size_t i = 1; i < sections_.size(); ++i) {
    const auto name = StringAt(table, names[i]);
    if (!name) return Malformed(absl::StrCat("the name of section ", i, " has no end"));
    sections_[i].name = *name;
  }
  return CheckNoOverlap(bytes, sections_);
}

absl::Status Elf::ReadSymbols() {
  const ElfSection* table = nullptr;
  for (const ElfSection& section : sections_) {
    if (section.type != SHT_SYMTAB) continue;
    if (table != nullptr) return Malformed("there are two symbol tables");
    table = &section;
  }
  if (table == nullptr) return Malformed("there is no symbol table");
  if (table->bytes.size() % sizeof(Elf64_Sym) != 0) return Malformed("the symbol table ends inside an entry");
  if (table->link >= sections_.size()) return Malformed("the symbol table's string table is not a section");
  const absl::string_view strings = sections_[table->link].bytes;
  symbols_.reserve(table->bytes.size() / sizeof(Elf64_Sym));
  for (uint64_t at = 0; at < table->bytes.size(); at += sizeof(Elf64_Sym)) {
    const auto raw = *ReadAt<Elf64_Sym>(table->bytes, at);
    const auto name = StringAt(strings, raw.st_name);
    if (!name) return Malformed(absl::StrCat("the name of symbol ", symbols_.size(), " has no end"));
    symbols_.push_back({.name = *name,
                        .type = static_cast<uint8_t>(ELF64_ST_TYPE(raw.st_info)),
                        .binding = static_cast<uint8_t>(ELF64_ST_BIND(raw.st_info)),
                        .other = raw.st_other,
                        .section = raw.st_shndx,
                        .value = raw.st_value,
                        .size_bytes = raw.st_size});
  }
  return absl::OkStatus();
}

const ElfSection* Elf::FindSection(absl::string_view name) const {
  for (const ElfSection& section : sections_) {
    if (section.name == name) return &section;
  }
  return nullptr;
}

}  // namespace sassay
