#include "common/workload/definition.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/base/sha256.h"
#include "common/base/status_macros.h"
#include "common/workload/expression.h"
#include "common/workload/index_definition.h"
#include "common/workload/json_text.h"

namespace sassay {
namespace {

constexpr uint64_t kMaxJsonBytes = 1 << 20;
constexpr size_t kMaxTensors = 64;  // of inputs, scalars among them, and of outputs
constexpr size_t kMaxRank = 8;

struct DTypeFacts {
  v1::DType dtype;
  absl::string_view name;
  uint32_t bytes;
};

constexpr DTypeFacts kDTypes[] = {
    {v1::DTYPE_FLOAT64, "float64", 8},
    {v1::DTYPE_FLOAT32, "float32", 4},
    {v1::DTYPE_FLOAT16, "float16", 2},
    {v1::DTYPE_BFLOAT16, "bfloat16", 2},
    {v1::DTYPE_FLOAT8_E4M3FN, "float8_e4m3fn", 1},
    {v1::DTYPE_FLOAT8_E5M2, "float8_e5m2", 1},
    {v1::DTYPE_INT64, "int64", 8},
    {v1::DTYPE_INT32, "int32", 4},
    {v1::DTYPE_INT16, "int16", 2},
    {v1::DTYPE_INT8, "int8", 1},
    {v1::DTYPE_UINT8, "uint8", 1},
    {v1::DTYPE_BOOL, "bool", 1},
};

absl::Status Refuse(absl::string_view path, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", why));
}

// Names travel in workload names, JSON and SQL; letters, digits, '_', '.', '-' do everywhere.
bool IsName(absl::string_view name, size_t limit) {
  return !name.empty() && name.size() <= limit && (absl::ascii_isalnum(name[0]) || name[0] == '_') &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '-'; });
}

bool IsIdentifier(absl::string_view name) {
  return IsName(name, 64) && !absl::ascii_isdigit(name[0]) && !absl::StrContains(name, '.') &&
         !absl::StrContains(name, '-');
}

// Reads one document; one Read per part.
class DefinitionReader {
 public:
  explicit DefinitionReader(const OrderedJson& json) : json_(json) {}

  absl::StatusOr<Definition> Read() {
    RETURN_IF_ERROR(ReadHead());
    RETURN_IF_ERROR(ReadAxes());
    ASSIGN_OR_RETURN(definition_.inputs, ReadTensors("inputs"));
    ASSIGN_OR_RETURN(definition_.outputs, ReadTensors("outputs"));
    RETURN_IF_ERROR(CheckTensors());
    definition_.distributions = {"normal"};
    if (json_.contains("sassay")) RETURN_IF_ERROR(ReadSassay(json_["sassay"]));
    definition_.canonical_json = json_.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
    definition_.sha256 = Sha256(definition_.canonical_json);
    return std::move(definition_);
  }

 private:
  absl::Status ReadHead() {
    if (!json_.contains("name")) return Refuse("name", "missing");
    ASSIGN_OR_RETURN(definition_.name, JsonString(json_["name"], "name"));
    if (!IsName(definition_.name, 128)) {
      return Refuse("name", "expected up to 128 letters, digits, '_', '.' or '-', beginning with a letter or digit");
    }
    if (json_.contains("op_type")) {
      ASSIGN_OR_RETURN(definition_.op_type, JsonString(json_["op_type"], "op_type"));
      // It becomes the name of a folder.
      if (!definition_.op_type.empty() && !IsName(definition_.op_type, 128))
        return Refuse("op_type",
                      "expected up to 128 letters, digits, '_', '.' or '-', beginning with a letter or digit");
    }
    if (json_.contains("description")) {
      ASSIGN_OR_RETURN(definition_.description, JsonString(json_["description"], "description"));
    }
    return absl::OkStatus();
  }

  absl::Status ReadAxes() {
    if (!json_.contains("axes") || !json_["axes"].is_object()) return Refuse("axes", "expected an object of axes");
    for (const auto& [name, axis] : json_["axes"].items()) {
      const std::string path = absl::StrCat("axes.", name);
      if (!IsIdentifier(name)) return Refuse(path, "an axis is named by an identifier of at most 64 characters");
      if (!axis.is_object() || !axis.contains("type")) return Refuse(path, "expected an object with a type");
      ASSIGN_OR_RETURN(const std::string type, JsonString(axis["type"], absl::StrCat(path, ".type")));
      AxisDefinition parsed;
      parsed.name = name;
      if (type == "const") {
        if (!axis.contains("value")) return Refuse(path, "a const axis needs a value");
        ASSIGN_OR_RETURN(parsed.value, JsonPositiveInteger(axis["value"], absl::StrCat(path, ".value")));
        if (*parsed.value > kMaxAxisValue) return Refuse(path, absl::StrCat("larger than ", kMaxAxisValue));
      } else if (type != "var") {
        return Refuse(absl::StrCat(path, ".type"), absl::StrCat("expected const or var, got ", type));
      }
      definition_.axes.push_back(std::move(parsed));
    }
    return absl::OkStatus();
  }

