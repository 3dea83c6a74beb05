#include "common/bundle/cubin.h"

#include <elf.h>

#include <algorithm>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "common/bundle/elf.h"
#include "common/bundle/nv_info.h"

namespace sassay {
namespace {

constexpr uint16_t kMachineCuda = 190;    // EM_CUDA
constexpr uint8_t kEntryPoint = 0x10;     // st_other of a __global__ function
constexpr uint8_t kAbiVersionCuda13 = 8;  // from here on e_flags has the SM in bits 8-15
constexpr uint32_t kOldFlagsArchSpecific = 0x800;
constexpr uint32_t kReservedSharedBytes = 1024;  // per block, by the system, inside .nv.shared.* from sm_90 on
constexpr uint32_t kFirstSmWithReservedShared = 90;
constexpr uint32_t kMaxParameterBytes = 32764;
constexpr size_t kMaxParameters = 4096;
constexpr size_t kMaxShownName = 100;

absl::Status Malformed(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("malformed cubin: ", what));
}

bool HoldsVariables(absl::string_view section) {
  return section == ".nv.global" || section == ".nv.global.init" || section == ".nv.constant3";
}

// Literals and other data without a name of the programmer's.
bool IsUnnamed(absl::string_view symbol) {
  return symbol.empty() || symbol[0] == '$' || symbol[0] == '.' || absl::StartsWith(symbol, "__unnamed_");
}

// What ptxas and every compiler we know of write. Names travel through debuggers, sanitizers and profilers, whose
// output is read line by line, as XML or as a command line.
bool IsFunctionName(absl::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("_$.%", c);
  });
}

bool IsDeviceRuntimeFunction(absl::string_view name) {
  return absl::StartsWith(name, "__cudaCDP") || absl::StartsWith(name, "cnp") || absl::StrContains(name, "_cnpv2") ||
         absl::StartsWith(name, "cudaLaunchDevice") || absl::StartsWith(name, "cudaGetParameterBuffer") ||
         absl::StartsWith(name, "cudaDeviceSynchronize");
}

uint32_t ThreadsOf(const sassay::v1::Dim3& block) {
  const uint64_t threads = uint64_t{block.x()} * block.y();
  if (threads > UINT32_MAX || threads * block.z() > UINT32_MAX) return UINT32_MAX;
  return static_cast<uint32_t>(threads * block.z());
}

}  // namespace

bool IsDriverFunction(absl::string_view name) {
  return name == "vprintf" || name == "malloc" || name == "free" || name == "__assertfail";
}

// Turns an Elf into a Cubin; one Read per table.
class CubinReader {
 public:
  explicit CubinReader(const Elf& elf) : elf_(elf) {}

  absl::StatusOr<Cubin> Read() {
    RETURN_IF_ERROR(IndexSections());
    RETURN_IF_ERROR(ReadArch());
    RETURN_IF_ERROR(ReadFunctions());
    RETURN_IF_ERROR(ReadVariables());
    RETURN_IF_ERROR(ReadModuleInfo());
    for (CubinKernel& kernel : cubin_.kernels_) RETURN_IF_ERROR(ReadKernel(kernel));
    return std::move(cubin_);
  }

 private:
  absl::Status IndexSections() {
    for (const ElfSection& section : elf_.sections()) {
      if (!absl::StartsWith(section.name, ".nv.") && !absl::StartsWith(section.name, ".text.")) continue;
      if (!sections_.emplace(section.name, &section).second) {
        return Malformed(absl::StrCat("there are two sections named ", section.name));
      }
    }
    return absl::OkStatus();
  }

  const ElfSection* Section(absl::string_view name) const {
    const auto found = sections_.find(name);
    return found == sections_.end() ? nullptr : found->second;
  }

  absl::Status ReadArch() {
    if (elf_.machine() != kMachineCuda) {
      return Malformed(absl::StrCat("e_machine is ", elf_.machine(), ", expected ", kMachineCuda, " (CUDA)"));
    }
    if (elf_.type() != ET_EXEC) {
      return Malformed("it is a relocatable object; compile without -rdc=true or add a device link (-dlink)");
    }
    const bool cuda13 = elf_.abi_version() >= kAbiVersionCuda13;
    cubin_.sm_ = (cuda13 ? elf_.flags() >> 8 : elf_.flags()) & 0xff;
    bool arch_specific = !cuda13 && (elf_.flags() & kOldFlagsArchSpecific) != 0;
    if (const ElfSection* compat = Section(".nv.compat"); compat != nullptr) {
      ASSIGN_OR_RETURN(const std::vector<NvAttribute> attributes, ParseNvInfo(compat->bytes));
      for (const NvAttribute& attribute : attributes) {
        if (attribute.id == nv_info::kCompatArchSpecific) arch_specific = arch_specific || attribute.number == 1;
      }
    }
    cubin_.arch_ = absl::StrCat("sm_", cubin_.sm_, arch_specific ? "a" : "");
    return absl::OkStatus();
  }

