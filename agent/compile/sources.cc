#include "agent/compile/sources.h"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <map>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/files.h"
#include "common/base/json_depth.h"
#include "common/base/status_macros.h"
#include "common/base/utf8.h"
#include "nlohmann/json.hpp"

namespace sassay {
namespace {

namespace fs = std::filesystem;
using sassay::v1::SourceFile;

constexpr absl::string_view kCompiled[] = {".cu", ".cpp", ".cc", ".cxx"};
constexpr absl::string_view kIncluded[] = {".cuh", ".h", ".hpp", ".hh", ".inc", ".inl", ".ptx"};

template <size_t kCount>
bool EndsWithOneOf(absl::string_view path, const absl::string_view (&endings)[kCount]) {
  return std::any_of(std::begin(endings), std::end(endings),
                     [&](absl::string_view e) { return absl::EndsWith(path, e); });
}

// Not RESOURCE_EXHAUSTED: trying again cannot help.
absl::Status TooMuch(absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, "; a candidate may have that much, so name its own files instead of a whole tree"));
}

// A pipe would be waited for without end.
absl::Status NoRegularFile(const fs::path& path) {
  return absl::InvalidArgumentError(absl::StrCat(path.string(), " is no regular file"));
}

// Reads files once each, within the limits.
class Reader {
 public:
  Reader(fs::path base, const SourceLimits& limits) : base_(std::move(base)), limits_(limits) {}

  absl::Status Read(const fs::path& path) {
    std::string name = path.lexically_relative(base_).generic_string();
    if (files_.count(name) != 0) return absl::OkStatus();
    if (files_.size() >= limits_.files) {
      return TooMuch(absl::StrCat("more than ", limits_.files, " source files"));
    }
    ASSIGN_OR_RETURN(std::string content, ReadSource(path));
    bytes_ += content.size();
    if (bytes_ > limits_.total_bytes) {
      return TooMuch(absl::StrCat("more than ", limits_.total_bytes, " bytes of source"));
    }
    files_[name] = std::move(content);
    return absl::OkStatus();
  }

  const std::map<std::string, std::string>& files() const { return files_; }
  const fs::path& base() const { return base_; }

  std::vector<SourceFile> Take() {
    std::vector<SourceFile> sources;
    for (auto& [path, content] : files_) {
      sources.emplace_back();
      sources.back().set_path(path);
      sources.back().set_content(std::move(content));
    }
    return sources;
  }

 private:
  absl::StatusOr<std::string> ReadSource(const fs::path& path) const {
    std::error_code error;
    if (fs::exists(path, error) && !fs::is_regular_file(path, error)) return NoRegularFile(path);
    absl::StatusOr<std::string> content = ReadFile(path, limits_.total_bytes);
    if (absl::IsResourceExhausted(content.status())) return TooMuch(content.status().message());
    return content;
  }

  fs::path base_;
  SourceLimits limits_;
  std::map<std::string, std::string> files_;
  uint64_t bytes_ = 0;
};

// Names in `#include "NAME"`.
std::vector<std::string> QuotedIncludes(absl::string_view text) {
  std::vector<std::string> names;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripLeadingAsciiWhitespace(line);
    if (!absl::ConsumePrefix(&line, "#")) continue;
    line = absl::StripLeadingAsciiWhitespace(line);
    if (!absl::ConsumePrefix(&line, "include")) continue;
    line = absl::StripLeadingAsciiWhitespace(line);
    if (!absl::ConsumePrefix(&line, "\"")) continue;
    names.emplace_back(line.substr(0, line.find('"')));
  }
  return names;
}

bool IsInside(const fs::path& path, const fs::path& folder) {
  fs::path relative = path.lexically_relative(folder);
  return !relative.empty() && *relative.begin() != "..";
}

// A candidate is often somebody else's: its symbolic links must not carry files of this machine into a bundle.
bool LeadsOutside(const fs::path& path, const fs::path& folder) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  const fs::path inside = error ? fs::path() : fs::canonical(folder, error);
  return error || !IsInside(real, inside);
}

absl::Status RefuseLink(const fs::path& path) {
  return absl::InvalidArgumentError(
      absl::StrCat(path.string(), " is a symbolic link out of the candidate's folder; put the file itself there"));
}

