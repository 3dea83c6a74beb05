// Names that people can read.
#ifndef SASSAY_COMMON_BUNDLE_DEMANGLE_H_
#define SASSAY_COMMON_BUNDLE_DEMANGLE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace sassay {

// "_Z4gemmILi64EEvPKfPf" -> "void gemm<64>(float const*, float*)". What cannot be demangled, or is absurdly long, comes
// back as it is; safe for foreign names.
std::string Demangle(absl::string_view symbol);

// The same without return type and parameters: "gemm<64>".
std::string ShortKernelName(absl::string_view symbol);

}  // namespace sassay

#endif  // SASSAY_COMMON_BUNDLE_DEMANGLE_H_
