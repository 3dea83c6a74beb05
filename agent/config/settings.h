// Every setting with its origin: flag > environment > project file > user file > default.
//
// A number in a verdict can be traced to what produced it only if a setting can; so each value remembers where it came
// from, and an unknown key in a file is an error, never ignored.
#ifndef SASSAY_AGENT_CONFIG_SETTINGS_H_
#define SASSAY_AGENT_CONFIG_SETTINGS_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "sassay/v1/agent.pb.h"

namespace sassay::agent {

// The world as Resolve sees it; nothing else is read.
struct SettingsSources {
  // Key name -> value, as given on the command line.
  std::map<std::string, std::string> flags;
  // The process's environment.
  std::map<std::string, std::string> environment;
  // Where the search for a project file begins; it goes up to the home directory or the root.
  std::filesystem::path working_directory;
};

// The project file's name.
inline constexpr char kProjectFileName[] = ".sassay.json";

// $XDG_CONFIG_HOME/sassay/config.json or ~/.config/sassay/config.json; empty without either variable.
std::filesystem::path UserFilePath(const std::map<std::string, std::string>& environment);

// Resolved settings.
//
// Life cycle: made once per command by Resolve, immutable afterwards. Thread-compatible.
// A project file counts if it belongs to the user or to root: /tmp/.sassay.json may be anybody's.
// Failure: INVALID_ARGUMENT from Resolve names the file or variable, the key, what was expected and the nearest match.
// Asking for a key that is not in the table is a bug of ours and ends the process.
class Settings {
 public:
  static absl::StatusOr<Settings> Resolve(const SettingsSources& sources);

  // The value as text; empty if not set.
  const std::string& Text(absl::string_view key) const;
  bool Switch(absl::string_view key) const { return Text(key) == "true"; }
  // `otherwise` if not set.
  absl::Duration Duration(absl::string_view key, absl::Duration otherwise) const;
  // 0 if not set.
  uint64_t Count(absl::string_view key) const;
  double Number(absl::string_view key) const;
  std::vector<std::string> List(absl::string_view key) const;
  // "flag --arch", "environment SASSAY_ARCH", a file's path, or "default".
  const std::string& Origin(absl::string_view key) const;
  // What is odd about the sources and no error: a variable that looks like one of ours, a project file of somebody
  // else.
  const std::vector<std::string>& warnings() const { return warnings_; }
  // Files that were read, project file first.
  const std::vector<std::string>& files() const { return files_; }

  // Everything, secrets hidden.
  v1::Configuration ToProto() const;

 private:
  struct Value {
    std::string text;
    std::string origin;
  };
  const Value& Get(absl::string_view key) const;
  absl::Status ReadLayerFromFile(const std::filesystem::path& path, bool is_project);
  absl::Status ReadLayerFromEnvironment(const std::map<std::string, std::string>& environment);
  absl::Status ReadLayerFromFlags(const std::map<std::string, std::string>& flags);
  void Set(absl::string_view key, std::string text, std::string origin);

  std::map<std::string, Value, std::less<>> values_;
  void WarnOfMisspelledVariables(const std::map<std::string, std::string>& environment);

  std::vector<std::string> warnings_;
  std::vector<std::string> files_;
  std::filesystem::path home_;
};

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_CONFIG_SETTINGS_H_
