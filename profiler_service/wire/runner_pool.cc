#include "profiler_service/wire/runner_pool.h"

#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/proto_json.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"
#include "common/toolchain/vendor_libraries.h"
#include "profiler_service/wire/gpu_nodes.h"
#include "profiler_service/wire/runner_sandbox.h"
#include "spdlog/spdlog.h"

namespace sassay::wire {
namespace {

constexpr absl::Duration kLongestBackoff = absl::Minutes(1);
// Ending one takes 0.1 s, which nobody shall wait for who has the device alone: the device's thread does it.
constexpr absl::Duration kKeepSurplus = absl::Seconds(3);
constexpr size_t kMostSurplus = 4;
// A device may still be busy with the end of what was killed there.
constexpr absl::Duration kLongestProof = absl::Seconds(10);

// A UUID names the one GPU that the process shall see; anything else names none.
constexpr absl::string_view kByUuid = "cuda:GPU-";

// All that a runner inherits: where the driver's libraries are, lazily loading nothing, and no other GPU: with two to
// be seen cuInit takes 0.33 s, with one 0.12 s (H200).
std::map<std::string, std::string> RunnerEnvironment(absl::string_view device) {
  std::map<std::string, std::string> environment = {{"PATH", "/usr/local/cuda/bin:/usr/bin:/bin"},
                                                    {"CUDA_MODULE_LOADING", "EAGER"},
                                                    {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"},
                                                    {"CUDA_CACHE_DISABLE", "1"}};
  const char* libraries = std::getenv("LD_LIBRARY_PATH");
  if (libraries != nullptr) environment["LD_LIBRARY_PATH"] = libraries;
  if (absl::StartsWith(device, kByUuid)) environment["CUDA_VISIBLE_DEVICES"] = std::string(device.substr(5));
  return environment;
}

// Where CUPTI is, free of symbolic links; empty where there is none. The runner then says so itself.
std::string CuptiFolder() {
  const std::vector<std::string> found = LocateVendorLibrary(VendorLibrary::kCupti);
  if (found.empty()) return "";
  std::error_code error;
  const std::filesystem::path file = std::filesystem::canonical(found.front(), error);
  return error ? "" : file.parent_path().string();
}

// The runner does not search: what it may load is what the service shows it.
void ShowCupti(WorkerOptions& worker) {
  const std::string folder = CuptiFolder();
  if (folder.empty()) return;
  worker.sandbox->read_only.emplace_back(folder, folder);
  worker.environment["SASSAY_CUDA_LIBRARY_PATH"] = folder;
}

absl::Status ProveAlive(RunnerClient& spare, absl::Time deadline, KillSwitch* kill_switch) {
  // Its sandbox ends a moment before it, in which it might still answer.
  if (!spare.process().Alive()) return absl::UnavailableError("a spare died while it waited");
  const KillSwitch::Guard guard(kill_switch, spare);
  return spare.ProveAlive(std::min(deadline, SteadyNow() + kLongestProof));
}

RunnerPoolOptions WithCounter(RunnerPoolOptions options) {
  if (options.started == nullptr) options.started = std::make_shared<StartedRunners>();
  if (options.live == nullptr) options.live = LiveRunners::Create();
  return options;
}

}  // namespace

WorkerOptions RunnerWorkerOptions(const RunnerPoolOptions& options, absl::string_view device,
                                  sassay::worker::RunMode mode) {
  WorkerOptions worker;
  worker.name = "runner";
  if (mode != sassay::worker::RUN_MODE_COUNTED) worker.most_reply_bytes = kMaxShortReplyBytes;
  worker.argv = options.launcher;
  worker.argv.push_back(options.runner_program);
  const std::string stable = StableName(device);
  worker.argv.push_back(absl::StrCat("--device=", stable));
  worker.argv.push_back(absl::StrCat("--mode=", EnumName(mode)));
  worker.environment = RunnerEnvironment(stable);
  // A runner has one stream. The driver makes the contexts of a host one after another, and most of that is channels:
  // 0.09 s with one, 0.3 s with the usual eight (H200).
  worker.environment["CUDA_DEVICE_MAX_CONNECTIONS"] = "1";
  worker.environment.insert(options.environment.begin(), options.environment.end());
  std::vector<std::filesystem::path> extra;
  if (!options.launcher.empty()) extra.emplace_back(options.launcher.front());
  worker.sandbox = RunnerSandbox(device, options.runner_program, extra);
  if (mode == sassay::worker::RUN_MODE_COUNTED && absl::StartsWith(device, "cuda:")) ShowCupti(worker);
  if (options.file_bytes > 0) worker.sandbox->file_bytes = options.file_bytes;
  if (!options.writable_directory.empty()) {
    worker.sandbox->writable.emplace_back(options.writable_directory, options.writable_directory);
  }
  worker.stdout_fd = options.stdout_fd;
  worker.allow_unsandboxed = options.allow_unsandboxed;
  return worker;
}

absl::StatusOr<std::unique_ptr<RunnerClient>> StartRunner(const RunnerPoolOptions& options, absl::string_view device,
                                                          sassay::worker::RunMode mode, absl::Time deadline,
                                                          KillSwitch* kill_switch) {
  if (options.started != nullptr) options.started->Add(device, mode);
  auto process = WorkerProcess::Start(RunnerWorkerOptions(options, device, mode));
  if (!process.ok() && options.live != nullptr) {
    options.live->Tell(device, Happening::kFailedToStart, 0, process.status().message());
  }
  RETURN_IF_ERROR(process.status());
  auto runner = std::make_unique<RunnerClient>(*std::move(process));
  if (options.live != nullptr) runner->Register(*options.live, device);
  const KillSwitch::Guard guard(kill_switch, *runner);
  RETURN_IF_ERROR(runner->WaitReady(std::min(deadline, SteadyNow() + options.start_timeout)));
  return runner;
}

RunnerPool::RunnerPool(RunnerPoolOptions options) : options_(WithCounter(std::move(options))) {}

RunnerPool::~RunnerPool() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    changed_.SignalAll();
  }
  stop_.Pull();
  for (auto& [device, refiller] : refillers_) refiller.join();
  for (absl::string_view line : absl::StrSplit(started().Describe(), '\n', absl::SkipEmpty())) {
    spdlog::info("{}", std::string(line));
  }
}

