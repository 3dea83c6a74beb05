#include "tests/sim/cluster.h"

#include <time.h>

#include <algorithm>
#include <queue>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "profiler_service/scheduling/policy.h"
#include "tests/sim/actors.h"
#include "tests/sim/gpu.h"
#include "tests/sim/waiting_lines.h"

namespace sassay::sim {
namespace {

using scheduling::Account;
using scheduling::Decision;
using scheduling::Head;
using scheduling::Pool;

double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

class Cluster {
 public:
  explicit Cluster(const Options& options)
      : options_(options), turns_(options.seed), pools_(Pools(options)), scheduler_free_(pools_.size(), 0) {
    MakeNodes();
    MakeTenants();
  }

  Report Run() {
    const double begun = CpuSeconds();
    Begin();
    while (!events_.empty()) {
      const Event event = events_.top();
      if (event.at > options_.lasts && (!options_.serve_all || AllEnded())) break;
      events_.pop();
      now_ = event.at;
      Handle(event);
    }
    for (Course& course : report_.courses) course.used.resize(course.waited.size(), 0);
    for (const Job& job : jobs_) report_.never += !job.ended;
    report_.wall_seconds = CpuSeconds() - begun;
    return std::move(report_);
  }

 private:
  struct SimTenant {
    Habits habits;
    size_t account = 0;
    WaitingLines lines;
    size_t made = 0;
  };

  static std::vector<Pool> Pools(const Options& options) {
    size_t count = 0;
    for (const NodeGroup& group : options.groups) count = std::max(count, group.pool + 1);
    return std::vector<Pool>(count);
  }

  void MakeNodes() {
    for (const NodeGroup& group : options_.groups) {
      for (size_t i = 0; i < group.nodes; ++i) {
        SimNode node;
        node.name = absl::StrCat("n", nodes_.size());
        node.pool = group.pool;
        node.model = group.model;
        node.gpus.assign(group.gpus, Gpu(options_.places));
        nodes_.push_back(std::move(node));
      }
    }
    idle_.resize(pools_.size());
    waiting_.resize(pools_.size(), 0);
    drained_.resize(pools_.size(), false);
    report_.pools.resize(pools_.size());
    seen_.resize(pools_.size());
    for (size_t pool = 0; pool < pools_.size(); ++pool) NoteLiving(pool);
  }

  void MakeTenants() {
    for (const Habits& habits : options_.tenants) {
      SimTenant tenant;
      tenant.habits = habits;
      Pool& pool = pools_[habits.pool];
      tenant.account = pool.accounts.size();
      Account account;
      account.tenant = habits.tenant;
      account.weight = habits.weight;
      pool.accounts.push_back(account);
      Course course;
      course.tenant = habits.tenant;
      course.weight = habits.weight;
      course.pool = habits.pool;
      report_.courses.push_back(course);
      tenants_.push_back(std::move(tenant));
    }
    tenant_of_.resize(pools_.size());
    for (size_t i = 0; i < tenants_.size(); ++i) tenant_of_[tenants_[i].habits.pool].push_back(i);
    emptied_.assign(tenants_.size(), true);
  }

  void Begin() {
    for (size_t i = 0; i < tenants_.size(); ++i) At(tenants_[i].habits.begins, Happens::kBegin, i);
    for (size_t i = 0; i < nodes_.size(); ++i) AskForAll(i);
    if (options_.between_losses > 0) At(turns_.Exponential(options_.between_losses), Happens::kLose, kNobody);
    if (options_.between_drains > 0) At(options_.between_drains, Happens::kDrain, 0);
    At(options_.poll, Happens::kPoll, 0);
    At(kPiece, Happens::kPiece, 0);
  }

  void At(Ns time, Happens what, size_t subject, uint64_t detail = 0) {
    events_.push({time, order_++, what, subject, detail});
  }
  bool AllEnded() const { return report_.verdicts == report_.submitted; }

