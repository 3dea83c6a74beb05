#include "common/bundle/source_lines.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace sassay {
namespace {

std::string TextOf(const v1::SourceFile& source, uint64_t line) {
  // As long as the source is, it is asked about for every finding: lines before this one are only counted.
  absl::string_view rest = source.content();
  for (uint64_t before = 1; before < line; ++before) {
    const size_t end = rest.find('\n');
    if (end == rest.npos) return "";
    rest.remove_prefix(end + 1);
  }
  return line == 0 ? "" : std::string(absl::StripAsciiWhitespace(rest.substr(0, rest.find('\n'))));
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