void RunnerPool::Keep(absl::string_view device, sassay::worker::RunMode mode, uint32_t count) {
  absl::MutexLock lock(&mutex_);
  const std::string name(device);
  shelves_[Key(name, mode)].wanted = count;
  if (refillers_.count(name) == 0) refillers_.emplace(name, [this, name] { Refill(name); });
  changed_.SignalAll();
}

absl::StatusOr<std::unique_ptr<RunnerClient>> RunnerPool::Acquire(absl::string_view device,
                                                                  sassay::worker::RunMode mode, absl::Time deadline,
                                                                  KillSwitch* kill_switch) {
  while (auto spare = TakeSpare(Key(std::string(device), mode))) {
    if (spare->process().Alive()) return spare;
    spare->NoteDeath("it died while it waited");
    Note(std::string(device), absl::UnavailableError("a spare died while it waited")).IgnoreError();
  }
  auto runner = StartRunner(options_, device, mode, deadline, kill_switch);
  if (!runner.ok()) return Note(std::string(device), runner.status());
  return runner;
}

absl::Status RunnerPool::Confirm(absl::string_view device, sassay::worker::RunMode mode, absl::Time deadline,
                                 KillSwitch* kill_switch) {
  const Key key(std::string(device), mode);
  {
    const NoRefill hold(*this, key.first);  // nothing takes the place of a spare that comes back
    std::unique_ptr<RunnerClient> spare = TakeSpare(key);
    const absl::Status works = spare == nullptr ? absl::NotFoundError("") : ProveAlive(*spare, deadline, kill_switch);
    if (absl::IsCancelled(works)) return works;
    if (works.ok()) {
      absl::MutexLock lock(&mutex_);
      shelves_[key].spares.push_back(std::move(spare));
      return works;
    }
    if (spare != nullptr) Note(key.first, works).IgnoreError();
  }
  return AddFresh(device, mode, deadline, kill_switch);
}

absl::Status RunnerPool::AddFresh(absl::string_view device, sassay::worker::RunMode mode, absl::Time deadline,
                                  KillSwitch* kill_switch) {
  auto runner = StartRunner(options_, device, mode, deadline, kill_switch);
  if (!runner.ok()) return Note(std::string(device), runner.status());
  std::unique_ptr<RunnerClient> too_many;
  absl::MutexLock lock(&mutex_);
  Shelf& shelf = shelves_[Key(std::string(device), mode)];
  shelf.spares.push_back(*std::move(runner));
  shelf.surplus_until = SteadyNow() + kKeepSurplus;
  if (shelf.wanted > 0 && shelf.spares.size() <= shelf.wanted + kMostSurplus) return absl::OkStatus();
  too_many = std::move(shelf.spares.front());
  shelf.spares.erase(shelf.spares.begin());
  return absl::OkStatus();
}

absl::Status RunnerPool::Note(const std::string& device, const absl::Status& status) {
  if (absl::IsCancelled(status)) return status;
  ++deaths_;
  spdlog::warn("no runner for {}: {}", device, std::string(status.message()));
  return status;
}

std::unique_ptr<RunnerClient> RunnerPool::TakeSpare(const Key& key) {
  absl::MutexLock lock(&mutex_);
  const auto shelf = shelves_.find(key);
  if (shelf == shelves_.end() || shelf->second.spares.empty()) return nullptr;
  auto runner = std::move(shelf->second.spares.back());
  shelf->second.spares.pop_back();
  changed_.SignalAll();
  return runner;
}