  void Handle(const Event& event) {
    switch (event.what) {
      case Happens::kBegin:
        return BeginTenant(event.subject);
      case Happens::kBurst:
        return Burst(event.subject);
      case Happens::kArrive:
        return Arrive(event.subject);
      case Happens::kSubmit:
        return Submit(event.subject, /*trajectory=*/true);
      case Happens::kAsk:
        return Ask(event.subject, event.detail);
      case Happens::kDecide:
        return DecideFor(event.subject, event.detail);
      case Happens::kStart:
        return Start(event.subject, event.detail);
      case Happens::kStageEnds:
        return EndStage(event.subject, event.detail);
      case Happens::kGrant:
        return Grant(event.subject, event.detail);
      case Happens::kLose:
        return LoseOne(event.subject);
      case Happens::kExpire:
        return Expire(event.subject, event.detail);
      case Happens::kRepair:
        return Repair(event.subject);
      case Happens::kDrain:
        return Drain(event.subject);
      case Happens::kUndrain:
        return Undrain(event.subject);
      case Happens::kPoll:
        return Poll();
      case Happens::kPiece:
        return EndPiece();
    }
  }

  // ---- demand ----

  bool Open(const Habits& habits) const { return now_ <= std::min(habits.ends, options_.lasts); }

  void BeginTenant(size_t index) {
    const Habits& habits = tenants_[index].habits;
    for (size_t i = 0; i < habits.backlog; ++i) Submit(index, false);
    for (size_t i = 0; i < habits.trajectories; ++i) Submit(index, true);
    if (habits.burst_every > 0) Burst(index);
    if (habits.arrives_every > 0) Arrive(index);
  }

  void Burst(size_t index) {
    const Habits& habits = tenants_[index].habits;
    if (!Open(habits)) return;
    for (size_t i = 0; i < habits.burst; ++i) Submit(index, false);
    At(now_ + habits.burst_every, Happens::kBurst, index);
  }

  void Arrive(size_t index) {
    const Habits& habits = tenants_[index].habits;
    if (!Open(habits)) return;
    Submit(index, false);
    At(now_ + turns_.Exponential(habits.arrives_every), Happens::kArrive, index);
  }

  void Submit(size_t index, bool trajectory) {
    SimTenant& tenant = tenants_[index];
    if (!Open(tenant.habits)) return;
    Job job;
    job.tenant = index;
    job.kind = tenant.made++ < tenant.habits.poisonous ? Kind::kPoison : turns_.DrawKind();
    job.accepted = now_;
    job.workload = index * 100 + turns_.Below(tenant.habits.workloads);
    job.trajectory = trajectory;
    jobs_.push_back(std::move(job));
    ++report_.submitted;
    Enqueue(jobs_.size() - 1);
  }

  void Enqueue(size_t index) {
    const Job& job = jobs_[index];
    SimTenant& tenant = tenants_[job.tenant];
    const Habits& habits = tenant.habits;
    tenant.lines.Add({index, job.accepted, habits.priority, habits.model, StateName(job.workload), job.lost_on});
    ++AccountOf(job).waiting[static_cast<size_t>(habits.priority)];
    report_.most_waiting = std::max(report_.most_waiting, ++waiting_[habits.pool]);
    Wake(habits.pool, habits.model);
  }

  static std::string StateName(size_t workload) { return absl::StrCat("w", workload); }
  Account& AccountOf(const Job& job) {
    return pools_[tenants_[job.tenant].habits.pool].accounts[tenants_[job.tenant].account];
  }

  // ---- asking ----

  uint32_t FreePlaces(const SimNode& node) const {
    uint32_t places = 0;
    for (const Gpu& gpu : node.gpus) places += gpu.free_places();
    return places;
  }

  void AskForAll(size_t index) {
    SimNode& node = nodes_[index];
    for (uint32_t free = FreePlaces(node); node.asking < free; ++node.asking) {
      At(now_ + options_.way, Happens::kAsk, index, static_cast<uint64_t>(now_));
    }
  }

  // What waits calls one node that got nothing before.
  void Wake(size_t pool, const std::string& model) {
    std::set<size_t>& idle = idle_[pool];
    const auto fits = [&](size_t node) { return model.empty() || nodes_[node].model == model; };
    const auto found = std::find_if(idle.begin(), idle.end(), fits);
    if (found == idle.end()) return;
    const size_t node = *found;
    idle.erase(found);
    ++nodes_[node].asking;
    At(now_ + options_.way, Happens::kAsk, node, static_cast<uint64_t>(now_));
  }

  void Poll() {
    for (size_t pool = 0; pool < pools_.size(); ++pool) {
      if (waiting_[pool] == 0) continue;
      const std::set<size_t> idle = std::exchange(idle_[pool], {});
      for (const size_t node : idle) AskForAll(node);
    }
    At(now_ + options_.poll, Happens::kPoll, 0);
  }

