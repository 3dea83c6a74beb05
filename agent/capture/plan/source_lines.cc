#include "agent/capture/plan/source_lines.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace sassay::capture {

SourceLines::SourceLines(const Record& untrusted_record, std::vector<std::string> roots) : roots_(std::move(roots)) {
  for (const Event& event : untrusted_record.events()) {
    if (!event.has_line()) continue;
    lines_[event.line().pc()] = absl::StrCat(Relative(event.line().file()), ":", event.line().line());
  }
}

std::string SourceLines::Of(const Event& event) const {
  for (uint64_t pc : event.pcs()) {
    const auto found = lines_.find(pc);
    if (found != lines_.end()) return found->second;
  }
  return "";
}

std::string SourceLines::At(const Event& event) const {
  const std::string line = Of(event);
  return line.empty() ? "" : " at " + line;
}

std::string SourceLines::Relative(const std::string& path) const {
  absl::string_view rest = path;
  for (const std::string& root : roots_) {
    if (absl::StartsWith(rest, root)) rest.remove_prefix(root.size());
  }
  std::string text(rest.substr(0, 256));
  for (char& c : text) c = absl::ascii_isprint(static_cast<unsigned char>(c)) ? c : '?';
  return text;
}

}  // namespace sassay::capture
