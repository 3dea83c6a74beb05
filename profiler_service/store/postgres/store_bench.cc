// What the stores cost: durable acceptance, and taking work while 10,000 submissions wait.
//
// SQLite beside PostgreSQL, each on this machine's disk with every commit waited for. Beside rates and latencies stands
// the processor time of client and server together, which other programs on the machine do not change.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/files.h"
#include "profiler_service/store/postgres/postgres_store.h"
#include "profiler_service/store/sqlite/sqlite_store.h"
#include "profiler_service/store/testing/postgres_server.h"

namespace sassay::store {
namespace {

constexpr absl::Duration kEach = absl::Seconds(5);
constexpr int kClients = 64;
constexpr int kQueued = 10'000;
constexpr AdmissionLimits kLimits = {1'000'000, 1'000'000};

using Stores = std::vector<std::unique_ptr<Store>>;
using Cost = std::function<double()>;  // processor seconds so far

double OwnSeconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return absl::ToDoubleSeconds(absl::DurationFromTimeval(usage.ru_utime) + absl::DurationFromTimeval(usage.ru_stime));
}

template <typename Body>
void OnThreads(int count, Body body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back([&body, i] { body(i); });
  for (std::thread& thread : threads) thread.join();
}

bool Submit(Store& store, const std::string& name) {
  const absl::Time now = absl::Now();
  NewSubmission submission{name,   std::string("tenant") + name.back(), {}, now, now + absl::Hours(1), absl::Minutes(1),
                           kLimits};
  submission.request.set_request_id(name);
  submission.request.set_bundle_sha256(std::string(64, 'a'));
  submission.request.set_workload("gemm_n7168_k5120");
  return Await<Submitted>([&](Callback<Submitted> done) { store.Submit(submission, std::move(done)); }).ok();
}

void BenchAcceptance(const std::string& what, const Stores& stores, const Cost& cost) {
  const absl::Time start = absl::Now();
  const double before = cost();
  std::atomic<int> accepted = 0;
  OnThreads(kClients, [&](int client) {
    Store& store = *stores[static_cast<size_t>(client) % stores.size()];
    for (int i = 0; absl::Now() < start + kEach; ++i) {
      if (!Submit(store, absl::StrCat(what, "-", client, "-", i))) std::abort();
      ++accepted;
    }
  });
  const double seconds = absl::ToDoubleSeconds(absl::Now() - start);
  std::printf("%-34s %14.0f %18.3f\n", what.c_str(), accepted / seconds, 1e3 * (cost() - before) / accepted);
  std::fflush(stdout);
}

void Fill(Store& store, const std::string& what) {
  const auto depths = store.CountDepths();
  const int missing = kQueued - static_cast<int>(depths->queued);
  OnThreads(kClients, [&](int client) {
    for (int i = client; i < missing; i += kClients) {
      if (!Submit(store, absl::StrCat(what, "-", client, "-", i))) std::abort();
    }
  });
}

void BenchDispatch(const std::string& what, const Stores& stores, const Cost& cost) {
  Fill(*stores[0], what);
  const auto depths = stores[0]->CountDepths();
  constexpr int kTakenByEach = 200;
  std::vector<std::vector<double>> milliseconds(stores.size());
  const double before = cost();
  OnThreads(static_cast<int>(stores.size()), [&](int node) {
    Store& store = *stores[static_cast<size_t>(node)];
    for (int i = 0; i < kTakenByEach; ++i) {
      const absl::Time asked = absl::Now();
      const auto lease = Await<absl::optional<Lease>>([&](Callback<absl::optional<Lease>> done) {
        store.Acquire(absl::StrCat("node", node), asked, asked + absl::Hours(1), std::move(done));
      });
      if (!lease.ok() || !lease->has_value()) std::abort();
      milliseconds[static_cast<size_t>(node)].push_back(absl::ToDoubleMilliseconds(absl::Now() - asked));
    }
  });
  std::vector<double> all;
  for (const auto& each : milliseconds) all.insert(all.end(), each.begin(), each.end());
  std::sort(all.begin(), all.end());
  std::printf("%-34s %10lu %10.2f %10.2f %14.3f\n", what.c_str(), static_cast<unsigned long>(depths->queued),
              all[all.size() / 2], all[all.size() * 99 / 100],
              1e3 * (cost() - before) / static_cast<double>(all.size()));
  std::fflush(stdout);
}

template <typename Open>
Stores OpenMany(int count, Open open) {
  Stores stores;
  for (int i = 0; i < count; ++i) stores.push_back(*open());
  return stores;
}

void Run() {
  const auto directory = *TemporaryDirectory::Create("store_bench");
  Stores sqlite;
  sqlite.push_back(*OpenSqliteStore(directory.path() / "sassay.db"));
  PostgresServer::Options durable;
  durable.durable = true;
  const auto server = PostgresServer::Start(durable);
  if (!server.ok()) {
    std::printf("%s\n", server.status().ToString().c_str());
    return;
  }
  PostgresOptions options;
  options.uri = *(*server)->NewDatabase();
  const auto open = [&] { return OpenPostgresStore(options); };
  const Cost with_server = [&] { return OwnSeconds() + (*server)->ProcessorSeconds(); };
  const Stores one = OpenMany(1, open), three = OpenMany(3, open), eight = OpenMany(8, open);

  std::printf("%-34s %14s %18s\n", "durable acceptance, 64 clients", "accepted/s", "processor ms each");
  BenchAcceptance("SQLite", sqlite, OwnSeconds);
  BenchAcceptance("PostgreSQL, 1 front end", one, with_server);
  BenchAcceptance("PostgreSQL, 3 front ends", three, with_server);
  std::printf("\n%-34s %10s %10s %10s %14s\n", "taking work", "queued", "p50 ms", "p99 ms", "processor ms");
  BenchDispatch("SQLite, 1 node", sqlite, OwnSeconds);
  BenchDispatch("PostgreSQL, 1 node", one, with_server);
  BenchDispatch("PostgreSQL, 8 nodes", eight, with_server);
}

}  // namespace
}  // namespace sassay::store

int main() { sassay::store::Run(); }
