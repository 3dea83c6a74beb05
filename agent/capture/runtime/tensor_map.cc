#include "agent/capture/runtime/tensor_map.h"

#include <cuda.h>

#include <cstring>
#include <string>

#include "agent/capture/runtime/memory.h"
#include "agent/capture/runtime/session.h"

namespace capture = sassay::capture;
using capture::FindingCode;
using capture::Session;

namespace {

struct Encoding {
  CUtensorMapDataType type;
  uint32_t rank;
  uint64_t base;
  const cuuint64_t* dims;
  const cuuint64_t* strides;
  const cuuint32_t* box;
  const cuuint32_t* element_strides;
  CUtensorMapInterleave interleave;
  CUtensorMapSwizzle swizzle;
  CUtensorMapL2promotion promotion;
  CUtensorMapFloatOOBfill fill;
};

// The driver says only "invalid value"; each rule of cuTensorMapEncodeTiled's documentation names itself here.
[[noreturn]] void Refuse(const std::string& why) {
  Session::Get().Refuse(FindingCode::kTensorMapInvalid, "cuTensorMapEncodeTiled: " + why);
}

std::string N(uint64_t value) { return std::to_string(value); }

uint32_t ElementBytes(CUtensorMapDataType type) {
  switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_UINT8:
      return 1;
    case CU_TENSOR_MAP_DATA_TYPE_UINT16:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
      return 2;
    case CU_TENSOR_MAP_DATA_TYPE_UINT32:
    case CU_TENSOR_MAP_DATA_TYPE_INT32:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ:
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ:
      return 4;
    case CU_TENSOR_MAP_DATA_TYPE_UINT64:
    case CU_TENSOR_MAP_DATA_TYPE_INT64:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64:
      return 8;
    default:
      return 0;  // packed 4- and 6-bit types: their sizes are checked by the service's driver
  }
}

uint32_t SwizzleSpan(CUtensorMapSwizzle swizzle) {
  if (swizzle == CU_TENSOR_MAP_SWIZZLE_32B) return 32;
  if (swizzle == CU_TENSOR_MAP_SWIZZLE_64B) return 64;
  return swizzle == CU_TENSOR_MAP_SWIZZLE_NONE ? 0 : 128;
}

void CheckShape(const Encoding& e) {
  for (uint32_t i = 0; i < e.rank; ++i) {
    if (e.dims[i] == 0 || e.dims[i] > uint64_t{1} << 32)
      Refuse("globalDim[" + N(i) + "] is " + N(e.dims[i]) + "; 1 to 2^32");
    if (e.box[i] == 0 || e.box[i] > 256) Refuse("boxDim[" + N(i) + "] is " + N(e.box[i]) + "; 1 to 256 elements");
    if (e.element_strides[i] == 0 || e.element_strides[i] > 8) {
      Refuse("elementStrides[" + N(i) + "] is " + N(e.element_strides[i]) + "; 1 to 8");
    }
  }
}

void CheckStrides(const Encoding& e) {
  const uint64_t unit = e.interleave == CU_TENSOR_MAP_INTERLEAVE_32B ? 32 : 16;
  for (uint32_t i = 0; i + 1 < e.rank; ++i) {
    if (e.strides[i] % unit != 0 || e.strides[i] >= uint64_t{1} << 40) {
      Refuse("globalStrides[" + N(i) + "] is " + N(e.strides[i]) + " bytes; a multiple of " + N(unit) + " below 2^40");
    }
  }
  if (e.base % unit != 0) Refuse("globalAddress must be aligned to " + N(unit) + " bytes");
}

void CheckBox(const Encoding& e) {
  const uint64_t inner = uint64_t{e.box[0]} * ElementBytes(e.type);
  if (inner == 0) return;
  if (inner % 16 != 0) {
    Refuse("boxDim[0] spans " + N(inner) + " bytes; a multiple of 16 is required");
  }
  const uint32_t span = SwizzleSpan(e.swizzle);
  if (e.interleave == CU_TENSOR_MAP_INTERLEAVE_NONE && span != 0 && inner > span) {
    Refuse("boxDim[0] spans " + N(inner) + " bytes, more than the swizzle's " + N(span));
  }
}

