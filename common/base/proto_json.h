// The JSON form of our messages, as people and scripts see it.
#ifndef SASSAY_COMMON_BASE_PROTO_JSON_H_
#define SASSAY_COMMON_BASE_PROTO_JSON_H_

#include <string>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace sassay {

// An enum value's name without the prefix that proto3's scoping asks for: VERDICT_STATUS_CORRECT -> "CORRECT".
std::string EnumName(const google::protobuf::EnumDescriptor& type, int number);

// The same for a generated enum: EnumName(sassay::v1::VERDICT_STATUS_CORRECT) -> "CORRECT".
template <typename Enum>
std::string EnumName(Enum value) {
  return EnumName(*google::protobuf::GetEnumDescriptor<Enum>(), static_cast<int>(value));
}

// The proto's JSON form with field names as in the .proto, enum values without prefix, 64-bit integers as numbers and
// bytes as base64; fields without value are left out. `indent` spaces per level; negative for one line.
std::string ToJson(const google::protobuf::Message& message, int indent = 2);

}  // namespace sassay

#endif  // SASSAY_COMMON_BASE_PROTO_JSON_H_
