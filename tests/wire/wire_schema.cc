#include "tests/wire/wire_schema.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/process/subprocess.h"

namespace sassay::wire {
namespace {

namespace pb = google::protobuf;

std::string TypeOf(const pb::FieldDescriptor& field) {
  if (field.message_type() != nullptr) return field.message_type()->full_name();
  if (field.enum_type() != nullptr) return field.enum_type()->full_name();
  return field.type_name();
}

void Add(const pb::EnumDescriptor& type, Schema& schema) {
  for (int i = 0; i < type.value_count(); ++i) {
    schema.lines.insert(
        absl::StrCat("value ", type.full_name(), ".", type.value(i)->name(), " = ", type.value(i)->number()));
  }
  std::set<std::string>& reserved = schema.reserved[type.full_name()];
  for (int i = 0; i < type.reserved_name_count(); ++i) reserved.insert(type.reserved_name(i));
  for (int i = 0; i < type.reserved_range_count(); ++i) {
    for (int number = type.reserved_range(i)->start; number <= type.reserved_range(i)->end; ++number) {
      reserved.insert(absl::StrCat(number));
    }
  }
}

void Add(const pb::Descriptor& type, Schema& schema) {
  for (int i = 0; i < type.field_count(); ++i) {
    const pb::FieldDescriptor& field = *type.field(i);
    const pb::OneofDescriptor* one_of = field.real_containing_oneof();
    schema.lines.insert(
        absl::StrCat("field ", type.full_name(), ".", field.name(), " = ", field.number(), ": ",
                     field.is_repeated() ? "repeated " : "", field.has_optional_keyword() ? "optional " : "",
                     one_of == nullptr ? "" : absl::StrCat("oneof ", one_of->name(), " "), TypeOf(field)));
  }
  std::set<std::string>& reserved = schema.reserved[type.full_name()];
  for (int i = 0; i < type.reserved_name_count(); ++i) reserved.insert(type.reserved_name(i));
  for (int i = 0; i < type.reserved_range_count(); ++i) {
    for (int number = type.reserved_range(i)->start; number < type.reserved_range(i)->end; ++number) {
      reserved.insert(absl::StrCat(number));
    }
  }
  for (int i = 0; i < type.nested_type_count(); ++i) Add(*type.nested_type(i), schema);
  for (int i = 0; i < type.enum_type_count(); ++i) Add(*type.enum_type(i), schema);
}

void Add(const pb::ServiceDescriptor& service, Schema& schema) {
  for (int i = 0; i < service.method_count(); ++i) {
    const pb::MethodDescriptor& call = *service.method(i);
    schema.lines.insert(absl::StrCat("call ", call.full_name(), ": ", call.client_streaming() ? "stream " : "",
                                     call.input_type()->full_name(), " -> ", call.server_streaming() ? "stream " : "",
                                     call.output_type()->full_name()));
  }
}

// "field a.b.Type.name = 3: …" or "value a.b.Type.NAME = 3": whether Type has reserved both.
bool MayGo(const std::string& line, const Schema& today) {
  const std::vector<std::string> words = absl::StrSplit(line, ' ');
  if (words.size() < 4 || words[0] == "call") return false;
  const size_t dot = words[1].rfind('.');
  const auto reserved = today.reserved.find(words[1].substr(0, dot));
  if (reserved == today.reserved.end()) return false;
  const std::string number = words[3].substr(0, words[3].find(':'));
  return reserved->second.count(number) > 0 && reserved->second.count(words[1].substr(dot + 1)) > 0;
}

}  // namespace

absl::StatusOr<Schema> ReadSchema(const std::string& folder) {
  ASSIGN_OR_RETURN(const TemporaryDirectory made, TemporaryDirectory::Create("wire"));
  const std::string set = made.path() / "descriptors";
  Command protoc;
  protoc.argv = {"protoc", "-I" + folder, "--include_imports", "--descriptor_set_out=" + set};
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder + "/sassay/v1", error)) {
    protoc.argv.push_back(entry.path());
  }
  ASSIGN_OR_RETURN(const ExitReport report, RunToCompletion(protoc, absl::Minutes(1)));
  if (!report.Succeeded()) return absl::InvalidArgumentError(report.stderr_text);
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(set));
  pb::FileDescriptorSet descriptors;
  if (!descriptors.ParseFromString(bytes)) return absl::InternalError("protoc wrote no descriptors");

  pb::DescriptorPool pool;
  Schema schema;
  for (const pb::FileDescriptorProto& each : descriptors.file()) {  // those that are imported come first
    const pb::FileDescriptor* file = pool.BuildFile(each);
    if (file == nullptr) return absl::InternalError(absl::StrCat(each.name(), " does not fit its imports"));
    if (!absl::StartsWith(file->package(), "sassay.")) continue;
    for (int i = 0; i < file->message_type_count(); ++i) Add(*file->message_type(i), schema);
    for (int i = 0; i < file->enum_type_count(); ++i) Add(*file->enum_type(i), schema);
    for (int i = 0; i < file->service_count(); ++i) Add(*file->service(i), schema);
  }
  return schema;
}

std::vector<std::string> Broken(const std::set<std::string>& released, const Schema& today) {
  std::vector<std::string> broken;
  for (const std::string& line : released) {
    if (today.lines.count(line) == 0 && !MayGo(line, today)) broken.push_back(line);
  }
  return broken;
}

}  // namespace sassay::wire
