#include "agent/interop/triton/recording.h"

#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/json_depth.h"
#include "common/base/status_macros.h"
#include "common/base/utf8.h"
#include "nlohmann/json.hpp"

namespace sassay::agent {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostKernels = 256;
constexpr size_t kMostSteps = 4096;
constexpr size_t kMostArguments = 512;
constexpr size_t kMostTexts = 64;
constexpr size_t kMostTextBytes = 4000;

absl::Status Bad(const std::string& field, absl::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat("the Triton recording's ", field, ": expected ", expected));
}

// Missing members are null, which no reader below takes for a value.
const Json& Member(const Json& json, const char* name) {
  static const Json& missing = *new Json();
  if (!json.is_object()) return missing;
  const auto found = json.find(name);
  return found == json.end() ? missing : *found;
}

absl::StatusOr<uint64_t> Unsigned(const Json& json, const std::string& field, uint64_t most) {
  if (!json.is_number_unsigned() || json.get<uint64_t>() > most)
    return Bad(field, absl::StrCat("a whole number from 0 to ", most));
  return json.get<uint64_t>();
}

absl::StatusOr<uint32_t> Unsigned32(const Json& json, const std::string& field, uint32_t most = UINT32_MAX) {
  ASSIGN_OR_RETURN(const uint64_t value, Unsigned(json, field, most));
  return static_cast<uint32_t>(value);
}

absl::StatusOr<std::string> Text(const Json& json, const std::string& field, size_t most) {
  if (!json.is_string()) return Bad(field, "a text");
  const std::string& text = json.get_ref<const std::string&>();
  if (text.size() > most) return Bad(field, absl::StrCat("at most ", most, " bytes"));
  return text;
}

// Messages are cut rather than refused.
std::string Message(const Json& json) {
  if (!json.is_string()) return "";
  return ToUtf8(absl::string_view(json.get_ref<const std::string&>()).substr(0, kMostTextBytes));
}

template <typename T>
std::string LittleEndian(T value) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

bool IsIdentifier(absl::string_view name) {
  for (const char c : name)
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '$') return false;
  return !name.empty() && name.size() <= 512 && !absl::ascii_isdigit(static_cast<unsigned char>(name[0]));
}

// Bytes of an integer type as the kernel's parameter has them; 0 for a type that is none.
size_t IntegerBytes(const std::string& type) {
  static const auto& sizes =
      *new std::map<std::string, size_t>{{"i1", 1},  {"u1", 1},  {"i8", 1},  {"u8", 1},  {"i16", 2},
                                         {"u16", 2}, {"i32", 4}, {"u32", 4}, {"i64", 8}, {"u64", 8}};
  const auto found = sizes.find(type);
  return found == sizes.end() ? 0 : found->second;
}

absl::StatusOr<std::string> IntegerArgument(const std::string& type, const Json& value, const std::string& field) {
  const size_t size = IntegerBytes(type);
  if (size == 0) return Bad(field, absl::StrCat("a known integer type instead of ", type));
  if (!value.is_number_integer()) return Bad(field, "a whole number of at most 64 bits");
  const uint64_t bits =
      value.is_number_unsigned() ? value.get<uint64_t>() : static_cast<uint64_t>(value.get<int64_t>());
  return LittleEndian(bits).substr(0, size);
}

absl::StatusOr<std::string> FloatArgument(const std::string& type, const Json& value, const std::string& field) {
  if (!value.is_number()) return Bad(field, "a finite number");
  if (type == "fp32") return LittleEndian(static_cast<float>(value.get<double>()));
  if (type == "fp64") return LittleEndian(value.get<double>());
  return Bad(field, absl::StrCat("fp32 or fp64; a scalar of type ", type, " is not supported"));
}

// Reads one recording.
class Reader {
 public:
  explicit Reader(uint32_t tensors) : tensors_(tensors) {}

  absl::StatusOr<TritonRecording> Read(const Json& json) {
    if (!json.is_object()) return Bad("document", "a JSON object");
    ASSIGN_OR_RETURN(recording_.triton_version, Text(Member(json, "triton"), "triton", 64));
    RETURN_IF_ERROR(ReadKernels(Member(json, "kernels")));
    RETURN_IF_ERROR(ReadAssumptions(Member(json, "assumptions")));
    RETURN_IF_ERROR(ReadWarnings(Member(json, "warnings")));
    if (json.contains("failure")) return ReadFailure(json["failure"]);
    RETURN_IF_ERROR(ReadCalls(Member(json, "calls")));
    return std::move(recording_);
  }

