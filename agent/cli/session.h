// What every command gets: settings, the two output streams, and one way each to answer and to fail.
#ifndef SASSAY_AGENT_CLI_SESSION_H_
#define SASSAY_AGENT_CLI_SESSION_H_

#include <map>
#include <memory>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "agent/config/settings.h"
#include "agent/render/progress.h"
#include "common/terminal/style.h"
#include "agent/submit/connection.h"
#include "google/protobuf/message.h"
#include "sassay/v1/verdict.pb.h"

namespace sassay::agent {

// The process as a command sees it; tests hand in their own.
struct Terminal {
  std::ostream* out;
  std::ostream* err;
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  std::map<std::string, std::string> environment;
  std::string working_directory;
};

// One run of one command.
//
// Output: the answer goes to standard output, once, as text or (--json) as one JSON document; everything else goes to
// standard error. Thread-compatible; progress() is thread-safe.
class Session {
 public:
  Session(Terminal terminal, Settings settings, bool json);

  const Settings& settings() const { return settings_; }
  const Terminal& terminal() const { return terminal_; }
  bool json() const { return json_; }
  const Style& style() const { return out_style_; }
  const Style& err_style() const { return err_style_; }
  Progress& progress() { return *progress_; }
  // Whether progress is redrawn; see Spinner.
  bool interactive() const { return terminal_.err_is_terminal; }

  // Prints the answer: the message as JSON, or `text`.
  void Answer(const google::protobuf::Message& message, absl::string_view text);
  // Prints a verdict and returns the exit status that it means.
  int AnswerVerdict(const v1::Verdict& verdict);
  // Says what went wrong and returns the exit status that it means. With --json standard output gets a CommandFailure.
  int Fail(const absl::Status& status, absl::string_view submission_id = "");

  // The connection that the settings describe.
  absl::StatusOr<std::unique_ptr<Connection>> Connect() const;

 private:
  const Terminal terminal_;
  const Settings settings_;
  const bool json_;
  const Style out_style_;
  const Style err_style_;
  std::unique_ptr<Progress> progress_;
};

// 0 CORRECT, 1 candidate at fault, 3 infrastructure, cancelled or excluded.
int ExitStatusOf(const v1::Verdict& verdict);

// Reports a failure before there is a session; see Session::Fail.
int ReportFailure(const Terminal& terminal, bool json, const absl::Status& status, absl::string_view submission_id);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_CLI_SESSION_H_
