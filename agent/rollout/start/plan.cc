#include "agent/rollout/start/plan.h"

#include <algorithm>
#include <set>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "agent/build/workload_names.h"
#include "agent/config/keys.h"
#include "agent/models/credentials.h"
#include "agent/models/http/endpoint.h"
#include "agent/trajectory/layout.h"
#include "agent/trajectory/read_log.h"
#include "common/base/files.h"
#include "common/base/proto_time.h"
#include "common/base/random.h"
#include "common/base/sha256.h"
#include "common/base/status_macros.h"
#include "common/base/utf8.h"

namespace sassay::agent {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMostTurns = 1000;
constexpr double kMostPrice = 1e6;
constexpr uint64_t kMostWordsBytes = 1 << 20;

// Settings that shape a run's record.
constexpr const char* kShaping[] = {"abi",
                                    "arch",
                                    "baseline",
                                    "context",
                                    "definitions",
                                    "device",
                                    "device_table",
                                    "endpoint",
                                    "gpu_model",
                                    "knowledge",
                                    "language",
                                    "label",
                                    "max_tokens",
                                    "model",
                                    "money_budget",
                                    "notes",
                                    "price",
                                    "profile",
                                    "prompt",
                                    "provider",
                                    "queue_deadline",
                                    "reasoning_effort",
                                    "run_deadline",
                                    "sanitize",
                                    "seed",
                                    "stages",
                                    "target_speedup",
                                    "temperature",
                                    "token_budget",
                                    "top_p",
                                    "trajectories",
                                    "turns",
                                    "workload"};

std::string Absolute(const Key& key, const std::string& value) {
  if (value.empty() || (key.kind != ValueKind::kPath && key.kind != ValueKind::kPathList)) return value;
  std::vector<std::string> paths = absl::StrSplit(value, ',', absl::SkipEmpty());
  for (std::string& path : paths) path = fs::absolute(path).lexically_normal().string();
  return absl::StrJoin(paths, ",");
}

v1::ContextPolicy ParseContext(const std::string& text) {
  if (text == "latest") return v1::CONTEXT_POLICY_LATEST;
  return text == "best" ? v1::CONTEXT_POLICY_BEST : v1::CONTEXT_POLICY_FULL;
}

std::string NotesWord(const std::string& option) {
  if (option.empty()) return "none";
  return absl::EndsWith(option, ":kernel") ? "kernel" : "explanation";
}

// Whether `endpoint`, as somebody would write it, is where the run's questions go.
bool IsServerOf(const v1::RunManifest& manifest, const std::string& endpoint) {
  const auto& kept = manifest.settings();
  const auto text = [&](const char* name) { return kept.count(name) > 0 ? kept.at(name) : std::string(); };
  const absl::StatusOr<Settings> settings = Settings::Resolve(
      {{{"model", text("model")}, {"provider", text("provider")}, {"endpoint", endpoint}}, {}, fs::path()});
  if (endpoint.empty() || !settings.ok()) return false;
  const absl::StatusOr<ModelIdentity> model = IdentifyModel(*settings);
  return model.ok() && model->endpoint == text("endpoint");
}

// The folder may be somebody else's: it does not decide alone which program runs here, and who gets a key.
absl::Status CheckTrust(const v1::RunManifest& manifest, const Settings& settings, const Settings& now) {
  ASSIGN_OR_RETURN(const ModelIdentity model, IdentifyModel(settings));
  if (model.provider == "replay") return absl::OkStatus();
  if (model.provider == "command") {
    if (now.Text("model") == settings.Text("model")) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat("this run would execute \"", model.model,
                     "\", which only its folder says. If it is your own run, give --model once more."));
  }
  ASSIGN_OR_RETURN(const Endpoint endpoint, ParseEndpoint(model.endpoint));
  const bool has_key = !settings.Text("api_key").empty() || !settings.Text("api_key_file").empty();
  if (!has_key || IsKnownServer(endpoint) || IsServerOf(manifest, now.Text("endpoint"))) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("your key would go to ", model.endpoint,
                   ", which only this run's folder says. If it is your own run, give --endpoint once more."));
}

absl::Status CheckCounts(const Settings& settings) {
  for (const char* key : {"turns", "trajectories", "parallel", "in_flight", "max_submissions"}) {
    if (settings.Count(key) == 0)
      return absl::InvalidArgumentError(absl::StrCat(FlagName(*FindKey(key)), " must be at least 1."));
  }
  if (settings.Count("turns") > kMostTurns)
    return absl::InvalidArgumentError(absl::StrCat("--turns is at most ", kMostTurns, "."));
  if (settings.Count("trajectories") <= kMaxTrajectories) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--trajectories is at most ", kMaxTrajectories, "."));
}

