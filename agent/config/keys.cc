#include "agent/config/keys.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "common/base/suggest.h"

namespace sassay::agent {
namespace {

using enum ValueKind;

constexpr Key kKeys[] = {
    {"abi", kChoice, "auto", "auto|c|tvm_ffi", false, true, "entry point's convention; auto finds it by symbol"},
    {"allow_unsandboxed", kSwitch, "false", "", false, false,
     "run compiler and host code without a sandbox where this machine offers none"},
    {"answer_deadline", kDuration, "1h", "", false, true, "how long a model may take for one answer"},
    {"api_key", kText, "", "", true, false, "the model provider's key; prefer SASSAY_API_KEY or api_key_file"},
    {"api_key_file", kPath, "", "", false, false, "file with the model provider's key, for your eyes only (chmod 600)",
     "FILE"},
    {"arch", kChoice, "sm_90a", "sm_90a|sm_100a", false, true, "target architecture"},
    {"artifacts", kPath, "", "", false, true, "folder for the files that diagnoses make; default: the candidate's own",
     "DIR"},
    {"autotune_config", kCount, "0", "", false, true,
     "which configuration of triton.autotune a Triton candidate is compiled with, counted from 0: nothing is timed"},
    {"baseline", kChoice, "workload", "workload|itself", false, false,
     "what to time against: the workload's baseline, or the same bundle in a second runner (A/A, not scored)"},
    {"builder", kText, "", "", false, false,
     "compile and capture there instead of on this machine: a profiler-service --role builder; token and certificates "
     "are those of the service",
     "HOST:PORT"},
    {"ca_file", kPath, "", "", false, false, "PEM file with the certificate authority of the service; switches TLS on",
     "FILE"},
    {"cache_dir", kPath, "", "", false, false, "compile cache; default $XDG_CACHE_HOME/sassay or ~/.cache/sassay",
     "DIR"},
    {"cert_file", kPath, "", "", false, false, "PEM file with the client's certificate, for mutual TLS", "FILE"},
    {"color", kChoice, "auto", "auto|always|never", false, true, "colours on the terminal"},
    {"compile_deadline", kDuration, "2m", "", false, true, "how long one compilation may take"},
    {"connect_deadline", kDuration, "30s", "", false, true, "how long a connection to a model's server may take"},
    {"context", kChoice, "full", "full|latest|best", false, true,
     "which earlier turns a model is shown: all, the last one, or the best one and the last one"},
    {"cuda", kText, "", "", false, false, "release of the CUDA toolkit, where several are installed: 12.8", "RELEASE"},
    {"cuda_home", kPath, "", "", false, false,
     "CUDA toolkit; default $CUDA_HOME, /usr/local/cuda, .venv/cuda here or above, PATH, Python's packages", "DIR"},
    {"definitions", kPathList, "", "", false, true, "folders with workload definitions of your own"},
    {"device", kText, "", "", false, true,
     "GPU model whose answers capture gives; default H200 for sm_90a, B200 for sm_100a", "MODEL"},
    {"device_table", kPath, "", "", false, true, "JSON device table from `doctor --dump-device-table`", "FILE"},
    {"diagnose", kList, "", "", false, true,
     "what to find out besides: ncu (Nsight Compute; keeps its report), hotspots (evidence's counts by source line), "
     "debug (where every "
     "warp stands after a fault or hang); never changes the verdict (docs/diagnostics.md)"},
    {"endpoint", kText, "", "", false, false,
     "the model's server, for example http://127.0.0.1:8000 or https://openrouter.ai/api/v1", "URL"},
    {"first_token_deadline", kDuration, "10m", "", false, true, "how long a model may be silent before its answer"},
    {"fresh", kSwitch, "false", "", false, true,
     "have everything done anew, also what an identical submission has settled; run and bench always do"},
    {"gpu_model", kText, "", "", false, true,
     "only a GPU of this model may judge it, as the service calls it (\"NVIDIA H200\"); default: any", "MODEL"},
    {"in_flight", kCount, "500", "", false, true, "trajectories that are worked on at once"},
    {"infra_deadline", kDuration, "30m", "", false, true,
     "how long a turn waits for infrastructure before the run pauses"},
    {"insecure", kSwitch, "false", "", false, false, "plaintext to a service that is not on this machine"},
    {"insecure_endpoint", kSwitch, "false", "", false, false,
     "send the key in plain text to a model's server that is not on this machine"},
    {"key_file", kPath, "", "", false, false, "PEM file with the client's private key, for mutual TLS", "FILE"},
    {"knowledge", kText, "all", "", false, true,
     "parts of the system prompt: params,templates,contract in any order, all, or none", "PARTS"},
    {"label", kText, "", "", false, true, "words that keep conditions apart in reports"},
    {"language", kChoice, "cuda", "cuda|triton", false, true, "what a model is asked to write"},
    {"max_age", kDuration, "", "", false, true,
     "a timing no older than this stands for a new one, where an identical submission has one; default: always timed "
     "anew"},
    {"max_submissions", kCount, "64", "", false, true, "submissions of a run that the service has at once"},
    {"max_tokens", kCount, "", "", false, true, "most tokens of one answer, reasoning included"},
    {"model", kText, "", "", false, false,
     "the model as its provider calls it, or replay:DIR (recorded answers), or command:CMD (a program)", "ID"},
    {"model_ca_file", kPath, "", "", false, false, "PEM file with the certificate authority of the model's server",
     "FILE"},
    {"money_budget", kNumber, "", "", false, true,
     "US dollars that a run may cost; checked before each turn, so that answers under way may go over it"},
    {"notes", kText, "", "", false, false,
     "folder with repair notes for the feedback, as DIR; DIR:kernel shows the repaired kernels too", "DIR[:kernel]"},
    {"parallel", kCount, "4", "", false, true, "answers under way at once"},
    {"price", kText, "", "", false, false,
     "US dollars for a million tokens, as PROMPT,COMPLETION or PROMPT,CACHED_PROMPT[,CACHE_WRITE],COMPLETION",
     "PRICES"},
    {"priority", kChoice, "auto", "auto|interactive|batch", false, true,
     "class that a submission waits in: interactive goes first, batch gets at least a fifth beside it; auto: "
     "interactive for submit, replay and bench, batch for batch, run and dataset"},
    {"profile", kChoice, "strict", "strict|lenient", false, true,
     "how strictly host code is held to launching the same work"},
    {"prompt", kPathList, "", "", false, false,
     "files with words of your own that follow the task; trajectories are run for each of them", "FILE[,FILE...]"},
    {"provider", kChoice, "auto", "auto|openai|anthropic", false, false,
     "how the model's server is spoken to: chat completions or messages; auto tells by its address"},
    {"queue_deadline", kDuration, "", "", false, true, "how long a submission may wait; default: the service's"},
    {"reasoning_effort", kText, "", "", false, true,
     "low, medium, high or what the provider knows; for Anthropic also a number of thinking tokens", "EFFORT"},
    {"reconnect_deadline", kDuration, "5m", "", false, true, "how long to try again after the connection broke"},
    {"retry_deadline", kDuration, "15m", "", false, true, "how long to go on asking a model that does not answer"},
    {"run_deadline", kDuration, "", "", false, true, "how long the stages may take; default: the service's"},
    {"sanitize", kChoice, "default", "default|none|fast|full", false, true,
     "fast: memcheck; full: synccheck, initcheck and racecheck too, which only advise; a tool that is missing, fails "
     "or is too slow is "
     "UNAVAILABLE; default: the service's choice"},
    {"seed", kCount, "", "", false, true, "makes sampling repeatable where the provider can; each turn gets its own"},
    {"service", kText, "127.0.0.1:50051", "", false, false, "profiling service", "HOST:PORT"},
    {"stages", kList, "", "", false, true, "stages to run besides evaluate (sanitize, evidence, timing); default: all"},
    {"target_speedup", kNumber, "", "", false, true,
     "a trajectory ends when a turn that may be scored is at least so fast"},
    {"temperature", kNumber, "", "", false, true, "softmax temperature of the model; default: the provider's"},
    {"token", kText, "", "", true, false, "bearer token; prefer token_file"},
    {"token_budget", kCount, "", "", false, true,
     "tokens that a run may use, sent and received; checked before each turn"},
    {"token_deadline", kDuration, "2m", "", false, true, "how long a model may pause inside an answer"},
    {"token_file", kPath, "", "", false, false, "file with the bearer token", "FILE"},
    {"top_p", kNumber, "", "", false, true, "nucleus sampling's share; default: the provider's"},
    {"trajectories", kCount, "1", "", false, true, "trajectories for each workload and prompt"},
    {"triton_venv", kPath, "", "", false, false,
     "virtual environment with Triton; default $SASSAY_TRITON_VENV or .venv/triton here or above", "DIR"},
    {"turns", kCount, "8", "", false, true, "most turns of a trajectory"},
    {"workload", kList, "", "", false, true,
     "workloads, as definition/AXIS=value; a definition alone stands for the first size it suggests"},
};

absl::Status CheckChoice(const Key& key, absl::string_view value) {
  const std::vector<std::string> choices = absl::StrSplit(key.choices, '|');
  if (std::find(choices.begin(), choices.end(), value) != choices.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("must be one of ", absl::StrJoin(choices, ", "), ", not \"", value,
                                                 "\".", DidYouMean(value, choices)));
}

absl::Status CheckDuration(const Key& key, absl::string_view value) {
  absl::Duration duration;
  if (absl::ParseDuration(value, &duration) && duration > absl::ZeroDuration()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("must be a duration such as 90s, 5m or 1h30m, not \"", value, "\"."));
}

absl::Status CheckNumber(const Key& key, absl::string_view value) {
  uint64_t count = 0;
  double number = 0;
  if (key.kind == kCount && absl::SimpleAtoi(value, &count)) return absl::OkStatus();
  if (key.kind == kNumber && absl::SimpleAtod(value, &number) && std::isfinite(number) && number >= 0)
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("must be a ", key.kind == kCount ? "whole " : "",
                                                 "number that is not negative, not \"", value, "\"."));
}

}  // namespace

absl::Span<const Key> Keys() { return kKeys; }

const Key* FindKey(absl::string_view name) {
  const auto found = std::find_if(std::begin(kKeys), std::end(kKeys), [&](const Key& key) { return key.name == name; });
  return found == std::end(kKeys) ? nullptr : found;
}

std::vector<std::string> KeyNames() {
  std::vector<std::string> names;
  for (const Key& key : kKeys) names.push_back(key.name);
  return names;
}

std::string EnvironmentVariable(const Key& key) { return absl::StrCat("SASSAY_", absl::AsciiStrToUpper(key.name)); }

std::string FlagName(const Key& key) {
  return key.secret ? "" : absl::StrCat("--", absl::StrReplaceAll(key.name, {{"_", "-"}}));
}

absl::Status CheckValue(const Key& key, absl::string_view value) {
  if (value.empty()) return absl::OkStatus();
  if (key.kind == kChoice) return CheckChoice(key, value);
  if (key.kind == kDuration) return CheckDuration(key, value);
  if (key.kind == kCount || key.kind == kNumber) return CheckNumber(key, value);
  if (key.kind != kSwitch || value == "true" || value == "false") return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("must be true or false, not \"", value, "\"."));
}

}  // namespace sassay::agent
