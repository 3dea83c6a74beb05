// Names that people can read.
#ifndef SASSAY_COMMON_DEMANGLE_DEMANGLE_H_
#define SASSAY_COMMON_DEMANGLE_DEMANGLE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "common/demangle/plain_demangle.h"

namespace sassay {

// "_Z4gemmILi64EEvPKfPf" -> "void gemm<64>(float const*, float*)". Safe for foreign names: what cannot be demangled, or
// would grow beyond reason, comes back shortened or as it is; see PlainDemangle.
inline std::string Demangle(absl::string_view symbol) { return PlainDemangle({symbol.data(), symbol.size()}); }

// The same without return type and parameters: "gemm<64>".
inline std::string ShortKernelName(absl::string_view symbol) { return PlainShortName({symbol.data(), symbol.size()}); }

}  // namespace sassay

#endif  // SASSAY_COMMON_DEMANGLE_DEMANGLE_H_
