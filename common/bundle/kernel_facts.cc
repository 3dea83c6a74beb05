#include "common/bundle/kernel_facts.h"

#include "common/demangle/demangle.h"

namespace sassay {
namespace {

// Of a kernel that does not say.
constexpr uint32_t kDefaultMaxThreads = 1024;

}  // namespace

sassay::v1::KernelFacts FactsOf(const CubinKernel& kernel) {
  sassay::v1::KernelFacts facts;
  facts.set_symbol(kernel.symbol);
  facts.set_name(Demangle(kernel.symbol));
  facts.set_registers(kernel.registers);
  facts.set_static_shared_bytes(kernel.static_shared_bytes);
  facts.set_stack_bytes(kernel.stack_bytes);
  facts.set_max_threads_per_block(kernel.max_threads_per_block == 0 ? kDefaultMaxThreads
                                                                    : kernel.max_threads_per_block);
  for (const KernelParameter& parameter : kernel.parameters) facts.add_parameter_bytes(parameter.size_bytes);
  return facts;
}

}  // namespace sassay
