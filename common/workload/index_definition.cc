#include "common/workload/index_definition.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/workload/expression.h"

namespace sassay {
namespace {

using Axes = std::map<std::string, int64_t>;

absl::Status Refuse(absl::string_view path, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", why));
}

const TensorDefinition* FindInput(const Definition& definition, absl::string_view name) {
  for (const TensorDefinition& input : definition.inputs) {
    if (input.name == name) return &input;
  }
  return nullptr;
}

absl::Status CheckIndexTensor(const Definition& definition, const std::string& name, absl::string_view path) {
  const TensorDefinition* input = FindInput(definition, name);
  if (input == nullptr) return Refuse(path, "no such input");
  const bool integer = input->dtype == v1::DTYPE_INT32 || input->dtype == v1::DTYPE_INT64;
  if (integer && !input->scalar && input->shape.size() == 1) return absl::OkStatus();
  return Refuse(path, "expected an int32 or int64 input of one axis");
}

// Reads one entry of `indices`.
class IndexReader {
 public:
  IndexReader(const Definition& definition, const OrderedJson& json, std::string path)
      : definition_(definition), json_(json), path_(std::move(path)) {}

  absl::StatusOr<IndexDefinition> Read() {
    if (!json_.is_object() || !json_.contains("kind")) return JsonTypeError(path_, "an object with a kind", json_);
    ASSIGN_OR_RETURN(const std::string kind, JsonString(json_["kind"], absl::StrCat(path_, ".kind")));
    if (kind == "offsets") return ReadOffsets();
    if (kind == "distinct") return ReadDistinct();
    if (kind == "last_lengths") return ReadLastLengths();
    return Refuse(absl::StrCat(path_, ".kind"), absl::StrCat("expected offsets, distinct or last_lengths, got ", kind));
  }

 private:
  absl::StatusOr<IndexDefinition> ReadOffsets() {
    index_.kind = IndexKind::kOffsets;
    RETURN_IF_ERROR(KnowOnly({"kind", "total", "page_size", "covers", "empty_sequences"}));
    RETURN_IF_ERROR(Formula("total", /*needed=*/true, index_.total));
    RETURN_IF_ERROR(Formula("page_size", /*needed=*/false, index_.page_size));
    RETURN_IF_ERROR(Name("covers", /*needed=*/false, index_.covers));
    if (json_.contains("empty_sequences")) {
      const OrderedJson& empty = json_["empty_sequences"];
      if (!empty.is_boolean()) return JsonTypeError(absl::StrCat(path_, ".empty_sequences"), "true or false", empty);
      index_.empty_sequences = empty.get<bool>();
    }
    return index_;
  }

  absl::StatusOr<IndexDefinition> ReadDistinct() {
    index_.kind = IndexKind::kDistinct;
    RETURN_IF_ERROR(KnowOnly({"kind", "below"}));
    RETURN_IF_ERROR(Formula("below", /*needed=*/true, index_.below));
    return index_;
  }

  absl::StatusOr<IndexDefinition> ReadLastLengths() {
    index_.kind = IndexKind::kLastLengths;
    RETURN_IF_ERROR(KnowOnly({"kind", "of"}));
    RETURN_IF_ERROR(Name("of", /*needed=*/true, index_.of));
    return index_;
  }

  absl::Status KnowOnly(const std::vector<absl::string_view>& keys) const {
    for (const auto& [key, value] : json_.items()) {
      if (std::find(keys.begin(), keys.end(), absl::string_view(key)) == keys.end()) {
        return Refuse(absl::StrCat(path_, ".", key), "unknown key for this kind");
      }
    }
    return absl::OkStatus();
  }

  absl::Status Formula(const char* key, bool needed, std::string& formula) const {
    const std::string path = absl::StrCat(path_, ".", key);
    if (!json_.contains(key)) return needed ? Refuse(path, "missing") : absl::OkStatus();
    formula = json_[key].is_number_integer() ? json_[key].dump() : "";
    if (formula.empty()) {
      ASSIGN_OR_RETURN(formula, JsonString(json_[key], path));
    }
    return CheckFormula(definition_, formula, path);
  }

  absl::Status Name(const char* key, bool needed, std::string& name) const {
    const std::string path = absl::StrCat(path_, ".", key);
    if (!json_.contains(key)) return needed ? Refuse(path, "missing") : absl::OkStatus();
    ASSIGN_OR_RETURN(name, JsonString(json_[key], path));
    return absl::OkStatus();
  }