  absl::Status ReadFunctions() {
    std::set<std::string> undefined;
    for (size_t i = 0; i < elf_.symbols().size(); ++i) {
      const ElfSymbol& symbol = elf_.symbols()[i];
      if (symbol.type != STT_FUNC) continue;
      if (!IsFunctionName(symbol.name)) {
        return Malformed(absl::StrCat("a function is named \"", absl::CHexEscape(symbol.name.substr(0, kMaxShownName)),
                                      "\", expected letters, digits, '_', '$', '.' and '%'"));
      }
      if (IsDeviceRuntimeFunction(symbol.name)) cubin_.uses_device_runtime_ = true;
      if (symbol.section == SHN_UNDEF) {
        undefined.emplace(symbol.name);
      } else if ((symbol.other & kEntryPoint) != 0) {
        RETURN_IF_ERROR(AddKernel(i, symbol));
      }
    }
    cubin_.undefined_functions_.assign(undefined.begin(), undefined.end());
    auto& kernels = cubin_.kernels_;
    std::sort(kernels.begin(), kernels.end(), [](const auto& a, const auto& b) { return a.symbol < b.symbol; });
    const auto twin = std::adjacent_find(kernels.begin(), kernels.end(),
                                         [](const auto& a, const auto& b) { return a.symbol == b.symbol; });
    if (twin != kernels.end()) return Malformed(absl::StrCat("there are two kernels named ", twin->symbol));
    for (size_t i = 0; i < kernels.size(); ++i) kernel_by_name_[kernels[i].symbol] = i;
    return absl::OkStatus();
  }

  absl::Status AddKernel(size_t symbol_index, const ElfSymbol& symbol) {
    if (symbol.name.empty()) return Malformed(absl::StrCat("symbol ", symbol_index, " is a kernel without a name"));
    if (Section(absl::StrCat(".text.", symbol.name)) == nullptr) {
      return Malformed(absl::StrCat("kernel ", symbol.name, " has no code (.text.", symbol.name, ")"));
    }
    CubinKernel kernel;
    kernel.symbol = std::string(symbol.name);
    kernel.code_bytes = symbol.size_bytes;
    cubin_.kernels_.push_back(std::move(kernel));
    return absl::OkStatus();
  }

  CubinKernel* KernelOfSymbol(uint32_t symbol_index) {
    if (symbol_index >= elf_.symbols().size()) return nullptr;
    const auto found = kernel_by_name_.find(elf_.symbols()[symbol_index].name);
    return found == kernel_by_name_.end() ? nullptr : &cubin_.kernels_[found->second];
  }

  absl::Status ReadVariables() {
    for (const ElfSymbol& symbol : elf_.symbols()) {
      if (symbol.type != STT_OBJECT || IsUnnamed(symbol.name)) continue;
      if (symbol.section == SHN_UNDEF || symbol.section >= elf_.sections().size()) continue;
      const ElfSection& section = elf_.sections()[symbol.section];
      if (!HoldsVariables(section.name)) continue;
      if (symbol.value > section.size_bytes || symbol.size_bytes > section.size_bytes - symbol.value) {
        return Malformed(absl::StrCat("variable ", symbol.name, " (", symbol.size_bytes, " bytes at ", symbol.value,
                                      ") reaches past ", section.name, " (", section.size_bytes, " bytes)"));
      }
      cubin_.variables_.push_back({.name = std::string(symbol.name),
                                   .size_bytes = symbol.size_bytes,
                                   .constant = absl::StartsWith(section.name, ".nv.constant"),
                                   .section = std::string(section.name),
                                   .offset_bytes = symbol.value});
    }
    auto& variables = cubin_.variables_;
    std::sort(variables.begin(), variables.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    const auto twin = std::adjacent_find(variables.begin(), variables.end(),
                                         [](const auto& a, const auto& b) { return a.name == b.name; });
    if (twin != variables.end()) return Malformed(absl::StrCat("there are two variables named ", twin->name));
    return absl::OkStatus();
  }

  // `.nv.info` has (symbol index, value) pairs for functions.
  absl::Status ReadModuleInfo() {
    const ElfSection* info = Section(".nv.info");
    if (info == nullptr) return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::vector<NvAttribute> attributes, ParseNvInfo(info->bytes));
    for (const NvAttribute& attribute : attributes) {
      const auto symbol = ReadAt<uint32_t>(attribute.bytes, 0);
      const auto value = ReadAt<uint32_t>(attribute.bytes, 4);
      if (!symbol || !value) continue;
      CubinKernel* kernel = KernelOfSymbol(*symbol);
      if (kernel == nullptr) continue;
      if (attribute.id == nv_info::kRegisters) kernel->registers = *value;
      if (attribute.id == nv_info::kFrameBytes || attribute.id == nv_info::kMinimumStackBytes) {
        kernel->stack_bytes = std::max(kernel->stack_bytes, *value);
      }
    }
    return absl::OkStatus();
  }

