// What a compilation depends on, as one digest.
#ifndef SASSAY_AGENT_COMPILE_CACHE_CACHE_KEY_H_
#define SASSAY_AGENT_COMPILE_CACHE_CACHE_KEY_H_

#include <string>

#include "agent/compile/compiler.h"

namespace sassay {

// SHA-256 hex over everything that decides the result: sources, arch, defines, include folders (name, size and time of
// every file), the toolkit's tools and the host compiler (path, size, time), tvm_ffi's headers, whether
// there is a sandbox, and the version of Sassay.
std::string CompileCacheKey(const CompileRequest& request, const CompilerOptions& options);

}  // namespace sassay

#endif  // SASSAY_AGENT_COMPILE_CACHE_CACHE_KEY_H_
