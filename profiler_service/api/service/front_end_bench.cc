// What a front end carries, and how soon a free place of a node has work: a real front end (profiler-service --role
// frontend) on a PostgreSQL of this machine that waits for its disk at every commit, eight nodes of which each has its
// own RemoteStore and queue and runs jobs that only sleep, and clients that stay attached.
//
// Everything shares the machine's cores.
#include <grpcpp/grpcpp.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/time/clock.h"
#include "common/base/files.h"
#include "common/base/sha256.h"
#include "common/base/steady_time.h"
#include "common/bundle/bundle.h"
#include "common/process/memory_use.h"
#include "common/process/subprocess.h"
#include "profiler_service/api/ports/cluster/testing/front_end_fixture.h"
#include "profiler_service/api/service/server_testing.h"
#include "profiler_service/cluster/remote_store.h"
#include "profiler_service/queue/queue_testing.h"
#include "profiler_service/store/postgres/postgres_store.h"
#include "profiler_service/store/testing/postgres_server.h"

namespace sassay::api {
namespace {

using sassay::v1::Event;

constexpr int kStreams = 2'000;
constexpr int kChannels = 8;
constexpr int kNodes = 8;
constexpr int kQueued = 10'000;
constexpr int kMore = 4'000;  // so that as many still wait when the last place is given away
constexpr absl::Duration kFor = absl::Seconds(15);
constexpr char kWorkload[] = "gemm_n256_k256/M=256";

template <typename T>
T Must(absl::StatusOr<T> value, const char* what) {
  if (value.ok()) return *std::move(value);
  std::cerr << what << ": " << value.status() << "\n";
  std::exit(1);
}
void Must(const absl::Status& status, const char* what) {
  if (status.ok()) return;
  std::cerr << what << ": " << status << "\n";
  std::exit(1);
}

double ResidentMegabytes(pid_t pid) { return static_cast<double>(MemoryUse(pid, "VmRSS")) / (1 << 20); }

double Percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, static_cast<size_t>(share * static_cast<double>(values.size())))];
}

struct Load {
  size_t nodes;
  int places;          // of each
  absl::Duration job;  // how long each runs
};
constexpr Load kLoads[] = {{1, 1, absl::Milliseconds(100)},
                           {kNodes, 4, absl::Seconds(2)},  // what eight GPUs finish
                           {kNodes, 4, absl::Milliseconds(250)}};

// A front end as an operator starts it.
class FrontEnd {
 public:
  FrontEnd(const std::string& program, const std::string& folder, const std::string& store) {
    const std::string port_file = folder + "/port";
    Command command;
    command.argv = {program,           "--role",    "frontend",    "--listen",     "127.0.0.1:0",      "--port-file",
                    port_file,         "--store",   store,         "--blobs",      "postgres",         "--state",
                    folder + "/state", "--metrics", "127.0.0.1:0", "--token-file", WriteTokens(folder)};
    for (const char* limit :
         {"--max-queued", "--max-in-flight-per-tenant", "--max-streams-per-tenant", "--max-submissions-per-second"}) {
      command.argv.insert(command.argv.end(), {limit, "100000"});
    }
    command.environment = {{"PATH", "/usr/bin:/bin"}, {"HOME", folder}};
    process_ = std::make_unique<Subprocess>(Must(Subprocess::Start(command), "profiler-service"));
    for (int i = 0; i < 300 && !std::filesystem::exists(port_file); ++i) absl::SleepFor(absl::Milliseconds(100));
    std::ifstream(port_file) >> port_;
  }
  std::string address() const { return "127.0.0.1:" + port_; }
  double megabytes() const { return ResidentMegabytes(process_->pid()); }

 private:
  std::unique_ptr<Subprocess> process_;
  std::string port_;
};

// A client that submits and stays attached.
class Attached : public grpc::ClientReadReactor<Event> {
 public:
  Attached(TestClient& client, const sassay::v1::ProfileRequest& request, absl::BlockingCounter& accepted)
      : context_(client.Context()), accepted_(accepted) {
    client.profiler->async()->Profile(context_.get(), &request, this);
    StartRead(&event_);
    StartCall();
  }
  void OnReadDone(bool ok) override {
    if (!first_) accepted_.DecrementCount();
    first_ = true;
    if (ok) StartRead(&event_);
  }
  void OnDone(const grpc::Status& status) override {
    status_ = status;
    over_.Notify();
  }
  void Leave() {
    context_->TryCancel();
    over_.WaitForNotification();
  }
  bool accepted() const { return event_.sequence() > 0; }
  const grpc::Status& status() const { return status_; }

