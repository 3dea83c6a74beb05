#include "common/base/foreign/chat_marks.h"

#include "absl/strings/str_replace.h"

namespace sassay {

bool HasChatMarks(absl::string_view text) { return WithoutChatMarks(text) != text; }

std::string WithoutChatMarks(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"<|", "< |"},
                                    {"|>", "| >"},
                                    {"<｜", "< ｜"},
                                    {"｜>", "｜ >"},
                                    {"[INST]", "[ INST]"},
                                    {"[/INST]", "[ /INST]"},
                                    {"[SYSTEM_PROMPT]", "[ SYSTEM_PROMPT]"},
                                    {"[/SYSTEM_PROMPT]", "[ /SYSTEM_PROMPT]"},
                                    {"[TOOL_CALLS]", "[ TOOL_CALLS]"},
                                    {"[TOOL_RESULTS]", "[ TOOL_RESULTS]"},
                                    {"<<SYS>>", "< <SYS> >"},
                                    {"<</SYS>>", "< </SYS> >"},
                                    {"</s>", "< /s>"},
                                    {"<bos>", "< bos>"},
                                    {"<eos>", "< eos>"},
                                    {"<start_of_turn>", "< start_of_turn>"},
                                    {"<end_of_turn>", "< end_of_turn>"},
                                    {"<tool_call>", "< tool_call>"},
                                    {"</tool_call>", "< /tool_call>"},
                                    {"<tool_response>", "< tool_response>"},
                                    {"</tool_response>", "< /tool_response>"},
                                    {"<think>", "< think>"},
                                    {"</think>", "< /think>"}});
}

}  // namespace sassay
