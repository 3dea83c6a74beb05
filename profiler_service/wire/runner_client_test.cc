#include "profiler_service/wire/runner_client.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sassay::wire {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Fills every field of a message, down to `depth`: texts and lists are as long as harm wants them.
void FillWithHarm(Message& message, int depth) {
  const auto& reflection = *message.GetReflection();
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = message.GetDescriptor()->field(i);
    if (field->is_map()) continue;
    const int count = field->is_repeated() && depth == 0 ? 20'000 : 1;
    for (int n = 0; n < count; ++n) {
      // The first of a list is large; the rest only many.
      const std::string text(n == 0 ? 200'000 : 1, 'x');
      if (field->type() == FieldDescriptor::TYPE_STRING) {
        field->is_repeated() ? reflection.AddString(&message, field, text)
                             : reflection.SetString(&message, field, text);
      } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && depth < 4) {
        Message* child =
            field->is_repeated() ? reflection.AddMessage(&message, field) : reflection.MutableMessage(&message, field);
        if (n == 0) FillWithHarm(*child, depth + 1);
      }
    }
  }
}

// Whatever field somebody adds to a reply: this fails until it is bounded.
TEST(RunnerClient, NothingThatARunnerSaysIsLong) {
  sassay::worker::RunnerReply reply;
  FillWithHarm(reply, 0);
  (*reply.mutable_versions()->mutable_libraries())["x"] = std::string(200'000, 'x');
  (*reply.mutable_evidence()->mutable_family_thread_counts())[std::string(200'000, 'x')] = 1;
  ASSERT_GT(reply.ByteSizeLong(), 3'000'000u);
  BoundReply(reply);
  EXPECT_LT(reply.ByteSizeLong(), 1'000'000u) << reply.ByteSizeLong();
  EXPECT_EQ(reply.findings_size(), RunnerClient::kMaxFindings);
}

}  // namespace
}  // namespace sassay::wire
