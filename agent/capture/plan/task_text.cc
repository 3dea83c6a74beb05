#include "agent/capture/plan/task_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "agent/capture/runtime/memory.h"
#include "common/base/status_macros.h"
#include "common/workload/definition.h"

namespace sassay::capture {
namespace {

namespace v1 = sassay::v1;

// DLDataTypeCode of dlpack.h.
int DlpackCode(v1::DType dtype) {
  switch (dtype) {
    case v1::DTYPE_BFLOAT16:
      return 4;
    case v1::DTYPE_FLOAT8_E4M3FN:
      return 10;
    case v1::DTYPE_FLOAT8_E5M2:
      return 12;
    case v1::DTYPE_UINT8:
      return 1;
    case v1::DTYPE_BOOL:
      return 6;
    default:
      return IsFloatingPoint(dtype) ? 2 : 0;
  }
}

absl::Status AppendTensor(const v1::TensorSpec& tensor, std::string& text) {
  ASSIGN_OR_RETURN(const uint64_t bytes, TensorBytes(tensor));
  if (bytes >> kOffsetBits != 0) {
    return absl::InvalidArgumentError(absl::StrCat("tensor ", tensor.name(), " has ", bytes,
                                                   " bytes; capture takes tensors of less than ",
                                                   uint64_t{1} << (kOffsetBits - 30), " GiB"));
  }
  absl::StrAppend(&text, "tensor ", bytes, " ", DlpackCode(tensor.dtype()), " ", ElementBytes(tensor.dtype()) * 8, " ",
                  tensor.shape_size());
  for (int64_t extent : tensor.shape()) absl::StrAppend(&text, " ", extent);
  absl::StrAppend(&text, "\n");
  return absl::OkStatus();
}

absl::Status AppendScalar(const v1::Workload& workload, const v1::TensorSpec& scalar, std::string& text) {
  const bool passed = !IsFloatingPoint(scalar.dtype()) || ElementBytes(scalar.dtype()) >= 4;
  if (!passed) {
    return absl::InvalidArgumentError(
        absl::StrCat("scalar ", scalar.name(), " of ", workload.name(), " is ", v1::DType_Name(scalar.dtype()),
                     ", which run() cannot be given by value: a scalar is float32, float64, an integer or bool"));
  }
  ASSIGN_OR_RETURN(const double value, ScalarValue(workload, scalar));
  if (!IsFloatingPoint(scalar.dtype())) {
    absl::StrAppend(&text, "integer ", static_cast<int64_t>(value), "\n");
  } else {
    const absl::string_view type = scalar.dtype() == v1::DTYPE_FLOAT64 ? "float64" : "float32";
    absl::StrAppend(&text, type, absl::StrFormat(" %.17g\n", value));
  }
  return absl::OkStatus();
}

template <typename Tensors>
absl::Status AppendArguments(const v1::Workload& workload, const Tensors& tensors, std::string& text) {
  for (const v1::TensorSpec& tensor : tensors) {
    if (tensor.scalar()) {
      RETURN_IF_ERROR(AppendScalar(workload, tensor, text));
    } else {
      RETURN_IF_ERROR(AppendTensor(tensor, text));
    }
  }
  return absl::OkStatus();
}

void AppendKernel(const CubinKernel& kernel, std::string& text) {
  const v1::Dim3 cluster = kernel.required_cluster.value_or(v1::Dim3());
  absl::StrAppend(&text, "kernel ", kernel.symbol, " ", kernel.registers, " ", kernel.static_shared_bytes, " ",
                  kernel.max_threads_per_block == 0 ? 1024 : kernel.max_threads_per_block, " ", kernel.stack_bytes,
                  " ");
  absl::StrAppend(&text, cluster.x(), " ", cluster.y(), " ", cluster.z(), " ", kernel.blocks_are_clusters ? 1 : 0, " ",
                  kernel.parameters.size());
  for (const KernelParameter& parameter : kernel.parameters) {
    absl::StrAppend(&text, " ", parameter.size_bytes, " ", parameter.offset_bytes);
  }
  absl::StrAppend(&text, "\n");
}

void AppendDevice(const DeviceModel& device, std::string& text) {
  absl::StrAppend(&text, "model ", device.name, "\nmemory ", device.memory_bytes, "\n");
  for (int count : device.gpc_multiprocessors) absl::StrAppend(&text, "gpc ", count, "\n");
  for (const auto& [number, value] : device.attributes) absl::StrAppend(&text, "attribute ", number, " ", value, "\n");
}

}  // namespace

uint32_t ElementBytes(v1::DType dtype) {
  switch (dtype) {
    case v1::DTYPE_FLOAT64:
    case v1::DTYPE_INT64:
      return 8;
    case v1::DTYPE_FLOAT32:
    case v1::DTYPE_INT32:
      return 4;
    case v1::DTYPE_FLOAT16:
    case v1::DTYPE_BFLOAT16:
    case v1::DTYPE_INT16:
      return 2;
    case v1::DTYPE_FLOAT8_E4M3FN:
    case v1::DTYPE_FLOAT8_E5M2:
    case v1::DTYPE_INT8:
    case v1::DTYPE_UINT8:
    case v1::DTYPE_BOOL:
      return 1;
    default:
      return 0;
  }
}

bool IsFloatingPoint(v1::DType dtype) { return dtype >= v1::DTYPE_FLOAT64 && dtype <= v1::DTYPE_FLOAT8_E5M2; }

absl::StatusOr<uint64_t> TensorBytes(const v1::TensorSpec& tensor) {
  uint64_t bytes = ElementBytes(tensor.dtype());
  for (int64_t extent : tensor.shape()) {
    if (extent < 0 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(extent), &bytes)) bytes = 0;
  }
  if (bytes == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("tensor ", tensor.name(), " has an unknown type, or a shape without a size"));
  }
  return bytes;
}

absl::StatusOr<std::string> WriteTask(const v1::Workload& workload, const Cubin& cubin, const DeviceModel& device,
                                      v1::EntryAbi abi, const std::string& entry, int calls, const TaskPaths& paths) {
  std::string text = absl::StrCat("library ", paths.candidate, "\nentry ", entry, "\ncalls ", calls, "\n");
  if (!paths.tvm_ffi_library.empty()) absl::StrAppend(&text, "tvm_ffi_library ", paths.tvm_ffi_library, "\n");
  if (abi == v1::ENTRY_ABI_UNSPECIFIED) {
    absl::StrAppend(&text, "abi auto\n");
  } else {
    absl::StrAppend(&text, "tvm_ffi ", abi == v1::ENTRY_ABI_TVM_FFI ? 1 : 0, "\n");
  }
  AppendDevice(device, text);
  for (const CubinKernel& kernel : cubin.kernels()) AppendKernel(kernel, text);
  for (const CubinVariable& variable : cubin.variables()) {
    absl::StrAppend(&text, "symbol ", variable.name, " ", variable.size_bytes, "\n");
  }
  RETURN_IF_ERROR(AppendArguments(workload, workload.inputs(), text));
  RETURN_IF_ERROR(AppendArguments(workload, workload.outputs(), text));
  for (const std::string& axis : workload.variable_axes()) {
    const auto value = workload.axes().find(axis);
    if (value == workload.axes().end())
      return absl::InvalidArgumentError(absl::StrCat("workload: axis ", axis, " has no value"));
    absl::StrAppend(&text, "axis ", value->second, "\n");
  }
  return text;
}

}  // namespace sassay::capture
