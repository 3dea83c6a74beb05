#include "agent/knowledge/ptx_headers.h"

#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/knowledge/embedded_text.h"

namespace sassay::agent {
namespace {

using sassay::v1::SourceFile;

SourceFile ToSource(const EmbeddedText& header) {
  SourceFile source;
  source.set_path(std::string(header.path));
  source.set_content(std::string(header.content));
  return source;
}

bool Has(const std::vector<SourceFile>& sources, absl::string_view path) {
  return std::any_of(sources.begin(), sources.end(), [&](const SourceFile& s) { return s.path() == path; });
}

// As candidates name it, or as the headers name each other: relative to their folder.
bool Names(const SourceFile& source, absl::string_view path) {
  if (absl::StrContains(source.content(), path)) return true;
  const absl::string_view folder = "sassay/ptx/";
  return absl::StartsWith(source.path(), folder) &&
         absl::StrContains(source.content(), absl::StrCat("\"", path.substr(folder.size()), "\""));
}

bool Wanted(const std::vector<SourceFile>& sources, absl::string_view path) {
  return std::any_of(sources.begin(), sources.end(), [&](const SourceFile& s) { return Names(s, path); });
}

}  // namespace

void AddPtxHeaders(std::vector<SourceFile>& sources) {
  for (bool added = true; added;) {
    added = false;
    for (const EmbeddedText& header : PtxHeaders()) {
      if (Has(sources, header.path) || !Wanted(sources, header.path)) continue;
      sources.push_back(ToSource(header));
      added = true;
    }
  }
  std::sort(sources.begin(), sources.end(), [](const auto& a, const auto& b) { return a.path() < b.path(); });
}

}  // namespace sassay::agent