 private:
  absl::Status ReadKernels(const Json& json) {
    if (!json.is_array() || json.size() > kMostKernels) return Bad("kernels", "a list of at most 256 kernels");
    for (const Json& entry : json) {
      const std::string field = absl::StrCat("kernels[", recording_.kernels.size(), "]");
      TritonKernel kernel;
      ASSIGN_OR_RETURN(kernel.name, Text(Member(entry, "name"), field + ".name", 512));
      if (!IsIdentifier(kernel.name)) return Bad(field + ".name", "an identifier");
      ASSIGN_OR_RETURN(kernel.ptx, Text(Member(entry, "ptx"), field + ".ptx", size_t{32} << 20));
      if (FirstInvalidUtf8(kernel.ptx) != absl::string_view::npos) return Bad(field + ".ptx", "UTF-8");
      ASSIGN_OR_RETURN(kernel.threads, Unsigned32(Member(entry, "threads"), field + ".threads", 1024));
      ASSIGN_OR_RETURN(kernel.shared_bytes, Unsigned32(Member(entry, "shared"), field + ".shared"));
      kernel.cooperative = Member(entry, "cooperative") == true;
      kernel.programmatic = Member(entry, "pdl") == true;
      recording_.kernels.push_back(std::move(kernel));
    }
    return absl::OkStatus();
  }

  absl::Status ReadAssumptions(const Json& json) {
    if (!json.is_object() || json.size() > kMostTexts) return Bad("assumptions", "an object");
    for (const auto& [name, value] : json.items()) {
      if (!IsIdentifier(name) || !value.is_number_integer()) return Bad("assumptions", "attribute names with numbers");
      recording_.assumptions[name] = value.get<int64_t>();
    }
    return absl::OkStatus();
  }

  absl::Status ReadWarnings(const Json& json) {
    if (!json.is_array() || json.size() > kMostTexts) return Bad("warnings", "a short list");
    for (const Json& text : json) recording_.warnings.push_back(Message(text));
    return absl::OkStatus();
  }

  absl::StatusOr<TritonRecording> ReadFailure(const Json& json) {
    TritonFailure failure;
    failure.in_compilation = Member(json, "stage") == "compile";
    ASSIGN_OR_RETURN(failure.code, Text(Member(json, "code"), "failure.code", 64));
    failure.message = Message(Member(json, "message"));
    // A place is a help, no more: a nonsensical one is none.
    failure.line = Unsigned32(Member(json, "line"), "").value_or(0);
    failure.column = Unsigned32(Member(json, "column"), "").value_or(0);
    recording_.failure = std::move(failure);
    return std::move(recording_);
  }

  absl::Status ReadCalls(const Json& json) {
    if (!json.is_array() || json.size() != 3) return Bad("calls", "three of them");
    for (const Json& call : json) {
      if (!call.is_array() || call.size() > kMostSteps) return Bad("calls", "at most 4096 steps each");
      recording_.calls.emplace_back();
      allocations_.clear();
      for (const Json& step : call) RETURN_IF_ERROR(ReadStep(step));
    }
    return absl::OkStatus();
  }

  absl::Status ReadStep(const Json& json) {
    field_ = absl::StrCat("calls[", recording_.calls.size() - 1, "][", recording_.calls.back().size(), "]");
    TritonStep step;
    step.line = Unsigned32(Member(json, "line"), "").value_or(0);
    if (json.contains("launch")) {
      ASSIGN_OR_RETURN(step.what, ReadLaunch(json["launch"]));
    } else if (json.contains("alloc")) {
      ASSIGN_OR_RETURN(step.what, ReadAllocation(json["alloc"]));
    } else {
      ASSIGN_OR_RETURN(step.what, ReadMemset(Member(json, "memset")));
    }
    recording_.calls.back().push_back(std::move(step));
    return absl::OkStatus();
  }

  absl::StatusOr<TritonAllocation> ReadAllocation(const Json& json) {
    TritonAllocation allocation;
    ASSIGN_OR_RETURN(allocation.number, Unsigned32(Member(json, "id"), field_ + ".alloc.id"));
    if (allocation.number != allocations_.size()) return Bad(field_ + ".alloc.id", "allocations numbered in order");
    ASSIGN_OR_RETURN(allocation.size_bytes,
                     Unsigned(Member(json, "bytes"), field_ + ".alloc.bytes", uint64_t{1} << 40));
    if (allocation.size_bytes == 0) return Bad(field_ + ".alloc.bytes", "more than nothing");
    allocations_.push_back(allocation.size_bytes);
    return allocation;
  }

  absl::StatusOr<TritonMemset> ReadMemset(const Json& json) {
    if (!json.is_object()) return Bad(field_, "a launch, an alloc or a memset");
    TritonMemset memset;
    ASSIGN_OR_RETURN(memset.place, ReadPlace(Member(json, "buffer"), Member(json, "offset")));
    ASSIGN_OR_RETURN(memset.size_bytes, Unsigned(Member(json, "bytes"), field_ + ".memset.bytes", uint64_t{1} << 40));
    return memset;
  }