uint32_t RunnerPool::EndAll(absl::string_view device, absl::string_view why) {
  std::vector<std::unique_ptr<RunnerClient>> spares;
  {
    absl::MutexLock lock(&mutex_);
    for (auto& [key, shelf] : shelves_) {
      if (key.first != device) continue;
      for (auto& spare : std::exchange(shelf.spares, {})) spares.push_back(std::move(spare));
      shelf.retry_at = absl::InfinitePast();
      shelf.backoff = absl::Seconds(1);
    }
  }
  const uint32_t ended = live().End(device, why);
  absl::MutexLock lock(&mutex_);
  changed_.SignalAll();
  return ended;
}

void RunnerPool::KillSparesForTest() {
  absl::MutexLock lock(&mutex_);
  for (auto& [key, shelf] : shelves_) {
    for (auto& spare : shelf.spares) {
      kill(spare->process().pid(), SIGKILL);
      pollfd ended{spare->process().pidfd(), POLLIN, 0};
      poll(&ended, 1, -1);
    }
  }
}

bool RunnerPool::AwaitSpareForTest(absl::string_view device, sassay::worker::RunMode mode, absl::Time deadline) {
  absl::MutexLock lock(&mutex_);
  const Key key(std::string(device), mode);
  const auto there = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !shelves_[key].spares.empty(); };
  return AwaitUntil(mutex_, absl::Condition(&there), deadline);
}

absl::optional<RunnerPool::Key> RunnerPool::NextNeed(const std::string& device) {
  if (quiet_.count(device) != 0) return absl::nullopt;
  const absl::Time now = SteadyNow();
  const Shelf* emptiest = nullptr;
  absl::optional<Key> need;
  for (const auto& [key, shelf] : shelves_) {
    if (key.first != device || shelf.spares.size() >= shelf.wanted || shelf.retry_at > now) continue;
    // Of two that are equally empty the later mode: who times has the device to himself meanwhile.
    if (emptiest != nullptr && shelf.spares.size() * emptiest->wanted > emptiest->spares.size() * shelf.wanted)
      continue;
    emptiest = &shelf;
    need = key;
  }
  return need;
}

void RunnerPool::Shelve(const Key& key, absl::StatusOr<std::unique_ptr<RunnerClient>> runner) {
  absl::MutexLock lock(&mutex_);
  Shelf& shelf = shelves_[key];
  busy_.erase(key.first);
  changed_.SignalAll();
  if (runner.ok()) {
    shelf.spares.push_back(*std::move(runner));
    shelf.backoff = absl::Seconds(1);
    return;
  }
  Note(key.first, runner.status()).IgnoreError();
  shelf.retry_at = SteadyNow() + shelf.backoff;
  shelf.backoff = std::min(shelf.backoff * 2, kLongestBackoff);
}

std::unique_ptr<RunnerClient> RunnerPool::TakeSurplus(const std::string& device) {
  if (quiet_.count(device) != 0) return nullptr;
  for (auto& [key, shelf] : shelves_) {
    if (key.first != device || shelf.spares.size() <= shelf.wanted || SteadyNow() < shelf.surplus_until) continue;
    auto oldest = std::move(shelf.spares.front());
    shelf.spares.erase(shelf.spares.begin());
    return oldest;
  }
  return nullptr;
}

void RunnerPool::Refill(const std::string& device) {
  for (;;) {
    absl::optional<Key> need;
    std::unique_ptr<RunnerClient> surplus;
    {
      absl::MutexLock lock(&mutex_);
      while (!stopping_ && !(need = NextNeed(device)).has_value() && (surplus = TakeSurplus(device)) == nullptr) {
        changed_.WaitWithTimeout(&mutex_, absl::Seconds(1));
      }
      if (stopping_) return;
      busy_.insert(device);
    }
    if (need.has_value()) {
      Shelve(*need, StartRunner(options_, need->first, need->second, absl::InfiniteFuture(), &stop_));
      continue;
    }
    surplus.reset();
    absl::MutexLock lock(&mutex_);
    busy_.erase(device);
    changed_.SignalAll();
  }
}

RunnerPool::NoRefill::NoRefill(RunnerPool& pool, std::string device) : pool_(pool), device_(std::move(device)) {
  absl::MutexLock lock(&pool_.mutex_);
  ++pool_.quiet_[device_];
}

RunnerPool::NoRefill::~NoRefill() {
  absl::MutexLock lock(&pool_.mutex_);
  if (--pool_.quiet_[device_] == 0) pool_.quiet_.erase(device_);
  pool_.changed_.SignalAll();
}

RunnerPool::Quiet::Quiet(RunnerPool& pool, std::string device, KillSwitch* kill_switch)
    : no_refill_(pool, std::move(device)) {
  bool cancelled = false;
  const KillSwitch::Guard guard(kill_switch, [&pool, &cancelled] {
    absl::MutexLock lock(&pool.mutex_);
    cancelled = true;
    pool.changed_.SignalAll();
  });
  absl::MutexLock lock(&pool.mutex_);
  while (pool.busy_.count(no_refill_.device()) != 0 && !cancelled) pool.changed_.Wait(&pool.mutex_);
}

}  // namespace sassay::wire
