#include <sstream>

#include "agent/capture/runtime/session.h"

namespace sassay::capture {
namespace {

bool ReadKernel(std::istream& in, Task& task) {
  KernelInfo kernel;
  size_t parameters = 0;
  in >> kernel.symbol >> kernel.registers >> kernel.static_shared_bytes >> kernel.max_threads >> kernel.stack_bytes >>
      kernel.cluster[0] >> kernel.cluster[1] >> kernel.cluster[2] >> kernel.blocks_are_clusters >> parameters;
  if (!in || parameters > 4096) return false;
  for (size_t i = 0; i < parameters; ++i) {
    in >> kernel.parameter_bytes.emplace_back() >> kernel.parameter_offsets.emplace_back();
  }
  task.kernels[kernel.symbol] = kernel;
  return !in.fail();
}

bool ReadTensor(std::istream& in, Task& task) {
  Argument argument;
  unsigned code = 0, bits = 0;
  size_t rank = 0;
  in >> argument.size_bytes >> code >> bits >> rank;
  if (!in || rank > 64) return false;
  argument.dlpack_code = static_cast<uint8_t>(code);
  argument.dlpack_bits = static_cast<uint8_t>(bits);
  argument.shape.resize(rank);
  for (int64_t& extent : argument.shape) in >> extent;
  task.arguments.push_back(argument);
  return !in.fail();
}

bool ReadInteger(std::istream& in, Task& task, bool axis) {
  Argument argument;
  argument.kind = Argument::Kind::kInteger;
  argument.axis = axis;
  in >> argument.integer;
  task.arguments.push_back(argument);
  return !in.fail();
}

bool ReadReal(std::istream& in, Task& task, Argument::Kind kind) {
  Argument argument;
  argument.kind = kind;
  in >> argument.real;
  task.arguments.push_back(argument);
  return !in.fail();
}

bool ReadRest(std::istream& in, std::string& text) { return static_cast<bool>(std::getline(in >> std::ws, text)); }

bool ReadLine(const std::string& keyword, std::istream& in, Task& task) {
  if (keyword == "kernel") return ReadKernel(in, task);
  if (keyword == "tensor") return ReadTensor(in, task);
  if (keyword == "axis") return ReadInteger(in, task, true);
  if (keyword == "integer") return ReadInteger(in, task, false);
  if (keyword == "float32") return ReadReal(in, task, Argument::Kind::kFloat32);
  if (keyword == "float64") return ReadReal(in, task, Argument::Kind::kFloat64);
  // Paths and names may hold blanks.
  if (keyword == "library") return ReadRest(in, task.library);
  if (keyword == "tvm_ffi_library") return ReadRest(in, task.tvm_ffi_library);
  if (keyword == "tvm_ffi") return static_cast<bool>(in >> task.tvm_ffi);
  if (keyword == "entry") return static_cast<bool>(in >> task.entry);
  if (keyword == "calls") return static_cast<bool>(in >> task.calls);
  if (keyword == "model") return ReadRest(in, task.device_model);
  if (keyword == "memory") return static_cast<bool>(in >> task.device_memory_bytes);
  if (keyword == "gpc") return static_cast<bool>(in >> task.gpc_multiprocessors.emplace_back());
  if (keyword == "symbol") {
    SymbolInfo& symbol = task.symbols.emplace_back();
    return static_cast<bool>(in >> symbol.name >> symbol.size_bytes);
  }
  if (keyword == "attribute") {
    int attribute = 0;
    in >> attribute;
    return static_cast<bool>(in >> task.attributes[attribute]);
  }
  return false;
}

}  // namespace

std::string Task::Parse(std::string_view text) {
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream in(line);
    std::string keyword;
    if (in >> keyword && !ReadLine(keyword, in, *this)) return "capture task: cannot read the line '" + line + "'";
  }
  return "";
}

}  // namespace sassay::capture
