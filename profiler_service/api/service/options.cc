#include "profiler_service/api/service/options.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <string>
#include <thread>

#include "CLI/CLI.hpp"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/process/host_name.h"
#include "profiler_service/cluster/convert.h"

namespace sassay::api {
namespace {

constexpr const char* kDescription =
    "Judges GPU kernels that arrive as binaries: safe? right? which instructions? how fast?";

constexpr const char* kExamples = R"(Examples:
  profiler-service                                      serve this machine, on the GPUs it has, else emulated
  profiler-service --check                              say what was found here, what is missing, and what mends it
  profiler-service --listen 127.0.0.1:0 --port-file p   a free port, written to the file p
  profiler-service token add ann --token-file tokens    make a token for ann; it is shown once
  profiler-service audit                                who changed what, and who was refused
  profiler-service --listen 0.0.0.0:50051 --tls-cert s.crt --tls-key s.key --token-file tokens

A cluster (docs/cluster.md): front ends keep everything, nodes have the GPUs and connect to them.
  profiler-service --role frontend --listen 0.0.0.0:50051 --tls-cert s.crt --tls-key s.key --token-file tokens
  profiler-service token add gpus --role node --token-file tokens >node.token
  profiler-service --role node --join frontend:50051 --join-token-file node.token --join-ca-file ca.crt

A builder (docs/cluster.md) compiles for clients without a toolkit: mini-ptx-agent submit ... --builder HOST:PORT
  profiler-service --role builder --listen 0.0.0.0:50052 --tls-cert s.crt --tls-key s.key --token-file tokens

Every flag can be given in the environment (--max-queued as SASSAY_MAX_QUEUED; --token-file and
--sanitize as SASSAY_SERVICE_TOKEN_FILE and SASSAY_SERVICE_SANITIZE) or in the file that --config names (max-queued = 10000). A flag beats the environment, the
environment beats the file.

Exit status: 0 after SIGTERM or SIGINT, and for --check where candidates can be judged; 1 it could not start, or
candidates cannot be judged here; 2 usage.

Without --token-file everybody who can connect is one tenant: on loopback `local`, an admin too; elsewhere `anonymous`,
no admin.)";

// Three renewals, each with time for a front end to be slow.
constexpr absl::Duration kShortestLease = absl::Seconds(3);

constexpr const char* kEndings = "a number with unit: 500ms, 30s, 10m, 24h";

// Lets CLI11 parse absl's durations.
CLI::Option* AddDuration(CLI::App& app, const std::string& name, absl::Duration& value, const std::string& help,
                         absl::Duration least = absl::Nanoseconds(1)) {
  const auto parse = [&value, least](const std::string& text) {
    absl::Duration parsed;
    if (!absl::ParseDuration(text, &parsed) || parsed < least) {
      throw CLI::ValidationError(absl::StrCat("expected ", kEndings, ", got '", text, "'"));
    }
    value = parsed;
  };
  return app.add_option_function<std::string>(name, parse, help)
      ->type_name("DURATION")
      ->default_str(absl::FormatDuration(value));
}

void AddRole(CLI::App& app, ServiceOptions& options) {
  static const std::map<std::string, ServiceRole> roles = {{"all", ServiceRole::kAll},
                                                           {"frontend", ServiceRole::kFrontEnd},
                                                           {"node", ServiceRole::kNode},
                                                           {"builder", ServiceRole::kBuilder}};
  constexpr const char* kGroup = "CLUSTER";
  app.add_option("--role", options.role,
                 "all: the service of this machine; frontend: takes submissions, has no GPU; node: has GPUs, gets its "
                 "work from a front end; builder: compiles and captures for clients that cannot")
      ->transform(CLI::CheckedTransformer(roles))
      ->type_name("ROLE")
      ->default_str("all")
      ->group(kGroup);
  app.add_flag("--nodes", options.nodes, "Role all: let nodes run submissions, too")->group(kGroup);
  app.add_option("--join", options.join.addresses, "Role node: front ends, HOST:PORT[,HOST:PORT...]; any that answers")
      ->delimiter(',')
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false)
      ->type_name("HOST:PORT")
      ->group(kGroup);
  app.add_option("--join-token-file", options.join.token_file,
                 "Token for --join; 'token add NAME --role node' makes it where the front end is")
      ->group(kGroup);
  app.add_option("--join-ca-file", options.join.ca_file, "TLS to --join: who signed the front ends' certificates (PEM)")
      ->group(kGroup);
  app.add_option("--join-cert-file", options.join.cert_file, "Mutual TLS to --join: this node's certificate (PEM)")
      ->group(kGroup);
  app.add_option("--join-key-file", options.join.key_file, "Mutual TLS to --join: its key (PEM)")->group(kGroup);
  app.add_flag("--join-insecure", options.join.insecure,
               "No TLS to a --join on another machine; whoever is between reads the token")
      ->group(kGroup);
  app.add_option("--node-name", options.join.node_name,
                 "Role node: its name, unique among the nodes with the same token [host name]")
      ->group(kGroup);
}

