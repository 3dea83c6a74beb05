#include "agent/interop/triton/join_ptx.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"

namespace sassay::agent {
namespace {

bool IsNameCharacter(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$'; }

// Calls `visit` with every name and every piece between names.
template <typename Visit>
void ForEachPiece(absl::string_view line, Visit visit) {
  for (size_t at = 0; at < line.size();) {
    size_t end = at + 1;
    const bool name = IsNameCharacter(line[at]);
    while (end < line.size() && IsNameCharacter(line[end]) == name) ++end;
    visit(line.substr(at, end - at), name && (at == 0 || (line[at - 1] != '%' && line[at - 1] != '.')));
    at = end;
  }
}

absl::string_view Code(absl::string_view line) { return absl::StripAsciiWhitespace(line.substr(0, line.find("//"))); }

// The name that a line at module level defines: what stands before '(' of a function, or before '[', '=' or ';' of a
// variable. Empty if it defines nothing.
std::string DefinedName(absl::string_view line) {
  const absl::string_view code = Code(line);
  if (absl::StartsWith(code, ".extern")) return "";
  const bool function = absl::StrContains(code, ".entry ") || absl::StrContains(code, ".func ");
  const bool variable = absl::StrContains(code, ".global ") || absl::StrContains(code, ".const ");
  if (!function && !variable) return "";
  std::string last;
  std::string name;
  int depth = 0;
  for (size_t at = 0; at < code.size() && name.empty();) {
    if (IsNameCharacter(code[at])) {
      const size_t begin = at;
      while (at < code.size() && IsNameCharacter(code[at])) ++at;
      if (depth == 0 && (begin == 0 || code[begin - 1] != '.')) last = std::string(code.substr(begin, at - begin));
      continue;
    }
    const bool ends = function ? code[at] == '(' && depth == 0 : code[at] == '[' || code[at] == '=' || code[at] == ';';
    if (ends && !last.empty() && !absl::ascii_isdigit(static_cast<unsigned char>(last[0]))) name = last;
    depth += code[at] == '(' ? 1 : code[at] == ')' ? -1 : 0;
    ++at;
  }
  return name;
}

// One module, cut into what is joined.
struct Parts {
  // .version, .target, .address_size.
  std::string header;
  std::vector<std::string> externs;
  // (number, the rest of the line).
  std::vector<std::pair<uint32_t, std::string>> files;
  std::vector<std::string> body;
  std::set<std::string> names;
};

class Splitter {
 public:
  Parts Split(absl::string_view ptx) {
    for (const absl::string_view line : absl::StrSplit(ptx, '\n')) Take(line);
    return std::move(parts_);
  }

 private:
  void Take(absl::string_view line) {
    const absl::string_view code = Code(line);
    if (in_section_) {
      in_section_ = code != "}";
    } else if (depth_ == 0 && absl::StartsWith(code, ".section")) {
      in_section_ = true;
    } else if (depth_ == 0 && IsHeader(code)) {
      absl::StrAppend(&parts_.header, code, "\n");
    } else if (depth_ == 0 && (in_extern_ || absl::StartsWith(code, ".extern"))) {
      TakeExtern(code);
    } else if (depth_ == 0 && absl::StartsWith(code, ".file")) {
      TakeFile(code);
    } else {
      TakeBody(line, code);
    }
  }

  static bool IsHeader(absl::string_view code) {
    return absl::StartsWith(code, ".version") || absl::StartsWith(code, ".target") ||
           absl::StartsWith(code, ".address_size");
  }

  void TakeExtern(absl::string_view code) {
    if (!in_extern_) parts_.externs.emplace_back();
    absl::StrAppend(&parts_.externs.back(), code, "\n");
    in_extern_ = !absl::StrContains(code, ';');
  }

  void TakeFile(absl::string_view code) {
    absl::ConsumePrefix(&code, ".file");
    code = absl::StripLeadingAsciiWhitespace(code);
    const size_t space = code.find_first_of(" \t");
    uint32_t number = 0;
    if (space == absl::string_view::npos || !absl::SimpleAtoi(code.substr(0, space), &number)) return;
    parts_.files.emplace_back(number, std::string(code.substr(space)));
  }

  void TakeBody(absl::string_view line, absl::string_view code) {
    if (depth_ == 0) {
      if (std::string name = DefinedName(line); !name.empty()) parts_.names.insert(std::move(name));
    }
    depth_ += static_cast<int>(std::count(code.begin(), code.end(), '{'));
    depth_ -= static_cast<int>(std::count(code.begin(), code.end(), '}'));
    parts_.body.emplace_back(line);
  }

  Parts parts_;
  int depth_ = 0;
  bool in_section_ = false;
  bool in_extern_ = false;
};

// Puts modules one behind the other.
class Joiner {
 public:
  absl::Status Add(const PtxModule& module) {
    const Parts parts = Splitter().Split(module.ptx);
    if (parts.names.count(module.kernel) == 0)
      return absl::InvalidArgumentError(absl::StrCat("the PTX of kernel ", module.kernel, " does not define it"));
    if (!header_.empty() && parts.header != header_)
      return absl::InvalidArgumentError(
          absl::StrCat("kernels were compiled for different targets: ", header_, " and ", parts.header));
    header_ = parts.header;
    for (const std::string& text : parts.externs)
      if (seen_externs_.insert(text).second) externs_ += text;
    const std::map<std::string, std::string> renamed = Rename(parts.names);
    AddFiles(parts);
    for (const std::string& line : parts.body) AddLine(line, renamed);
    kernels_.push_back(renamed.at(module.kernel));
    file_offset_ = next_file_;
    return absl::OkStatus();
  }

  std::string Text() const { return absl::StrCat(header_, "\n", externs_, body_, files_); }
  const std::vector<std::string>& kernels() const { return kernels_; }

 private:
  std::map<std::string, std::string> Rename(const std::set<std::string>& names) {
    std::map<std::string, std::string> renamed;
    for (const std::string& name : names) {
      std::string fresh = name;
      for (int i = 1; !taken_.insert(fresh).second; ++i) fresh = absl::StrCat(name, "_", i);
      renamed[name] = fresh;
    }
    return renamed;
  }

  void AddFiles(const Parts& parts) {
    for (const auto& [number, rest] : parts.files) {
      absl::StrAppend(&files_, "\t.file\t", number + file_offset_, rest, "\n");
      next_file_ = std::max(next_file_, number + file_offset_ + 1);
    }
  }

  void AddLine(absl::string_view line, const std::map<std::string, std::string>& renamed) {
    const absl::string_view code = Code(line);
    if (absl::StartsWith(code, ".loc")) return AddLocation(code);
    ForEachPiece(line, [&](absl::string_view piece, bool is_name) {
      const auto found = is_name ? renamed.find(std::string(piece)) : renamed.end();
      absl::StrAppend(&body_, found == renamed.end() ? piece : absl::string_view(found->second));
    });
    body_ += '\n';
  }

  // What follows a comma names labels of the debug sections.
  void AddLocation(absl::string_view code) {
    const std::vector<absl::string_view> words =
        absl::StrSplit(code.substr(0, code.find(',')), absl::ByAnyChar(" \t"), absl::SkipEmpty());
    uint32_t file = 0;
    if (words.size() != 4 || !absl::SimpleAtoi(words[1], &file)) return;
    absl::StrAppend(&body_, "\t.loc\t", file + file_offset_, " ", words[2], " ", words[3], "\n");
  }

  std::string header_;
  std::string externs_;
  std::set<std::string> seen_externs_;
  std::set<std::string> taken_;
  std::string body_;
  std::string files_;
  uint32_t file_offset_ = 0;
  uint32_t next_file_ = 0;
  std::vector<std::string> kernels_;
};

}  // namespace

absl::StatusOr<JoinedPtx> JoinPtx(const std::vector<PtxModule>& modules) {
  std::vector<PtxModule> distinct;
  std::vector<size_t> place;
  for (const PtxModule& module : modules) {
    const auto same = [&](const PtxModule& other) { return other.kernel == module.kernel && other.ptx == module.ptx; };
    const auto found = std::find_if(distinct.begin(), distinct.end(), same);
    place.push_back(static_cast<size_t>(found - distinct.begin()));
    if (found == distinct.end()) distinct.push_back(module);
  }
  JoinedPtx joined;
  std::vector<std::string> names;
  if (distinct.size() == 1) {
    joined.ptx = distinct[0].ptx;
    names = {distinct[0].kernel};
  } else {
    Joiner joiner;
    for (const PtxModule& module : distinct) RETURN_IF_ERROR(joiner.Add(module));
    joined.ptx = joiner.Text();
    names = joiner.kernels();
  }
  for (const size_t index : place) joined.kernels.push_back(names[index]);
  return joined;
}

}  // namespace sassay::agent
