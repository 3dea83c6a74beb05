#include "common/bundle/fatbin.h"

#include <zstd.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/bundle/elf.h"

namespace sassay {
namespace {

constexpr uint32_t kMagic = 0xba55ed50;
constexpr uint64_t kMinimumEntryHeaderBytes = 64;
constexpr uint16_t kKindPtx = 1;
constexpr uint16_t kKindElf = 2;
constexpr uint64_t kFlagZstd = 0x8000;
constexpr uint64_t kFlagLz4 = 0x2000;

absl::Status Malformed(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("malformed fat binary: ", what));
}

// The header of one image; offsets from its first byte (CAPTURE.md).
struct EntryHeader {
  uint16_t kind;
  uint32_t header_bytes;
  uint64_t payload_bytes;
  uint32_t compressed_bytes;
  uint32_t sm;
  uint64_t flags;
  uint64_t unpacked_bytes;
};

absl::StatusOr<EntryHeader> ReadEntryHeader(absl::string_view rest) {
  if (rest.size() < kMinimumEntryHeaderBytes) return Malformed("it ends inside the header of an image");
  EntryHeader header{.kind = *ReadAt<uint16_t>(rest, 0),
                     .header_bytes = *ReadAt<uint32_t>(rest, 4),
                     .payload_bytes = *ReadAt<uint64_t>(rest, 8),
                     .compressed_bytes = *ReadAt<uint32_t>(rest, 16),
                     .sm = *ReadAt<uint32_t>(rest, 28),
                     .flags = *ReadAt<uint64_t>(rest, 40),
                     .unpacked_bytes = *ReadAt<uint64_t>(rest, 56)};
  if (header.header_bytes < kMinimumEntryHeaderBytes || header.header_bytes > rest.size()) {
    return Malformed(absl::StrCat("an image's header claims ", header.header_bytes, " bytes"));
  }
  if (header.payload_bytes > rest.size() - header.header_bytes) {
    return Malformed(absl::StrCat("an image claims ", header.payload_bytes, " bytes where ",
                                  rest.size() - header.header_bytes, " are left"));
  }
  return header;
}

absl::StatusOr<std::string> Unpack(const EntryHeader& header, absl::string_view payload, uint64_t limit_bytes) {
  if ((header.flags & kFlagLz4) != 0) {
    return absl::UnimplementedError("the fat binary is compressed with LZ4; compile with --no-compress");
  }
  if ((header.flags & kFlagZstd) == 0) return std::string(payload);
  if (header.compressed_bytes > payload.size()) return Malformed("an image's compressed size does not fit");
  if (header.unpacked_bytes > limit_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("fat binary: an image unpacks to ", header.unpacked_bytes, " bytes, more than ", limit_bytes));
  }
  std::string unpacked(header.unpacked_bytes, '\0');
  const size_t size = ZSTD_decompress(unpacked.data(), unpacked.size(), payload.data(), header.compressed_bytes);
  if (ZSTD_isError(size) || size != unpacked.size()) return Malformed("an image's zstd data is broken");
  return unpacked;
}

void StripTrailingNuls(std::string& text) {
  while (!text.empty() && text.back() == '\0') text.pop_back();
}

}  // namespace

absl::StatusOr<uint64_t> FatbinSize(absl::string_view header, uint64_t limit_bytes) {
  const auto magic = ReadAt<uint32_t>(header, 0);
  const auto header_bytes = ReadAt<uint16_t>(header, 6);
  const auto body_bytes = ReadAt<uint64_t>(header, 8);
  if (!body_bytes || *magic != kMagic) return Malformed("it does not begin with the fat binary's magic number");
  if (*header_bytes < 16) return Malformed(absl::StrCat("its header claims ", *header_bytes, " bytes"));
  if (*body_bytes > limit_bytes) return Malformed(absl::StrCat("it claims ", *body_bytes, " bytes"));
  return *header_bytes + *body_bytes;
}

absl::StatusOr<std::vector<FatbinEntry>> ParseFatbin(absl::string_view untrusted, uint64_t limit_bytes) {
  ASSIGN_OR_RETURN(const uint64_t size, FatbinSize(untrusted));
  if (size > untrusted.size()) {
    return Malformed(absl::StrCat("it claims ", size, " bytes where ", untrusted.size(), " are there"));
  }
  absl::string_view rest = untrusted.substr(*ReadAt<uint16_t>(untrusted, 6), size - *ReadAt<uint16_t>(untrusted, 6));
  std::vector<FatbinEntry> entries;
  uint64_t left = limit_bytes;
  while (!rest.empty()) {
    ASSIGN_OR_RETURN(const EntryHeader header, ReadEntryHeader(rest));
    if (header.kind == kKindPtx || header.kind == kKindElf) {
      FatbinEntry entry;
      entry.kind = header.kind == kKindPtx ? FatbinEntry::Kind::kPtx : FatbinEntry::Kind::kElf;
      entry.sm = header.sm;
      ASSIGN_OR_RETURN(entry.payload, Unpack(header, rest.substr(header.header_bytes, header.payload_bytes), left));
      if (entry.payload.size() > left) return absl::ResourceExhaustedError("fat binary: its images are too large");
      left -= entry.payload.size();
      if (entry.kind == FatbinEntry::Kind::kPtx) StripTrailingNuls(entry.payload);
      entries.push_back(std::move(entry));
    }
    rest.remove_prefix(header.header_bytes + header.payload_bytes);
  }
  return entries;
}

}  // namespace sassay
