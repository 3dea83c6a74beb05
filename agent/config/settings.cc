#include "agent/config/settings.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "agent/config/keys.h"
#include "common/base/files.h"
#include "common/base/json_depth.h"
#include "common/base/status_macros.h"
#include "common/base/suggest.h"
#include "nlohmann/json.hpp"

namespace sassay::agent {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr uint64_t kMaxFileBytes = 1 << 20;

std::string Lookup(const std::map<std::string, std::string>& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

fs::path FindProjectFile(const fs::path& from, const fs::path& home) {
  for (fs::path folder = from; !folder.empty(); folder = folder.parent_path()) {
    std::error_code ignored;
    if (fs::is_regular_file(folder / kProjectFileName, ignored)) return folder / kProjectFileName;
    if (folder == home || folder == folder.parent_path()) break;
  }
  return {};
}

bool IsOurs(const fs::path& path) {
  struct stat facts = {};
  return !path.empty() && stat(path.c_str(), &facts) == 0 && (facts.st_uid == geteuid() || facts.st_uid == 0);
}

std::string ResolvePath(const std::string& text, const fs::path& base, const fs::path& home) {
  if (text.empty()) return text;
  if (absl::StartsWith(text, "~/") && !home.empty()) return (home / text.substr(2)).lexically_normal();
  return (base / text).lexically_normal();
}

std::string ResolvePaths(const Key& key, const std::string& text, const fs::path& base, const fs::path& home) {
  if (key.kind == ValueKind::kPath) return ResolvePath(text, base, home);
  if (key.kind != ValueKind::kPathList) return text;
  std::vector<std::string> paths = absl::StrSplit(text, ',', absl::SkipEmpty());
  for (std::string& path : paths) path = ResolvePath(path, base, home);
  return absl::StrJoin(paths, ",");
}

absl::StatusOr<std::string> TextOf(const Key& key, const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return std::string(value.get<bool>() ? "true" : "false");
  const bool number = key.kind == ValueKind::kCount || key.kind == ValueKind::kNumber;
  if (number && value.is_number()) return value.dump();
  const bool list = key.kind == ValueKind::kList || key.kind == ValueKind::kPathList;
  if (!list || !value.is_array()) {
    return absl::InvalidArgumentError(absl::StrCat(key.name, " must be ",
                                                   list     ? "a string or an array of strings"
                                                   : number ? "a number"
                                                            : "a string or a boolean",
                                                   ", not ", value.dump(), "."));
  }
  std::vector<std::string> parts;
  for (const Json& part : value) {
    if (!part.is_string()) {
      return absl::InvalidArgumentError(absl::StrCat(key.name, " must hold strings, not ", part.dump(), "."));
    }
    parts.push_back(part.get<std::string>());
  }
  return absl::StrJoin(parts, ",");
}

// "--turns must be at least 1."
absl::Status Of(const std::string& whose, const absl::Status& status) {
  return status.ok() ? status : absl::InvalidArgumentError(absl::StrCat(whose, " ", status.message()));
}

absl::Status In(const std::string& where, const absl::Status& status) {
  return status.ok() ? status : absl::InvalidArgumentError(absl::StrCat(where, ": ", status.message()));
}

absl::Status UnknownKey(const std::string& name) {
  return absl::InvalidArgumentError(absl::StrCat("unknown key \"", name, "\".", DidYouMean(name, KeyNames()),
                                                 " `mini-ptx-agent config show` lists every key."));
}

absl::Status NotInProject(const Key& key) {
  return absl::InvalidArgumentError(absl::StrCat(
      "key \"", key.name,
      "\" must not come from a project file, which may be somebody else's. Put it into your user file, into ",
      EnvironmentVariable(key), key.secret ? "" : " or on the command line", "."));
}

}  // namespace

fs::path UserFilePath(const std::map<std::string, std::string>& environment) {
  if (const std::string xdg = Lookup(environment, "XDG_CONFIG_HOME"); !xdg.empty())
    return fs::path(xdg) / "sassay/config.json";
  const std::string home = Lookup(environment, "HOME");
  return home.empty() ? fs::path() : fs::path(home) / ".config/sassay/config.json";
}

absl::StatusOr<Settings> Settings::Resolve(const SettingsSources& sources) {
  Settings settings;
  settings.home_ = Lookup(sources.environment, "HOME");
  for (const Key& key : Keys()) settings.Set(key.name, key.default_value, "default");
  const fs::path project = FindProjectFile(sources.working_directory, settings.home_);
  const fs::path user = UserFilePath(sources.environment);
  std::error_code ignored;
  if (!user.empty() && fs::exists(user, ignored)) RETURN_IF_ERROR(settings.ReadLayerFromFile(user, false));
  if (IsOurs(project)) {
    RETURN_IF_ERROR(settings.ReadLayerFromFile(project, true));
  } else if (!project.empty()) {
    settings.warnings_.push_back(absl::StrCat(project.string(), " is passed over: it belongs to another user."));
  }
  RETURN_IF_ERROR(settings.ReadLayerFromEnvironment(sources.environment));
  settings.WarnOfMisspelledVariables(sources.environment);
  RETURN_IF_ERROR(settings.ReadLayerFromFlags(sources.flags));
  return settings;
}

absl::Status Settings::ReadLayerFromFile(const fs::path& path, bool is_project) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxFileBytes));
  // What is nested deeper is left out while it is read: it could not even be named in a message.
  const auto shallow = [](int depth, Json::parse_event_t, Json&) { return depth <= kMaxJsonDepth; };
  const Json json = Json::parse(text, shallow, /*allow_exceptions=*/false, /*ignore_comments=*/true);
  if (!json.is_object())
    return In(path, absl::InvalidArgumentError("expected one JSON object, for example {\"arch\": \"sm_90a\"}."));
  for (const auto& [name, value] : json.items()) {
    const Key* key = FindKey(name);
    if (key == nullptr) return In(path, UnknownKey(name));
    if (is_project && !key->allowed_in_project) return In(path, NotInProject(*key));
    const absl::StatusOr<std::string> as_text = TextOf(*key, value);
    RETURN_IF_ERROR(In(path, as_text.status()));
    RETURN_IF_ERROR(In(path, Of(name, CheckValue(*key, *as_text))));
    Set(name, ResolvePaths(*key, *as_text, path.parent_path(), home_), path);
  }
  files_.insert(files_.begin(), path);
  return absl::OkStatus();
}

