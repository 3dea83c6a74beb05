#include "common/bundle/nv_info.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/bundle/elf.h"

namespace sassay {
namespace {

constexpr uint8_t kFormatNone = 1;
constexpr uint8_t kFormatByte = 2;
constexpr uint8_t kFormatHalf = 3;
constexpr uint8_t kFormatSized = 4;

}  // namespace

absl::StatusOr<std::vector<NvAttribute>> ParseNvInfo(absl::string_view untrusted) {
  std::vector<NvAttribute> attributes;
  uint64_t at = 0;
  while (at < untrusted.size()) {
    const auto format = ReadAt<uint8_t>(untrusted, at);
    const auto id = ReadAt<uint8_t>(untrusted, at + 1);
    const auto half = ReadAt<uint16_t>(untrusted, at + 2);
    if (!half) return absl::InvalidArgumentError("malformed cubin: an attribute list ends inside an entry");
    at += 4;
    NvAttribute attribute;
    attribute.id = *id;
    if (*format == kFormatSized) {
      if (*half > untrusted.size() - at) {
        return absl::InvalidArgumentError(absl::StrCat("malformed cubin: attribute ", *id, " claims ", *half,
                                                       " bytes where ", untrusted.size() - at, " are left"));
      }
      attribute.bytes = untrusted.substr(at, *half);
      at += *half;
    } else if (*format == kFormatByte || *format == kFormatHalf || *format == kFormatNone) {
      attribute.number = *format == kFormatByte ? *half & 0xff : *half;
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("malformed cubin: attribute ", *id, " has the unknown format ", *format));
    }
    attributes.push_back(attribute);
  }
  return attributes;
}

}  // namespace sassay
