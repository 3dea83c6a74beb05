#include <memory>

#include "absl/strings/str_cat.h"
#include "agent/cli/commands/commands.h"
#include "agent/cli/session.h"
#include "agent/models/factory.h"
#include "agent/render/text.h"
#include "agent/submit/interrupt.h"
#include "agent/submit/rpc_error.h"
#include "common/base/random.h"

namespace sassay::agent {
namespace {

constexpr char kQuestion[] = "Reply with the single word: ready";
constexpr char kShortPatience[] = "30s";

std::string ShortText(const google::protobuf::Duration& duration) {
  return DurationText(static_cast<double>(duration.seconds()) * 1e9 + duration.nanos());
}

std::string Describe(const ModelIdentity& identity, const v1::Answered& answer) {
  const v1::Usage& usage = answer.usage();
  const std::string cached =
      usage.cached_prompt_tokens() > 0 ? absl::StrCat(", ", usage.cached_prompt_tokens(), " of them cached") : "";
  const bool other_name = !identity.endpoint.empty() && !answer.model().empty() && answer.model() != identity.model;
  const std::vector<std::vector<std::string>> rows = {
      {"model", PrintableLine(absl::StrCat(identity.model,
                                           other_name ? absl::StrCat(" (answers as ", answer.model(), ")") : ""))},
      {"provider",
       identity.endpoint.empty() ? identity.provider : absl::StrCat(identity.provider, ", ", identity.endpoint)},
      {"answer", absl::StrCat("\"", PrintableLine(answer.text().substr(0, 60)), "\", ended by ",
                              PrintableLine(answer.finish_reason()))},
      {"tokens", absl::StrCat(usage.prompt_tokens(), " sent", cached, ", ", usage.completion_tokens(), " received",
                              usage.estimated() ? " (estimated: the server sends no usage)" : "")},
      {"reasoning",
       answer.reasoning().empty() ? "none shown" : absl::StrCat(answer.reasoning().size(), " bytes shown")},
      {"time",
       absl::StrCat(
           ShortText(answer.wall()),
           answer.has_first_token() ? absl::StrCat(", first token after ", ShortText(answer.first_token())) : "")}};
  return Columns(rows, "");
}

int Check(Session& session) {
  const auto identity = IdentifyModel(session.settings());
  if (!identity.ok()) return session.Fail(identity.status());
  const auto model = OpenModel(session.settings(), session.terminal().environment);
  if (!model.ok()) return session.Fail(model.status());
  GenerationRequest request;
  request.messages = {{ChatMessage::Role::kUser, std::make_shared<std::string>(kQuestion)}};
  request.idempotency_key = absl::StrCat("check-", RandomHex(8));
  request.trajectory_id = "exp_000";
  const auto sampling = SamplingFrom(session.settings());
  if (!sampling.ok()) return session.Fail(sampling.status());
  request.sampling = *sampling;
  Stopper stopper;
  const InterruptHandler interrupt([&stopper](int) { stopper.Stop(); });
  GenerationListener listener;
  listener.on_note = [&](absl::string_view note) {
    *session.terminal().err << PrintableLine(note) << "\n" << std::flush;
  };
  const auto answer = (*model)->Generate(request, listener, stopper);
  if (!answer.ok()) return session.Fail(answer.status());
  session.Answer(*answer, Describe(*identity, *answer));
  return kExitCorrect;
}

}  // namespace

void AddModelCommand(CLI::App& root, Invocation& invocation) {
  CLI::App* command = root.add_subcommand("model", "The language model that `run` asks");
  command->require_subcommand(1);
  CLI::App* check =
      command->add_subcommand("check", "Asks the model for one word: address, key, streaming and usage work");
  const char* examples =
      "Examples:\n  mini-ptx-agent model check --model Qwen/Qwen3-32B --endpoint http://127.0.0.1:8000\n"
      "  OPENAI_API_KEY=… mini-ptx-agent model check --model gpt-5";
  command->footer(examples);
  check->footer(examples);
  AddCommonFlags(*check, invocation);
  AddModelFlags(*check, invocation);
  check->callback([&invocation] {
    // Somebody waits in front of the terminal.
    invocation.flags.emplace("retry_deadline", kShortPatience);
    invocation.action = Check;
  });
}

}  // namespace sassay::agent
