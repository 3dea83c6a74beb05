#include "agent/cli/build/inspect_bundle.h"

#include <map>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/bundle/bundle.h"
#include "common/bundle/cubin.h"
#include "common/bundle/kernel_facts.h"
#include "common/bundle/ptx.h"

namespace sassay::agent {
namespace {

using ClaimedFacts = std::map<std::string, v1::KernelFacts>;

void AddKernel(const CubinKernel& kernel, const ClaimedFacts& claimed, v1::Inspection& inspection) {
  v1::KernelFacts& facts = *inspection.add_kernels();
  facts = FactsOf(kernel);
  const auto found = claimed.find(kernel.symbol);
  if (found == claimed.end()) {
    inspection.add_warnings(absl::StrCat("the bundle's facts leave out kernel ", kernel.symbol));
    return;
  }
  facts.set_spill_store_bytes(found->second.spill_store_bytes());
  facts.set_spill_load_bytes(found->second.spill_load_bytes());
  if (found->second.registers() != facts.registers()) {
    inspection.add_warnings(absl::StrCat("kernel ", kernel.symbol, " has ", facts.registers(),
                                         " registers, the bundle says ", found->second.registers()));
  }
}

void AddKernels(const v1::Bundle& bundle, v1::Inspection& inspection) {
  const absl::StatusOr<Cubin> cubin = Cubin::Parse(bundle.cubin());
  if (!cubin.ok()) {
    inspection.add_warnings(
        absl::StrCat("cubin: ", cubin.status().message(), "; the kernels shown are the bundle's claims"));
    *inspection.mutable_kernels() = bundle.kernels();
    return;
  }
  if (cubin->arch() != bundle.compilation().arch()) {
    inspection.add_warnings(
        absl::StrCat("the cubin is for ", cubin->arch(), ", the bundle says ", bundle.compilation().arch()));
  }
  ClaimedFacts claimed;
  for (const v1::KernelFacts& facts : bundle.kernels()) claimed[facts.symbol()] = facts;
  for (const CubinKernel& kernel : cubin->kernels()) AddKernel(kernel, claimed, inspection);
}

void AddFamilies(absl::string_view untrusted_cubin, const Disassembler& disassembler, v1::Inspection& inspection) {
  for (v1::KernelFacts& facts : *inspection.mutable_kernels()) facts.clear_sass_families();
  const absl::StatusOr<Disassembly> disassembly = disassembler(untrusted_cubin);
  if (!disassembly.ok()) {
    inspection.add_warnings(absl::StrCat("SASS families are unknown: ", disassembly.status().message()));
    return;
  }
  for (v1::KernelFacts& facts : *inspection.mutable_kernels()) {
    const auto found = disassembly->find(facts.symbol());
    if (found == disassembly->end()) continue;
    for (const auto& [family, count] : CountFamilies(found->second)) (*facts.mutable_sass_families())[family] = count;
  }
}

}  // namespace

absl::StatusOr<v1::Inspection> InspectBundle(absl::string_view untrusted_bytes, const Disassembler& disassembler) {
  ASSIGN_OR_RETURN(const v1::Bundle bundle, ParseBundle(untrusted_bytes));
  v1::Inspection inspection;
  inspection.set_bundle_sha256(BundleDigest(untrusted_bytes));
  inspection.set_bundle_bytes(untrusted_bytes.size());
  *inspection.mutable_compilation() = bundle.compilation();
  inspection.set_source_sha256(absl::BytesToHexString(bundle.source_sha256()));
  inspection.set_cubin_bytes(bundle.cubin().size());
  inspection.set_ptx_bytes(bundle.ptx().size());
  AddKernels(bundle, inspection);
  AddFamilies(bundle.cubin(), disassembler, inspection);
  if (const absl::Status strings = CheckPtxStrings(bundle.ptx()); !strings.ok()) {
    inspection.add_warnings(absl::StrCat("a service refuses this PTX: ", strings.message()));
  }
  *inspection.mutable_plans() = bundle.plans();
  for (const v1::SourceFile& source : bundle.sources()) inspection.add_sources(source.path());
  return inspection;
}

}  // namespace sassay::agent
