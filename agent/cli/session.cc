#include "agent/cli/session.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "agent/render/text.h"
#include "agent/render/verdict.h"
#include "agent/submit/from_settings.h"
#include "agent/submit/rpc_error.h"
#include "common/base/proto_json.h"

namespace sassay::agent {
namespace {

std::string Variable(const Terminal& terminal, const std::string& name) {
  const auto found = terminal.environment.find(name);
  return found == terminal.environment.end() ? "" : found->second;
}

Style StyleFor(const Terminal& terminal, absl::string_view setting, bool is_terminal) {
  return Style(WantColor(setting, is_terminal, Variable(terminal, "NO_COLOR"), Variable(terminal, "TERM")));
}

}  // namespace

Session::Session(Terminal terminal, Settings settings, bool json)
    : terminal_(std::move(terminal)),
      settings_(std::move(settings)),
      json_(json),
      out_style_(StyleFor(terminal_, settings_.Text("color"), terminal_.out_is_terminal)),
      err_style_(StyleFor(terminal_, settings_.Text("color"), terminal_.err_is_terminal)),
      progress_(std::make_unique<Progress>(*terminal_.err, err_style_, terminal_.err_is_terminal, absl::Now)) {}

void Session::Answer(const google::protobuf::Message& message, absl::string_view text) {
  progress_->Finish();
  if (json_) {
    *terminal_.out << ToJson(message) << "\n" << std::flush;
  } else {
    *terminal_.out << text << std::flush;
  }
}

int Session::AnswerVerdict(const v1::Verdict& verdict) {
  Answer(verdict, RenderVerdict(verdict, out_style_));
  return ExitStatusOf(verdict);
}

int Session::Fail(const absl::Status& status, absl::string_view submission_id) {
  progress_->Finish();
  return ReportFailure(terminal_, json_, status, submission_id);
}

absl::StatusOr<std::unique_ptr<Connection>> Session::Connect() const {
  return Connection::Open(ConnectionFrom(settings_));
}

int ExitStatusOf(const v1::Verdict& verdict) {
  if (verdict.has_excluded()) return kExitInfrastructure;
  switch (verdict.status()) {
    case v1::VERDICT_STATUS_CORRECT:
      return kExitCorrect;
    case v1::VERDICT_STATUS_UNSPECIFIED:
    case v1::VERDICT_STATUS_INFRA_ERROR:
    case v1::VERDICT_STATUS_CANCELLED:
      return kExitInfrastructure;
    default:
      return kExitCandidateAtFault;
  }
}

int ReportFailure(const Terminal& terminal, bool json, const absl::Status& status, absl::string_view submission_id) {
  const int exit_status = ExitStatusOf(status);
  *terminal.err << "mini-ptx-agent: " << Printable(absl::string_view(status.message().data(), status.message().size()))
                << "\n"
                << std::flush;
  if (!json) return exit_status;
  *terminal.out << ToJson(FailureOf(status, submission_id)) << "\n" << std::flush;
  return exit_status;
}

}  // namespace sassay::agent