void AddBuilds(CLI::App& app, ServiceOptions& options) {
  constexpr const char* kGroup = "BUILDER";
  app.add_option("--build-places", options.build.places, "Builds at once; each keeps a core busy")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str()
      ->group(kGroup);
  app.add_option("--max-builds", options.build.max_builds,
                 "Builds that may upload, wait or run; each holds its sources")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->group(kGroup);
  app.add_option("--max-builds-per-tenant", options.build.max_builds_per_tenant, "Of those, one tenant's")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->group(kGroup);
  AddDuration(app, "--build-deadline", options.build.deadline,
              "What one build may take, its wait not included; then it is killed, which is not the candidate's fault",
              absl::Seconds(1))
      ->group(kGroup);
}

void AddPlaces(CLI::App& app, ServiceOptions& options) {
  app.add_option("--listen", options.listen, "Address and port of the gRPC service; port 0 picks a free one")
      ->capture_default_str();
  app.add_option("--port-file", options.port_file, "Write the port here, once the service is ready");
  app.add_option("--device", options.device,
                 "auto, cuda:0,1 or emulated:sm_90a (sm_100a), which may be repeated for several")
      ->capture_default_str();
  app.add_option("--state", options.state, "Directory for everything that must survive")->capture_default_str();
  app.add_option(
      "--store", options.store,
      "Database: sqlite:FILE, or postgres://USER@HOST/DATABASE with libpq's parameters (sslmode=verify-full, "
      "passfile=FILE; no password here) [sqlite:STATE/sassay.db]");
  app.add_option("--blobs", options.blobs_place,
                 "What tenants upload: dir:PATH, of this process alone; postgres, the database of --store; or "
                 "postgres+dir:PATH, a folder that all front ends mount [dir:STATE/blobs]");
  app.add_option("--metrics", options.metrics, "Address and port for Prometheus; empty for none")
      ->capture_default_str();
  app.add_option("--workloads", options.workloads,
                 "Directory with your own definitions (*.json) and the bundles they trust (bundles/SHA256.bundle)");
  app.add_option("--cuda-home", options.cuda_home, "CUDA toolkit for provenance (ptxas); found by itself otherwise");
}

// What a submission gets that asks for nothing.
void AddStages(CLI::App& app, ServiceOptions& options) {
  static const std::map<std::string, sassay::v1::SanitizePolicy> policies = {
      {"none", sassay::v1::SANITIZE_POLICY_NONE},
      {"fast", sassay::v1::SANITIZE_POLICY_FAST},
      {"full", sassay::v1::SANITIZE_POLICY_FULL}};
  app.add_option("--sanitize", options.sanitize,
                 "Where the client says nothing: none, fast (memcheck), full (and synccheck, initcheck, racecheck)")
      ->transform(CLI::CheckedTransformer(policies))
      ->type_name("POLICY")
      ->default_str("fast");
}

void AddSecurity(CLI::App& app, ServiceOptions& options) {
  app.add_option("--token-file", options.token_file,
                 "Who may use the service; made by 'token add', read again on change");
  app.add_option("--tls-cert", options.tls_cert, "Server certificate chain (PEM)");
  app.add_option("--tls-key", options.tls_key, "Server key (PEM)");
  app.add_option("--tls-client-ca", options.tls_client_ca, "Demand client certificates signed by this CA (PEM)");
  app.add_flag("--insecure", options.insecure, "Serve other machines without TLS");
  app.add_flag("--allow-unsandboxed", options.allow_unsandboxed,
               "Go on where the machine has no user namespaces; hostile candidates then run with your rights");
}