  // One scheduler answers for a pool, one after another.
  void Ask(size_t index, uint64_t since) {
    Ns& free = scheduler_free_[nodes_[index].pool];
    const Ns begins = std::max(now_, free);
    free = begins + options_.acquire;
    At(free, Happens::kDecide, index, since);
  }

  scheduling::Node Describe(const SimNode& node) const {
    scheduling::Node asks;
    asks.name = node.name;
    asks.draining = node.draining;
    asks.models = {node.model};
    asks.places = FreePlaces(node);
    asks.suspects = node.suspects;
    for (const Gpu& gpu : node.gpus) {
      if (gpu.free_places() == 0) continue;
      for (const size_t workload : gpu.states()) asks.states.push_back(StateName(workload));
    }
    std::sort(asks.states.begin(), asks.states.end());
    return asks;
  }

  void DecideFor(size_t index, uint64_t since) {
    SimNode& node = nodes_[index];
    if (node.asking == 0) return;  // it died meanwhile
    --node.asking;
    if (!node.alive) return;
    Pool& pool = pools_[node.pool];
    const scheduling::Node asks = Describe(node);
    const double begun = CpuSeconds();
    const auto decision =
        scheduling::Decide(pool, asks, absl::FromUnixNanos(now_), options_.rules, [&](const Account& account) {
          const size_t position = static_cast<size_t>(&account - pool.accounts.data());
          return absl::StatusOr<std::vector<Head>>(LinesOf(node.pool, position).Heads());
        });
    report_.decision_us.push_back(static_cast<float>(1e6 * (CpuSeconds() - begun)));
    if (!decision->head.has_value()) {
      idle_[node.pool].insert(index);
      return;
    }
    Dispatch(index, *decision, static_cast<Ns>(since));
  }

  WaitingLines& LinesOf(size_t pool, size_t account) { return tenants_[tenant_of_[pool][account]].lines; }

  void Dispatch(size_t index, const Decision& decision, Ns since) {
    SimNode& node = nodes_[index];
    Pool& pool = pools_[node.pool];
    const Waiting taken = LinesOf(node.pool, decision.account).Take(*decision.head);
    Account& account = pool.accounts[decision.account];
    scheduling::Apply(decision.charge, taken.priority, account);
    if (account.waits() == 0) emptied_[jobs_[taken.job].tenant] = true;
    if (--waiting_[node.pool] == 0) drained_[node.pool] = true;
    pool.virtual_time = decision.virtual_time;
    ++report_.dispatched;
    report_.affine += decision.affine;

    Job& job = jobs_[taken.job];
    job.charged = decision.charge.cost;
    job.used = absl::ZeroDuration();
    job.node = index;
    job.stage = 0;
    ++job.epoch;
    node.jobs.insert(taken.job);
    node.suspects += job.losses > 0;
    job.gpu = ChooseGpu(node, job.workload);
    node.gpus[job.gpu].Seat();
    NoteWait(job, taken.priority, since);
    At(now_ + options_.way, Happens::kStart, taken.job, job.epoch);
  }

  static size_t ChooseGpu(const SimNode& node, size_t workload) {
    size_t best = kNobody;
    const auto better = [&](const Gpu& a, const Gpu& b) {
      const bool a_holds = a.Holds(workload), b_holds = b.Holds(workload);
      return a_holds != b_holds ? a_holds : a.free_places() > b.free_places();
    };
    for (size_t i = 0; i < node.gpus.size(); ++i) {
      if (node.gpus[i].free_places() == 0) continue;
      if (best == kNobody || better(node.gpus[i], node.gpus[best])) best = i;
    }
    return best;
  }

  void NoteWait(Job& job, scheduling::Priority priority, Ns since) {
    const Ns could_begin = std::max(since, job.started ? since : job.accepted);
    report_.dispatch_ms.push_back(static_cast<float>(1e3 * Seconds(now_ + options_.way - could_begin)));
    if (job.started) return;
    job.started = true;
    const float waited = static_cast<float>(Seconds(now_ - job.accepted));
    const size_t by_class = static_cast<size_t>(priority);
    report_.waited_s[by_class].push_back(waited);
    if (tenants_[job.tenant].habits.modest) report_.people_waited_s.push_back(waited);
    report_.longest_wait_s[by_class] = std::max(report_.longest_wait_s[by_class], waited);
  }

