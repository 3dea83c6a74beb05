#include "common/sass/families.h"

#include <array>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace sassay {
namespace {

constexpr double kWarpsPerWarpgroup = 4;

struct Shape {
  double m = 0, n = 0, k = 0;
  double Operations() const { return 2 * m * n * k; }
};

struct NamedShape {
  absl::string_view name;
  Shape shape;
};

// mma.sync shapes as SASS spells them: HMMA.16816 is 16 x 8 x 16.
constexpr std::array<NamedShape, 11> kWarpShapes = {{{"16816", {16, 8, 16}},
                                                     {"1688", {16, 8, 8}},
                                                     {"1684", {16, 8, 4}},
                                                     {"16832", {16, 8, 32}},
                                                     {"16864", {16, 8, 64}},
                                                     {"168128", {16, 8, 128}},
                                                     {"168256", {16, 8, 256}},
                                                     {"884", {8, 8, 4}},
                                                     {"8816", {8, 8, 16}},
                                                     {"8832", {8, 8, 32}},
                                                     {"88128", {8, 8, 128}}}};

constexpr absl::string_view kWarpFamilies[] = {"HMMA", "IMMA", "DMMA", "BMMA", "QMMA", "OMMA"};

absl::string_view Base(absl::string_view opcode) { return opcode.substr(0, opcode.find('.')); }

bool IsWarpFamily(absl::string_view family) {
  for (absl::string_view known : kWarpFamilies) {
    if (family == known) return true;
  }
  return false;
}

bool HasModifier(absl::string_view opcode, absl::string_view modifier) {
  for (absl::string_view part : absl::StrSplit(opcode, '.')) {
    if (part == modifier) return true;
  }
  return false;
}

// "64x128x16" or "16816".
std::optional<Shape> SassShape(absl::string_view modifier) {
  for (const auto& known : kWarpShapes) {
    if (modifier == known.name) return known.shape;
  }
  std::vector<absl::string_view> parts = absl::StrSplit(modifier, 'x');
  Shape shape;
  if (parts.size() == 3 && absl::SimpleAtod(parts[0], &shape.m) && absl::SimpleAtod(parts[1], &shape.n) &&
      absl::SimpleAtod(parts[2], &shape.k)) {
    return shape;
  }
  return std::nullopt;
}

// "m64n128k16".
std::optional<Shape> PtxShape(absl::string_view modifier) {
  Shape shape;
  size_t n = modifier.find('n'), k = modifier.find('k');
  if (!absl::StartsWith(modifier, "m") || n == absl::string_view::npos || k == absl::string_view::npos || k < n) {
    return std::nullopt;
  }
  if (absl::SimpleAtod(modifier.substr(1, n - 1), &shape.m) &&
      absl::SimpleAtod(modifier.substr(n + 1, k - n - 1), &shape.n) &&
      absl::SimpleAtod(modifier.substr(k + 1), &shape.k)) {
    return shape;
  }
  return std::nullopt;
}

template <typename Parse>
std::optional<double> FirstShape(absl::string_view opcode, Parse parse) {
  for (absl::string_view part : absl::StrSplit(opcode, '.')) {
    if (std::optional<Shape> shape = parse(part)) return shape->Operations();
  }
  return std::nullopt;
}

// mma.sync and wmma.mma: the type of the factors decides.
std::string WarpMultiplyFamily(absl::string_view ptx_opcode) {
  if (HasModifier(ptx_opcode, "f64")) return "DMMA";
  if (HasModifier(ptx_opcode, "b1")) return "BMMA";
  for (absl::string_view integer : {"s8", "u8", "s4", "u4"}) {
    if (HasModifier(ptx_opcode, integer)) return "IMMA";
  }
  return "HMMA";
}

std::string Tcgen05Family(absl::string_view operation) {
  if (operation == "ld" || operation == "st") return "TMEM";
  for (absl::string_view idle : {"wait", "fence", "relinquish_alloc_permit"}) {
    if (absl::StartsWith(operation, idle)) return "";
  }
  return "TCGEN";
}

}  // namespace

std::string SassFamily(absl::string_view opcode) {
  absl::string_view base = Base(opcode);
  if (absl::StrContains(base, "GMMA")) return "GMMA";
  if (base == "UTMALDG" || base == "UTMASTG" || base == "UTMAREDG") return "TMA";
  if (absl::StartsWith(base, "UTC")) return "TCGEN";
  if (base == "LDTM" || base == "STTM") return "TMEM";
  return IsWarpFamily(base) ? std::string(base) : "";
}

bool IsHopperFamily(absl::string_view sass_family) { return sass_family == "GMMA" || sass_family == "TMA"; }

bool IsBlackwellFamily(absl::string_view sass_family) { return sass_family == "TCGEN" || sass_family == "TMEM"; }

char FamilyOfArch(absl::string_view arch) {
  if (absl::StartsWith(arch, "sm_90")) return 'H';
  return absl::StartsWith(arch, "sm_10") || absl::StartsWith(arch, "sm_11") ? 'B' : '\0';
}

bool InFamily(absl::string_view sass_family, char letter) {
  return (letter == 'H' && IsHopperFamily(sass_family)) || (letter == 'B' && IsBlackwellFamily(sass_family));
}

std::string PtxFamily(absl::string_view ptx_opcode) {
  if (absl::StartsWith(ptx_opcode, "wgmma.mma_async")) return "GMMA";
  if (absl::StartsWith(ptx_opcode, "cp.async.bulk.tensor") ||
      absl::StartsWith(ptx_opcode, "cp.reduce.async.bulk.tensor")) {
    return "TMA";
  }
  if (absl::StartsWith(ptx_opcode, "mma.sync") || absl::StartsWith(ptx_opcode, "mma.sp") ||
      absl::StartsWith(ptx_opcode, "wmma.mma")) {
    return WarpMultiplyFamily(ptx_opcode);
  }
  absl::string_view rest = ptx_opcode;
  if (absl::ConsumePrefix(&rest, "tcgen05.")) return Tcgen05Family(Base(rest));
  return "";
}

std::optional<double> SassFlopsPerWarp(absl::string_view opcode) {
  std::string family = SassFamily(opcode);
  if (HasModifier(opcode, "SP") || (family != "GMMA" && !IsWarpFamily(family))) return std::nullopt;
  std::optional<double> operations = FirstShape(opcode, SassShape);
  if (operations && family == "GMMA") *operations /= kWarpsPerWarpgroup;
  return operations;
}

std::optional<double> PtxFlopsPerWarp(absl::string_view ptx_opcode) {
  std::string family = PtxFamily(ptx_opcode);
  if (HasModifier(ptx_opcode, "sp") || (family != "GMMA" && !IsWarpFamily(family))) return std::nullopt;
  std::optional<double> operations = FirstShape(ptx_opcode, PtxShape);
  if (operations && family == "GMMA") *operations /= kWarpsPerWarpgroup;
  return operations;
}

}  // namespace sassay