  absl::Status ReadKernel(CubinKernel& kernel) {
    if (const ElfSection* shared = Section(absl::StrCat(".nv.shared.", kernel.symbol)); shared != nullptr) {
      const uint64_t reserved = cubin_.sm_ >= kFirstSmWithReservedShared ? kReservedSharedBytes : 0;
      if (shared->size_bytes > UINT32_MAX) return Malformed(absl::StrCat(shared->name, " is larger than 4 GiB"));
      kernel.static_shared_bytes = static_cast<uint32_t>(shared->size_bytes - std::min(shared->size_bytes, reserved));
    }
    const ElfSection* info = Section(absl::StrCat(".nv.info.", kernel.symbol));
    if (info == nullptr) return Malformed(absl::StrCat("kernel ", kernel.symbol, " has no .nv.info section"));
    ASSIGN_OR_RETURN(const std::vector<NvAttribute> attributes, ParseNvInfo(info->bytes));
    for (const NvAttribute& attribute : attributes) RETURN_IF_ERROR(ReadAttribute(attribute, kernel));
    return CheckParameters(kernel);
  }

  absl::Status ReadAttribute(const NvAttribute& attribute, CubinKernel& kernel) {
    switch (attribute.id) {
      case nv_info::kParameter:
      case nv_info::kParameterV2:
        return AddParameter(attribute, kernel);
      case nv_info::kParameterBytes:
        kernel.parameter_bytes = attribute.number;
        return absl::OkStatus();
      case nv_info::kMaxThreads: {
        ASSIGN_OR_RETURN(const sassay::v1::Dim3 block, ReadDim3(attribute, kernel));
        kernel.max_threads_per_block = ThreadsOf(block);
        return absl::OkStatus();
      }
      case nv_info::kRequiredThreads: {
        ASSIGN_OR_RETURN(kernel.required_block, ReadDim3(attribute, kernel));
        return absl::OkStatus();
      }
      case nv_info::kBlocksPerCluster: {
        ASSIGN_OR_RETURN(kernel.required_cluster, ReadDim3(attribute, kernel));
        return absl::OkStatus();
      }
      case nv_info::kBlocksAreClusters:
        kernel.blocks_are_clusters = true;
        return absl::OkStatus();
      case nv_info::kExternals:
        return ReadExternals(attribute, kernel);
      case nv_info::kNeedsDeviceRuntimeWrapper:
      case nv_info::kNeedsDeviceRuntimePatch:
        kernel.uses_device_runtime = cubin_.uses_device_runtime_ = true;
        return absl::OkStatus();
      default:
        return absl::OkStatus();
    }
  }

  static absl::StatusOr<sassay::v1::Dim3> ReadDim3(const NvAttribute& attribute, const CubinKernel& kernel) {
    sassay::v1::Dim3 value;
    if (attribute.bytes.size() < 12) {
      return Malformed(absl::StrCat(".nv.info.", kernel.symbol, ": attribute ", attribute.id, " has ",
                                    attribute.bytes.size(), " bytes, expected 12"));
    }
    value.set_x(*ReadAt<uint32_t>(attribute.bytes, 0));
    value.set_y(*ReadAt<uint32_t>(attribute.bytes, 4));
    value.set_z(*ReadAt<uint32_t>(attribute.bytes, 8));
    return value;
  }

