#include "profiler_service/admission/vendor_kernels.h"

#include <algorithm>
#include <map>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/files.h"
#include "common/base/sha256.h"
#include "common/base/status_macros.h"
#include "profiler_service/admission/code_digest.h"

namespace sassay::admission {
namespace {

constexpr absl::string_view kFirstLine = "sassay vendor kernels 1";
constexpr size_t kDigestDigits = 32;
// Of a list's lines; names of templates run to kilobytes.
constexpr size_t kLongestName = 120;
constexpr uint64_t kLargestList = 64 << 20;

// How vendor libraries call what nobody else compiles: kernels of generators that are not published.
constexpr std::pair<absl::string_view, absl::string_view> kNames[] = {
    {"nvjet_", "cuBLAS"},
    {"sm80_xmma_", "cuBLAS or cuDNN"},
    {"sm86_xmma_", "cuBLAS or cuDNN"},
    {"sm89_xmma_", "cuBLAS or cuDNN"},
    {"sm90_xmma_", "cuBLAS or cuDNN"},
    {"sm100_xmma_", "cuBLAS or cuDNN"},
    {"cudnn_generated_", "cuDNN"},
    {"_ZN8cublasLt", "cuBLAS"},
    {"_ZN5cudnn", "cuDNN"},
};

absl::Status BadLine(size_t number, absl::string_view line, absl::string_view expected) {
  return absl::InvalidArgumentError(
      absl::StrCat("line ", number, ": expected ", expected, ", got \"", line.substr(0, 80), "\""));
}

// By digest, so that a list has one spelling; the first name in the order of names stays.
void Collect(absl::string_view kind, const std::vector<CodeDigest>& digests,
             std::map<std::string, std::string>& lines) {
  for (const CodeDigest& code : digests) {
    if (code.instructions < kFewestVendorInstructions) continue;
    std::string& name = lines[absl::StrCat(kind, " ", code.digest)];
    const std::string shortened = code.symbol.substr(0, kLongestName);
    if (name.empty() || shortened < name) name = shortened;
  }
}

}  // namespace

absl::string_view VendorOfName(absl::string_view symbol) {
  for (const auto& [prefix, library] : kNames) {
    if (absl::StartsWith(symbol, prefix)) return library;
  }
  return "";
}

absl::Status VendorKernels::Add(absl::string_view list) {
  const std::vector<absl::string_view> lines = absl::StrSplit(list, '\n');
  if (lines.front() != kFirstLine) return BadLine(1, lines.front(), kFirstLine);
  for (size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].empty()) continue;
    const std::vector<absl::string_view> words = absl::StrSplit(lines[i], ' ');
    if (words.size() == 3 && words[0] == "library") {
      VendorList& added = lists_.emplace_back();
      added.library = std::string(words[1]);
      if (!absl::SimpleAtoi(words[2], &added.bytes)) return BadLine(i + 1, lines[i], "the library's size in bytes");
      continue;
    }
    const bool function = words.size() == 3 && (words[0] == "sass" || words[0] == "ptx");
    if (!function || words[1].size() != kDigestDigits || lists_.empty()) {
      return BadLine(i + 1, lines[i], "\"library NAME BYTES\", then \"sass|ptx DIGEST NAME\"");
    }
    functions_.try_emplace(std::string(words[1]),
                           Known{static_cast<uint32_t>(lists_.size() - 1), std::string(words[2])});
    ++lists_.back().functions;
  }
  digest_ = Sha256Hex(absl::StrCat(digest_, list));
  return absl::OkStatus();
}

absl::Status VendorKernels::AddFolder(const std::filesystem::path& folder) {
  std::error_code error;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".list") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const std::filesystem::path& file : files) {
    ASSIGN_OR_RETURN(const std::string list, ReadFile(file, kLargestList));
    const absl::Status added = Add(list);
    if (!added.ok()) return absl::Status(added.code(), absl::StrCat(file.string(), ": ", added.message()));
  }
  return absl::OkStatus();
}

absl::optional<Rejection> VendorKernels::Match(absl::string_view field, const std::string& symbol,
                                               const std::string& digest, uint64_t instructions) const {
  Rejection rejection;
  rejection.code = sassay::v1::VERDICT_CODE_VENDOR_KERNEL;
  rejection.field = std::string(field);
  const auto known = functions_.find(digest);
  if (instructions >= kFewestVendorInstructions && known != functions_.end()) {
    rejection.reason = absl::StrCat("kernel ", symbol, " is ", known->second.name, " of ",
                                    lists_[known->second.list].library, "; submit a kernel of your own");
    return rejection;
  }
  const absl::string_view vendor = VendorOfName(symbol);
  if (vendor.empty()) return absl::nullopt;
  rejection.reason = absl::StrCat("kernel ", symbol, " has a name of ", vendor,
                                  "'s kernels; submit a kernel of your own, and under a name of its own");
  return rejection;
}

absl::optional<Rejection> VendorKernels::Find(const sassay::v1::Bundle& bundle) const {
  const auto machine = MachineCodeDigests(bundle.cubin());
  if (machine.ok()) {
    for (const CodeDigest& code : *machine) {
      if (auto rejection = Match("cubin", code.symbol, code.digest, code.instructions)) return rejection;
    }
  }
  for (const CodeDigest& code : PtxCodeDigests(bundle.ptx())) {
    if (auto rejection = Match("ptx", code.symbol, code.digest, code.instructions)) return rejection;
  }
  return absl::nullopt;
}

std::string MakeVendorList(const VendorList& library, absl::Span<const std::string> cubins,
                           absl::Span<const std::string> ptx) {
  std::map<std::string, std::string> lines;
  for (const std::string& cubin : cubins) {
    if (const auto digests = MachineCodeDigests(cubin); digests.ok()) Collect("sass", *digests, lines);
  }
  for (const std::string& text : ptx) Collect("ptx", PtxCodeDigests(text), lines);
  std::string list = absl::StrCat(kFirstLine, "\nlibrary ", library.library, " ", library.bytes, "\n");
  for (const auto& [what, name] : lines) absl::StrAppend(&list, what, " ", name, "\n");
  return list;
}

}  // namespace sassay::admission
