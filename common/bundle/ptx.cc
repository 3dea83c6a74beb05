#include "common/bundle/ptx.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "common/bundle/ptx_words.h"

namespace sassay {
namespace {

bool IsControl(char c) { return absl::ascii_iscntrl(static_cast<unsigned char>(c)); }

absl::Status CheckString(absl::string_view word) {
  const bool closed = word.size() >= 2 && word.back() == '"';
  const bool plain = closed && word[word.size() - 2] != '\\' && std::none_of(word.begin(), word.end(), IsControl);
  if (plain) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a string that is not one line of printable text: ", absl::CHexEscape(word.substr(0, 80)),
                   "; expected one without control characters that ends with a quote and no backslash before it"));
}

absl::Status Missing(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("malformed PTX: expected ", what, " at the beginning of the module"));
}

}  // namespace

absl::StatusOr<PtxHeader> ParsePtxHeader(absl::string_view untrusted_ptx) {
  PtxWords words(untrusted_ptx);
  PtxHeader header;
  if (words.Next() != ".version") return Missing(".version");
  const std::pair<absl::string_view, absl::string_view> version = absl::StrSplit(words.Next(), absl::MaxSplits('.', 1));
  if (!absl::SimpleAtoi(version.first, &header.version_major) ||
      !absl::SimpleAtoi(version.second, &header.version_minor)) {
    return Missing("a number after .version");
  }
  if (words.Next() != ".target") return Missing(".target after .version");
  header.target = std::string(words.Next());
  absl::string_view word = words.Next();
  while (word == ",") {
    words.Next();
    word = words.Next();
  }
  if (word != ".address_size") return Missing(".address_size after .target");
  if (!absl::SimpleAtoi(words.Next(), &header.address_size)) return Missing("a number after .address_size");
  return header;
}

std::vector<std::string> PtxEntries(absl::string_view untrusted_ptx) {
  std::vector<std::string> entries;
  PtxWords words(untrusted_ptx);
  for (absl::string_view word = words.Next(); !word.empty(); word = words.Next()) {
    if (word == ".entry") entries.emplace_back(words.Next());
  }
  return entries;
}

absl::Status CheckPtxStrings(absl::string_view untrusted_ptx) {
  PtxWords words(untrusted_ptx);
  for (absl::string_view word = words.Next(); !word.empty(); word = words.Next()) {
    if (word[0] == '"') RETURN_IF_ERROR(CheckString(word));
  }
  return absl::OkStatus();
}

}  // namespace sassay
