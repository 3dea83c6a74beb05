#include "common/workload/safetensors.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/json_depth.h"
#include "common/base/status_macros.h"
#include "common/workload/definition.h"
#include "nlohmann/json.hpp"

namespace sassay {
namespace {

using nlohmann::json;
using sassay::v1::DType;

constexpr uint64_t kMaxHeaderBytes = 16 << 20;
constexpr int64_t kMaxExtent = int64_t{1} << 31;

const std::map<std::string, DType>& StoredTypes() {
  static const auto* const kTypes = new std::map<std::string, DType>{{"F64", sassay::v1::DTYPE_FLOAT64},
                                                                     {"F32", sassay::v1::DTYPE_FLOAT32},
                                                                     {"F16", sassay::v1::DTYPE_FLOAT16},
                                                                     {"BF16", sassay::v1::DTYPE_BFLOAT16},
                                                                     {"I64", sassay::v1::DTYPE_INT64},
                                                                     {"I32", sassay::v1::DTYPE_INT32},
                                                                     {"I16", sassay::v1::DTYPE_INT16},
                                                                     {"I8", sassay::v1::DTYPE_INT8},
                                                                     {"U8", sassay::v1::DTYPE_UINT8},
                                                                     {"BOOL", sassay::v1::DTYPE_BOOL},
                                                                     {"F8_E4M3", sassay::v1::DTYPE_FLOAT8_E4M3FN},
                                                                     {"F8_E5M2", sassay::v1::DTYPE_FLOAT8_E5M2}};
  return *kTypes;
}

DType TypeFromName(const std::string& name) {
  const auto found = StoredTypes().find(name);
  return found == StoredTypes().end() ? sassay::v1::DTYPE_UNSPECIFIED : found->second;
}

std::string StoredTypeName(DType dtype) {
  for (const auto& [name, type] : StoredTypes())
    if (type == dtype) return name;
  return "";
}

absl::Status Malformed(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("safetensors: ", what));
}

bool AreUnsigned(const json& list) {
  return list.is_array() &&
         std::all_of(list.begin(), list.end(), [](const json& item) { return item.is_number_unsigned(); });
}

// Product of the extents, or nothing if it is absurd.
absl::StatusOr<uint64_t> Elements(const std::string& name, const std::vector<int64_t>& shape) {
  uint64_t count = 1;
  for (int64_t extent : shape) {
    if (extent < 0 || extent > kMaxExtent || (extent > 0 && count > (uint64_t{1} << 40) / extent)) {
      return Malformed(absl::StrCat("\"", name, "\" has an absurd shape"));
    }
    count *= extent;
  }
  return count;
}

absl::StatusOr<StoredTensor> ParseTensor(const std::string& name, const json& entry, absl::string_view data) {
  if (!entry.is_object() || !entry.contains("dtype") || !entry["dtype"].is_string() || !entry.contains("shape") ||
      !AreUnsigned(entry["shape"]) || !entry.contains("data_offsets") || !AreUnsigned(entry["data_offsets"]) ||
      entry["data_offsets"].size() != 2) {
    return Malformed(absl::StrCat("\"", name, "\" wants dtype, shape and data_offsets [begin, end]"));
  }
  StoredTensor tensor;
  tensor.dtype = TypeFromName(entry["dtype"].get<std::string>());
  for (const json& extent : entry["shape"]) tensor.shape.push_back(extent.get<int64_t>());
  const uint64_t begin = entry["data_offsets"][0].get<uint64_t>(), end = entry["data_offsets"][1].get<uint64_t>();
  ASSIGN_OR_RETURN(const uint64_t elements, Elements(name, tensor.shape));
  if (tensor.dtype == sassay::v1::DTYPE_UNSPECIFIED)
    return Malformed(absl::StrCat("\"", name, "\" has an unknown dtype"));
  if (begin > end || end > data.size() || end - begin != elements * DTypeBytes(tensor.dtype)) {
    return Malformed(absl::StrCat("\"", name, "\" has offsets ", begin, "-", end,
                                  " that do not fit its shape or the file's ", data.size(), " data bytes"));
  }
  tensor.bytes = data.substr(begin, end - begin);
  return tensor;
}

}  // namespace

absl::StatusOr<std::map<std::string, StoredTensor>> ParseSafetensors(absl::string_view file) {
  uint64_t header_bytes = 0;
  if (file.size() < sizeof(header_bytes)) return Malformed("the file is shorter than its header length");
  std::memcpy(&header_bytes, file.data(), sizeof(header_bytes));
  file.remove_prefix(sizeof(header_bytes));
  if (header_bytes > kMaxHeaderBytes || header_bytes > file.size()) {
    return Malformed(absl::StrCat("the header's length ", header_bytes, " is past the file's end or its limit"));
  }
  if (JsonIsTooDeep(file.substr(0, header_bytes))) return Malformed("the header is nested too deeply");
  const json header = json::parse(file.begin(), file.begin() + header_bytes, nullptr, /*allow_exceptions=*/false);
  if (!header.is_object()) return Malformed("the header is no JSON object");
  std::map<std::string, StoredTensor> tensors;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    ASSIGN_OR_RETURN(tensors[name], ParseTensor(name, entry, file.substr(header_bytes)));
  }
  return tensors;
}

absl::StatusOr<std::string> TakeTensor(const std::map<std::string, StoredTensor>& tensors,
                                       const sassay::v1::TensorSpec& spec) {
  const auto found = tensors.find(spec.name());
  if (found == tensors.end()) {
    return absl::NotFoundError(absl::StrCat("golden file has no tensor \"", spec.name(), "\""));
  }
  const StoredTensor& tensor = found->second;
  const bool same_shape =
      std::equal(tensor.shape.begin(), tensor.shape.end(), spec.shape().begin(), spec.shape().end());
  if (tensor.dtype != spec.dtype() || !same_shape) {
    return Malformed(absl::StrCat("golden tensor \"", spec.name(), "\" is ", sassay::v1::DType_Name(tensor.dtype), " [",
                                  absl::StrJoin(tensor.shape, ","), "], the workload wants ",
                                  sassay::v1::DType_Name(spec.dtype()), " [", absl::StrJoin(spec.shape(), ","), "]"));
  }
  return std::string(tensor.bytes);
}

std::string SerializeSafetensors(const std::map<std::string, StoredTensor>& tensors) {
  json header = json::object();
  std::string data;
  for (const auto& [name, tensor] : tensors) {
    header[name] = {{"dtype", StoredTypeName(tensor.dtype)},
                    {"shape", tensor.shape},
                    {"data_offsets", {data.size(), data.size() + tensor.bytes.size()}}};
    absl::StrAppend(&data, tensor.bytes);
  }
  std::string text = header.dump(-1, ' ', false, json::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t size = text.size();
  std::string file(sizeof(size), '\0');
  std::memcpy(file.data(), &size, sizeof(size));
  return absl::StrCat(file, text, data);
}

}  // namespace sassay