void AddLimits(CLI::App& app, ServiceOptions& options) {
  queue::QueueOptions& queue = options.queue;
  app.add_option("--max-queued", queue.limits.queued, "Submissions that may wait, of all tenants")
      ->capture_default_str();
  app.add_option("--max-in-flight-per-tenant", queue.limits.tenant_in_flight,
                 "Submissions of one tenant that may wait or run")
      ->capture_default_str();
  app.add_option("--max-submissions-per-second", options.max_submissions_per_second, "Calls of Profile, per tenant")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--max-streams-per-tenant", options.max_streams_per_tenant, "Open streams of one tenant")
      ->capture_default_str();
  app.add_option("--oldest-client", options.oldest_client,
                 "Clients, monitors and nodes of an older protocol are refused, with both versions and what to do")
      ->check(CLI::Range(kOldestClient, kProtocol))
      ->type_name("PROTOCOL")
      ->capture_default_str();
  app.add_option("--max-blob-bytes", options.blobs.max_blob_bytes, "Largest upload")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  app.add_option("--max-bytes-per-tenant", options.blobs.tenant_bytes, "Bytes one tenant may keep here")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  app.add_option("--max-attempts", queue.max_attempts,
                 "Attempts that may end with a lost runner or judge before an INFRA_ERROR stands")
      ->capture_default_str();
  app.add_option("--max-losses", queue.max_losses,
                 "Crashes in a row of the service that ran a submission before it is given up; kills do not count")
      ->capture_default_str();
  app.add_option("--max-exclusions", queue.max_exclusions,
                 "How often a submission is run again because a reliability monitor excluded its attempt")
      ->capture_default_str();
  AddDuration(app, "--max-open-window", queue.max_open_window,
              "An exclusion window that a reliability monitor left open is closed when for so long none has said that "
              "its GPU is unwell");
  AddDuration(app, "--default-queue-deadline", queue.default_queue_deadline,
              "Longest wait where the client says nothing");
  AddDuration(app, "--max-queue-deadline", queue.max_queue_deadline, "Longest wait a client may ask for");
  AddDuration(app, "--default-run-deadline", queue.default_run_deadline, "Longest run where the client says nothing");
  AddDuration(app, "--max-run-deadline", queue.max_run_deadline, "Longest run a client may ask for");
  AddDuration(app, "--lease", queue.lease,
              "Whoever runs a submission and is not heard of for so long loses it to another (renewed three times as "
              "often)",
              kShortestLease);
  AddDuration(app, "--partial-upload-ttl", options.partial_upload_ttl, "Broken uploads are dropped after");
  AddDuration(app, "--keep", options.keep,
              "Verdicts with their events, and blobs that nobody used, are dropped after (the audit log never is)");
  AddDuration(app, "--drain", options.drain, "On SIGTERM: time that running work has to end before it is put back",
              absl::ZeroDuration());
}

void AddDevices(CLI::App& app, ServiceOptions& options) {
  AddDuration(app, "--device-deadline", options.device_deadline,
              "On a GPU: what one call of a candidate may take before it counts as hanging; below 2s nobody is blamed");
  AddDuration(
      app, "--timing-budget", options.timing_budget,
      "On a GPU: when the samples of a timing end that is not yet known to 1 %; a longer time narrows its interval");
  app.add_option("--jobs-per-device", options.jobs_per_device,
                 "Candidates that share a device, each in a stage of its own; 0: 4 on a GPU, 2 on an emulated device")
      ->capture_default_str();
  app.add_option("--spare-runners", options.spare_runners,
                 "Runners kept ready per device, so that no candidate waits for a context")
      ->capture_default_str();
  app.add_option("--judge-cache-share", options.judge_cache_share,
                 "Share of a GPU's memory for inputs and right outputs kept between candidates; 0 keeps none")
      ->check(CLI::Range(0.0, 0.9))
      ->capture_default_str();
  app.add_flag("--exclusive", options.exclusive, "Every stage has its device alone, not timing only");
}

std::string EnvironmentName(const std::string& flag) {
  // The agent has settings of these names.
  if (flag == "token-file") return "SASSAY_SERVICE_TOKEN_FILE";
  if (flag == "sanitize") return "SASSAY_SERVICE_SANITIZE";
  return absl::StrCat("SASSAY_", absl::StrReplaceAll(absl::AsciiStrToUpper(flag), {{"-", "_"}}));
}

// CLI11 lets a file beat the environment. We do not: what the environment says becomes a flag, unless the flag is
// there.
std::vector<std::string> EnvironmentAsFlags(const CLI::App& app, const std::vector<std::string>& given) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_lnames().empty()) continue;
    const std::string name = option->get_lnames().front();
    if (name == "help" || name == "version" || name == "check" || name == "json") continue;
    const char* value = std::getenv(EnvironmentName(name).c_str());
    const bool on_command_line = std::any_of(given.begin(), given.end(), [&](const std::string& argument) {
      return argument == "--" + name || absl::StartsWith(argument, "--" + name + "=");
    });
    if (value != nullptr && !on_command_line) flags.push_back(absl::StrCat("--", name, "=", value));
  }
  return flags;
}