// OpenRouter says what an answer cost; nobody else does.
absl::Status CheckMoney(const Settings& settings, const ModelIdentity& model, const v1::Prices& prices) {
  const bool priced = prices.prompt() > 0 || prices.completion() > 0;
  const absl::StatusOr<Endpoint> endpoint = ParseEndpoint(model.endpoint);
  const bool tells = endpoint.ok() && endpoint->host == "openrouter.ai";
  if (settings.Number("money_budget") == 0 || priced || tells) return absl::OkStatus();
  return absl::InvalidArgumentError("--money-budget needs --price: without prices nobody knows what an answer costs.");
}

void KeepSettings(const Settings& settings, const ModelIdentity& model, v1::RunManifest& manifest) {
  for (const char* name : kShaping) {
    const Key* const key = FindKey(name);
    if (key != nullptr && !key->secret) (*manifest.mutable_settings())[name] = Absolute(*key, settings.Text(name));
  }
  // As the model names it, without what somebody may have put into the address.
  if (manifest.settings().count("endpoint") > 0) (*manifest.mutable_settings())["endpoint"] = model.endpoint;
}

// One of the first two messages, shared by every trajectory that begins with it.
class SharedTexts {
 public:
  explicit SharedTexts(RunFolder& folder) : folder_(folder) {}

  absl::StatusOr<std::string> Keep(const std::string& text) {
    ASSIGN_OR_RETURN(const std::string sha256, folder_.WritePrompt(text));
    if (texts_.count(sha256) == 0) texts_[sha256] = std::make_shared<const std::string>(text);
    return sha256;
  }
  absl::StatusOr<std::shared_ptr<const std::string>> Get(const std::string& sha256) {
    std::shared_ptr<const std::string>& text = texts_[sha256];
    if (text != nullptr) return text;
    ASSIGN_OR_RETURN(std::string read, ReadPrompt(folder_.path(), sha256));
    text = std::make_shared<const std::string>(std::move(read));
    return text;
  }

 private:
  RunFolder& folder_;
  std::map<std::string, std::shared_ptr<const std::string>> texts_;
};

// What every trajectory of one workload and prompt begins with.
absl::StatusOr<v1::TrajectoryBegan> Beginning(const Settings& settings, const v1::RunManifest& manifest,
                                              const v1::Workload& workload, uint32_t prompt,
                                              const std::string& own_words, SharedTexts& texts) {
  ASSIGN_OR_RETURN(const Prompt words, PromptFor(settings, workload, own_words));
  v1::TrajectoryBegan began;
  began.set_run_id(manifest.run_id());
  began.set_workload(workload.name());
  began.set_definition_sha256(absl::BytesToHexString(workload.definition_sha256()));
  began.set_prompt(prompt);
  ASSIGN_OR_RETURN(*began.mutable_system_sha256(), texts.Keep(words.system));
  ASSIGN_OR_RETURN(*began.mutable_user_sha256(), texts.Keep(words.task));
  for (const PromptPart& part : words.parts) {
    v1::PromptPart& kept = *began.add_parts();
    kept.set_name(part.name);
    kept.set_sha256(Sha256Hex(part.text));
    kept.set_bytes(part.bytes);
    kept.set_estimated_tokens(part.estimated_tokens);
  }
  return began;
}