  const AxisDefinition* FindAxis(absl::string_view name) const {
    for (const AxisDefinition& axis : definition_.axes) {
      if (axis.name == name) return &axis;
    }
    return nullptr;
  }

  absl::StatusOr<std::vector<TensorDefinition>> ReadTensors(const char* field) const {
    std::vector<TensorDefinition> tensors;
    if (!json_.contains(field) || !json_[field].is_object()) return Refuse(field, "expected an object of tensors");
    for (const auto& [name, value] : json_[field].items()) {
      const std::string path = absl::StrCat(field, ".", name);
      if (!IsIdentifier(name)) return Refuse(path, "a tensor is named by an identifier of at most 64 characters");
      if (!value.is_object() || !value.contains("dtype") || !value.contains("shape")) {
        return Refuse(path, "expected an object with shape and dtype");
      }
      TensorDefinition tensor;
      tensor.name = name;
      ASSIGN_OR_RETURN(const std::string dtype, JsonString(value["dtype"], absl::StrCat(path, ".dtype")));
      tensor.dtype = DTypeFromName(dtype);
      if (tensor.dtype == v1::DTYPE_UNSPECIFIED) {
        return Refuse(absl::StrCat(path, ".dtype"), absl::StrCat("unknown element type ", dtype));
      }
      RETURN_IF_ERROR(ReadShape(value["shape"], absl::StrCat(path, ".shape"), tensor));
      tensors.push_back(std::move(tensor));
      if (tensors.size() > kMaxTensors) return Refuse(field, absl::StrCat("more than ", kMaxTensors, " tensors"));
    }
    return tensors;
  }

  absl::Status ReadShape(const OrderedJson& shape, const std::string& path, TensorDefinition& tensor) const {
    if (shape.is_null()) {
      tensor.scalar = true;
      return absl::OkStatus();
    }
    if (!shape.is_array()) return JsonTypeError(path, "a list of axes, or null for a scalar", shape);
    if (shape.size() > kMaxRank) return Refuse(path, absl::StrCat("more than ", kMaxRank, " extents"));
    for (const OrderedJson& extent : shape) {
      if (extent.is_number_integer()) {
        ASSIGN_OR_RETURN(const int64_t value, JsonPositiveInteger(extent, path));
        tensor.shape.push_back(absl::StrCat(value));
        continue;
      }
      ASSIGN_OR_RETURN(std::string name, JsonString(extent, path));
      int64_t literal = 0;
      if (FindAxis(name) == nullptr && !(absl::SimpleAtoi(name, &literal) && literal > 0)) {
        return Refuse(path, absl::StrCat("'", name, "' is neither an axis nor a positive integer"));
      }
      tensor.shape.push_back(std::move(name));
    }
    return absl::OkStatus();
  }

  absl::Status CheckTensors() const {
    if (definition_.outputs.empty()) return Refuse("outputs", "a workload needs an output");
    std::set<std::string> names;
    size_t in_memory = 0;
    for (const auto* tensors : {&definition_.inputs, &definition_.outputs}) {
      for (const TensorDefinition& tensor : *tensors) {
        if (!names.insert(tensor.name).second) return Refuse(tensor.name, "is both an input and an output");
        in_memory += tensor.scalar ? 0 : 1;
      }
    }
    if (in_memory > kMaxTensorsInMemory) {
      return Refuse("outputs",
                    absl::StrCat("more than ", kMaxTensorsInMemory, " tensors in memory together with the inputs"));
    }
    for (const TensorDefinition& output : definition_.outputs) {
      if (output.scalar)
        return Refuse(absl::StrCat("outputs.", output.name), "an output cannot be a scalar; use shape [1]");
    }
    return absl::OkStatus();
  }

  absl::Status ReadSassay(const OrderedJson& section) {
    if (!section.is_object()) return JsonTypeError("sassay", "an object", section);
    for (const auto& [key, value] : section.items()) {
      const std::string path = absl::StrCat("sassay.", key);
      RETURN_IF_ERROR(ReadSassayKey(key, value, path));
    }
    return CheckIndexReferences(definition_);
  }