void CheckExtent(const Encoding& e) {
  const capture::Region* region = capture::AddressSpace::Get().Find(e.base);
  if (region == nullptr || region->freed) Refuse("globalAddress is not inside a live device buffer of this call");
  // Along the first dimension of an interleaved layout there are slices of channels, not elements.
  const uint64_t step = e.interleave == CU_TENSOR_MAP_INTERLEAVE_NONE  ? ElementBytes(e.type)
                        : e.interleave == CU_TENSOR_MAP_INTERLEAVE_32B ? 32
                                                                       : 16;
  uint64_t last = e.dims[0] * step;
  for (uint32_t i = 1; i < e.rank; ++i) last += (e.dims[i] - 1) * e.strides[i - 1];
  const uint64_t room = region->size_bytes - (e.base - region->address);
  if (last <= room) return;
  Session::Get().Refuse(FindingCode::kPointerOutOfBuffer,
                        "cuTensorMapEncodeTiled: globalDim and globalStrides reach " + N(last) +
                            " bytes from globalAddress, where the buffer has " + N(room));
}

void Check(const Encoding& e) {
  if (e.rank < 1 || e.rank > 5) Refuse("tensorRank is " + N(e.rank) + "; 1 to 5");
  if (e.interleave != CU_TENSOR_MAP_INTERLEAVE_NONE && e.rank < 3) Refuse("interleaved layouts need tensorRank >= 3");
  if (e.dims == nullptr || e.box == nullptr || e.element_strides == nullptr || (e.rank > 1 && e.strides == nullptr)) {
    Refuse("a null pointer was given for the dimensions");
  }
  CheckShape(e);
  CheckStrides(e);
  CheckBox(e);
  CheckExtent(e);
}

void Emit(const Encoding& e, uint32_t index) {
  capture::WireWriter map;
  map.Varint(1, index);
  map.Varint(2, e.type);
  map.Fixed64(3, e.base);
  for (uint32_t i = 0; i < e.rank; ++i) map.RepeatedVarint(4, e.dims[i]);
  for (uint32_t i = 0; i + 1 < e.rank; ++i) map.RepeatedVarint(5, e.strides[i]);
  for (uint32_t i = 0; i < e.rank; ++i) map.RepeatedVarint(6, e.box[i]);
  for (uint32_t i = 0; i < e.rank; ++i) map.RepeatedVarint(7, e.element_strides[i]);
  map.Varint(8, e.interleave);
  map.Varint(9, e.swizzle);
  map.Varint(10, e.promotion);
  map.Varint(11, e.fill);
  Session::Get().Emit(capture::kTensorMap, map);
}

uint32_t next_index = 0;

CUresult Encode(const Encoding& encoding, CUtensorMap* out) {
  if (reinterpret_cast<uint64_t>(out) % 64 != 0) Refuse("the CUtensorMap must be aligned to 64 bytes");
  Check(encoding);
  const uint32_t index = next_index++;
  Emit(encoding, index);
  capture::TensorMapToken token;
  std::memcpy(token.magic, capture::kTensorMapMagic, sizeof token.magic);
  token.index = index;
  std::memset(token.filler, capture::kTensorMapFiller, sizeof token.filler);
  std::memcpy(out, &token, sizeof token);
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" CUresult cuTensorMapEncodeTiled(CUtensorMap* out, CUtensorMapDataType type, cuuint32_t rank, void* base,
                                           const cuuint64_t* dims, const cuuint64_t* strides, const cuuint32_t* box,
                                           const cuuint32_t* element_strides, CUtensorMapInterleave interleave,
                                           CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                           CUtensorMapFloatOOBfill fill) {
  capture::ApiScope scope("cuTensorMapEncodeTiled");
  return Encode({type, rank, reinterpret_cast<uint64_t>(base), dims, strides, box, element_strides, interleave, swizzle,
                 promotion, fill},
                out);
}