  // ---- running ----

  void Start(size_t index, uint64_t epoch) {
    Job& job = jobs_[index];
    if (job.epoch != epoch || job.node == kNobody) return;
    Gpu& gpu = nodes_[job.node].gpus[job.gpu];
    job.stages = turns_.DrawStages(job.kind, !gpu.Holds(job.workload));
    if (!job.stages.empty()) gpu.Use(job.workload);
    NextStage(index);
  }

  void NextStage(size_t index) {
    Job& job = jobs_[index];
    job.stage_since = -1;
    if (job.stage == job.stages.size()) return End(index);
    nodes_[job.node].gpus[job.gpu].Wait(index, job.stages[job.stage].exclusive, now_);
    Grant(job.node, job.gpu);
  }

  void Grant(size_t index, uint64_t which) {
    for (const size_t granted : nodes_[index].gpus[which].Grant(now_)) {
      Job& job = jobs_[granted];
      job.stage_since = now_;
      At(now_ + job.stages[job.stage].takes, Happens::kStageEnds, granted, job.epoch);
    }
  }

  void EndStage(size_t index, uint64_t epoch) {
    Job& job = jobs_[index];
    if (job.epoch != epoch || job.node == kNobody) return;
    Book(job);
    const size_t node = job.node, gpu = job.gpu;
    nodes_[node].gpus[gpu].Release(job.stages[job.stage].exclusive, now_);
    ++job.stage;
    if (job.kind == Kind::kPoison && job.stage == job.stages.size()) {
      ++report_.nodes_poisoned;
      return Lose(node);
    }
    NextStage(index);
    Grant(node, gpu);
  }

  // Writes down what its stage used, over the pieces of time.
  void Book(Job& job) {
    if (job.stage_since < 0) return;
    job.used += absl::Nanoseconds(now_ - job.stage_since);
    Course& course = report_.courses[job.tenant];
    for (Ns from = job.stage_since; from < now_;) {
      const size_t piece = static_cast<size_t>(from / kPiece);
      const Ns to = std::min(now_, static_cast<Ns>(piece + 1) * kPiece);
      if (course.used.size() <= piece) course.used.resize(piece + 1, 0);
      course.used[piece] += Seconds(to - from);
      from = to;
    }
    job.stage_since = -1;
  }

  void End(size_t index) {
    Job& job = jobs_[index];
    const size_t node = job.node;
    nodes_[node].gpus[job.gpu].Leave();
    Unseat(index);
    Pay(job, scheduling::Outcome::kRan);
    Verdict(index);
    AskForAll(node);
  }

  void Unseat(size_t index) {
    Job& job = jobs_[index];
    SimNode& node = nodes_[job.node];
    node.jobs.erase(index);
    node.suspects -= job.losses > 0;
    job.node = kNobody;
  }

  void Pay(const Job& job, scheduling::Outcome outcome) {
    Account& account = AccountOf(job);
    const scheduling::Settlement settlement = scheduling::Settle(job.charged, job.used, outcome, account.weight);
    scheduling::Apply(settlement, tenants_[job.tenant].habits.priority, absl::FromUnixNanos(now_), options_.rules,
                      account);
  }

  void Verdict(size_t index) {
    Job& job = jobs_[index];
    report_.twice += job.ended;
    job.ended = true;
    ++report_.verdicts;
    ++report_.courses[job.tenant].verdicts;
    const Habits& habits = tenants_[job.tenant].habits;
    if (job.trajectory) At(now_ + turns_.Spread(habits.think, 0.5), Happens::kSubmit, job.tenant);
  }

  // ---- nodes that come and go ----

  void NoteLiving(size_t index) {
    Pool& pool = pools_[index];
    pool.living.clear();
    pool.gpus = 0;
    for (const SimNode& node : nodes_) {
      if (node.pool != index || !node.alive || node.draining) continue;
      pool.living.push_back(node.name);
      pool.gpus += node.gpus.size();
    }
  }

  void LoseOne(size_t) {
    const size_t index = turns_.Below(nodes_.size());
    if (nodes_[index].alive) {
      ++report_.nodes_lost;
      Lose(index);
    }
    At(now_ + turns_.Exponential(options_.between_losses), Happens::kLose, kNobody);
  }

