// Arithmetic over axis names, for formulas in definitions ("4*B*H*S*S*D/2").
#ifndef SASSAY_COMMON_WORKLOAD_EXPRESSION_H_
#define SASSAY_COMMON_WORKLOAD_EXPRESSION_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sassay {

// Evaluates `untrusted` in double precision: names from `axes`, decimal numbers, + - * / and parentheses, at most 1,000
// characters. INVALID_ARGUMENT, with the position, for anything else and for a result that is not finite.
absl::StatusOr<double> EvaluateExpression(absl::string_view untrusted, const std::map<std::string, int64_t>& axes);

}  // namespace sassay

#endif  // SASSAY_COMMON_WORKLOAD_EXPRESSION_H_