// What the trajectory's log tells: how it began, what it cost, and what judged it.
absl::Status TakeLog(const fs::path& run, v1::TrajectoryBegan& began, Spending& spending,
                     std::set<std::string>& judged) {
  ASSIGN_OR_RETURN(const LogContent content, ReadLog(LogPath(run, began.trajectory_id())));
  const Trajectory& trajectory = content.trajectory;
  if (trajectory.last_sequence == 0) return absl::OkStatus();
  for (const auto* turns : {&trajectory.turns, &trajectory.taken_back}) {
    for (const Turn& turn : *turns) {
      if (turn.answered.has_value()) spending.Add(turn.answered->usage());
    }
  }
  for (const Turn& turn : trajectory.turns) {
    if (turn.judged.has_value()) judged.insert(turn.judged->verdict().submission_id());
  }
  if (trajectory.began.workload() != began.workload() ||
      trajectory.began.definition_sha256() != began.definition_sha256()) {
    return absl::FailedPreconditionError(
        absl::StrCat(began.trajectory_id(), " was begun for ", trajectory.began.workload(), " with definition ",
                     trajectory.began.definition_sha256(), ", which is ", began.workload(), " with ",
                     began.definition_sha256(), " now. A changed definition wants a new run."));
  }
  began = trajectory.began;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::Prices> ParsePrices(absl::string_view text) {
  v1::Prices prices;
  if (text.empty()) return prices;
  std::vector<double> numbers;
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    double number = 0;
    const bool is_price = absl::SimpleAtod(part, &number) && number >= 0 && number <= kMostPrice;
    numbers.push_back(is_price ? number : -1);
  }
  if (numbers.size() < 2 || numbers.size() > 4 || *std::min_element(numbers.begin(), numbers.end()) < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--price must be PROMPT,COMPLETION, PROMPT,CACHED_PROMPT,COMPLETION or "
                     "PROMPT,CACHED_PROMPT,CACHE_WRITE,COMPLETION in dollars for a million tokens, such as 3,15 or "
                     "3,0.3,3.75,15, not \"",
                     text, "\"."));
  }
  prices.set_prompt(numbers.front());
  prices.set_completion(numbers.back());
  if (numbers.size() >= 3) prices.set_cached_prompt(numbers[1]);
  if (numbers.size() == 4) prices.set_cache_write(numbers[2]);
  return prices;
}

absl::Status CheckArch(const v1::GetCapabilitiesResponse& capabilities, absl::string_view arch) {
  std::set<std::string> archs;
  for (const v1::DeviceCapability& device : capabilities.devices())
    archs.insert(device.archs().begin(), device.archs().end());
  if (archs.empty() || archs.count(std::string(arch)) > 0) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("the service has no device for ", arch,
                                                    ", which the run is for; it has ", absl::StrJoin(archs, ", "),
                                                    ". Give --arch, or --service of one that has such a device."));
}

absl::StatusOr<std::vector<v1::Workload>> WorkloadsOf(const Settings& settings, const WorkloadCatalog& catalog) {
  std::vector<v1::Workload> workloads;
  for (const std::string& name : SplitWorkloadNames(settings.Text("workload"))) {
    ASSIGN_OR_RETURN(v1::Workload workload, ResolveWorkload(catalog, name));
    workloads.push_back(std::move(workload));
  }
  if (!workloads.empty()) return workloads;
  return absl::InvalidArgumentError(
      "--workload is needed: what shall the model write? `mini-ptx-agent workloads` lists what there is.");
}

absl::StatusOr<Prompt> PromptFor(const Settings& settings, const v1::Workload& workload, absl::string_view own_words) {
  PromptRequest request;
  request.workload = workload;
  request.arch = settings.Text("arch");
  if (settings.Text("abi") == "tvm_ffi") request.abi = v1::ENTRY_ABI_TVM_FFI;
  ASSIGN_OR_RETURN(request.parts, ParseKnowledgeParts(settings.Text("knowledge")));
  ASSIGN_OR_RETURN(Prompt prompt, MakePrompt(request));
  if (own_words.empty()) return prompt;
  absl::StrAppend(&prompt.task, "\n\n", own_words);
  prompt.parts.push_back({"prompt", std::string(own_words), own_words.size(), EstimateTokens(own_words)});
  return prompt;
}

absl::StatusOr<std::vector<std::string>> OwnWords(const Settings& settings) {
  std::vector<std::string> words;
  for (const std::string& path : settings.List("prompt")) {
    const absl::StatusOr<std::string> text = ReadFile(path, kMostWordsBytes);
    if (!text.ok())
      return absl::Status(text.status().code(),
                          absl::StrCat("--prompt cannot be used: ", text.status().message(), "."));
    words.push_back(ToUtf8(*text));
  }
  if (words.empty()) words.emplace_back();
  return words;
}

