// The definitions that ship with Sassay (definitions/*.json), compiled in so that one binary is enough.
#ifndef SASSAY_COMMON_WORKLOAD_BUILTIN_DEFINITIONS_H_
#define SASSAY_COMMON_WORKLOAD_BUILTIN_DEFINITIONS_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace sassay {

// One JSON text per file, in the order in which CMakeLists.txt names them.
absl::Span<const absl::string_view> BuiltInDefinitionJson();

}  // namespace sassay

#endif  // SASSAY_COMMON_WORKLOAD_BUILTIN_DEFINITIONS_H_
