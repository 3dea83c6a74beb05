// Text from elsewhere that must become UTF-8 before it enters a message: protobuf refuses anything else, and a message
// that holds it cannot be read by who receives it.
#ifndef SASSAY_COMMON_BASE_UTF8_H_
#define SASSAY_COMMON_BASE_UTF8_H_

#include <cstddef>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"

namespace sassay {

// Bytes of the character that `text` begins with (RFC 3629: no surrogates, nothing overlong, at most U+10FFFF); 0 if it
// begins with none.
size_t Utf8Length(absl::string_view text);

// Position of the first byte that begins no character; npos if there is none.
size_t FirstInvalidUtf8(absl::string_view text);

// `text` with every such byte replaced by '?'.
std::string ToUtf8(absl::string_view text);

// Puts rewrite(text) in the place of every string of the message and of the messages in it, those of maps too; `bytes`
// fields stay.
void RewriteTexts(google::protobuf::Message& message, absl::FunctionRef<std::string(absl::string_view)> rewrite);

// ToUtf8 for every string of the message and of the messages in it.
void MakeTextValid(google::protobuf::Message& message);

}  // namespace sassay

#endif  // SASSAY_COMMON_BASE_UTF8_H_
