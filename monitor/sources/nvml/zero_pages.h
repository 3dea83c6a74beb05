// Memory that a library has filled with zeros and does not need to keep.
//
// Why: nvmlInit of driver 580 writes zeros over tables for hundreds of devices in libnvidia-ml's zero-initialised data.
// The kernel must keep each of these pages from then on, 13.5 MB in all, although they hold what an untouched page
// holds.
//
// Why it is safe: private anonymous memory without a page reads as zeros, and has a page of its own again as soon as
// somebody writes. So for a page of zeros nothing changes that the program could see. A write between the look at a
// page and its return would be lost with MADV_DONTNEED, and NVML has a thread of its own. So pages are first moved
// elsewhere, which is atomic, and looked at again there: what was written meanwhile is brought back. That leaves a
// moment in which such a byte reads as zero; who calls sees to it that no thread of his is in the library.
// Memory that is shared, of a file, or none of the library's data is left alone.
#ifndef SASSAY_MONITOR_SOURCES_NVML_ZERO_PAGES_H_
#define SASSAY_MONITOR_SOURCES_NVML_ZERO_PAGES_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace sassay::monitor::nvml {

// Gives back the pages of zeros in the zero-initialised data of every loaded library whose file name begins with
// `library`. Returns the bytes; 0 where there is nothing, or the kernel cannot (before Linux 5.7).
size_t GiveBackZeroPages(absl::string_view library);

// The same for addresses in [begin, end), as far as they are private anonymous memory.
size_t GiveBackZeroPages(uintptr_t begin, uintptr_t end);

}  // namespace sassay::monitor::nvml

#endif  // SASSAY_MONITOR_SOURCES_NVML_ZERO_PAGES_H_