  void Lose(size_t index) {
    SimNode& node = nodes_[index];
    node.alive = false;
    node.up += now_ - node.up_since;
    node.asking = 0;
    idle_[node.pool].erase(index);
    for (const size_t lost : node.jobs) {
      Job& job = jobs_[lost];
      Book(job);
      job.node = kNobody;
      if (std::find(job.lost_on.begin(), job.lost_on.end(), node.name) == job.lost_on.end()) {
        job.lost_on.push_back(node.name);
      }
      At(now_ + options_.lease, Happens::kExpire, lost, job.epoch);
    }
    node.jobs.clear();
    node.suspects = 0;
    for (Gpu& gpu : node.gpus) gpu.Clear(now_);
    NoteLiving(node.pool);
    At(now_ + options_.repair, Happens::kRepair, index);
  }

  void Expire(size_t index, uint64_t epoch) {
    Job& job = jobs_[index];
    if (job.epoch != epoch) return;
    ++job.epoch;
    Pay(job, scheduling::Outcome::kCrashed);
    ++job.losses;
    report_.most_losses = std::max<size_t>(report_.most_losses, job.losses);
    report_.most_nodes_of_one = std::max(report_.most_nodes_of_one, job.lost_on.size());
    if (job.losses >= options_.max_losses) {
      ++report_.given_up;
      return Verdict(index);
    }
    Enqueue(index);
  }

  void Repair(size_t index) {
    nodes_[index].alive = true;
    nodes_[index].up_since = now_;
    NoteLiving(nodes_[index].pool);
    AskForAll(index);
  }

  void Drain(size_t index) {
    nodes_[index].draining = true;
    NoteLiving(nodes_[index].pool);
    At(now_ + options_.repair, Happens::kUndrain, index);
    At(now_ + options_.between_drains, Happens::kDrain, (index + 1) % nodes_.size());
  }

  void Undrain(size_t index) {
    nodes_[index].draining = false;
    NoteLiving(nodes_[index].pool);
    if (nodes_[index].alive) AskForAll(index);
  }

  // ---- what is seen of it ----

  // Sums since the beginning, of one pool.
  struct Sums {
    double busy = 0;
    double available = 0;
  };

  Sums SumsOf(size_t pool) const {
    Sums sums;
    for (const SimNode& node : nodes_) {
      if (node.pool != pool) continue;
      const Ns up = node.up + (node.alive ? now_ - node.up_since : 0);
      sums.available += Seconds(up) * static_cast<double>(node.gpus.size());
      for (const Gpu& gpu : node.gpus) sums.busy += Seconds(gpu.Busy(now_));
    }
    return sums;
  }

  void EndPiece() {
    const size_t pieces = static_cast<size_t>(now_ / kPiece);
    for (size_t i = 0; i < tenants_.size(); ++i) {
      Course& course = report_.courses[i];
      const Account& account = pools_[course.pool].accounts[tenants_[i].account];
      course.used.resize(pieces, 0);
      course.waited.push_back(account.waits() > 0 && !emptied_[i]);
      emptied_[i] = account.waits() == 0;
    }
    for (size_t pool = 0; pool < pools_.size(); ++pool) {
      PoolCourse& course = report_.pools[pool];
      const Sums sums = SumsOf(pool);
      course.busy.push_back(sums.busy - seen_[pool].busy);
      course.available.push_back(sums.available - seen_[pool].available);
      course.loaded.push_back(waiting_[pool] > 0 && !drained_[pool]);
      drained_[pool] = waiting_[pool] == 0;
      seen_[pool] = sums;
    }
    At(now_ + kPiece, Happens::kPiece, 0);
  }

  const Options& options_;
  Turns turns_;
  Ns now_ = 0;
  uint64_t order_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<Pool> pools_;
  std::vector<Ns> scheduler_free_;
  std::vector<SimNode> nodes_;
  std::vector<SimTenant> tenants_;
  std::vector<Job> jobs_;
  std::vector<std::set<size_t>> idle_;
  std::vector<std::vector<size_t>> tenant_of_;  // by pool and account
  std::vector<uint64_t> waiting_;               // by pool
  // Nothing waited at some moment of this piece of time: by pool, by tenant.
  std::vector<bool> drained_, emptied_;
  std::vector<Sums> seen_;
  Report report_;
};

}  // namespace

Report Simulate(const Options& options) { return Cluster(options).Run(); }

}  // namespace sassay::sim
