// Foreign JSON that is nested a million levels deep. nlohmann's parser needs no stack for it, but copies and prints
// values recursively, so whoever touches such a value dies.
#ifndef SASSAY_COMMON_BASE_JSON_DEPTH_H_
#define SASSAY_COMMON_BASE_JSON_DEPTH_H_

#include "absl/strings/string_view.h"

namespace sassay {

// What no honest document comes near.
constexpr int kMaxJsonDepth = 32;

// Whether the text, if it is JSON at all, is nested deeper than that. To be asked before it is parsed; one pass, no
// memory. Not for JSON with comments.
bool JsonIsTooDeep(absl::string_view untrusted);

}  // namespace sassay

#endif  // SASSAY_COMMON_BASE_JSON_DEPTH_H_