  absl::Status ReadSassayKey(const std::string& key, const OrderedJson& value, const std::string& path) {
    if (key == "reference") return ReadReference(value, path);
    if (key == "baseline") return ReadBaseline(value, path);
    if (key == "distributions") return ReadDistributions(value, path);
    if (key == "tolerance") return ReadTolerance(value, path);
    if (key == "flop") return ReadFormula(value, path, definition_.flop);
    if (key == "minimum_bytes") return ReadFormula(value, path, definition_.minimum_bytes);
    if (key == "required_sass") return ReadRequiredSass(value, path);
    if (key == "ranges") return ReadRanges(value, path);
    if (key == "indices") return ReadIndices(value, path, definition_);
    if (key == "requires") return ReadRequirements(value, path, definition_);
    if (key == "scalars") return ReadScalars(value, path);
    if (key == "suggested_axes") return ReadSuggestions(value, path);
    if (key == "sanitize_axes") {
      ASSIGN_OR_RETURN(definition_.sanitize_axes, ReadVariableAxes(value, path));
      return absl::OkStatus();
    }
    return Refuse(path,
                  "unknown key; known are reference, baseline, distributions, tolerance, sanitize_axes, flop, "
                  "minimum_bytes, required_sass, ranges, indices, scalars, requires and suggested_axes");
  }

  absl::Status ReadReference(const OrderedJson& value, const std::string& path) {
    ASSIGN_OR_RETURN(definition_.reference, JsonString(value, path));
    absl::string_view rest = definition_.reference;
    if (absl::ConsumePrefix(&rest, "builtin:")) {
      definition_.reference_kind = ReferenceKind::kBuiltin;
      if (std::find(std::begin(kBuiltinReferences), std::end(kBuiltinReferences), rest) ==
          std::end(kBuiltinReferences)) {
        return Refuse(path, absl::StrCat("no built-in reference '", rest, "'; there are ",
                                         absl::StrJoin(kBuiltinReferences, ", ")));
      }
    } else if (absl::ConsumePrefix(&rest, "kernel:")) {
      definition_.reference_kind = ReferenceKind::kKernel;
      if (std::find(std::begin(kKernelReferences), std::end(kKernelReferences), rest) == std::end(kKernelReferences)) {
        return Refuse(
            path, absl::StrCat("no reference kernel '", rest, "'; there are ", absl::StrJoin(kKernelReferences, ", ")));
      }
    } else if (absl::ConsumePrefix(&rest, "bundle:sha256:")) {
      definition_.reference_kind = ReferenceKind::kBundle;
      if (!IsSha256Hex(rest)) return Refuse(path, "expected 64 lower-case hex digits after bundle:sha256:");
    } else if (absl::ConsumePrefix(&rest, "golden:")) {
      definition_.reference_kind = ReferenceKind::kGolden;
      if (rest.empty() || rest[0] == '/' || absl::StrContains(rest, "..")) {
        return Refuse(path, "expected a path below the definition's own folder after golden:");
      }
    } else {
      return Refuse(
          path, absl::StrCat("expected builtin:NAME, kernel:NAME, bundle:sha256:HEX or golden:FILE.safetensors, got '",
                             definition_.reference, "'"));
    }
    definition_.reference_name = std::string(rest);
    return absl::OkStatus();
  }

  absl::Status ReadBaseline(const OrderedJson& value, const std::string& path) {
    ASSIGN_OR_RETURN(definition_.baseline, JsonString(value, path));
    absl::string_view rest = definition_.baseline;
    const bool builtin =
        std::find(std::begin(kBuiltinBaselines), std::end(kBuiltinBaselines), rest) != std::end(kBuiltinBaselines);
    const bool bundle = absl::ConsumePrefix(&rest, "bundle:sha256:") && IsSha256Hex(rest);
    if (builtin || bundle) return absl::OkStatus();
    return Refuse(path, absl::StrCat("expected ", absl::StrJoin(kBuiltinBaselines, ", "),
                                     " or bundle:sha256:HEX, got '", definition_.baseline, "'"));
  }

  absl::Status ReadDistributions(const OrderedJson& value, const std::string& path) {
    if (!value.is_array() || value.empty()) return JsonTypeError(path, "a list of names", value);
    definition_.distributions.clear();
    for (const OrderedJson& item : value) {
      ASSIGN_OR_RETURN(std::string name, JsonString(item, path));
      if (std::find(std::begin(kDistributions), std::end(kDistributions), name) == std::end(kDistributions)) {
        return Refuse(path,
                      absl::StrCat("no distribution '", name, "'; there are ", absl::StrJoin(kDistributions, ", ")));
      }
      definition_.distributions.push_back(std::move(name));
    }
    return absl::OkStatus();
  }

