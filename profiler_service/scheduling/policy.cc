#include "profiler_service/scheduling/policy.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "common/base/status_macros.h"

namespace sassay::scheduling {
namespace {

bool Has(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

bool Holds(const std::vector<std::string>& sorted, const std::string& one) {
  return std::binary_search(sorted.begin(), sorted.end(), one);
}

bool Earlier(const Head& a, const Head& b) {
  return std::tie(a.accepted_at, a.place, a.id) < std::tie(b.accepted_at, b.place, b.id);
}

// What all GPUs of the pool do in some time, for each unit of the weights that share them.
class Yardstick {
 public:
  explicit Yardstick(const Pool& pool) {
    uint64_t weights = 0;
    for (const Account& account : pool.accounts) weights += account.active() ? account.weight : 0;
    per_weight_ = static_cast<double>(pool.gpus) / static_cast<double>(std::max<uint64_t>(weights, 1));
  }
  VirtualTime operator()(absl::Duration time) const { return time * per_weight_; }

 private:
  double per_weight_;
};

Why ObstacleOfTheLost(const Head& head, const Node& node, const Pool& pool, const Rules& rules) {
  if (node.suspects > 0 && pool.living.size() > 1) return Why::kSuspectIsRunning;
  const bool here = Has(head.lost_on, node.name);
  if (head.lost_on.size() < rules.most_nodes_lost) {
    const auto fresh = [&](const std::string& name) { return !Has(head.lost_on, name); };
    return here && std::any_of(pool.living.begin(), pool.living.end(), fresh) ? Why::kLostHere : Why::kChosen;
  }
  const auto known = [&](const std::string& name) { return Has(head.lost_on, name); };
  return !here && std::any_of(pool.living.begin(), pool.living.end(), known) ? Why::kLostOften : Why::kChosen;
}

// What a tenant would send to the node.
struct Choice {
  const Head* head = nullptr;
  bool affine = false;
  bool interactive = false;  // interactive work of the tenant could go there
  bool batch = false;        // batch work could
  Why obstacle = Why::kNothingWaits;
};

// Of one class: the first, or one that the node holds the state of and that came soon after the first.
void ChooseOfClass(const std::vector<const Head*>& runnable, const Node& node, const Rules& rules, Choice& choice) {
  const auto earlier = [](const Head* a, const Head* b) { return Earlier(*a, *b); };
  choice.head = *std::min_element(runnable.begin(), runnable.end(), earlier);
  const absl::Time latest = choice.head->accepted_at + rules.affinity_window;
  const Head* affine = nullptr;
  for (const Head* head : runnable) {
    if (head->state.empty() || head->accepted_at > latest || !Holds(node.states, head->state)) continue;
    if (affine == nullptr || Earlier(*head, *affine)) affine = head;
  }
  choice.affine = affine != nullptr;
  if (choice.affine) choice.head = affine;
}

Choice ChooseOf(const Account& account, const std::vector<Head>& heads, const Node& node, const Pool& pool,
                absl::Time now, const Rules& rules) {
  std::array<std::vector<const Head*>, kPriorities> runnable;
  Choice choice;
  for (const Head& head : heads) {
    const Why obstacle = Obstacle(head, node, pool, now, rules);
    if (obstacle == Why::kChosen) {
      runnable[static_cast<size_t>(head.priority)].push_back(&head);
    } else {
      choice.obstacle = obstacle;
    }
  }
  const auto& [interactive, batch] = runnable;
  choice.interactive = !interactive.empty();
  choice.batch = !batch.empty();
  if (!choice.interactive && !choice.batch) return choice;
  const bool batch_is_due = account.batch_credit >= EstimateCost(account, Priority::kBatch, rules);
  const bool take_batch = choice.batch && (!choice.interactive || batch_is_due);
  ChooseOfClass(take_batch ? batch : interactive, node, rules, choice);
  return choice;
}

// A tenant that may be next.
struct Candidate {
  size_t account = 0;
  VirtualTime tag;     // start tag
  VirtualTime key;     // less the warp, while interactive work waits
  bool known = false;  // its heads were read: `heads` and `choice` stand, and the key is final
  std::vector<Head> heads;
  Choice choice;
};

class Search {
 public:
  Search(const Pool& pool, const Node& node, absl::Time now, const Rules& rules, HeadsOf heads_of)
      : pool_(pool), node_(node), now_(now), rules_(rules), heads_of_(heads_of), yardstick_(pool) {
    const VirtualTime floor = Floor();
    for (size_t i = 0; i < pool.accounts.size(); ++i) {
      const Account& account = pool.accounts[i];
      if (account.waits() == 0) continue;
      Candidate candidate;
      candidate.account = i;
      candidate.tag = std::max(account.pass, floor);
      candidate.key = candidate.tag - (Interactive(account) ? yardstick_(rules.warp) : absl::ZeroDuration());
      candidates_.push_back(std::move(candidate));
    }
  }

  absl::StatusOr<Decision> Run() {
    ASSIGN_OR_RETURN(Candidate * first, Next());
    if (first == nullptr) return Nothing();
    const VirtualTime key = first->key;
    ASSIGN_OR_RETURN(Candidate * affine, AffineUntil(first, key + yardstick_(rules_.affinity_slack)));
    return Chosen(affine != nullptr ? *affine : *first, key);
  }

 private:
  // Heads of so many tenants are read for the sake of affinity.
  static constexpr int kLooks = 4;

  static bool Interactive(const Account& account) { return account.waiting[0] > 0; }
  VirtualTime Floor() const { return pool_.virtual_time - yardstick_(rules_.credit); }
  bool Before(const Candidate& a, const Candidate& b) const {
    return std::tie(a.key, pool_.accounts[a.account].tenant) < std::tie(b.key, pool_.accounts[b.account].tenant);
  }

  // The one whose turn it is among those not passed over; null if none is left.
  absl::StatusOr<Candidate*> Next() {
    while (!candidates_.empty()) {
      const auto before = [this](const Candidate& a, const Candidate& b) { return Before(a, b); };
      Candidate& best = *std::min_element(candidates_.begin(), candidates_.end(), before);
      if (best.known) return &best;
      RETURN_IF_ERROR(Look(best));
      if (best.choice.head != nullptr) continue;  // its key may have changed
      refusal_ = best.choice.obstacle == Why::kNothingWaits ? refusal_ : best.choice.obstacle;
      Drop(best);
    }
    return nullptr;
  }

  absl::Status Look(Candidate& candidate) {
    const Account& account = pool_.accounts[candidate.account];
    ASSIGN_OR_RETURN(candidate.heads, heads_of_(account));
    candidate.choice = ChooseOf(account, candidate.heads, node_, pool_, now_, rules_);
    candidate.known = true;
    // Interactive work that this node cannot run borrows nothing here.
    if (!candidate.choice.interactive) candidate.key = candidate.tag;
    return absl::OkStatus();
  }

  void Drop(Candidate& candidate) {
    std::swap(candidate, candidates_.back());
    candidates_.pop_back();
  }

  // The first whose key is not beyond `latest` and whose state the node holds; null if there is none. `first` may move.
  absl::StatusOr<Candidate*> AffineUntil(Candidate*& first, VirtualTime latest) {
    if (first->choice.affine || node_.states.empty()) return first;
    std::vector<Candidate> passed;
    passed.push_back(std::move(*first));
    Drop(*first);
    Candidate* affine = nullptr;
    for (int looks = 0; looks < kLooks && affine == nullptr; ++looks) {
      ASSIGN_OR_RETURN(Candidate * next, Next());
      if (next == nullptr || next->key > latest) break;
      if (next->choice.affine) {
        affine = next;
      } else {
        passed.push_back(std::move(*next));
        Drop(*next);
      }
    }
    first_ = std::move(passed.front());
    first = &first_;
    return affine;
  }

  Decision Nothing() const {
    Decision decision;
    decision.why = refusal_;
    decision.virtual_time = pool_.virtual_time;
    return decision;
  }

  Decision Chosen(const Candidate& chosen, VirtualTime first_key) const {
    const Account& account = pool_.accounts[chosen.account];
    const Head& head = *chosen.choice.head;
    Decision decision;
    decision.why = Why::kChosen;
    decision.account = chosen.account;
    decision.head = head;
    decision.affine = chosen.choice.affine;
    decision.virtual_time = std::max(pool_.virtual_time, first_key);
    decision.charge = ChargeFor(account, head.priority, chosen.choice);
    return decision;
  }

  Charge ChargeFor(const Account& account, Priority priority, const Choice& choice) const {
    Charge charge;
    charge.cost = EstimateCost(account, priority, rules_);
    charge.floor = Floor();
    charge.step = charge.cost / static_cast<int64_t>(std::max<uint32_t>(account.weight, 1));
    charge.batch_credit_most = 2 * EstimateCost(account, Priority::kBatch, rules_);
    if (priority == Priority::kBatch) {
      charge.batch_credit_step = -charge.cost;
    } else if (choice.batch) {
      charge.batch_credit_step = charge.cost * (rules_.batch_share / (1 - rules_.batch_share));
    }
    return charge;
  }

  const Pool& pool_;
  const Node& node_;
  const absl::Time now_;
  const Rules& rules_;
  const HeadsOf heads_of_;
  const Yardstick yardstick_;
  std::vector<Candidate> candidates_;
  Candidate first_;
  Why refusal_ = Why::kNothingWaits;
};

}  // namespace

absl::string_view Explain(Why why) {
  switch (why) {
    case Why::kChosen:
      return "chosen";
    case Why::kNothingWaits:
      return "nothing waits";
    case Why::kDraining:
      return "the node is being drained";
    case Why::kNoPlace:
      return "the node has no free place";
    case Why::kModel:
      return "all that waits wants another GPU model";
    case Why::kDeadlinePassed:
      return "all that waits has waited past its deadline";
    case Why::kLostHere:
      return "what waits was lost on this node before, and other nodes live";
    case Why::kLostOften:
      return "what waits was lost on so many nodes that it goes to no further one";
    case Why::kSuspectIsRunning:
      return "what waits was lost before, and the node runs one such already";
  }
  return "";
}

Why Obstacle(const Head& head, const Node& node, const Pool& pool, absl::Time now, const Rules& rules) {
  if (head.queue_deadline <= now) return Why::kDeadlinePassed;
  if (!head.model.empty() && !Holds(node.models, head.model)) return Why::kModel;
  return head.lost_on.empty() ? Why::kChosen : ObstacleOfTheLost(head, node, pool, rules);
}

absl::StatusOr<Decision> Decide(const Pool& pool, const Node& node, absl::Time now, const Rules& rules,
                                HeadsOf heads_of) {
  Decision none;
  none.virtual_time = pool.virtual_time;
  none.why = node.draining ? Why::kDraining : Why::kNoPlace;
  if (node.draining || node.places == 0) return none;
  return Search(pool, node, now, rules, heads_of).Run();
}

}  // namespace sassay::scheduling