 private:
  const std::unique_ptr<grpc::ClientContext> context_;
  absl::BlockingCounter& accepted_;
  bool first_ = false;
  Event event_;
  grpc::Status status_;
  absl::Notification over_;
};

sassay::v1::ProfileRequest RequestFor(const std::string& id, const std::string& bundle) {
  sassay::v1::ProfileRequest request;
  request.set_request_id(id);
  request.set_bundle_sha256(Sha256Hex(bundle));
  request.set_workload(kWorkload);
  return request;
}

void BenchStreams(const FrontEnd& front_end, const std::string& bundle) {
  const double idle = front_end.megabytes();
  std::vector<std::unique_ptr<TestClient>> clients;
  for (int i = 0; i < kChannels; ++i) {
    clients.push_back(std::make_unique<TestClient>(front_end.address(), "token-of-ann"));
  }
  if (!clients[0]->Upload(bundle).ok()) std::exit(1);
  absl::BlockingCounter accepted(kStreams);
  std::vector<std::unique_ptr<Attached>> attached;
  std::vector<sassay::v1::ProfileRequest> requests;
  requests.reserve(kStreams);
  const absl::Time begin = absl::Now();
  for (int i = 0; i < kStreams; ++i) {
    requests.push_back(RequestFor(absl::StrCat("stream-", i), bundle));
    attached.push_back(
        std::make_unique<Attached>(*clients[static_cast<size_t>(i % kChannels)], requests.back(), accepted));
  }
  accepted.Wait();
  const double seconds = absl::ToDoubleSeconds(absl::Now() - begin);
  const auto good = std::count_if(attached.begin(), attached.end(), [](const auto& each) { return each->accepted(); });
  const double megabytes = front_end.megabytes();
  std::printf("%-66s %10s %10s\n", "a front end's memory", "measured", "promised");
  std::printf("%-66s %10.1f\n", "idle, resident MB", idle);
  std::printf("%-66s %10.1f %10s\n", absl::StrCat(good, " streams attached to as many waiting submissions").c_str(),
              megabytes, "< 100");
  std::printf("%-66s %10.0f\n\n", "accepted a second meanwhile, each with its stream", kStreams / seconds);
  std::fflush(stdout);
  for (const auto& each : attached) each->Leave();
  if (good != kStreams) std::cerr << "a stream ended: " << attached.front()->status().error_message() << "\n";
}