  bool IsOutput(absl::string_view name) const {
    return std::any_of(definition_.outputs.begin(), definition_.outputs.end(),
                       [&](const TensorDefinition& tensor) { return tensor.name == name; });
  }

  absl::Status ReadTolerance(const OrderedJson& value, const std::string& path) {
    if (!value.is_object()) return JsonTypeError(path, "an object of outputs", value);
    for (const auto& [output, rule] : value.items()) {
      const std::string where = absl::StrCat(path, ".", output);
      if (!IsOutput(output)) return Refuse(where, "no such output");
      if (!rule.is_object()) return JsonTypeError(where, "an object", rule);
      ToleranceDefinition& tolerance = definition_.tolerance[output];
      for (const auto& [key, number] : rule.items()) {
        ASSIGN_OR_RETURN(const double parsed, JsonNonNegativeNumber(number, absl::StrCat(where, ".", key)));
        if (key == "rms_multiple") {
          tolerance.rms_multiple = parsed;
        } else if (key == "element_multiple") {
          tolerance.element_multiple = parsed;
        } else if (key == "noise_of_rms") {
          tolerance.noise_of_rms = parsed;
        } else {
          return Refuse(where,
                        absl::StrCat("unknown key ", key, "; known are rms_multiple, element_multiple, noise_of_rms"));
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status ReadFormula(const OrderedJson& value, const std::string& path, std::string& formula) const {
    ASSIGN_OR_RETURN(formula, JsonString(value, path));
    return CheckFormula(definition_, formula, path);
  }

  absl::Status ReadRequiredSass(const OrderedJson& value, const std::string& path) {
    if (!value.is_object()) return JsonTypeError(path, "an object of architectures", value);
    for (const auto& [arch, family] : value.items()) {
      const std::string where = absl::StrCat(path, ".", arch);
      if (!absl::StartsWith(arch, "sm_")) return Refuse(where, "expected an architecture such as sm_90a");
      ASSIGN_OR_RETURN(definition_.required_sass[arch], JsonString(family, where));
    }
    return absl::OkStatus();
  }

  absl::Status ReadRanges(const OrderedJson& value, const std::string& path) {
    if (!value.is_object()) return JsonTypeError(path, "an object of inputs", value);
    for (const auto& [input, range] : value.items()) {
      const std::string where = absl::StrCat(path, ".", input);
      const bool known =
          std::any_of(definition_.inputs.begin(), definition_.inputs.end(),
                      [&, &name = input](const TensorDefinition& tensor) { return tensor.name == name; });
      if (!known) return Refuse(where, "no such input");
      if (!range.is_object() || range.size() != 2 || !range.contains("minimum") || !range.contains("maximum")) {
        return JsonTypeError(where, "an object with minimum and maximum", range);
      }
      RangeDefinition& parsed = definition_.ranges[input];
      ASSIGN_OR_RETURN(parsed.minimum, ReadBound(range["minimum"], absl::StrCat(where, ".minimum")));
      ASSIGN_OR_RETURN(parsed.maximum, ReadBound(range["maximum"], absl::StrCat(where, ".maximum")));
    }
    return absl::OkStatus();
  }

  absl::Status ReadScalars(const OrderedJson& value, const std::string& path) {
    if (!value.is_object()) return JsonTypeError(path, "an object of scalar inputs", value);
    for (const auto& [input, content] : value.items()) {
      const std::string where = absl::StrCat(path, ".", input);
      const bool known = std::any_of(
          definition_.inputs.begin(), definition_.inputs.end(),
          [&, &name = input](const TensorDefinition& tensor) { return tensor.scalar && tensor.name == name; });
      if (!known) return Refuse(where, "no such scalar input (a scalar has \"shape\": null)");
      ScalarDefinition& parsed = definition_.scalars[input];
      if (content.is_number()) {
        parsed.number = content.get<double>();
        continue;
      }
      if (!content.is_string()) return JsonTypeError(where, "a number or an expression over axes", content);
      parsed.formula = content.get<std::string>();
      RETURN_IF_ERROR(CheckFormula(definition_, parsed.formula, where));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> ReadBound(const OrderedJson& value, const std::string& path) const {
    std::string text = value.is_number() ? value.dump() : "";
    if (!value.is_number()) {
      ASSIGN_OR_RETURN(text, JsonString(value, path));
    }
    RETURN_IF_ERROR(CheckFormula(definition_, text, path));
    return text;
  }

  absl::StatusOr<std::map<std::string, int64_t>> ReadVariableAxes(const OrderedJson& value,
                                                                  const std::string& path) const {
    if (!value.is_object()) return JsonTypeError(path, "an object of axes", value);
    std::map<std::string, int64_t> axes;
    for (const auto& [name, number] : value.items()) {
      const std::string where = absl::StrCat(path, ".", name);
      const AxisDefinition* axis = FindAxis(name);
      if (axis == nullptr || axis->value.has_value()) return Refuse(where, "not a variable axis");
      ASSIGN_OR_RETURN(axes[name], JsonPositiveInteger(number, where));
      if (axes[name] > kMaxAxisValue) return Refuse(where, absl::StrCat("larger than ", kMaxAxisValue));
    }
    return axes;
  }

  absl::Status ReadSuggestions(const OrderedJson& value, const std::string& path) {
    if (!value.is_array()) return JsonTypeError(path, "a list of objects", value);
    const size_t variable = std::count_if(definition_.axes.begin(), definition_.axes.end(),
                                          [](const AxisDefinition& axis) { return !axis.value.has_value(); });
    for (const OrderedJson& item : value) {
      ASSIGN_OR_RETURN(auto axes, ReadVariableAxes(item, path));
      if (axes.size() != variable) return JsonTypeError(path, "a value for every variable axis", item);
      definition_.suggested_axes.push_back(std::move(axes));
    }
    return absl::OkStatus();
  }

  const OrderedJson& json_;
  Definition definition_;
};

}  // namespace

absl::StatusOr<Definition> ParseDefinition(absl::string_view untrusted_json) {
  ASSIGN_OR_RETURN(const OrderedJson json, ParseJsonObject(untrusted_json, kMaxJsonBytes));
  return DefinitionReader(json).Read();
}

namespace {

// Integers that a double holds exactly and the type at all.
bool IntegerFits(v1::DType dtype, double value) {
  const double limit = std::ldexp(1.0, std::min(53, 8 * static_cast<int>(DTypeBytes(dtype)) - 1));
  if (value != std::trunc(value)) return false;
  if (dtype == v1::DTYPE_BOOL) return value == 0 || value == 1;
  if (dtype == v1::DTYPE_UINT8) return value >= 0 && value <= 255;
  return value >= -limit && value <= limit - 1;
}

bool IsInteger(v1::DType dtype) { return dtype >= v1::DTYPE_INT64; }

}  // namespace

absl::StatusOr<double> ScalarValue(const Definition& definition, const v1::TensorSpec& scalar,
                                   const std::map<std::string, int64_t>& axes) {
  const auto given = definition.scalars.find(scalar.name());
  if (given == definition.scalars.end()) return 1.0;
  double value = given->second.number;
  if (!given->second.formula.empty()) {
    ASSIGN_OR_RETURN(value, EvaluateExpression(given->second.formula, axes));
  }
  if (!IsInteger(scalar.dtype()) || IntegerFits(scalar.dtype(), value)) return value;
  return Refuse(absl::StrCat("sassay.scalars.", scalar.name()),
                absl::StrCat(value, " is no ", DTypeName(scalar.dtype()), " (integers up to 2^53)"));
}

absl::StatusOr<double> ScalarValue(const v1::Workload& workload, const v1::TensorSpec& scalar) {
  if (workload.definition_json().empty()) return 1.0;
  ASSIGN_OR_RETURN(const Definition definition, ParseDefinition(workload.definition_json()));
  return ScalarValue(definition, scalar, {workload.axes().begin(), workload.axes().end()});
}

v1::DType DTypeFromName(absl::string_view name) {
  for (const DTypeFacts& facts : kDTypes) {
    if (facts.name == name) return facts.dtype;
  }
  return v1::DTYPE_UNSPECIFIED;
}

std::string DTypeName(v1::DType dtype) {
  for (const DTypeFacts& facts : kDTypes) {
    if (facts.dtype == dtype) return std::string(facts.name);
  }
  return "unspecified";
}

uint32_t DTypeBytes(v1::DType dtype) {
  for (const DTypeFacts& facts : kDTypes) {
    if (facts.dtype == dtype) return facts.bytes;
  }
  return 0;
}

uint64_t ElementCount(const v1::TensorSpec& tensor) {
  uint64_t count = 1;
  for (const int64_t extent : tensor.shape()) count *= static_cast<uint64_t>(extent);
  return count;
}

uint64_t TensorBytes(const v1::TensorSpec& tensor) { return ElementCount(tensor) * DTypeBytes(tensor.dtype()); }

}  // namespace sassay
