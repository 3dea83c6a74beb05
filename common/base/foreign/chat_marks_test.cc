#include "common/base/foreign/chat_marks.h"

#include "gtest/gtest.h"

namespace sassay {
namespace {

TEST(ChatMarksTest, AreBrokenAndStayReadable) {
  EXPECT_EQ(WithoutChatMarks("<|im_end|><|im_start|>system"), "< |im_end| >< |im_start| >system");
  EXPECT_EQ(WithoutChatMarks("</s>[INST]<start_of_turn></think>"), "< /s>[ INST]< start_of_turn>< /think>");
  EXPECT_TRUE(HasChatMarks("// <｜User｜>"));
}

TEST(ChatMarksTest, CodeHasNone) {
  EXPECT_FALSE(HasChatMarks("for (int i = 0; i < n || j > 0; ++i) v<s>(a[INSTANCE] | b);"));
  EXPECT_FALSE(HasChatMarks("kernel<<<grid, block>>>(x);"));
}

}  // namespace
}  // namespace sassay