  const Definition& definition_;
  const OrderedJson& json_;
  const std::string path_;
  IndexDefinition index_;
};

// Null unless `name` is an input made as offsets.
const IndexDefinition* FindOffsets(const Definition& definition, const std::string& name) {
  const auto found = definition.indices.find(name);
  return found == definition.indices.end() || found->second.kind != IndexKind::kOffsets ? nullptr : &found->second;
}

absl::Status CheckReference(const Definition& definition, const std::string& input, const IndexDefinition& index) {
  const std::string path = absl::StrCat("sassay.indices.", input);
  if (index.kind == IndexKind::kLastLengths) {
    const IndexDefinition* offsets = FindOffsets(definition, index.of);
    if (offsets != nullptr && !offsets->page_size.empty()) return absl::OkStatus();
    return Refuse(absl::StrCat(path, ".of"),
                  absl::StrCat("'", index.of, "' is no input of kind offsets with a page_size"));
  }
  if (index.covers.empty()) return absl::OkStatus();
  const IndexDefinition* covered = FindOffsets(definition, index.covers);
  if (covered == nullptr || !covered->covers.empty() || !covered->page_size.empty()) {
    return Refuse(
        absl::StrCat(path, ".covers"),
        absl::StrCat("'", index.covers, "' is no input of kind offsets that covers nothing and has no pages"));
  }
  if (FindInput(definition, index.covers)->shape == FindInput(definition, input)->shape) return absl::OkStatus();
  return Refuse(absl::StrCat(path, ".covers"), absl::StrCat("'", index.covers, "' has another shape"));
}

absl::StatusOr<int64_t> WholeNumber(absl::string_view formula, const Axes& axes) {
  ASSIGN_OR_RETURN(const double value, EvaluateExpression(formula, axes));
  if (value >= 0 && value <= static_cast<double>(kMaxAxisValue) && value == std::trunc(value)) {
    return static_cast<int64_t>(value);
  }
  return absl::InvalidArgumentError(
      absl::StrCat(formula, " is ", value, ", expected a whole number from 0 to ", kMaxAxisValue));
}

bool Holds(double left, absl::string_view relation, double right) {
  if (relation == "==") return left == right;
  return relation == ">=" ? left >= right : left <= right;
}

absl::Status CheckRequirement(const RequirementDefinition& requirement, const Axes& axes) {
  ASSIGN_OR_RETURN(const double left, EvaluateExpression(requirement.left, axes));
  ASSIGN_OR_RETURN(const double right, EvaluateExpression(requirement.right, axes));
  if (Holds(left, requirement.relation, right)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("it requires ", requirement.text, ", which would be ", left, " ", requirement.relation, " ", right));
}

// The most elements that these offsets may have to hand out whatever is drawn for what they cover.
absl::StatusOr<int64_t> MostNeeded(const Definition& definition, const IndexDefinition& index, const IndexSizes& sizes,
                                   const Axes& axes) {
  int64_t needed = index.empty_sequences ? 0 : sizes.sequences;
  if (index.covers.empty()) return needed;
  ASSIGN_OR_RETURN(const IndexSizes covered, IndexSizesOf(definition, index.covers, axes));
  return needed + (covered.total + sizes.sequences * (sizes.page_size - 1)) / sizes.page_size;
}

absl::Status CheckOffsets(const Definition& definition, const std::string& input, const IndexDefinition& index,
                          const IndexSizes& sizes, const Axes& axes) {
  if (sizes.sequences < 1) return Refuse(input, "offsets need at least 2 elements, for one sequence");
  if (sizes.page_size < 1) return Refuse(input, "the page size is 0");
  ASSIGN_OR_RETURN(const int64_t needed, MostNeeded(definition, index, sizes, axes));
  if (sizes.total >= needed) return absl::OkStatus();
  return Refuse(input, absl::StrCat("its last offset ", index.total, " is ", sizes.total, ", but ", sizes.sequences,
                                    " sequences need ", needed,
                                    index.covers.empty() ? "" : absl::StrCat(" to cover ", index.covers)));
}

absl::Status CheckIndex(const Definition& definition, const std::string& input, const IndexDefinition& index,
                        const Axes& axes) {
  ASSIGN_OR_RETURN(const IndexSizes sizes, IndexSizesOf(definition, input, axes));
  if (sizes.elements > kMaxIndexElements) {
    return Refuse(input, absl::StrCat("an index tensor of ", sizes.elements, " elements, at most ", kMaxIndexElements,
                                      " are made"));
  }
  if (index.kind == IndexKind::kOffsets) return CheckOffsets(definition, input, index, sizes, axes);
  if (index.kind == IndexKind::kDistinct) {
    if (sizes.below >= sizes.elements) return absl::OkStatus();
    return Refuse(input, absl::StrCat(sizes.elements, " distinct numbers below ", index.below, " = ", sizes.below));
  }
  if (sizes.sequences == sizes.elements) return absl::OkStatus();
  return Refuse(input, absl::StrCat("it has ", sizes.elements, " elements for ", sizes.sequences, " sequences"));
}

}  // namespace

absl::Status CheckFormula(const Definition& definition, absl::string_view formula, absl::string_view path) {
  // Any values do to see whether a formula is well formed.
  Axes axes;
  int64_t value = 2;
  for (const AxisDefinition& axis : definition.axes) axes[axis.name] = axis.value.value_or(++value);
  const auto result = EvaluateExpression(formula, axes);
  return result.ok() ? absl::OkStatus() : Refuse(path, result.status().message());
}

absl::Status ReadIndices(const OrderedJson& value, const std::string& path, Definition& definition) {
  if (!value.is_object()) return JsonTypeError(path, "an object of inputs", value);
  for (const auto& [input, content] : value.items()) {
    const std::string where = absl::StrCat(path, ".", input);
    RETURN_IF_ERROR(CheckIndexTensor(definition, input, where));
    ASSIGN_OR_RETURN(definition.indices[input], IndexReader(definition, content, where).Read());
  }
  return absl::OkStatus();
}

absl::Status ReadRequirements(const OrderedJson& value, const std::string& path, Definition& definition) {
  if (!value.is_array()) return JsonTypeError(path, "a list of relations between axes", value);
  for (const OrderedJson& item : value) {
    RequirementDefinition requirement;
    ASSIGN_OR_RETURN(requirement.text, JsonString(item, path));
    for (const char* relation : {"==", ">=", "<="}) {
      const size_t at = requirement.text.find(relation);
      if (at == std::string::npos) continue;
      requirement.relation = relation;
      requirement.left = requirement.text.substr(0, at);
      requirement.right = requirement.text.substr(at + 2);
      break;
    }
    if (requirement.relation.empty()) {
      return Refuse(
          path, absl::StrCat("expected two expressions with ==, >= or <= between them, got '", requirement.text, "'"));
    }
    RETURN_IF_ERROR(CheckFormula(definition, requirement.left, path));
    RETURN_IF_ERROR(CheckFormula(definition, requirement.right, path));
    definition.requirements.push_back(std::move(requirement));
  }
  return absl::OkStatus();
}

absl::Status CheckIndexReferences(const Definition& definition) {
  for (const auto& [input, index] : definition.indices) {
    RETURN_IF_ERROR(CheckReference(definition, input, index));
    if (definition.ranges.count(input) > 0) {
      return Refuse(absl::StrCat("sassay.ranges.", input), "sassay.indices says already what it holds");
    }
  }
  for (const auto& suggested : definition.suggested_axes) {
    Axes axes = suggested;
    for (const AxisDefinition& axis : definition.axes) {
      if (axis.value.has_value()) axes[axis.name] = *axis.value;
    }
    const absl::Status status = CheckIndexAxes(definition, axes);
    if (!status.ok()) return Refuse("sassay.suggested_axes", status.message());
  }
  return absl::OkStatus();
}

absl::StatusOr<IndexSizes> IndexSizesOf(const Definition& definition, const std::string& input, const Axes& axes) {
  const IndexDefinition& index = definition.indices.at(input);
  const std::string& extent = FindInput(definition, input)->shape[0];
  IndexSizes sizes;
  const auto axis = axes.find(extent);
  if (axis != axes.end()) sizes.elements = axis->second;
  if (axis == axes.end() && !absl::SimpleAtoi(extent, &sizes.elements)) {
    return Refuse(input, absl::StrCat("no value for its extent ", extent));
  }
  if (index.kind == IndexKind::kDistinct) {
    ASSIGN_OR_RETURN(sizes.below, WholeNumber(index.below, axes));
    return sizes;
  }
  if (index.kind == IndexKind::kLastLengths) {
    ASSIGN_OR_RETURN(IndexSizes offsets, IndexSizesOf(definition, index.of, axes));
    offsets.elements = sizes.elements;
    return offsets;
  }
  sizes.sequences = sizes.elements - 1;
  ASSIGN_OR_RETURN(sizes.total, WholeNumber(index.total, axes));
  if (!index.page_size.empty()) {
    ASSIGN_OR_RETURN(sizes.page_size, WholeNumber(index.page_size, axes));
  }
  return sizes;
}

absl::Status CheckIndexAxes(const Definition& definition, const Axes& axes) {
  for (const RequirementDefinition& requirement : definition.requirements) {
    RETURN_IF_ERROR(CheckRequirement(requirement, axes));
  }
  for (const auto& [input, index] : definition.indices) RETURN_IF_ERROR(CheckIndex(definition, input, index, axes));
  return absl::OkStatus();
}

}  // namespace sassay
