// What the stores cost: durable acceptance, taking work while 10,000 submissions wait, and what becomes of work that
// was taken (events, a verdict).
//
// SQLite beside PostgreSQL, each on this machine's disk with every commit waited for. Beside rates and latencies stand
// what other programs on the machine do not change: the processor time of client and server together, and how often the
// server's sessions waited (for a client, a lock or the disk), which bounds the round trips.
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
#include "common/base/proto_time.h"
#include "profiler_service/store/postgres/postgres_store.h"
#include "profiler_service/store/sqlite/sqlite_store.h"
#include "profiler_service/store/testing/postgres_server.h"

namespace sassay::store {
namespace {

constexpr absl::Duration kEach = absl::Seconds(5);
constexpr int kClients = 64;
constexpr int kQueued = 10'000;
constexpr int kTaken = 1600;
constexpr int kEvents = 8;  // of an attempt, before its verdict
constexpr AdmissionLimits kLimits = {1'000'000, 1'000'000};

using Stores = std::vector<std::unique_ptr<Store>>;

// What was spent so far.
struct Spent {
  double processor_seconds = 0;
  uint64_t waits = 0;  // of the server
};
using Meter = std::function<Spent()>;

Spent OwnSpent() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return {absl::ToDoubleSeconds(absl::DurationFromTimeval(usage.ru_utime) + absl::DurationFromTimeval(usage.ru_stime)),
          0};
}

// The columns that every table ends with.
void PrintCost(const Spent& before, const Spent& after, size_t operations) {
  std::printf(" %12.3f %8.2f\n",
              1e3 * (after.processor_seconds - before.processor_seconds) / static_cast<double>(operations),
              static_cast<double>(after.waits - before.waits) / static_cast<double>(operations));
  std::fflush(stdout);
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

void BenchAcceptance(const std::string& what, const Stores& stores, const Meter& meter) {
  const absl::Time start = absl::Now();
  const Spent before = meter();
  std::atomic<int> accepted = 0;
  OnThreads(kClients, [&](int client) {
    Store& store = *stores[static_cast<size_t>(client) % stores.size()];
    for (int i = 0; absl::Now() < start + kEach; ++i) {
      if (!Submit(store, absl::StrCat(what, "-", client, "-", i))) std::abort();
      ++accepted;
    }
  });
  const double seconds = absl::ToDoubleSeconds(absl::Now() - start);
  std::printf("%-42s %10.0f", what.c_str(), accepted / seconds);
  PrintCost(before, meter(), static_cast<size_t>(accepted));
}

void Fill(Store& store, const std::string& what) {
  const int missing = kQueued - static_cast<int>(store.CountDepths()->queued);
  OnThreads(kClients, [&](int client) {
    for (int i = client; i < missing; i += kClients) {
      if (!Submit(store, absl::StrCat("more-", what, "-", client, "-", i))) std::abort();
    }
  });
}

absl::optional<Lease> Take(Store& store, int node) {
  const absl::Time now = absl::Now();
  const auto lease = Await<absl::optional<Lease>>([&](Callback<absl::optional<Lease>> done) {
    store.Acquire(absl::StrCat("node", node), now, now + absl::Hours(1), std::move(done));
  });
  if (!lease.ok()) std::abort();
  return *lease;
}

// `nodes` ask one after the other, each again and again.
void BenchDispatch(const std::string& what, const Stores& stores, int nodes, const Meter& meter) {
  Fill(*stores[0], what);
  const auto depths = stores[0]->CountDepths();
  std::vector<std::vector<double>> milliseconds(static_cast<size_t>(nodes));
  const Spent before = meter();
  OnThreads(nodes, [&](int node) {
    for (int i = 0; i < kTaken / nodes; ++i) {
      const absl::Time asked = absl::Now();
      if (!Take(*stores[static_cast<size_t>(node) % stores.size()], node).has_value()) std::abort();
      milliseconds[static_cast<size_t>(node)].push_back(absl::ToDoubleMilliseconds(absl::Now() - asked));
    }
  });
  const Spent after = meter();
  std::vector<double> all;
  for (const auto& each : milliseconds) all.insert(all.end(), each.begin(), each.end());
  std::sort(all.begin(), all.end());
  std::printf("%-42s %10lu %8.2f %8.2f", what.c_str(), static_cast<unsigned long>(depths->queued), all[all.size() / 2],
              all[all.size() * 99 / 100]);
  PrintCost(before, after, all.size());
}

void RunOne(Store& store, const Lease& lease) {
  for (int i = 0; i < kEvents; ++i) {
    sassay::v1::Event event;
    event.mutable_stage_started()->set_stage(sassay::v1::STAGE_EVALUATE);
    if (!Await<sassay::v1::Event>([&](auto done) { store.Append(lease, event, done); }).ok()) std::abort();
  }
  sassay::v1::Verdict verdict;
  verdict.set_status(sassay::v1::VERDICT_STATUS_CORRECT);
  SetTimestamp(absl::Now(), *verdict.mutable_decided_at());
  using Events = std::vector<sassay::v1::Event>;
  const Ending ending = {"gpu", absl::Now(), 1};
  if (!Await<Events>([&](Callback<Events> done) { store.Finish(lease, verdict, ending, done); }).ok()) std::abort();
}

// As many run at once as a service with 64 places would.
void BenchRuns(const std::string& what, const Stores& stores, const Meter& meter) {
  Fill(*stores[0], what);
  const absl::Time start = absl::Now();
  const Spent before = meter();
  std::atomic<int> ended = 0;
  OnThreads(kClients, [&](int place) {
    Store& store = *stores[static_cast<size_t>(place) % stores.size()];
    while (absl::Now() < start + kEach) {
      const absl::optional<Lease> lease = Take(store, place);
      if (!lease.has_value()) return;
      RunOne(store, *lease);
      ++ended;
    }
  });
  const double seconds = absl::ToDoubleSeconds(absl::Now() - start);
  std::printf("%-42s %10.0f", what.c_str(), ended / seconds);
  PrintCost(before, meter(), static_cast<size_t>(ended));
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
  const Meter with_server = [&] {
    return Spent{OwnSpent().processor_seconds + (*server)->ProcessorSeconds(), (*server)->Waits()};
  };
  const Stores one = OpenMany(1, open), three = OpenMany(3, open), eight = OpenMany(8, open);

  std::printf("%-42s %10s %12s %8s\n", "durable acceptance, 64 clients", "accepted/s", "processor ms", "waits");
  BenchAcceptance("SQLite", sqlite, OwnSpent);
  BenchAcceptance("PostgreSQL, 1 front end", one, with_server);
  BenchAcceptance("PostgreSQL, 3 front ends", three, with_server);
  // As the server does by itself after a while: its plans must not get worse by what it learns.
  if (!(*server)->Run({"psql", "-q", "-d", options.uri, "-c", "ANALYZE"}).ok()) std::abort();
  std::printf("\n%-42s %10s %8s %8s %12s %8s\n", "taking work", "queued", "p50 ms", "p99 ms", "processor ms", "waits");
  BenchDispatch("SQLite, 1 node", sqlite, 1, OwnSpent);
  BenchDispatch("PostgreSQL, 1 node", one, 1, with_server);
  BenchDispatch("PostgreSQL, 8 nodes at 1 front end", one, 8, with_server);
  BenchDispatch("PostgreSQL, 8 nodes at 3 front ends", three, 8, with_server);
  BenchDispatch("PostgreSQL, 8 nodes at 8 front ends", eight, 8, with_server);
  std::printf("\n%-42s %10s %12s %8s\n", "taken, 8 events, a verdict; 64 at once", "ended/s", "processor ms", "waits");
  BenchRuns("SQLite", sqlite, OwnSpent);
  BenchRuns("PostgreSQL, 1 front end", one, with_server);
  BenchRuns("PostgreSQL, 3 front ends", three, with_server);
}

}  // namespace
}  // namespace sassay::store

int main() { sassay::store::Run(); }
