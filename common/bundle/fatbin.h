// The fat binary that nvcc puts into a host object: a list of images for several architectures, which the CUDA runtime
// is handed at start-up (`__cudaRegisterFatBinary`). The recording runtime takes the candidate's cubin out of it.
#ifndef SASSAY_COMMON_BUNDLE_FATBIN_H_
#define SASSAY_COMMON_BUNDLE_FATBIN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sassay {

// One image of a fat binary.
struct FatbinEntry {
  enum class Kind { kPtx, kElf };
  Kind kind = Kind::kElf;
  // 90 for sm_90 and sm_90a alike; a cubin itself says which (Cubin::arch).
  uint32_t sm = 0;
  // Uncompressed. PTX comes without its terminating NUL.
  std::string payload;
};

// How large a fat binary is, read from its own header (16 bytes at `header`), so that a caller who holds only a pointer
// can make a view. INVALID_ARGUMENT if it is no fat binary or claims more than `limit_bytes`.
absl::StatusOr<uint64_t> FatbinSize(absl::string_view header, uint64_t limit_bytes = uint64_t{1} << 30);

// Every PTX and ELF image, in file order; kinds we do not know are skipped. zstd payloads are unpacked; LZ4 (CUDA
// before 12.8) is refused with the flag that avoids it. INVALID_ARGUMENT for a length that does not fit,
// RESOURCE_EXHAUSTED if the images would unpack to more than `limit_bytes`.
absl::StatusOr<std::vector<FatbinEntry>> ParseFatbin(absl::string_view untrusted,
                                                     uint64_t limit_bytes = uint64_t{1} << 28);

}  // namespace sassay

#endif  // SASSAY_COMMON_BUNDLE_FATBIN_H_
