// Code inside Markdown: prompts and training records hold sources of models, data sets and notes.
#ifndef SASSAY_COMMON_BASE_FOREIGN_CODE_BLOCK_H_
#define SASSAY_COMMON_BASE_FOREIGN_CODE_BLOCK_H_

#include <string>

#include "absl/strings/string_view.h"

namespace sassay {

// `code` between fences of backticks, marked `language` and ended by a newline. The fences are longer than any run of
// backticks in the code (CommonMark 4.5), so nothing in it ends the block and what follows stays ours.
std::string CodeBlock(absl::string_view language, absl::string_view code);

}  // namespace sassay

#endif  // SASSAY_COMMON_BASE_FOREIGN_CODE_BLOCK_H_