// Straight into the database: how it comes there is not what is measured.
void Fill(const std::string& uri, const std::string& bundle, int count) {
  store::PostgresOptions options;
  options.uri = uri;
  const auto store = Must(store::OpenPostgresStore(options), "the store");
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 64; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = thread; i < count; i += 64) {
        const absl::Time now = absl::Now();
        store::NewSubmission submission{absl::StrCat("f", thread, "-", i),
                                        absl::StrCat("tenant-", i % 20),
                                        RequestFor(absl::StrCat("fill-", i), bundle),
                                        now,
                                        now + absl::Hours(1),
                                        absl::Minutes(1),
                                        {100'000, 100'000},
                                        "sm_90a"};
        submission.request.set_priority(sassay::v1::PRIORITY_BATCH);
        Must(store::Await<store::Submitted>([&](store::Callback<store::Submitted> done) {
               store->Submit(submission, std::move(done));
             }).status(),
             "a submission");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// A GPU host without its GPUs.
class Node {
 public:
  Node(const std::string& address, const std::string& name) {
    cluster::FrontEndOptions options = NodeOptions({address}, name, {absl::StrCat("GPU-", name)});
    options.now = absl::Now;
    sassay::v1::DeviceCapability& device = *options.facts.mutable_gpus(0)->mutable_device();
    device.set_model("NVIDIA H200");
    device.add_archs("sm_90a");
    front_ends_ = Must(cluster::FrontEnds::Open(std::move(options)), "a node");
    Must(front_ends_->Register(SteadyNow() + absl::Seconds(10)).status(), "a node's registration");
    store_ = std::make_unique<cluster::RemoteStore>(*front_ends_);
    beats_ = std::thread([this] {
      while (!stop_.WaitForNotificationWithTimeout(absl::Seconds(2))) {
        sassay::v1::BeatResponse response;
        front_ends_->Call(&cluster::FrontEnds::Stub::Beat, sassay::v1::BeatRequest(), response, SteadyNow())
            .IgnoreError();
      }
    });
  }
  ~Node() {
    stop_.Notify();
    beats_.join();
  }

  // Runs jobs until `until`; adds how long a free place waited for each.
  void Work(const Load& load, absl::Time until, std::vector<double>& milliseconds) {
    queue::Queue queue(*store_, {});
    Must(queue.Start(), "a node's queue");
    queue.SetRoom(static_cast<uint32_t>(load.places));
    absl::Mutex mutex;
    std::vector<std::thread> places;
    for (int i = 0; i < load.places; ++i) {
      places.emplace_back([&] {
        for (bool first = true; absl::Now() < until; first = false) {
          const absl::Time free = absl::Now();
          const auto job = queue.Next();
          if (job == nullptr) return;
          const double waited = absl::ToDoubleMilliseconds(absl::Now() - free);
          if (!first) {  // the first ones all come at once
            absl::MutexLock lock(&mutex);
            milliseconds.push_back(waited);
          }
          absl::SleepFor(load.job);
          job->StageFinished(sassay::v1::StageReport());
          queue.Conclude(*job, queue::CorrectVerdict());
        }
      });
    }
    for (std::thread& place : places) place.join();
    queue.Stop();
  }

 private:
  std::unique_ptr<cluster::FrontEnds> front_ends_;
  std::unique_ptr<cluster::RemoteStore> store_;
  absl::Notification stop_;
  std::thread beats_;
};

void BenchLoad(const Load& load, std::vector<std::unique_ptr<Node>>& nodes) {
  std::vector<std::vector<double>> waited(load.nodes);
  const absl::Time until = absl::Now() + kFor;
  std::vector<std::thread> threads;
  for (size_t i = 0; i < load.nodes; ++i) threads.emplace_back([&, i] { nodes[i]->Work(load, until, waited[i]); });
  for (std::thread& thread : threads) thread.join();
  std::vector<double> all;
  for (const auto& each : waited) all.insert(all.end(), each.begin(), each.end());
  const std::string what = absl::StrCat(load.nodes, " nodes, ", load.nodes * static_cast<size_t>(load.places),
                                        " places, jobs of ", absl::FormatDuration(load.job));
  std::printf("%-50s %10.1f %10.1f %10.1f\n", what.c_str(),
              static_cast<double>(all.size()) / absl::ToDoubleSeconds(kFor), Percentile(all, 0.5),
              Percentile(all, 0.99));
  std::fflush(stdout);
}

void BenchDispatch(const FrontEnd& front_end, const std::string& uri, std::vector<std::unique_ptr<Node>>& nodes) {
  std::printf("%-50s %10s %10s %10s\n", "from a free place to its lease", "leases/s", "p50 ms", "p99 ms");
  for (const Load& load : kLoads) BenchLoad(load, nodes);
  std::printf("%-50s %10s %10s %10s\n", "promised, with 10,000 queued", "", "< 20", "< 100");
  store::PostgresOptions options;
  options.uri = uri;
  const auto store = Must(store::OpenPostgresStore(options), "the store");
  const uint64_t left = Must(store->CountDepths(), "the depths").queued;
  std::printf("%-50s %10zu\n", "still queued afterwards", static_cast<size_t>(left));
  std::printf("%-50s %10.1f\n", "front end afterwards, resident MB", front_end.megabytes());
}

void Run(const std::string& program) {
  const auto folder = Must(TemporaryDirectory::Create("front_end_bench"), "a folder");
  store::PostgresServer::Options durable;
  durable.durable = true;
  const auto postgres = Must(store::PostgresServer::Start(durable), "PostgreSQL");
  const std::string uri = Must(postgres->NewDatabase(), "a database");
  const FrontEnd front_end(program, folder.path(), uri);
  double load[1] = {0};
  getloadavg(load, 1);
  std::printf("load of the machine at the start: %.1f on %u cores\n\n", load[0], std::thread::hardware_concurrency());
  std::vector<std::unique_ptr<Node>> nodes;
  for (int i = 0; i < kNodes; ++i) nodes.push_back(std::make_unique<Node>(front_end.address(), absl::StrCat("n", i)));
  sassay::v1::Bundle compiled;
  compiled.mutable_compilation()->set_arch("sm_90a");
  compiled.set_cubin(std::string(50'000, 'c'));
  const std::string bundle = Must(SerializeBundle(compiled), "a bundle");
  BenchStreams(front_end, bundle);
  Fill(uri, bundle, kQueued + kMore - kStreams);
  BenchDispatch(front_end, uri, nodes);
}

}  // namespace
}  // namespace sassay::api

int main(int argc, char** argv) {
  std::string program = SASSAY_SERVICE_PROGRAM;
  if (argc > 1) program = argv[1];
  sassay::api::Run(program);
  return 0;
}
