#include "agent/models/factory.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "agent/models/credentials.h"
#include "agent/models/http/endpoint.h"
#include "agent/models/local/command_backend.h"
#include "agent/models/local/replay_model.h"
#include "agent/models/providers/anthropic.h"
#include "agent/models/providers/http_backend.h"
#include "agent/models/providers/openai.h"
#include "agent/models/retrying_model.h"
#include "common/base/status_macros.h"

namespace sassay::agent {
namespace {

constexpr char kExamples[] =
    "for example --model Qwen/Qwen3-32B --endpoint http://127.0.0.1:8000 (vLLM, SGLang, llama.cpp), --model "
    "claude-sonnet-4-5, --model replay:DIR or --model command:CMD; docs/models.md has more.";
constexpr char kOpenAiHost[] = "api.openai.com";
constexpr char kAnthropicHost[] = "api.anthropic.com";

bool IsClaude(absl::string_view model) { return absl::StartsWith(model, "claude"); }

bool IsOpenAis(absl::string_view model) {
  return absl::StartsWith(model, "gpt-") || absl::StartsWith(model, "chatgpt-") ||
         (model.size() >= 2 && model[0] == 'o' && absl::ascii_isdigit(static_cast<unsigned char>(model[1])));
}

absl::StatusOr<std::string> EndpointText(const Settings& settings, absl::string_view model) {
  if (!settings.Text("endpoint").empty()) return settings.Text("endpoint");
  const std::string& provider = settings.Text("provider");
  if (provider == "anthropic" || (provider == "auto" && IsClaude(model)))
    return absl::StrCat("https://", kAnthropicHost);
  if (IsOpenAis(model)) return absl::StrCat("https://", kOpenAiHost);
  return absl::InvalidArgumentError(
      absl::StrCat("where is the model ", model, "? Name its server with --endpoint URL, ", kExamples));
}

std::string ProviderName(const Settings& settings, const Endpoint& endpoint) {
  if (settings.Text("provider") != "auto") return settings.Text("provider");
  return endpoint.host == kAnthropicHost || absl::EndsWith(endpoint.path, "/messages") ? "anthropic" : "openai";
}

// Both a server's root and its API's root may be given, and the whole path too.
std::string RequestPath(const Endpoint& endpoint, const std::string& provider) {
  const std::string method = provider == "anthropic" ? "/messages" : "/chat/completions";
  if (absl::EndsWith(endpoint.path, method)) return endpoint.path;
  const bool is_root = endpoint.path.empty() || (provider == "anthropic" && !absl::EndsWith(endpoint.path, "/v1"));
  return absl::StrCat(endpoint.path, is_root ? "/v1" : "", method);
}

std::unique_ptr<Dialect> MakeDialect(const ModelIdentity& identity, const Endpoint& endpoint) {
  if (identity.provider == "anthropic") return NewAnthropicDialect(identity.model);
  OpenAiOptions options;
  options.model = identity.model;
  options.max_completion_tokens = endpoint.host == kOpenAiHost;
  options.asks_for_cost = endpoint.host == "openrouter.ai";
  return NewOpenAiDialect(options);
}

HttpTimeouts TimeoutsFrom(const Settings& settings) {
  const HttpTimeouts defaults;
  HttpTimeouts timeouts;
  timeouts.connect = settings.Duration("connect_deadline", defaults.connect);
  timeouts.first = settings.Duration("first_token_deadline", defaults.first);
  timeouts.between = settings.Duration("token_deadline", defaults.between);
  timeouts.whole = settings.Duration("answer_deadline", defaults.whole);
  return timeouts;
}

absl::StatusOr<std::unique_ptr<Backend>> MakeHttpBackend(const ModelIdentity& identity, const Settings& settings,
                                                         const std::map<std::string, std::string>& environment) {
  ASSIGN_OR_RETURN(const Endpoint endpoint, ParseEndpoint(identity.endpoint));
  ASSIGN_OR_RETURN(Secret key, FindKey(settings, environment, endpoint));
  ASSIGN_OR_RETURN(std::unique_ptr<HttpClient> client, HttpClient::Create({settings.Text("model_ca_file")}));
  return std::make_unique<HttpBackend>(HttpBackendOptions{identity.endpoint, TimeoutsFrom(settings)}, std::move(key),
                                       MakeDialect(identity, endpoint), std::move(client));
}

std::unique_ptr<Backend> MakeCommandBackend(const ModelIdentity& identity, const Settings& settings,
                                            const std::map<std::string, std::string>& environment) {
  CommandModelOptions options;
  options.command = identity.model;
  options.environment = environment;
  options.timeout = TimeoutsFrom(settings).whole;
  return std::make_unique<CommandBackend>(std::move(options));
}

}  // namespace

absl::StatusOr<ModelIdentity> IdentifyModel(const Settings& settings) {
  const std::string& model = settings.Text("model");
  for (const char* local : {"replay", "command"}) {
    absl::string_view rest = model;
    if (!absl::ConsumePrefix(&rest, absl::StrCat(local, ":"))) continue;
    if (!rest.empty()) return ModelIdentity{std::string(rest), local, ""};
    return absl::InvalidArgumentError(
        absl::StrCat("--model ", local, ": wants something after the colon, ", kExamples));
  }
  if (model.empty()) return absl::InvalidArgumentError(absl::StrCat("which model? Name it with --model, ", kExamples));
  ASSIGN_OR_RETURN(const std::string text, EndpointText(settings, model));
  ASSIGN_OR_RETURN(const Endpoint endpoint, ParseEndpoint(text));
  const std::string provider = ProviderName(settings, endpoint);
  return ModelIdentity{model, provider, endpoint.With(RequestPath(endpoint, provider))};
}

absl::StatusOr<std::unique_ptr<Model>> OpenModel(const Settings& settings,
                                                 const std::map<std::string, std::string>& environment) {
  ASSIGN_OR_RETURN(const ModelIdentity identity, IdentifyModel(settings));
  if (identity.provider == "replay") return OpenReplay(identity.model);
  std::unique_ptr<Backend> backend;
  if (identity.provider == "command") {
    backend = MakeCommandBackend(identity, settings, environment);
  } else {
    ASSIGN_OR_RETURN(backend, MakeHttpBackend(identity, settings, environment));
  }
  Patience patience;
  patience.give_up_after = settings.Duration("retry_deadline", patience.give_up_after);
  return std::make_unique<RetryingModel>(std::move(backend), patience,
                                         static_cast<uint32_t>(settings.Count("parallel")));
}

absl::StatusOr<v1::Sampling> SamplingFrom(const Settings& settings) {
  v1::Sampling sampling;
  if (!settings.Text("temperature").empty()) sampling.set_temperature(settings.Number("temperature"));
  if (!settings.Text("top_p").empty()) sampling.set_top_p(settings.Number("top_p"));
  if (sampling.top_p() > 1) return absl::InvalidArgumentError("top_p must be at most 1.");
  if (settings.Count("max_tokens") > std::numeric_limits<uint32_t>::max()) {
    return absl::InvalidArgumentError("max_tokens must be less than 2^32.");
  }
  sampling.set_max_tokens(static_cast<uint32_t>(settings.Count("max_tokens")));
  if (!settings.Text("seed").empty()) sampling.set_seed(settings.Count("seed"));
  sampling.set_reasoning_effort(settings.Text("reasoning_effort"));
  return sampling;
}

}  // namespace sassay::agent
