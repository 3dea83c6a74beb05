// scripted-model-server: the scripted server as a program, for tests that kill the agent. Prints "port N" and serves
// until its standard input ends.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <iostream>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "agent/models/testing/scripted_server.h"
#include "common/base/files.h"

namespace sassay::agent {
namespace {

struct Flags {
  std::string answers;
  std::string text = "No candidate: this server was started without --answers.";
  std::string api_key;
  double first_token_s = 0;
  double generation_s = 0;
  double fault_share = 0;
  uint64_t fault_seed = 1;
};

std::string TurnFile(uint32_t turn) { return absl::StrCat("turn_", turn < 10 ? "0" : "", turn, ".md"); }

// As `--model replay:DIR` reads its folder: exp_NNN/turn_NN.md, or turn_NN.md for all trajectories.
std::string TextFor(const Flags& flags, const AnswerRequest& request) {
  if (flags.answers.empty()) return flags.text;
  const std::filesystem::path folder(flags.answers);
  for (const auto& path : {folder / request.trajectory_id / TurnFile(request.turn), folder / TurnFile(request.turn)}) {
    if (absl::StatusOr<std::string> text = ReadFile(path); text.ok()) return *text;
  }
  return absl::StrCat("No answer is recorded for turn ", request.turn, ".");
}

Script MakeScript(const Flags& flags) {
  const Script script = [flags](const AnswerRequest& request) {
    ScriptedAnswer answer;
    answer.text = TextFor(flags, request);
    answer.before_first = absl::Seconds(flags.first_token_s);
    answer.duration = absl::Seconds(flags.generation_s);
    answer.completion_tokens = answer.text.size() / 4 + 1;
    return answer;
  };
  return flags.fault_share > 0 ? WithRandomFaults(script, flags.fault_seed, flags.fault_share) : script;
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app("A model's HTTP server for tests");
  app.add_option("--answers", flags.answers, "folder with exp_NNN/turn_NN.md or turn_NN.md");
  app.add_option("--text", flags.text, "the answer to everything, without --answers");
  app.add_option("--api-key", flags.api_key, "refuse requests with another key");
  app.add_option("--first-token", flags.first_token_s, "seconds before an answer begins");
  app.add_option("--generation", flags.generation_s, "seconds over which an answer is spread");
  app.add_option("--fault-share", flags.fault_share, "share of requests that break, at most three for each turn");
  app.add_option("--fault-seed", flags.fault_seed, "decides which");
  CLI11_PARSE(app, argc, argv);
  ScriptedServerOptions options;
  options.api_key = flags.api_key;
  const auto server = ScriptedServer::Start(MakeScript(flags), options);
  if (!server.ok()) {
    std::cerr << server.status() << "\n";
    return 3;
  }
  std::cout << "port " << (*server)->port() << std::endl;
  for (char ignored; read(STDIN_FILENO, &ignored, 1) > 0;) continue;
  return 0;
}

}  // namespace
}  // namespace sassay::agent

int main(int argc, char** argv) { return sassay::agent::Main(argc, argv); }
