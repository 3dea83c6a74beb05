// Demangling for names that somebody else chose, with a bound on what it may cost.
//
// A mangled name is a compressed text: S_ and T_ stand for parts that came before, so that each ten bytes may double
// it. abi::__cxa_demangle writes all of it down first, whatever the limit of its caller: 230 bytes make 142 MB. So the
// expansion is bounded *before* the demangler is asked, from the number of references in the name.
//
// Depends on the C++ library alone: capture's runtime, which lives in the candidate's process, is built with it.
#ifndef SASSAY_COMMON_DEMANGLE_PLAIN_DEMANGLE_H_
#define SASSAY_COMMON_DEMANGLE_PLAIN_DEMANGLE_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace sassay {

// An upper bound of the demangled name's bytes, saturated at 2^60: every reference doubles at most what was written so
// far, and every pack expansion repeats it at most once per byte of the name. References at the end of the parameter
// list (any number of pointers of one type) only add up. Within the bound the demangler's time is proportional to it.
uint64_t DemangledBytesBound(std::string_view mangled);

// "_Z4gemmILi64EEvPKfPf" -> "void gemm<64>(float const*, float*)". A name whose expansion may be absurd gives what
// stands before its template arguments, "cutlass::device_kernel<...>", or stays as it is; so does what cannot be
// demangled. At most 16 KiB, or as long as `symbol`.
std::string PlainDemangle(std::string_view symbol);

// The same without return type and parameters: "gemm<64>".
std::string PlainShortName(std::string_view symbol);

}  // namespace sassay

#endif  // SASSAY_COMMON_DEMANGLE_PLAIN_DEMANGLE_H_
