#include "common/base/proto_json.h"

#include <cctype>
#include <map>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "google/protobuf/util/json_util.h"
#include "nlohmann/json.hpp"

namespace sassay {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using Json = nlohmann::ordered_json;

// VerdictStatus -> VERDICT_STATUS_; DType -> DTYPE_ is spelled by hand in the .proto, so single capitals join.
std::string PrefixOf(const std::string& type_name) {
  std::string prefix;
  for (size_t i = 0; i < type_name.size(); ++i) {
    const bool upper = std::isupper(static_cast<unsigned char>(type_name[i])) != 0;
    const bool after_lower = i > 0 && std::islower(static_cast<unsigned char>(type_name[i - 1])) != 0;
    if (upper && after_lower) prefix += '_';
    prefix += static_cast<char>(std::toupper(static_cast<unsigned char>(type_name[i])));
  }
  return prefix + "_";
}

Json ToJsonValue(const Message& message);

Json ScalarToJson(const Message& message, const FieldDescriptor& field, int index) {
  const Reflection& reflection = *message.GetReflection();
  const bool repeated = index >= 0;
  switch (field.cpp_type()) {
#define SASSAY_CASE(KIND, Method)                                                  \
  case FieldDescriptor::KIND:                                                      \
    return repeated ? Json(reflection.GetRepeated##Method(message, &field, index)) \
                    : Json(reflection.Get##Method(message, &field));
    SASSAY_CASE(CPPTYPE_INT32, Int32)
    SASSAY_CASE(CPPTYPE_INT64, Int64)
    SASSAY_CASE(CPPTYPE_UINT32, UInt32)
    SASSAY_CASE(CPPTYPE_UINT64, UInt64)
    SASSAY_CASE(CPPTYPE_DOUBLE, Double)
    SASSAY_CASE(CPPTYPE_FLOAT, Float)
    SASSAY_CASE(CPPTYPE_BOOL, Bool)
#undef SASSAY_CASE
    case FieldDescriptor::CPPTYPE_ENUM:
      return EnumName(*field.enum_type(), repeated ? reflection.GetRepeatedEnumValue(message, &field, index)
                                                   : reflection.GetEnumValue(message, &field));
    case FieldDescriptor::CPPTYPE_STRING: {
      std::string value =
          repeated ? reflection.GetRepeatedString(message, &field, index) : reflection.GetString(message, &field);
      return field.type() == FieldDescriptor::TYPE_BYTES ? Json(absl::Base64Escape(value)) : Json(std::move(value));
    }
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return ToJsonValue(repeated ? reflection.GetRepeatedMessage(message, &field, index)
                                  : reflection.GetMessage(message, &field));
  }
  return nullptr;
}

Json MapToJson(const Message& message, const FieldDescriptor& field) {
  std::map<std::string, Json> sorted;
  const int size = message.GetReflection()->FieldSize(message, &field);
  for (int i = 0; i < size; ++i) {
    const Message& entry = message.GetReflection()->GetRepeatedMessage(message, &field, i);
    const Json key = ScalarToJson(entry, *field.message_type()->map_key(), -1);
    sorted[key.is_string() ? key.get<std::string>() : key.dump()] =
        ScalarToJson(entry, *field.message_type()->map_value(), -1);
  }
  return Json(sorted);
}

Json ToJsonValue(const Message& message) {
  if (message.GetDescriptor()->file()->package() == "google.protobuf") {
    std::string text;  // Timestamp and Duration have a JSON form of their own.
    if (google::protobuf::util::MessageToJsonString(message, &text).ok()) return Json::parse(text);
  }
  Json object = Json::object();
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    Json& value = object[field->name()];
    if (field->is_map()) {
      value = MapToJson(message, *field);
    } else if (field->is_repeated()) {
      value = Json::array();
      const int size = message.GetReflection()->FieldSize(message, field);
      for (int i = 0; i < size; ++i) value.push_back(ScalarToJson(message, *field, i));
    } else {
      value = ScalarToJson(message, *field, -1);
    }
  }
  return object;
}

}  // namespace

std::string EnumName(const google::protobuf::EnumDescriptor& type, int number) {
  const auto* value = type.FindValueByNumber(number);
  if (value == nullptr) return absl::StrCat(number);
  return std::string(absl::StripPrefix(value->name(), PrefixOf(type.name())));
}

std::string ToJson(const Message& message, int indent) {
  return ToJsonValue(message).dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace sassay
