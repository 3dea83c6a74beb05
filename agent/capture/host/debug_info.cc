#include "agent/capture/host/debug_info.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>

#include <cstdlib>
#include <functional>

#include "common/base/fd.h"
#include "common/demangle/plain_demangle.h"

namespace sassay::capture {
namespace {

// Calls `visit` for each function symbol of a table of type `type`.
void ForEachFunction(Elf* elf, uint32_t type, const std::function<void(const char*)>& visit) {
  for (Elf_Scn* section = elf_nextscn(elf, nullptr); section != nullptr; section = elf_nextscn(elf, section)) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != type || header.sh_entsize == 0) continue;
    Elf_Data* data = elf_getdata(section, nullptr);
    const int count = static_cast<int>(header.sh_size / header.sh_entsize);
    GElf_Sym symbol;
    for (int i = 0; data != nullptr && i < count && gelf_getsym(data, i, &symbol) != nullptr; ++i) {
      if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) continue;
      if (const char* name = elf_strptr(elf, header.sh_link, symbol.st_name)) visit(name);
    }
  }
}

// Follows DW_AT_type through typedefs and qualifiers. False at void or after too many steps.
bool PeelType(Dwarf_Die* die, Dwarf_Die* type) {
  Dwarf_Attribute attribute;
  if (dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &attribute), type) == nullptr) return false;
  for (int step = 0; step < 32; ++step) {
    const int tag = dwarf_tag(type);
    if (tag != DW_TAG_typedef && tag != DW_TAG_const_type && tag != DW_TAG_volatile_type &&
        tag != DW_TAG_restrict_type) {
      return true;
    }
    Dwarf_Die next;
    if (dwarf_formref_die(dwarf_attr_integrate(type, DW_AT_type, &attribute), &next) == nullptr) return false;
    *type = next;
  }
  return false;
}

bool IsFloat(Dwarf_Die* type) {
  Dwarf_Attribute attribute;
  Dwarf_Word encoding = 0;
  return dwarf_tag(type) == DW_TAG_base_type &&
         dwarf_formudata(dwarf_attr_integrate(type, DW_AT_encoding, &attribute), &encoding) == 0 &&
         encoding == DW_ATE_float;
}

const char* NameOf(Dwarf_Die* die) {
  const char* name = dwarf_diename(die);
  return name == nullptr ? "" : name;
}

void DescribePointer(Dwarf_Die* pointer, Parameter& out) {
  out.set_type_class(Parameter::POINTER);
  out.set_size_bytes(8);
  Dwarf_Die pointee;
  if (!PeelType(pointer, &pointee)) {
    out.set_type_name("void*");
    return;
  }
  out.set_type_name(std::string(NameOf(&pointee)) + "*");
  if (IsFloat(&pointee)) out.set_pointee_float_bytes(static_cast<uint32_t>(dwarf_bytesize(&pointee)));
}

void DescribeValue(Dwarf_Die* type, Parameter& out) {
  const int tag = dwarf_tag(type);
  out.set_type_name(NameOf(type));
  out.set_size_bytes(static_cast<uint32_t>(std::max(dwarf_bytesize(type), 0)));
  if (tag == DW_TAG_base_type || tag == DW_TAG_enumeration_type) {
    out.set_type_class(IsFloat(type) ? Parameter::FLOAT : Parameter::INTEGER);
  } else {
    out.set_type_class(Parameter::OTHER);
  }
}

Parameter DescribeParameter(Dwarf_Die* die) {
  Parameter parameter;
  parameter.set_name(NameOf(die));
  Dwarf_Die type;
  if (!PeelType(die, &type)) return parameter;
  const int tag = dwarf_tag(&type);
  if (tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type) {
    DescribePointer(&type, parameter);
  } else {
    DescribeValue(&type, parameter);
  }
  return parameter;
}

bool IsCFunction(Dwarf_Die* die, const std::string& name) {
  Dwarf_Attribute attribute;
  return dwarf_tag(die) == DW_TAG_subprogram && NameOf(die) == name && dwarf_hasattr(die, DW_AT_low_pc) &&
         dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) == nullptr;
}