  absl::StatusOr<TritonPlace> ReadPlace(const Json& name, const Json& offset) {
    ASSIGN_OR_RETURN(const std::string text, Text(name, field_ + " buffer", 16));
    TritonPlace place;
    place.is_tensor = !text.empty() && text[0] == 't';
    const bool known_kind = place.is_tensor || (!text.empty() && text[0] == 'a');
    const size_t count = place.is_tensor ? tensors_ : allocations_.size();
    if (!known_kind || !absl::SimpleAtoi(text.substr(1), &place.number) || place.number >= count)
      return Bad(field_ + " buffer", "a tensor or an allocation that exists");
    ASSIGN_OR_RETURN(place.offset_bytes, Unsigned(offset, field_ + " offset", uint64_t{1} << 40));
    return place;
  }

  absl::StatusOr<TritonLaunch> ReadLaunch(const Json& json) {
    TritonLaunch launch;
    if (recording_.kernels.empty()) return Bad(field_ + ".launch.kernel", "a kernel that exists");
    ASSIGN_OR_RETURN(launch.kernel, Unsigned32(Member(json, "kernel"), field_ + ".launch.kernel",
                                               static_cast<uint32_t>(recording_.kernels.size() - 1)));
    const Json& grid = Member(json, "grid");
    if (!grid.is_array() || grid.size() != 3) return Bad(field_ + ".launch.grid", "three extents");
    for (size_t i = 0; i < 3; ++i) {
      ASSIGN_OR_RETURN(launch.grid[i], Unsigned32(grid[i], field_ + ".launch.grid", INT32_MAX));
      if (launch.grid[i] == 0) return Bad(field_ + ".launch.grid", "positive extents");
    }
    const Json& arguments = Member(json, "args");
    if (!arguments.is_array() || arguments.size() > kMostArguments) return Bad(field_ + ".launch.args", "a list");
    for (const Json& argument : arguments) {
      ASSIGN_OR_RETURN(TritonArgument read, ReadArgument(argument));
      launch.arguments.push_back(std::move(read));
    }
    return launch;
  }

  absl::StatusOr<TritonArgument> ReadArgument(const Json& json) {
    const std::string field = field_ + ".launch.args";
    if (!json.is_array() || json.size() < 2 || !json[0].is_string()) return Bad(field, "[kind, …]");
    const std::string& kind = json[0].get_ref<const std::string&>();
    if (kind == "m") return ReadTensorMap(json[1], field);
    if (json.size() != 3) return Bad(field, "[kind, type or buffer, value]");
    if (kind == "p") return ReadPlace(json[1], json[2]);
    ASSIGN_OR_RETURN(const std::string type, Text(json[1], field, 32));
    if (kind == "f") return FloatArgument(type, json[2], field);
    return IntegerArgument(type, json[2], field);
  }

  absl::StatusOr<TritonArgument> ReadTensorMap(const Json& json, const std::string& field) {
    TritonTensorMap map;
    ASSIGN_OR_RETURN(map.base, ReadPlace(Member(json, "base"), Member(json, "offset")));
    ASSIGN_OR_RETURN(map.data_type, Unsigned32(Member(json, "data_type"), field + ".data_type", 32));
    ASSIGN_OR_RETURN(map.swizzle, Unsigned32(Member(json, "swizzle"), field + ".swizzle", 16));
    map.nan_fill = Member(json, "nan_fill") == true;
    RETURN_IF_ERROR(ReadList(Member(json, "dims"), field + ".dims", map.dims));
    RETURN_IF_ERROR(ReadList(Member(json, "strides"), field + ".strides", map.stride_bytes));
    RETURN_IF_ERROR(ReadList(Member(json, "box"), field + ".box", map.box));
    if (map.dims.empty() || map.box.size() != map.dims.size() || map.stride_bytes.size() + 1 != map.dims.size())
      return Bad(field, "as many extents as dimensions");
    return map;
  }

  template <typename T>
  absl::Status ReadList(const Json& json, const std::string& field, std::vector<T>& values) {
    if (!json.is_array() || json.size() > 5) return Bad(field, "at most five numbers");
    for (const Json& value : json) {
      ASSIGN_OR_RETURN(const uint64_t number, Unsigned(value, field, std::numeric_limits<T>::max()));
      values.push_back(static_cast<T>(number));
    }
    return absl::OkStatus();
  }

  const uint32_t tensors_;
  TritonRecording recording_;
  std::vector<uint64_t> allocations_;
  std::string field_;
};

}  // namespace

bool TritonTensorMap::operator==(const TritonTensorMap& other) const {
  return base == other.base && data_type == other.data_type && dims == other.dims &&
         stride_bytes == other.stride_bytes && box == other.box && swizzle == other.swizzle &&
         nan_fill == other.nan_fill;
}

absl::StatusOr<TritonRecording> ParseTritonRecording(absl::string_view untrusted_json, uint32_t tensors) {
  if (JsonIsTooDeep(untrusted_json)) return Bad("document", "at most 32 levels");
  const Json json = Json::parse(untrusted_json.begin(), untrusted_json.end(), nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return Bad("document", "JSON");
  return Reader(tensors).Read(json);
}

}  // namespace sassay::agent
