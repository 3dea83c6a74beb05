#include "tests/sim/scenarios.h"

#include <algorithm>
#include <cmath>

namespace sassay::sim {
namespace {

using scheduling::Priority;

size_t Scaled(double size, double count) { return std::max<size_t>(1, static_cast<size_t>(std::lround(size * count))); }

Habits Tenant(const char* name, uint32_t weight, Priority priority) {
  Habits habits;
  habits.tenant = name;
  habits.weight = weight;
  habits.priority = priority;
  return habits;
}

}  // namespace

Options BusyCluster(double size, Ns lasts, uint64_t seed) {
  Options options;
  options.seed = seed;
  options.lasts = lasts;
  // 112 nodes of the Hopper pool, 13 of the Blackwell pool, eight GPUs each.
  options.groups = {{0, "NVIDIA H200", Scaled(size, 80), 8},
                    {0, "NVIDIA H100", Scaled(size, 32), 8},
                    {1, "NVIDIA B200", Scaled(size, 13), 8}};
  options.between_losses = static_cast<Ns>(static_cast<double>(kMinute) / std::max(size, 0.1));
  options.between_drains = static_cast<Ns>(static_cast<double>(2 * kMinute) / std::max(size, 0.1));

  Habits backlog = Tenant("dataset", 2, Priority::kBatch);
  backlog.backlog = Scaled(size, 70000);
  backlog.arrives_every = static_cast<Ns>(kSecond / (200 * size));
  backlog.workloads = 5;
  Habits rollouts = Tenant("rollouts", 6, Priority::kBatch);
  rollouts.trajectories = Scaled(size, 16000);
  rollouts.think = 40 * kSecond;
  rollouts.workloads = 5;
  rollouts.poisonous = Scaled(size, 10);
  Habits bursts = Tenant("nightly", 1, Priority::kBatch);
  bursts.burst_every = 4 * kMinute;
  bursts.burst = Scaled(size, 12000);
  bursts.workloads = 12;
  // More than its share, all of it called interactive.
  Habits flood = Tenant("flood", 1, Priority::kInteractive);
  flood.backlog = Scaled(size, 12000);
  flood.arrives_every = static_cast<Ns>(kSecond / (60 * size));
  flood.workloads = 3;
  // People who submit now and then.
  Habits people = Tenant("people", 2, Priority::kInteractive);
  people.arrives_every = static_cast<Ns>(kSecond / (10 * size));
  people.workloads = 8;
  people.modest = true;
  Habits pinned = Tenant("h100 only", 1, Priority::kBatch);
  pinned.model = "NVIDIA H100";
  pinned.backlog = Scaled(size, 6000);
  pinned.arrives_every = static_cast<Ns>(kSecond / (40 * size));
  pinned.workloads = 2;
  // Nothing for a third of the time, then much.
  Habits late = Tenant("late", 2, Priority::kBatch);
  late.begins = lasts / 3;
  late.backlog = Scaled(size, 60000);
  late.workloads = 5;
  Habits blackwell = Tenant("blackwell", 3, Priority::kBatch);
  blackwell.pool = 1;
  blackwell.backlog = Scaled(size, 12000);
  blackwell.arrives_every = static_cast<Ns>(kSecond / (30 * size));
  blackwell.workloads = 3;
  Habits second = Tenant("blackwell 2", 1, Priority::kBatch);
  second.pool = 1;
  second.trajectories = Scaled(size, 3000);
  second.think = 30 * kSecond;
  options.tenants = {backlog, rollouts, bursts, flood, people, pinned, late, blackwell, second};
  return options;
}

}  // namespace sassay::sim
