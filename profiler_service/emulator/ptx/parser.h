// PTX text to ptx::Module. The text is hostile: it comes with the bundle. Parsing is bounded in depth, in count of
// declarations and in register bytes; a text past a bound is refused by name, never half understood.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_PTX_PARSER_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_PTX_PARSER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "profiler_service/emulator/ptx/ir.h"

namespace sassay::emulator::ptx {

// Bounds on what one module may declare. They are far above what nvcc makes of the largest kernels seen (a CUTLASS GEMM
// has 40,000 instructions and 20,000 registers).
inline constexpr size_t kMaxTextBytes = size_t{64} << 20;
inline constexpr size_t kMaxRegistersPerFunction = size_t{1} << 18;
inline constexpr size_t kMaxRegisters = size_t{1} << 24;  // of all functions
inline constexpr size_t kMaxInstructions = size_t{1} << 22;
inline constexpr uint64_t kMaxVariableBytes = uint64_t{1} << 30;
inline constexpr int kMaxNesting = 64;

// INVALID_ARGUMENT names the line and what was expected: "PTX line 12: expected ';', found 'foo'".
absl::StatusOr<std::unique_ptr<Module>> Parse(std::string text);

}  // namespace sassay::emulator::ptx

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_PTX_PARSER_H_
