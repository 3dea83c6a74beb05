#include "agent/capture/host/entry.h"

#include <dlfcn.h>
#include <ffi.h>

#include <cstring>
#include <string>

#include "agent/capture/runtime/streams.h"

namespace sassay::capture {
namespace {

// One argument's bytes, as libffi wants them.
union Slot {
  uint64_t pointer;
  int64_t integer;
  float float32;
  double float64;
};

ffi_type* TypeOf(const Argument& argument) {
  switch (argument.kind) {
    case Argument::Kind::kTensor:
      return &ffi_type_pointer;
    case Argument::Kind::kInteger:
      return &ffi_type_sint64;
    case Argument::Kind::kFloat32:
      return &ffi_type_float;
    case Argument::Kind::kFloat64:
      return &ffi_type_double;
  }
  return &ffi_type_pointer;
}

Slot ValueOf(const Argument& argument, const std::vector<uint64_t>& tensors, size_t& next_tensor) {
  Slot slot{};
  switch (argument.kind) {
    case Argument::Kind::kTensor:
      slot.pointer = tensors[next_tensor++];
      break;
    case Argument::Kind::kInteger:
      slot.integer = argument.integer;
      break;
    case Argument::Kind::kFloat32:
      slot.float32 = static_cast<float>(argument.real);
      break;
    case Argument::Kind::kFloat64:
      slot.float64 = argument.real;
      break;
  }
  return slot;
}

// --- tvm-ffi's stable C ABI (tvm/ffi/c_api.h and dlpack.h of the apache-tvm-ffi wheel), as far as a caller needs it
// ---

struct DlDataType {
  uint8_t code, bits;
  uint16_t lanes;
};

struct DlTensor {
  void* data;
  int32_t device_type, device_id;
  int32_t rank;
  DlDataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
};

struct FfiAny {
  int32_t type_index;
  uint32_t padding;
  union {
    int64_t integer;
    double real;
    void* pointer;
  };
};

struct FfiBytes {
  const char* data;
  size_t size;
};

struct FfiError {
  char object_header[24];
  FfiBytes kind, message;
};

constexpr int32_t kDlCuda = 2;
constexpr int32_t kFfiInt = 1, kFfiFloat = 3, kFfiDlTensorPtr = 7;

using FfiFunction = int (*)(void* self, const FfiAny* arguments, int32_t count, FfiAny* result);

struct FfiTensor {
  DlTensor tensor;
  std::vector<int64_t> shape, strides;
};

void FillTensor(const Argument& argument, uint64_t address, FfiTensor& out) {
  out.shape = argument.shape;
  out.strides.assign(out.shape.size(), 1);
  for (size_t i = out.shape.size(); i-- > 1;) out.strides[i - 1] = out.strides[i] * out.shape[i];
  out.tensor = {reinterpret_cast<void*>(address),
                kDlCuda,
                0,
                static_cast<int32_t>(out.shape.size()),
                {argument.dlpack_code, argument.dlpack_bits, 1},
                out.shape.data(),
                out.strides.data(),
                0};
}

FfiAny AnyOf(const Argument& argument, FfiTensor& tensor) {
  FfiAny any{};
  switch (argument.kind) {
    case Argument::Kind::kTensor:
      any.type_index = kFfiDlTensorPtr;
      any.pointer = &tensor.tensor;
      break;
    case Argument::Kind::kInteger:
      any.type_index = kFfiInt;
      any.integer = argument.integer;
      break;
    default:
      any.type_index = kFfiFloat;
      any.real = argument.real;
  }
  return any;
}

void* FfiSymbol(const char* name) {
  void* function = dlsym(RTLD_DEFAULT, name);
  if (function == nullptr) {
    Session::Get().Refuse(FindingCode::kEntrySignature,
                          std::string("the candidate is a tvm-ffi module, and libtvm_ffi.so (") + name +
                              ") is not there: install the apache-tvm-ffi wheel");
  }
  return function;
}

void SetStream() {
  using SetStreamFunction = int (*)(int32_t, int32_t, void*, void**);
  void* previous = nullptr;
  reinterpret_cast<SetStreamFunction>(FfiSymbol("TVMFFIEnvSetStream"))(kDlCuda, 0, HandedStream(), &previous);
}

[[noreturn]] void RefuseRaisedError() {
  void* object = nullptr;
  reinterpret_cast<void (*)(void**)>(FfiSymbol("TVMFFIErrorMoveFromRaised"))(&object);
  if (object == nullptr) Session::Get().Refuse(FindingCode::kHostCrash, "run() returned an error without a message");
  const auto* error = static_cast<const FfiError*>(object);
  const std::string kind(error->kind.data, error->kind.size);
  const std::string message(error->message.data, error->message.size);
  const bool signature =
      message.find("Mismatched") == 0 || (kind == "TypeError" && message.find("calling") != std::string::npos);
  Session::Get().Refuse(signature ? FindingCode::kEntrySignature : FindingCode::kHostCrash,
                        "run() raised " + kind + ": " + message);
}

}  // namespace

void CallC(void* function, const std::vector<Argument>& arguments, const std::vector<uint64_t>& tensors) {
  std::vector<ffi_type*> types;
  std::vector<Slot> slots;
  size_t next_tensor = 0;
  for (const Argument& argument : arguments) {
    types.push_back(TypeOf(argument));
    slots.push_back(ValueOf(argument, tensors, next_tensor));
  }
  types.push_back(&ffi_type_pointer);
  slots.emplace_back().pointer = reinterpret_cast<uint64_t>(HandedStream());
  std::vector<void*> values;
  for (Slot& slot : slots) values.push_back(&slot);
  ffi_cif call;
  ffi_prep_cif(&call, FFI_DEFAULT_ABI, static_cast<unsigned>(types.size()), &ffi_type_void, types.data());
  ffi_arg ignored = 0;
  PaintStackBelow(512 << 10);
  ffi_call(&call, FFI_FN(function), &ignored, values.data());
}

void CallTvmFfi(void* function, const std::vector<Argument>& arguments, const std::vector<uint64_t>& tensors) {
  std::vector<FfiTensor> views(arguments.size());
  std::vector<FfiAny> values;
  size_t next_tensor = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].axis) continue;
    if (arguments[i].kind == Argument::Kind::kTensor) FillTensor(arguments[i], tensors[next_tensor++], views[i]);
    values.push_back(AnyOf(arguments[i], views[i]));
  }
  SetStream();
  FfiAny result{};
  PaintStackBelow(512 << 10);
  const int code =
      reinterpret_cast<FfiFunction>(function)(nullptr, values.data(), static_cast<int32_t>(values.size()), &result);
  if (code != 0) RefuseRaisedError();
}

}  // namespace sassay::capture