CommandKind KindOf(const CLI::App& add, const CLI::App& revoke, const CLI::App& list, const CLI::App& audit,
                   bool check) {
  if (audit.parsed()) return CommandKind::kAudit;
  if (add.parsed()) return CommandKind::kTokenAdd;
  if (revoke.parsed()) return CommandKind::kTokenRevoke;
  if (list.parsed()) return CommandKind::kTokenList;
  return check ? CommandKind::kCheck : CommandKind::kServe;
}

// Front ends of one database must find what was uploaded to any of them.
std::string UsualBlobs(const ServiceOptions& options) {
  const bool shared = options.role == ServiceRole::kFrontEnd && absl::StartsWith(options.store, "postgres");
  return shared ? "postgres" : absl::StrCat("dir:", options.state, "/blobs");
}

}  // namespace

CommandLine ParseCommandLine(int argc, const char* const* argv) {
  CommandLine line;
  line.options.state = DefaultStateFolder();
  CLI::App app(kDescription, "profiler-service");
  app.footer(kExamples);
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.set_version_flag("--version", std::string("profiler-service " SASSAY_VERSION));
  app.set_config("--config", "", "Read flags from this file (TOML)");
  bool check = false;
  CLI::Option* check_flag = app.add_flag(
      "--check", check, "Say what was found on this machine, and what is missing; starts nothing that stays");
  app.add_flag("--json", line.json, "With --check: print one JSON document")->needs(check_flag);
  AddRole(app, line.options);
  AddBuilds(app, line.options);
  AddPlaces(app, line.options);
  AddStages(app, line.options);
  AddSecurity(app, line.options);
  AddLimits(app, line.options);
  AddDevices(app, line.options);

  std::string token_file;
  CLI::App* token = app.add_subcommand("token", "Make, list and revoke tokens in --token-file");
  token->require_subcommand(1);
  CLI::App* add = token->add_subcommand("add", "Make a token and print it; it is kept nowhere else");
  CLI::App* revoke = token->add_subcommand("revoke", "Revoke every token of NAME, at once");
  CLI::App* list = token->add_subcommand("list", "Names and roles");
  for (CLI::App* command : {add, revoke, list}) {
    command->add_option("--token-file", token_file, "The file, if not given before or in the environment");
    if (command != list) command->add_option("NAME", line.token_name, "The tenant")->required();
  }
  add->add_option("--role", line.token_role, "tenant, admin, or node: runs what others submit")->capture_default_str();
  CLI::App* audit = app.add_subcommand("audit", "Print the audit log of --state or --store, also while a service runs");
  audit->fallthrough();
  audit->add_option("--after", line.audit_after, "Leave out records up to this number");

  const std::vector<std::string> given(argv + 1, argv + argc);
  std::vector<std::string> arguments = EnvironmentAsFlags(app, given);
  arguments.insert(arguments.end(), given.begin(), given.end());
  std::reverse(arguments.begin(), arguments.end());
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    line.kind = CommandKind::kExit;
    line.exit_code = app.exit(error) == 0 ? 0 : 2;
    return line;
  }
  line.kind = KindOf(*add, *revoke, *list, *audit, check);
  if (!token_file.empty()) line.options.token_file = token_file;
  if (token->parsed() && line.options.token_file.empty()) {
    std::cerr << "profiler-service: --token-file is required (or SASSAY_SERVICE_TOKEN_FILE)\n";
    line.kind = CommandKind::kExit;
    line.exit_code = 2;
  }
  line.options.metrics_given = app.get_option("--metrics")->count() > 0;
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() > 0 && !option->get_lnames().empty()) {
      line.options.given.push_back(absl::StrCat("--", option->get_lnames().front()));
    }
  }
  if (line.options.join.node_name.empty()) line.options.join.node_name = HostName();
  // Beside the service of the same machine, whose folder is locked.
  if (line.options.role == ServiceRole::kBuilder && app.get_option("--state")->count() == 0) {
    absl::StrAppend(&line.options.state, "/builder");
  }
  // Workers and tools find it wherever they run.
  line.options.state = std::filesystem::absolute(line.options.state).string();
  if (line.options.store.empty()) line.options.store = absl::StrCat("sqlite:", line.options.state, "/sassay.db");
  if (line.options.blobs_place.empty()) line.options.blobs_place = UsualBlobs(line.options);
  return line;
}

