#include "common/base/utf8.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace sassay {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

size_t LengthByLead(uint8_t lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead < 0xE0) return 2;
  if (lead >= 0xE0 && lead < 0xF0) return 3;
  return lead >= 0xF0 && lead < 0xF5 ? 4 : 0;
}

// Overlong forms, surrogates and what lies past U+10FFFF show in the second byte.
bool SecondByteFits(uint8_t lead, uint8_t second) {
  if (lead == 0xE0) return second >= 0xA0;
  if (lead == 0xED) return second < 0xA0;
  if (lead == 0xF0) return second >= 0x90;
  return lead != 0xF4 || second < 0x90;
}

using Rewrite = absl::FunctionRef<std::string(absl::string_view)>;

void RewriteStrings(Message& message, const Reflection& reflection, const FieldDescriptor* field, Rewrite rewrite) {
  if (!field->is_repeated()) {
    const std::string text = reflection.GetString(message, field);
    if (std::string rewritten = rewrite(text); rewritten != text) {
      reflection.SetString(&message, field, std::move(rewritten));
    }
    return;
  }
  for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
    const std::string text = reflection.GetRepeatedString(message, field, i);
    if (std::string rewritten = rewrite(text); rewritten != text) {
      reflection.SetRepeatedString(&message, field, i, std::move(rewritten));
    }
  }
}

void RewriteMessages(Message& message, const Reflection& reflection, const FieldDescriptor* field, Rewrite rewrite) {
  if (!field->is_repeated()) return RewriteTexts(*reflection.MutableMessage(&message, field), rewrite);
  for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
    RewriteTexts(*reflection.MutableRepeatedMessage(&message, field, i), rewrite);
  }
}

}  // namespace

size_t Utf8Length(absl::string_view text) {
  if (text.empty()) return 0;
  const size_t length = LengthByLead(static_cast<uint8_t>(text[0]));
  if (length == 0 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((text[i] & 0xC0) != 0x80) return 0;
  }
  return length == 1 || SecondByteFits(static_cast<uint8_t>(text[0]), static_cast<uint8_t>(text[1])) ? length : 0;
}

size_t FirstInvalidUtf8(absl::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const size_t length = Utf8Length(text.substr(i));
    if (length == 0) return i;
    i += length;
  }
  return absl::string_view::npos;
}

std::string ToUtf8(absl::string_view text) {
  std::string result(text);
  for (size_t i = 0; i < result.size();) {
    const size_t length = Utf8Length(absl::string_view(result).substr(i));
    if (length == 0) result[i] = '?';
    i += std::max<size_t>(length, 1);
  }
  return result;
}

void RewriteTexts(Message& message, Rewrite rewrite) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->type() == FieldDescriptor::TYPE_STRING) RewriteStrings(message, reflection, field, rewrite);
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) RewriteMessages(message, reflection, field, rewrite);
  }
}

void MakeTextValid(Message& message) { RewriteTexts(message, ToUtf8); }

}  // namespace sassay
