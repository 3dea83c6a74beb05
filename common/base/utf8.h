// Text from elsewhere that must become UTF-8 before it enters a message: protobuf refuses anything else.
#ifndef SASSAY_COMMON_BASE_UTF8_H_
#define SASSAY_COMMON_BASE_UTF8_H_

#include <string>

#include "absl/strings/string_view.h"

namespace sassay {

// Position of the first byte that begins no well-formed UTF-8 character (RFC 3629: no surrogates, nothing overlong, at
// most U+10FFFF); npos if there is none.
size_t FirstInvalidUtf8(absl::string_view text);

// `text` with every such byte replaced by '?'.
std::string ToUtf8(absl::string_view text);

}  // namespace sassay

#endif  // SASSAY_COMMON_BASE_UTF8_H_
