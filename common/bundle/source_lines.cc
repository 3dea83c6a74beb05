#include "common/bundle/source_lines.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace sassay {
namespace {

std::string TextOf(const v1::SourceFile& source, uint64_t line) {
  const std::vector<absl::string_view> lines = absl::StrSplit(source.content(), '\n');
  if (line == 0 || line > lines.size()) return "";
  return std::string(absl::StripAsciiWhitespace(lines[line - 1]));
}

absl::string_view FileName(absl::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? path : path.substr(slash + 1);
}

}  // namespace

const v1::SourceFile* FindSource(absl::string_view path, const v1::Bundle& bundle) {
  for (const v1::SourceFile& source : bundle.sources()) {
    if (path == source.path() || absl::EndsWith(path, absl::StrCat("/", source.path()))) return &source;
  }
  return nullptr;
}

void SetSourceLine(absl::string_view path, uint64_t line, const v1::Bundle& bundle, v1::ThreadLocation& location) {
  if (path.empty()) return;
  const v1::SourceFile* source = FindSource(path, bundle);
  location.set_source_line(
      absl::StrCat(source != nullptr ? absl::string_view(source->path()) : FileName(path), ":", line));
  if (source != nullptr) location.set_source_text(TextOf(*source, line));
}

}  // namespace sassay