void DescribeFunction(Dwarf_Die* function, Entry& entry) {
  if (const char* file = dwarf_decl_file(function)) entry.set_file(file);
  int line = 0;
  if (dwarf_decl_line(function, &line) == 0) entry.set_line(static_cast<uint32_t>(line));
  Dwarf_Die child;
  for (bool more = dwarf_child(function, &child) == 0; more; more = dwarf_siblingof(&child, &child) == 0) {
    if (dwarf_tag(&child) == DW_TAG_formal_parameter && entry.parameters_size() < 256) {
      *entry.add_parameters() = DescribeParameter(&child);
    }
  }
}

bool HasParameters(Dwarf_Die* function) {
  Dwarf_Die child;
  for (bool more = dwarf_child(function, &child) == 0; more; more = dwarf_siblingof(&child, &child) == 0) {
    if (dwarf_tag(&child) == DW_TAG_formal_parameter) return true;
  }
  return false;
}

// With -g1 no function of the unit has parameters, and the entry's having none says nothing.
void FindEntry(Dwarf_Die* unit, const std::string& name, Entry& entry) {
  bool found = false, unit_has_parameters = false;
  Dwarf_Die child;
  for (bool more = dwarf_child(unit, &child) == 0; more; more = dwarf_siblingof(&child, &child) == 0) {
    if (dwarf_tag(&child) != DW_TAG_subprogram) continue;
    if (!unit_has_parameters) unit_has_parameters = HasParameters(&child);
    if (found || !IsCFunction(&child, name)) continue;
    DescribeFunction(&child, entry);
    found = true;
  }
  entry.set_described(found && unit_has_parameters);
}

}  // namespace

struct DebugInfo::State {
  UniqueFd fd;
  Elf* elf = nullptr;
  Dwarf* dwarf = nullptr;
};

DebugInfo::DebugInfo(const std::string& path) : state_(std::make_unique<State>()) {
  elf_version(EV_CURRENT);
  state_->fd.reset(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!state_->fd.valid()) return;
  state_->elf = elf_begin(state_->fd.get(), ELF_C_READ, nullptr);
  if (state_->elf != nullptr) state_->dwarf = dwarf_begin_elf(state_->elf, DWARF_C_READ, nullptr);
}

DebugInfo::~DebugInfo() {
  if (state_->dwarf != nullptr) dwarf_end(state_->dwarf);
  if (state_->elf != nullptr) elf_end(state_->elf);
}

Entry DebugInfo::DescribeEntry(const std::string& name) const {
  Entry entry;
  const std::string tvm_ffi_name = "__tvm_ffi_" + name, cpp_prefix = "_Z" + std::to_string(name.size()) + name;
  if (state_->elf == nullptr) return entry;
  ForEachFunction(state_->elf, SHT_DYNSYM, [&](const char* symbol) {
    if (symbol == name) entry.set_has_c(true);
    if (symbol == tvm_ffi_name) entry.set_has_tvm_ffi(true);
    if (std::string(symbol).rfind(cpp_prefix, 0) == 0) entry.set_cpp_name(PlainDemangle(symbol));
  });
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die;
  while (state_->dwarf != nullptr && entry.has_c() && !entry.described() &&
         dwarf_get_units(state_->dwarf, unit, &unit, nullptr, nullptr, &die, nullptr) == 0) {
    FindEntry(&die, name, entry);
  }
  return entry;
}

absl::optional<Line> DebugInfo::FindLine(uint64_t pc) const {
  Dwarf_Die unit;
  if (state_->dwarf == nullptr || dwarf_addrdie(state_->dwarf, pc, &unit) == nullptr) return absl::nullopt;
  Dwarf_Line* source = dwarf_getsrc_die(&unit, pc);
  int number = 0;
  const char* file = source == nullptr ? nullptr : dwarf_linesrc(source, nullptr, nullptr);
  if (file == nullptr || dwarf_lineno(source, &number) != 0 || !IsCandidateSource(file)) return absl::nullopt;
  Line line;
  line.set_pc(pc);
  line.set_file(file);
  line.set_line(static_cast<uint32_t>(number));
  return line;
}

bool IsCandidateSource(const std::string& file) {
  for (const char* prefix : {"/usr/", "/cuda/", "/tvm_ffi/"}) {
    if (file.rfind(prefix, 0) == 0) return false;
  }
  for (const char* part : {".cudafe", "tmpxft", "/tvm/ffi/", "/crt/", "cuda_runtime"}) {
    if (file.find(part) != std::string::npos) return false;
  }
  return true;
}

}  // namespace sassay::capture
