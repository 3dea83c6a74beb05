// What to type where user namespaces are denied.
#ifndef SASSAY_COMMON_SANDBOX_REMEDY_H_
#define SASSAY_COMMON_SANDBOX_REMEDY_H_

#include <filesystem>
#include <string>

namespace sassay::sandbox_internal {

// The command for the first of the kernel's switches (files of `proc_sys`, on the host /proc/sys) that stands in the
// way of bubblewrap at this path; what a container needs where none does. `root`: whether it runs as root, whom the
// switches of distributions let pass.
std::string RemedyFor(const std::filesystem::path& proc_sys, bool root, const std::string& bubblewrap);

}  // namespace sassay::sandbox_internal

#endif  // SASSAY_COMMON_SANDBOX_REMEDY_H_
