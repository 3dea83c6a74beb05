// What the service itself costs, without any device work: the runner answers at once.
//
// Three tables: durable acceptance (queue and store alone), overhead per submission over gRPC (from the call of Profile
// to the verdict, 64 clients, at fixed rates and as fast as it goes), and the memory of the idle service.
// Clients and service share the machine's cores.
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/files.h"
#include "common/base/sha256.h"
#include "common/process/memory_use.h"
#include "common/process/subprocess.h"
#include "common/workload/catalog.h"
#include "profiler_service/api/service/server.h"
#include "profiler_service/api/service/server_testing.h"
#include "profiler_service/queue/queue_testing.h"
#include "profiler_service/store/sqlite/sqlite_store.h"

namespace sassay::api {
namespace {

constexpr int kClients = 64;
constexpr absl::Duration kEach = absl::Seconds(5);

template <typename Body>
void OnThreads(int count, Body body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back([&body, i] { body(i); });
  for (std::thread& thread : threads) thread.join();
}

void BenchAcceptance() {
  const auto directory = *TemporaryDirectory::Create("service_bench");
  const auto store = *store::OpenSqliteStore(directory.path() / "sassay.db");
  queue::QueueOptions options;
  options.limits = {UINT64_MAX / 2, UINT64_MAX / 2};
  queue::Queue queue(*store, options);
  if (!queue.Start().ok()) std::abort();
  const absl::Time start = absl::Now();
  std::atomic<int> accepted = 0;
  OnThreads(kClients, [&](int client) {
    for (int i = 0; absl::Now() < start + kEach; ++i) {
      accepted += queue::SubmitAndWait(queue, "bench", queue::RequestOf(absl::StrCat(client, "-", i))).ok();
    }
  });
  const double rate = accepted / absl::ToDoubleSeconds(absl::Now() - start);
  std::printf("%-52s %12s %12s\n", "durable acceptance, 64 threads", "measured", "target");
  std::printf("%-52s %12.0f %12s\n\n", "accepted submissions per second", rate, ">= 300");
}

double Percentile(std::vector<double>& values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, static_cast<size_t>(share * static_cast<double>(values.size())))];
}

// Submits from 64 clients at `rate` a second together (0: as fast as verdicts come) and prints a line.
void BenchOverhead(Server& server, const std::string& sha256, double rate) {
  std::vector<std::vector<double>> milliseconds(kClients);
  std::vector<std::unique_ptr<TestClient>> clients(kClients);
  OnThreads(kClients, [&](int client) {
    clients[static_cast<size_t>(client)] = std::make_unique<TestClient>(server.address(), "");
    if (!clients[static_cast<size_t>(client)]->FindMissing({}).status.ok()) std::abort();
  });
  const absl::Time start = absl::Now();
  OnThreads(kClients, [&](int client) {
    TestClient& caller = *clients[static_cast<size_t>(client)];
    for (int i = 0; absl::Now() < start + kEach; ++i) {
      if (rate > 0) absl::SleepFor(start + absl::Seconds((i * kClients + client) / rate) - absl::Now());
      sassay::v1::ProfileRequest request = queue::RequestOf(absl::StrCat(rate, "-", client, "-", i));
      request.set_bundle_sha256(sha256);
      const absl::Time called = absl::Now();
      if (!caller.Profile(request).status.ok()) std::abort();
      milliseconds[static_cast<size_t>(client)].push_back(absl::ToDoubleMilliseconds(absl::Now() - called));
    }
  });
  const double seconds = absl::ToDoubleSeconds(absl::Now() - start);
  std::vector<double> all;
  for (const auto& each : milliseconds) all.insert(all.end(), each.begin(), each.end());
  const std::string load =
      rate > 0 ? absl::StrCat("64 clients, ", rate, " submissions/s together") : "64 clients, no pause";
  std::printf("%-40s %12.0f %10.2f %10.2f\n", load.c_str(), static_cast<double>(all.size()) / seconds,
              Percentile(all, 0.5), Percentile(all, 0.99));
}

void BenchOverheads() {
  const auto directory = *TemporaryDirectory::Create("service_bench");
  ServiceOptions options;
  options.listen = "127.0.0.1:0";
  options.state = directory.path() / "state";
  options.store = "sqlite:" + options.state + "/sassay.db";
  options.blobs_place = "dir:" + options.state + "/blobs";
  options.metrics = "";
  options.max_submissions_per_second = 1e9;
  queue::FakeRunner runner(2);
  pipeline::FakeGpus gpus({"emulated:sm_90a#0"}, runner.concurrency());
  telemetry::Hub telemetry;
  ServiceFacts facts;
  facts.gpus = &gpus;
  facts.telemetry = &telemetry;
  StateFolder state = *StateFolder::Take(options.state);
  const auto server = *Server::Start(options, std::move(state), *OpenOwnBacking(options), &runner,
                                     WorkloadCatalog::BuiltIn(), std::move(facts));
  const std::string bundle(100'000, 'b');
  if (!TestClient(server->address(), "").Upload(bundle).ok()) std::abort();
  std::printf("%-40s %12s %10s %10s\n", "overhead per submission over gRPC", "verdicts/s", "p50 ms", "p99 ms");
  for (const double rate : {50.0, 100.0, 200.0, 300.0, 0.0}) BenchOverhead(*server, Sha256Hex(bundle), rate);
  std::printf("%-40s %12s %10s %10s\n\n", "target", "", "< 5", "< 25");
}

double ResidentMegabytes(pid_t pid) { return static_cast<double>(MemoryUse(pid, "VmRSS")) / (1 << 20); }

void BenchMemory(const std::string& program) {
  const auto directory = *TemporaryDirectory::Create("service_bench");
  const std::string port_file = directory.path() / "port";
  Command command;
  command.argv = {program,           "--listen",   "127.0.0.1:0",
                  "--port-file",     port_file,    "--device",
                  "emulated:sm_90a", "--state",    directory.path() / "state",
                  "--metrics",       "127.0.0.1:0"};
  command.environment = {{"PATH", "/usr/bin:/bin"}, {"HOME", directory.path()}};
  auto service = Subprocess::Start(command);
  std::printf("%-52s %12s %12s\n", "memory", "measured", "target");
  for (int i = 0; i < 300 && service.ok() && !std::filesystem::exists(port_file); ++i)
    absl::SleepFor(absl::Milliseconds(100));
  if (!service.ok() || !std::filesystem::exists(port_file)) {
    std::printf("%-52s %12s %12s\n", "idle profiler-service, resident MB", "not started", "< 64");
    return;
  }
  std::printf("%-52s %12.1f %12s\n", "idle profiler-service, resident MB", ResidentMegabytes(service->pid()), "< 64");
}

}  // namespace
}  // namespace sassay::api

int main() {
  sassay::api::BenchAcceptance();
  sassay::api::BenchOverheads();
  sassay::api::BenchMemory(SASSAY_SERVICE_PROGRAM);
  return 0;
}