// Adds what the files include with quotes, as far as it lies in the candidate's folder.
absl::Status FollowIncludes(Reader& reader) {
  std::set<std::string> done;
  std::deque<std::string> open;
  for (const auto& [name, content] : reader.files()) open.push_back(name);
  while (!open.empty()) {
    std::string name = open.front();
    open.pop_front();
    if (!done.insert(name).second) continue;
    for (const auto& include : QuotedIncludes(reader.files().at(name))) {
      fs::path path = (reader.base() / fs::path(name).parent_path() / include).lexically_normal();
      std::error_code error;
      if (!IsInside(path, reader.base()) || !fs::is_regular_file(path, error)) continue;
      if (LeadsOutside(path, reader.base())) return RefuseLink(path);
      RETURN_IF_ERROR(reader.Read(path));
      open.push_back(path.lexically_relative(reader.base()).generic_string());
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<SourceFile>> LoadFiles(const std::vector<std::string>& paths, const SourceLimits& limits) {
  Reader reader(fs::absolute(paths[0]).lexically_normal().parent_path(), limits);
  for (const auto& path : paths) RETURN_IF_ERROR(reader.Read(fs::absolute(path).lexically_normal()));
  RETURN_IF_ERROR(FollowIncludes(reader));
  return reader.Take();
}

absl::StatusOr<std::vector<SourceFile>> LoadFolder(const std::string& folder, const SourceLimits& limits) {
  Reader reader(fs::absolute(folder).lexically_normal(), limits);
  std::error_code error;
  for (auto entry = fs::recursive_directory_iterator(folder, error); entry != fs::recursive_directory_iterator();
       entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if (entry->is_directory(error) && absl::StartsWith(name, ".")) entry.disable_recursion_pending();
    if (!entry->is_regular_file(error) || (!EndsWithOneOf(name, kIncluded) && !IsCompiled(name))) continue;
    if (LeadsOutside(entry->path(), folder)) return RefuseLink(entry->path());
    RETURN_IF_ERROR(reader.Read(fs::absolute(entry->path()).lexically_normal()));
  }
  if (error) return absl::InvalidArgumentError(absl::StrCat("cannot read ", folder, ": ", error.message()));
  return reader.Take();
}

absl::StatusOr<std::vector<SourceFile>> LoadAny(const std::vector<std::string>& paths, const SourceLimits& limits) {
  if (paths.empty()) return absl::InvalidArgumentError("no source file was named");
  std::error_code error;
  for (const auto& path : paths) {
    if (!fs::exists(path, error)) return absl::NotFoundError(absl::StrCat("no such file: ", path));
    if (!fs::is_regular_file(path, error) && !fs::is_directory(path, error)) return NoRegularFile(path);
  }
  if (paths.size() > 1) return LoadFiles(paths, limits);
  if (fs::is_directory(paths[0], error)) return LoadFolder(paths[0], limits);
  if (!absl::EndsWith(paths[0], ".json")) return LoadFiles(paths, limits);
  const absl::StatusOr<std::string> json = ReadFile(paths[0], limits.total_bytes);
  if (absl::IsResourceExhausted(json.status())) return TooMuch(json.status().message());
  RETURN_IF_ERROR(json.status());
  return ParseSolution(*json, limits);
}

// A bundle carries the source as text.
absl::Status CheckUtf8(const SourceFile& source) {
  const absl::string_view content = source.content();
  const size_t at = FirstInvalidUtf8(content);
  if (at == absl::string_view::npos) return absl::OkStatus();
  const absl::string_view before = content.substr(0, at);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t column = at - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0
  return absl::InvalidArgumentError(absl::StrCat(source.path(), ":", line, " is not UTF-8 (byte 0x",
                                                 absl::Hex(static_cast<uint8_t>(content[at])), " at column ", column,
                                                 "); convert the file, for example with iconv -f latin1 -t utf8"));
}

bool IsPlain(absl::string_view path) {
  if (path.empty() || path.size() > 200 || path[0] == '/' || path[0] == '-') return false;
  for (char c : path) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && !absl::StrContains("._-+/", absl::string_view(&c, 1)))
      return false;
  }
  std::vector<absl::string_view> parts = absl::StrSplit(path, '/');
  return std::none_of(parts.begin(), parts.end(),
                      [](absl::string_view p) { return p.empty() || p == "." || p == ".."; });
}

}  // namespace

absl::StatusOr<std::vector<SourceFile>> LoadSources(const std::vector<std::string>& paths, const SourceLimits& limits) {
  ASSIGN_OR_RETURN(std::vector<SourceFile> sources, LoadAny(paths, limits));
  RETURN_IF_ERROR(CheckSources(sources));
  return sources;
}

absl::StatusOr<std::vector<SourceFile>> ParseSolution(absl::string_view untrusted_json, const SourceLimits& limits) {
  if (JsonIsTooDeep(untrusted_json)) {
    return absl::InvalidArgumentError(absl::StrCat("a solution is nested at most ", kMaxJsonDepth, " levels deep"));
  }
  auto json = nlohmann::json::parse(untrusted_json.begin(), untrusted_json.end(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("sources") || !json["sources"].is_array()) {
    return absl::InvalidArgumentError("a solution needs an array \"sources\" of {\"path\", \"content\"}");
  }
  if (json["sources"].size() > limits.files) {
    return TooMuch(absl::StrCat("more than ", limits.files, " source files"));
  }
  std::vector<SourceFile> sources;
  for (const auto& entry : json["sources"]) {
    if (!entry.is_object() || !entry.contains("path") || !entry["path"].is_string() || !entry.contains("content") ||
        !entry["content"].is_string()) {
      return absl::InvalidArgumentError("every entry of \"sources\" needs the strings \"path\" and \"content\"");
    }
    sources.emplace_back();
    sources.back().set_path(entry["path"].get<std::string>());
    sources.back().set_content(entry["content"].get<std::string>());
  }
  std::sort(sources.begin(), sources.end(), [](const auto& a, const auto& b) { return a.path() < b.path(); });
  RETURN_IF_ERROR(CheckSources(sources));
  return sources;
}

bool IsCompiled(absl::string_view path) { return EndsWithOneOf(path, kCompiled); }

absl::Status CheckSources(const std::vector<SourceFile>& sources) {
  std::set<std::string> seen;
  for (const auto& source : sources) {
    if (!IsPlain(source.path())) {
      return absl::InvalidArgumentError(
          absl::StrCat("source path \"", source.path(),
                       "\": expected a relative path of the letters a-z and A-Z, digits and ._-+/ that does not begin "
                       "with -; rename the file or folder"));
    }
    if (!seen.insert(source.path()).second) {
      return absl::InvalidArgumentError(absl::StrCat("source path \"", source.path(), "\" appears twice"));
    }
    RETURN_IF_ERROR(CheckUtf8(source));
  }
  if (sources.size() == 1 && absl::EndsWith(sources.front().path(), ".py")) return absl::OkStatus();
  if (std::none_of(sources.begin(), sources.end(), [](const auto& s) { return IsCompiled(s.path()); })) {
    return absl::InvalidArgumentError(
        "nothing to compile: expected a .cu (or .cpp, .cc, .cxx) file, or one .py file with Triton kernels");
  }
  return absl::OkStatus();
}

}  // namespace sassay
