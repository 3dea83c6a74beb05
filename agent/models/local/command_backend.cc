#include "agent/models/local/command_backend.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "agent/models/estimate.h"
#include "common/base/utf8.h"
#include "common/process/subprocess.h"
#include "common/terminal/text.h"
#include "nlohmann/json.hpp"

namespace sassay::agent {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kMaxAnswerBytes = 16 << 20;
constexpr size_t kMaxReasonBytes = 300;
constexpr int kCannotRun = 126, kNotFound = 127;  // POSIX: what a shell says of a program

const char* RoleName(ChatMessage::Role role) {
  if (role == ChatMessage::Role::kSystem) return "system";
  return role == ChatMessage::Role::kUser ? "user" : "assistant";
}

Json SamplingJson(const v1::Sampling& sampling) {
  Json json = Json::object();
  if (sampling.has_temperature()) json["temperature"] = sampling.temperature();
  if (sampling.has_top_p()) json["top_p"] = sampling.top_p();
  if (sampling.max_tokens() > 0) json["max_tokens"] = sampling.max_tokens();
  if (sampling.has_seed()) json["seed"] = sampling.seed();
  if (!sampling.reasoning_effort().empty()) json["reasoning_effort"] = sampling.reasoning_effort();
  return json;
}

std::string Conversation(const GenerationRequest& request) {
  Json json = {{"trajectory_id", request.trajectory_id},
               {"turn", request.turn},
               {"idempotency_key", request.idempotency_key},
               {"sampling", SamplingJson(request.sampling)},
               {"messages", Json::array()}};
  for (const ChatMessage& message : request.messages) {
    json["messages"].push_back({{"role", RoleName(message.role)}, {"content", *message.text}});
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string LastLine(const ExitReport& report) {
  const std::string& text = report.stderr_tail.empty() ? report.stderr_text : report.stderr_tail;
  absl::string_view line = absl::StripTrailingAsciiWhitespace(text);
  line = line.substr(line.rfind('\n') == absl::string_view::npos ? 0 : line.rfind('\n') + 1);
  return PrintableLine(ToUtf8(line.substr(0, kMaxReasonBytes)));
}

}  // namespace

CommandBackend::CommandBackend(CommandModelOptions options) : options_(std::move(options)) {}

absl::optional<Failure> CommandBackend::Try(const GenerationRequest& request, const GenerationListener& listener,
                                            Stopper& stopper, v1::Answered& answer) {
  Command command;
  command.argv = {"/bin/sh", "-c", options_.command};
  command.environment = options_.environment;
  for (const char* ours : {"SASSAY_API_KEY", "SASSAY_TOKEN"}) command.environment.erase(ours);
  command.environment["SASSAY_TRAJECTORY"] = request.trajectory_id;
  command.environment["SASSAY_TURN"] = absl::StrCat(request.turn);
  const absl::StatusOr<ExitReport> report = RunToCompletion(command, options_.timeout, kMaxAnswerBytes,
                                                            Conversation(request), [&] { return stopper.stopped(); });
  if (!report.ok()) return Failure{Failure::Kind::kFinal, report.status(), {}};
  if (stopper.stopped()) return Failure{Failure::Kind::kFinal, absl::CancelledError("stopped"), {}};
  if (!report->Succeeded()) {
    const std::string said = LastLine(*report);
    const std::string text =
        absl::StrCat("the model's command ", DescribeExit(*report), said.empty() ? "" : ": ", said);
    const bool missing = report->kind == ExitReport::Kind::kExited &&
                         (report->exit_code == kNotFound || report->exit_code == kCannotRun);
    if (missing) return Failure{Failure::Kind::kFinal, absl::NotFoundError(text), {}};
    return Failure{Failure::Kind::kBroken, absl::UnavailableError(text), {}};
  }
  if (report->stdout_text.size() >= kMaxAnswerBytes) {
    return Failure{Failure::Kind::kFinal,
                   absl::ResourceExhaustedError(
                       absl::StrCat("the model's command printed more than ", BytesText(kMaxAnswerBytes), ".")),
                   {}};
  }
  answer.set_text(ToUtf8(report->stdout_text));
  answer.set_finish_reason("stop");
  answer.set_model("command");
  EstimateUsage(request, answer);
  listener.on_progress(answer.text().size(), 0);
  return absl::nullopt;
}

}  // namespace sassay::agent