BuildOptions::BuildOptions() : places(std::max(1u, std::thread::hardware_concurrency())) {}

const char* NameOf(ServiceRole role) {
  if (role == ServiceRole::kBuilder) return "builder";
  if (role == ServiceRole::kFrontEnd) return "frontend";
  return role == ServiceRole::kNode ? "node" : "all";
}

bool IsLoopback(const std::string& listen) {
  if (absl::StartsWith(listen, "unix:")) return true;
  const std::string host = listen.substr(0, listen.rfind(':'));
  return host == "localhost" || host == "[::1]" || host == "::1" ||
         (absl::StartsWith(host, "127.") && host.find_first_not_of("0123456789.") == std::string::npos);
}

namespace {

absl::Status CheckAddress(absl::string_view flag, const std::string& address) {
  const size_t colon = address.rfind(':');
  int port = 0;
  const bool well_formed = absl::StartsWith(address, "unix:") ||
                           (colon != std::string::npos && colon > 0 &&
                            absl::SimpleAtoi(address.substr(colon + 1), &port) && port >= 0 && port <= 65535);
  if (well_formed) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(flag, ": expected HOST:PORT, such as 127.0.0.1:50051, got '", address, "'"));
}

absl::Status CheckKeep(const ServiceOptions& options) {
  const absl::Duration needed = options.queue.max_queue_deadline + options.queue.max_run_deadline;
  if (options.keep >= needed) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--keep: expected at least ", absl::FormatDuration(needed),
                                                 " (--max-queue-deadline and --max-run-deadline), got ",
                                                 absl::FormatDuration(options.keep),
                                                 ": bundles would be dropped while their submissions wait"));
}

// Flags that a role does not read, and who reads them instead: a flag without effect is a mistake.
struct Unread {
  const char* flag;
  ServiceRole role;
  const char* instead;
};

constexpr const char* kNodesHave = "a front end has no GPU; give it to the nodes";
constexpr const char* kFrontEndsKeep = "a node keeps nothing of clients; give it to the front ends";
constexpr Unread kUnread[] = {
    {"--device", ServiceRole::kFrontEnd, kNodesHave},
    {"--device-deadline", ServiceRole::kFrontEnd, kNodesHave},
    {"--timing-budget", ServiceRole::kFrontEnd, kNodesHave},
    {"--jobs-per-device", ServiceRole::kFrontEnd, kNodesHave},
    {"--spare-runners", ServiceRole::kFrontEnd, kNodesHave},
    {"--judge-cache-share", ServiceRole::kFrontEnd, kNodesHave},
    {"--exclusive", ServiceRole::kFrontEnd, kNodesHave},
    {"--cuda-home", ServiceRole::kFrontEnd, kNodesHave},
    {"--allow-unsandboxed", ServiceRole::kFrontEnd, kNodesHave},
    {"--max-attempts", ServiceRole::kFrontEnd, kNodesHave},
    {"--lease", ServiceRole::kFrontEnd, "each node says how long its leases last; give it to the nodes"},
    {"--store", ServiceRole::kNode, kFrontEndsKeep},
    {"--blobs", ServiceRole::kNode, kFrontEndsKeep},
    {"--keep", ServiceRole::kNode, kFrontEndsKeep},
    {"--partial-upload-ttl", ServiceRole::kNode, kFrontEndsKeep},
    {"--max-queued", ServiceRole::kNode, kFrontEndsKeep},
    {"--max-in-flight-per-tenant", ServiceRole::kNode, kFrontEndsKeep},
    {"--max-submissions-per-second", ServiceRole::kNode, kFrontEndsKeep},
    {"--max-blob-bytes", ServiceRole::kNode, kFrontEndsKeep},
    {"--max-bytes-per-tenant", ServiceRole::kNode, kFrontEndsKeep},
    {"--max-losses", ServiceRole::kNode, kFrontEndsKeep},
    {"--default-queue-deadline", ServiceRole::kNode, kFrontEndsKeep},
    {"--max-queue-deadline", ServiceRole::kNode, kFrontEndsKeep},
    {"--max-run-deadline", ServiceRole::kNode, kFrontEndsKeep},
};