absl::Status Settings::ReadLayerFromEnvironment(const std::map<std::string, std::string>& environment) {
  for (const Key& key : Keys()) {
    const std::string variable = EnvironmentVariable(key);
    const std::string value = Lookup(environment, variable);
    if (value.empty()) continue;
    RETURN_IF_ERROR(Of(variable, CheckValue(key, value)));
    Set(key.name, value, absl::StrCat("environment ", variable));
  }
  return absl::OkStatus();
}

void Settings::WarnOfMisspelledVariables(const std::map<std::string, std::string>& environment) {
  std::vector<std::string> known;
  for (const Key& key : Keys()) known.push_back(EnvironmentVariable(key));
  for (const auto& [name, value] : environment) {
    if (!absl::StartsWith(name, "SASSAY_") || std::find(known.begin(), known.end(), name) != known.end()) continue;
    // Other programs have variables of this family, too: only what looks like ours is worth a word.
    const std::string nearest = NearestMatch(name, known);
    if (!nearest.empty() && EditDistance(name, nearest) <= 2)
      warnings_.push_back(absl::StrCat("there is no variable ", name, ".", DidYouMean(name, known)));
  }
}

absl::Status Settings::ReadLayerFromFlags(const std::map<std::string, std::string>& flags) {
  for (const auto& [name, value] : flags) {
    const Key* key = FindKey(name);
    if (key == nullptr) return UnknownKey(name);
    RETURN_IF_ERROR(Of(FlagName(*key), CheckValue(*key, value)));
    Set(name, value, absl::StrCat("flag ", FlagName(*key)));
  }
  return absl::OkStatus();
}

void Settings::Set(absl::string_view key, std::string text, std::string origin) {
  values_[std::string(key)] = {std::move(text), std::move(origin)};
}

const Settings::Value& Settings::Get(absl::string_view key) const {
  const auto found = values_.find(key);
  if (found != values_.end()) return found->second;
  std::fprintf(stderr, "bug: no setting is called %s\n", std::string(key).c_str());
  std::abort();
}

const std::string& Settings::Text(absl::string_view key) const { return Get(key).text; }

const std::string& Settings::Origin(absl::string_view key) const { return Get(key).origin; }

absl::Duration Settings::Duration(absl::string_view key, absl::Duration otherwise) const {
  absl::Duration duration;
  return absl::ParseDuration(Text(key), &duration) ? duration : otherwise;
}

uint64_t Settings::Count(absl::string_view key) const {
  uint64_t count = 0;
  return absl::SimpleAtoi(Text(key), &count) ? count : 0;
}

double Settings::Number(absl::string_view key) const {
  double number = 0;
  return absl::SimpleAtod(Text(key), &number) ? number : 0;
}

std::vector<std::string> Settings::List(absl::string_view key) const {
  return absl::StrSplit(Text(key), ',', absl::SkipWhitespace());
}

v1::Configuration Settings::ToProto() const {
  v1::Configuration proto;
  for (const Key& key : Keys()) {
    const Value& value = Get(key.name);
    v1::ConfigValue& row = *proto.add_values();
    row.set_key(key.name);
    row.set_value(key.secret && !value.text.empty() ? "(hidden)" : value.text);
    row.set_origin(value.origin);
    row.set_description(key.description);
  }
  for (const std::string& file : files_) proto.add_files(file);
  return proto;
}

}  // namespace sassay::agent
