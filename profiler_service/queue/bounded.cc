#include "profiler_service/queue/bounded.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/utf8.h"

namespace sassay::queue {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr char kCut[] = "... (cut)";

std::string Bounded(const std::string& text) {
  if (text.size() <= kMaxTextBytes) return ToUtf8(text);
  return ToUtf8(absl::string_view(text).substr(0, kMaxTextBytes - sizeof(kCut))) + kCut;
}

void BoundStrings(Message& message, const Reflection& reflection, const FieldDescriptor* field) {
  if (!field->is_repeated()) {
    return reflection.SetString(&message, field, Bounded(reflection.GetString(message, field)));
  }
  for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
    reflection.SetRepeatedString(&message, field, i, Bounded(reflection.GetRepeatedString(message, field, i)));
  }
}

void BoundMessages(Message& message, const Reflection& reflection, const FieldDescriptor* field) {
  if (!field->is_repeated()) return BoundTexts(*reflection.MutableMessage(&message, field));
  for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
    BoundTexts(*reflection.MutableRepeatedMessage(&message, field, i));
  }
}

}  // namespace

void BoundTexts(Message& message) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->is_map()) continue;
    if (field->type() == FieldDescriptor::TYPE_STRING) BoundStrings(message, reflection, field);
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) BoundMessages(message, reflection, field);
  }
}

void BoundVerdict(sassay::v1::Verdict& verdict) {
  BoundTexts(verdict);
  const size_t bytes = verdict.ByteSizeLong();
  if (bytes <= kMaxVerdictBytes) return;
  verdict.clear_details();
  if (verdict.ByteSizeLong() > kMaxVerdictBytes) verdict.clear_evidence();
  if (verdict.ByteSizeLong() > kMaxVerdictBytes) verdict.clear_timing();
  if (verdict.ByteSizeLong() > kMaxVerdictBytes) verdict.clear_numerics();
  if (verdict.ByteSizeLong() > kMaxVerdictBytes) verdict.clear_stages();
  verdict.mutable_details()->add_notes(absl::StrCat("parts of this verdict were dropped: it had ", bytes,
                                                    " bytes, at most ", kMaxVerdictBytes, " are kept"));
}

}  // namespace sassay::queue
