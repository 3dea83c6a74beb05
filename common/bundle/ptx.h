// The little of PTX that must be known before anything runs it: what it targets and which kernels it has. Text, not a
// parser; the emulator has the parser.
#ifndef SASSAY_COMMON_BUNDLE_PTX_H_
#define SASSAY_COMMON_BUNDLE_PTX_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sassay {

// The directives every PTX module begins with.
struct PtxHeader {
  uint32_t version_major = 0;  // .version 9.0
  uint32_t version_minor = 0;
  std::string target;         // .target sm_90a (texmode and debug options left out)
  uint32_t address_size = 0;  // .address_size 64
};

// INVALID_ARGUMENT if a directive is missing or malformed.
absl::StatusOr<PtxHeader> ParsePtxHeader(absl::string_view untrusted_ptx);

// Names of the `.entry` functions in order of appearance; comments are skipped.
std::vector<std::string> PtxEntries(absl::string_view untrusted_ptx);

// Strings (names of files, pragmas) travel through ptxas into what other tools print line by line. INVALID_ARGUMENT
// with the place if one holds a control character, a line break for instance, a backslash before its closing quote,
// where readers disagree whether it ends, or does not end at all.
absl::Status CheckPtxStrings(absl::string_view untrusted_ptx);

}  // namespace sassay

#endif  // SASSAY_COMMON_BUNDLE_PTX_H_