// A builder reads few.
constexpr const char* kBuilderReads[] = {"--role",         "--config",
                                         "--listen",       "--port-file",
                                         "--state",        "--metrics",
                                         "--token-file",   "--tls-cert",
                                         "--tls-key",      "--tls-client-ca",
                                         "--insecure",     "--allow-unsandboxed",
                                         "--cuda-home",    "--drain",
                                         "--build-places", "--build-deadline",
                                         "--check",        "--max-streams-per-tenant",
                                         "--max-builds",   "--max-builds-per-tenant",
                                         "--oldest-client"};

absl::Status CheckBuilderFlag(const std::string& flag, ServiceRole role) {
  const bool of_builders = absl::StartsWith(flag, "--build-") || absl::StartsWith(flag, "--max-builds");
  if (role != ServiceRole::kBuilder && of_builders) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, ": only --role builder builds; this is --role ", NameOf(role)));
  }
  const bool read = std::find(std::begin(kBuilderReads), std::end(kBuilderReads), flag) != std::end(kBuilderReads);
  if (role != ServiceRole::kBuilder || read) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      flag, " has no effect with --role builder: it compiles and captures, and has neither GPU nor store"));
}

absl::Status CheckUnread(const ServiceOptions& options) {
  for (const std::string& flag : options.given) {
    RETURN_IF_ERROR(CheckBuilderFlag(flag, options.role));
    const bool of_nodes = absl::StartsWith(flag, "--join") || flag == "--node-name";
    if (of_nodes && options.role != ServiceRole::kNode) {
      return absl::InvalidArgumentError(
          absl::StrCat(flag, ": only --role node joins front ends; this is --role ", NameOf(options.role)));
    }
    if (flag == "--nodes" && options.role == ServiceRole::kNode) {
      return absl::InvalidArgumentError("--nodes: a node admits no nodes; front ends do");
    }
    for (const Unread& unread : kUnread) {
      if (flag != unread.flag || options.role != unread.role) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(flag, " has no effect with --role ", NameOf(options.role), ": ", unread.instead));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckNode(const ServiceOptions& options) {
  const JoinOptions& join = options.join;
  if (join.addresses.empty()) {
    return absl::InvalidArgumentError("--role node needs --join HOST:PORT of a front end (several: with commas)");
  }
  for (const std::string& address : join.addresses) RETURN_IF_ERROR(CheckAddress("--join", address));
  if (join.cert_file.empty() != join.key_file.empty()) {
    return absl::InvalidArgumentError("--join-cert-file and --join-key-file belong together; give both or neither");
  }
  if (join.insecure && !(join.ca_file.empty() && join.cert_file.empty())) {
    return absl::InvalidArgumentError("--join-insecure asks for no TLS, --join-ca-file and --join-cert-file for TLS");
  }
  RETURN_IF_ERROR(cluster::CheckNodeName("--node-name", join.node_name));
  if (IsLoopback(options.listen)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--listen ", options.listen,
                   ": a node serves the monitor of its own machine alone, so it listens on loopback (127.0.0.1:50051); "
                   "clients go to a front end"));
}

absl::Status CheckRole(const ServiceOptions& options) {
  RETURN_IF_ERROR(CheckUnread(options));
  if (options.role == ServiceRole::kNode) return CheckNode(options);
  if (!options.AdmitsNodes() || IsLoopback(options.listen) || !options.token_file.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--listen ", options.listen,
                   ": nodes on other machines are known by their tokens; give --token-file ('profiler-service token "
                   "add NAME --role node --token-file FILE' makes one)"));
}

absl::Status CheckExposure(const ServiceOptions& options) {
  if (options.tls_cert.empty() != options.tls_key.empty()) {
    return absl::InvalidArgumentError("--tls-cert and --tls-key belong together; give both or neither");
  }
  if (!options.tls_client_ca.empty() && options.tls_cert.empty()) {
    return absl::InvalidArgumentError("--tls-client-ca needs --tls-cert and --tls-key");
  }
  if (IsLoopback(options.listen) || !options.tls_cert.empty() || options.insecure) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--listen ", options.listen,
      " can be reached from other machines: give --tls-cert and --tls-key, or --insecure if the network is trusted"));
}

}  // namespace

absl::Status CheckOptions(const ServiceOptions& options) {
  RETURN_IF_ERROR(CheckRole(options));
  RETURN_IF_ERROR(CheckAddress("--listen", options.listen));
  RETURN_IF_ERROR(CheckKeep(options));
  return CheckExposure(options);
}

}  // namespace sassay::api