absl::StatusOr<v1::RunManifest> MakeManifest(const Settings& settings, const ModelIdentity& model,
                                             const std::vector<v1::Workload>& workloads, absl::Time now) {
  RETURN_IF_ERROR(CheckCounts(settings));
  v1::RunManifest manifest;
  manifest.set_run_id(RandomHex(16));
  SetTimestamp(now, *manifest.mutable_created_at());
  manifest.set_label(settings.Text("label"));
  manifest.set_language(settings.Text("language"));
  manifest.set_model(model.model);
  manifest.set_provider(model.provider);
  manifest.set_endpoint(model.endpoint);
  for (const v1::Workload& workload : workloads) manifest.add_workloads(workload.name());
  manifest.set_arch(settings.Text("arch"));
  manifest.set_turn_limit(static_cast<uint32_t>(settings.Count("turns")));
  manifest.set_trajectories(static_cast<uint32_t>(settings.Count("trajectories")));
  manifest.set_target_speedup(settings.Number("target_speedup"));
  manifest.set_token_budget(settings.Count("token_budget"));
  manifest.set_money_budget_usd(settings.Number("money_budget"));
  manifest.set_context(ParseContext(settings.Text("context")));
  ASSIGN_OR_RETURN(*manifest.mutable_sampling(), SamplingFrom(settings));
  ASSIGN_OR_RETURN(*manifest.mutable_prices(), ParsePrices(settings.Text("price")));
  RETURN_IF_ERROR(CheckMoney(settings, model, manifest.prices()));
  ASSIGN_OR_RETURN(const KnowledgeParts parts, ParseKnowledgeParts(settings.Text("knowledge")));
  for (absl::string_view part : absl::StrSplit(KnowledgePartsText(parts), ',')) {
    if (part != "none") manifest.add_knowledge(std::string(part));
  }
  manifest.set_notes(NotesWord(settings.Text("notes")));
  manifest.set_sassay_version(SASSAY_VERSION);
  for (const std::string& stage : settings.List("stages")) manifest.add_stages(stage);
  KeepSettings(settings, model, manifest);
  MakeTextValid(manifest);
  return manifest;
}

absl::StatusOr<Settings> SettingsOf(const v1::RunManifest& manifest, const Settings& now,
                                    const std::map<std::string, std::string>& environment,
                                    const fs::path& working_directory) {
  std::map<std::string, std::string> flags;
  for (const char* name : kShaping) {
    const auto kept = manifest.settings().find(name);
    if (kept != manifest.settings().end()) flags[name] = kept->second;
  }
  for (const Key& key : Keys()) {
    if (!absl::StartsWith(now.Origin(key.name), "flag ")) continue;
    const std::string value = Absolute(key, now.Text(key.name));
    const auto kept = flags.find(key.name);
    if (absl::string_view(key.name) == "endpoint" && IsServerOf(manifest, value)) continue;
    if (kept != flags.end() && kept->second != value) {
      return absl::InvalidArgumentError(
          absl::StrCat(FlagName(key), " is \"", kept->second, "\" in this run and cannot become \"", value,
                       "\": its record would mix the two. Leave it out, or begin a new run."));
    }
    flags[key.name] = value;
  }
  ASSIGN_OR_RETURN(Settings settings, Settings::Resolve({flags, environment, working_directory}));
  RETURN_IF_ERROR(CheckTrust(manifest, settings, now));
  return settings;
}

absl::StatusOr<RunPlan> MakePlan(const Settings& settings, RunFolder& folder, std::vector<v1::Workload> workloads,
                                 const std::vector<std::string>& own_words, Spending& spending) {
  RunPlan plan;
  plan.workloads = std::move(workloads);
  SharedTexts texts(folder);
  const v1::RunManifest& manifest = folder.manifest();
  const uint64_t count = plan.workloads.size() * own_words.size() * manifest.trajectories();
  if (count > kMaxTrajectories) {
    return absl::InvalidArgumentError(absl::StrCat("the run would have ", count, " trajectories; at most ",
                                                   kMaxTrajectories, " are possible: make several runs."));
  }
  for (const v1::Workload& workload : plan.workloads) {
    for (uint32_t prompt = 0; prompt < own_words.size(); ++prompt) {
      ASSIGN_OR_RETURN(v1::TrajectoryBegan beginning,
                       Beginning(settings, manifest, workload, prompt, own_words[prompt], texts));
      for (uint32_t i = 0; i < manifest.trajectories(); ++i) {
        TrajectorySpec& spec = plan.specs.emplace_back();
        spec.index = plan.specs.size() - 1;
        spec.workload = &workload;
        spec.began = beginning;
        spec.began.set_trajectory_id(TrajectoryId(spec.index));
        RETURN_IF_ERROR(TakeLog(folder.path(), spec.began, spending, plan.judged));
        ASSIGN_OR_RETURN(spec.system, texts.Get(spec.began.system_sha256()));
        ASSIGN_OR_RETURN(spec.user, texts.Get(spec.began.user_sha256()));
      }
    }
  }
  return plan;
}

}  // namespace sassay::agent
