// Kernels of vendor libraries, which are nobody's own work. What they are is data: lists that the program
// vendor-kernels makes of the libraries of a machine (digests of their SASS and PTX), and the names that such libraries
// give.
//
// Provenance (provenance.h) already keeps a vendor's SASS from being scored, because no PTX gives it. The lists refuse
// it at once, with the library's name; and they know a vendor's PTX, which provenance cannot tell from a candidate's
// own. docs/decisions/0009 says what is covered and what is not.
#ifndef SASSAY_PROFILER_SERVICE_ADMISSION_VENDOR_KERNELS_H_
#define SASSAY_PROFILER_SERVICE_ADMISSION_VENDOR_KERNELS_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "profiler_service/admission/admission.h"
#include "sassay/v1/bundle.pb.h"

namespace sassay::admission {

// Functions of fewer instructions than this are in no list: two people may well write the same forty.
inline constexpr uint64_t kFewestVendorInstructions = 96;

// What one list covers.
struct VendorList {
  // "libcublasLt.so.13", as its file is called.
  std::string library;
  // Of the file, to tell whether a library of this machine is the listed one.
  uint64_t bytes = 0;
  uint64_t functions = 0;
};

// Life cycle: filled by Add or AddFolder, then constant. Threads: const methods from any thread.
class VendorKernels {
 public:
  // Adds a list:
  //   sassay vendor kernels 1
  //   library libcublasLt.so.13 541595600
  //   sass 0123456789abcdef0123456789abcdef _Z4gemmPf
  //   ptx  …
  // INVALID_ARGUMENT names the line.
  absl::Status Add(absl::string_view list);
  // Adds every *.list of the folder; one that does not exist holds none. Failures as Add's, with the file.
  absl::Status AddFolder(const std::filesystem::path& folder);

  const std::vector<VendorList>& lists() const { return lists_; }
  uint64_t functions() const { return functions_.size(); }
  // Of everything that was added, in its order, in hex.
  const std::string& digest() const { return digest_; }

  // VENDOR_KERNEL for the first kernel of the bundle that is a vendor's; nothing otherwise. For an admitted bundle:
  // what is no ELF has no kernels.
  absl::optional<Rejection> Find(const sassay::v1::Bundle& bundle) const;

 private:
  struct Known {
    uint32_t list = 0;
    std::string name;
  };
  absl::optional<Rejection> Match(absl::string_view field, const std::string& symbol, const std::string& digest,
                                  uint64_t instructions) const;

  std::string digest_;
  std::vector<VendorList> lists_;
  absl::flat_hash_map<std::string, Known> functions_;  // by digest
};

// The library that gives its kernels names like this one ("cuBLAS" for "nvjet_sm90_…"); empty if none does.
absl::string_view VendorOfName(absl::string_view symbol);

// The list of one library out of what cuobjdump extracted of it: cubins and PTX files.
std::string MakeVendorList(const VendorList& library, absl::Span<const std::string> cubins,
                           absl::Span<const std::string> ptx);

}  // namespace sassay::admission

#endif  // SASSAY_PROFILER_SERVICE_ADMISSION_VENDOR_KERNELS_H_
