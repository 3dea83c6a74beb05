// Everything an operator can say to profiler-service.
#ifndef SASSAY_PROFILER_SERVICE_API_SERVICE_OPTIONS_H_
#define SASSAY_PROFILER_SERVICE_API_SERVICE_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/rpc/protocol.h"
#include "profiler_service/queue/queue.h"
#include "profiler_service/store/blob_store.h"
#include "sassay/v1/diagnosis.pb.h"

namespace sassay::api {

// What this process is in a cluster.
enum class ServiceRole {
  kAll,       // the service of one machine; with --nodes other machines' GPUs, too
  kFrontEnd,  // for clients and nodes; has no GPU
  kNode,      // has GPUs, and gets its work from a front end
  kBuilder,   // compiles and captures for clients that cannot; has neither GPU nor store
};

const char* NameOf(ServiceRole role);

// How a node reaches its front ends.
struct JoinOptions {
  std::vector<std::string> addresses;  // HOST:PORT each
  std::string token_file, ca_file, cert_file, key_file;
  bool insecure = false;
  std::string node_name;
};

// What a builder takes on.
struct BuildOptions {
  uint32_t places;  // at once; by default as many as this machine has cores
  uint64_t max_builds = 32;
  uint64_t max_builds_per_tenant = 16;
  absl::Duration deadline = absl::Minutes(10);
  BuildOptions();
};

// Values after flags, environment and file have been merged. Defaults are the documented ones.
struct ServiceOptions {
  ServiceRole role = ServiceRole::kAll;
  bool nodes = false;  // role all: others' GPUs, too
  JoinOptions join;
  BuildOptions build;
  bool AdmitsNodes() const { return nodes || role == ServiceRole::kFrontEnd; }

  std::string listen = "127.0.0.1:50051";
  std::string port_file;
  std::string device = "auto";
  std::string state;
  std::string store;        // empty: sqlite:STATE/sassay.db
  std::string blobs_place;  // empty: dir:STATE/blobs
  std::string metrics = "127.0.0.1:9464";
  bool metrics_given = false;      // not given: a taken port is a warning, not an error
  std::vector<std::string> given;  // the flags that were given, wherever: "--device"
  std::string workloads;
  std::string token_file;
  std::string tls_cert, tls_key, tls_client_ca;
  bool insecure = false;
  bool allow_unsandboxed = false;
  std::string cuda_home;
  // What a submission gets that asks for nothing.
  sassay::v1::SanitizePolicy sanitize = sassay::v1::SANITIZE_POLICY_FAST;

  // What a GPU gives one request of a candidate (setup, one call).
  absl::Duration device_deadline = absl::Seconds(10);
  // What the samples of one timing may take once there are enough of them (timing::Rules::budget).
  absl::Duration timing_budget = absl::Milliseconds(800);
  // 0: 4 on a GPU, 2 on an emulated device.
  uint32_t jobs_per_device = 0;
  uint32_t spare_runners = 1;
  bool exclusive = false;
  // Of a GPU's memory, for inputs and right outputs that its judge keeps between candidates.
  double judge_cache_share = 0.25;

  queue::QueueOptions queue;
  store::BlobLimits blobs;
  absl::Duration partial_upload_ttl = absl::Hours(24);
  // Finished submissions with their events, and blobs that nobody used. The audit log is kept for ever.
  absl::Duration keep = absl::Hours(24 * 30);
  uint64_t max_streams_per_tenant = 2000;
  double max_submissions_per_second = 1000;
  uint32_t oldest_client = kOldestClient;  // protocol
  absl::Duration drain = absl::Seconds(5);
};

// What was asked for.
enum class CommandKind { kServe, kCheck, kTokenAdd, kTokenRevoke, kTokenList, kAudit, kExit };

struct CommandLine {
  CommandKind kind = CommandKind::kServe;
  ServiceOptions options;
  std::string token_name;
  std::string token_role = "tenant";
  uint64_t audit_after = 0;
  bool json = false;  // kCheck: one JSON document
  int exit_code = 0;  // kExit: --help, --version or a usage error; already printed
};

// Merges flags > SASSAY_* > --config file > defaults. Prints help, version and usage errors itself.
CommandLine ParseCommandLine(int argc, const char* const* argv);

// Whether `listen` can only be reached from this machine.
bool IsLoopback(const std::string& listen);

// What no flag can see alone: a door that nobody asked for (an address that others reach needs TLS or --insecure),
// flags that this role does not read, and blobs that would expire while their submission waits. INVALID_ARGUMENT with
// the reason.
absl::Status CheckOptions(const ServiceOptions& options);

}  // namespace sassay::api

#endif  // SASSAY_PROFILER_SERVICE_API_SERVICE_OPTIONS_H_
