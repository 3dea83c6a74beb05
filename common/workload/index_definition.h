// The parts of a definition that say how sizes and index tensors hang together: `indices` and `requires`.
#ifndef SASSAY_COMMON_WORKLOAD_INDEX_DEFINITION_H_
#define SASSAY_COMMON_WORKLOAD_INDEX_DEFINITION_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/workload/definition.h"
#include "common/workload/json_text.h"

namespace sassay {

// INVALID_ARGUMENT, naming `path`, for a formula that is not well formed over the definition's axes.
absl::Status CheckFormula(const Definition& definition, absl::string_view formula, absl::string_view path);

// Read `sassay.indices` and `sassay.requires` into the definition, whose axes and tensors are there already.
// INVALID_ARGUMENT naming the key.
absl::Status ReadIndices(const OrderedJson& value, const std::string& path, Definition& definition);
absl::Status ReadRequirements(const OrderedJson& value, const std::string& path, Definition& definition);
// What can only be said when every index is known: that names lead to offsets, and that suggested axes satisfy it all.
absl::Status CheckIndexReferences(const Definition& definition);

// Most elements of an index tensor: the host makes them, one after the other.
inline constexpr int64_t kMaxIndexElements = int64_t{1} << 24;

// An IndexDefinition with the numbers of concrete axes.
struct IndexSizes {
  int64_t elements = 0;   // of the tensor
  int64_t sequences = 0;  // kOffsets, kLastLengths
  int64_t total = 0;      // kOffsets
  int64_t below = 0;      // kDistinct
  int64_t page_size = 1;  // kOffsets, kLastLengths
};
// INVALID_ARGUMENT if a formula gives no whole number from 0 to kMaxAxisValue.
absl::StatusOr<IndexSizes> IndexSizesOf(const Definition& definition, const std::string& input,
                                        const std::map<std::string, int64_t>& axes);

// Whether these axes (all of them) satisfy `requires` and leave room for every index tensor that may be drawn.
// INVALID_ARGUMENT saying what was expected and what came.
absl::Status CheckIndexAxes(const Definition& definition, const std::map<std::string, int64_t>& axes);

}  // namespace sassay

#endif  // SASSAY_COMMON_WORKLOAD_INDEX_DEFINITION_H_
