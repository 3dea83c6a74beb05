// What chat templates of common models put between messages. In text from elsewhere it would end the message it stands
// in, for a tokenizer that knows it, and begin another one in somebody else's name.
#ifndef SASSAY_COMMON_BASE_FOREIGN_CHAT_MARKS_H_
#define SASSAY_COMMON_BASE_FOREIGN_CHAT_MARKS_H_

#include <string>

#include "absl/strings/string_view.h"

namespace sassay {

// Whether any of them is in the text.
bool HasChatMarks(absl::string_view text);

// The text with a blank inside each, so that people see what stood there and tokenizers see no mark.
std::string WithoutChatMarks(absl::string_view text);

}  // namespace sassay

#endif  // SASSAY_COMMON_BASE_FOREIGN_CHAT_MARKS_H_