  static absl::Status AddParameter(const NvAttribute& attribute, CubinKernel& kernel) {
    const auto ordinal = ReadAt<uint16_t>(attribute.bytes, 4);
    const auto offset = ReadAt<uint16_t>(attribute.bytes, 6);
    const auto word = ReadAt<uint32_t>(attribute.bytes, 8);
    if (!ordinal || !offset || !word) {
      return Malformed(absl::StrCat(".nv.info.", kernel.symbol, ": a parameter entry has ", attribute.bytes.size(),
                                    " bytes, expected 12"));
    }
    if (kernel.parameters.size() >= kMaxParameters) {
      return Malformed(absl::StrCat("kernel ", kernel.symbol, " has more than ", kMaxParameters, " parameters"));
    }
    const uint32_t size = attribute.id == nv_info::kParameterV2 ? *word & 0xffff : *word >> 18;
    kernel.parameters.push_back({.ordinal = *ordinal, .offset_bytes = *offset, .size_bytes = size});
    return absl::OkStatus();
  }

  absl::Status ReadExternals(const NvAttribute& attribute, CubinKernel& kernel) {
    for (uint64_t at = 0; at + 4 <= attribute.bytes.size(); at += 4) {
      const uint32_t index = *ReadAt<uint32_t>(attribute.bytes, at);
      if (index >= elf_.symbols().size()) {
        return Malformed(
            absl::StrCat(".nv.info.", kernel.symbol, " names symbol ", index, " of ", elf_.symbols().size()));
      }
      const ElfSymbol& symbol = elf_.symbols()[index];
      if (symbol.section == SHN_UNDEF) kernel.externals.emplace_back(symbol.name);
      if (IsDeviceRuntimeFunction(symbol.name)) kernel.uses_device_runtime = true;
    }
    return absl::OkStatus();
  }

  // Parameters must be 0..n-1, inside the block, in ascending order and apart.
  static absl::Status CheckParameters(CubinKernel& kernel) {
    if (kernel.parameter_bytes > kMaxParameterBytes) {
      return Malformed(absl::StrCat("kernel ", kernel.symbol, " has ", kernel.parameter_bytes,
                                    " bytes of parameters, more than ", kMaxParameterBytes));
    }
    auto& parameters = kernel.parameters;
    std::sort(parameters.begin(), parameters.end(), [](const auto& a, const auto& b) { return a.ordinal < b.ordinal; });
    uint64_t end = 0;
    for (size_t i = 0; i < parameters.size(); ++i) {
      const KernelParameter& parameter = parameters[i];
      if (parameter.ordinal != i) {
        return Malformed(absl::StrCat("kernel ", kernel.symbol, ": parameter ", i, " is missing or doubled"));
      }
      // Offsets count from an aligned base, so a kernel may begin at some padding; order and distance still hold.
      if (i > 0 && parameter.offset_bytes < end) {
        return Malformed(absl::StrCat("kernel ", kernel.symbol, ": parameter ", i, " overlaps the one before it"));
      }
      end = uint64_t{parameter.offset_bytes} + parameter.size_bytes;
    }
    if (end > kernel.parameter_bytes) {
      return Malformed(
          absl::StrCat("kernel ", kernel.symbol, ": its parameters end at byte ", end, " of ", kernel.parameter_bytes));
    }
    return absl::OkStatus();
  }

  const Elf& elf_;
  Cubin cubin_;
  absl::flat_hash_map<absl::string_view, const ElfSection*> sections_;
  absl::flat_hash_map<std::string, size_t> kernel_by_name_;
};

absl::StatusOr<Cubin> Cubin::Parse(absl::string_view untrusted_elf) {
  ASSIGN_OR_RETURN(const Elf elf, Elf::Parse(untrusted_elf));
  return CubinReader(elf).Read();
}

const CubinKernel* Cubin::FindKernel(absl::string_view symbol) const {
  const auto found = std::lower_bound(kernels_.begin(), kernels_.end(), symbol,
                                      [](const CubinKernel& kernel, absl::string_view s) { return kernel.symbol < s; });
  return found != kernels_.end() && found->symbol == symbol ? &*found : nullptr;
}

const CubinVariable* Cubin::FindVariable(absl::string_view name) const {
  const auto found =
      std::lower_bound(variables_.begin(), variables_.end(), name,
                       [](const CubinVariable& variable, absl::string_view s) { return variable.name < s; });
  return found != variables_.end() && found->name == name ? &*found : nullptr;
}

}  // namespace sassay
