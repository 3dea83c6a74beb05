// What people are told about a kernel, read from the cubin.
#ifndef SASSAY_COMMON_BUNDLE_KERNEL_FACTS_H_
#define SASSAY_COMMON_BUNDLE_KERNEL_FACTS_H_

#include "common/bundle/cubin.h"
#include "sassay/v1/bundle.pb.h"

namespace sassay {

// Everything of KernelFacts that the cubin itself says: not spills, which ptxas alone knows, nor SASS families, which
// need a disassembler.
sassay::v1::KernelFacts FactsOf(const CubinKernel& kernel);

}  // namespace sassay

#endif  // SASSAY_COMMON_BUNDLE_KERNEL_FACTS_H_
