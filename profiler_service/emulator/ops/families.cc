#include "profiler_service/emulator/ops/families.h"

#include "profiler_service/emulator/exec/decoder.h"

namespace sassay::emulator {
namespace {

absl::Status DecodeArithmetic(Decoder& decoder) {
  for (const Type type : decoder.types()) {
    switch (type) {
      case Type::kF32:
      case Type::kF64:
        return DecodeFloatArithmetic(decoder);
      case Type::kF16:
      case Type::kF16x2:
      case Type::kBf16:
      case Type::kBf16x2:
        return DecodeHalfArithmetic(decoder);
      default:
        break;
    }
  }
  return DecodeIntegerArithmetic(decoder);
}

OpTable MakeTable() {
  OpTable table;
  for (const char* root : {"add", "sub", "mul", "mad", "fma", "neg", "abs", "min", "max", "div"}) {
    table.Add(root, DecodeArithmetic);
  }
  RegisterAsyncCopy(table);
  RegisterAtomics(table);
  RegisterBits(table);
  RegisterCluster(table);
  RegisterCompare(table);
  RegisterControl(table);
  RegisterConvert(table);
  RegisterFloat(table);
  RegisterInteger(table);
  RegisterLoadStore(table);
  RegisterMatrix(table);
  RegisterMbarrier(table);
  RegisterMove(table);
  RegisterPoolOfRegisters(table);
  RegisterSynchronize(table);
  RegisterTcgen05(table);
  RegisterTensorMap(table);
  RegisterTranscendental(table);
  RegisterWarpWide(table);
  RegisterWgmma(table);
  RegisterWmma(table);
  return table;
}

}  // namespace

const OpTable& StandardOperations() {
  static const OpTable* const kTable = new OpTable(MakeTable());
  return *kTable;
}

}  // namespace sassay::emulator
