#include "profiler_service/cluster/node_registry.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"
#include "spdlog/spdlog.h"

namespace sassay::cluster {
namespace {

using sassay::v1::NodeFacts;
using sassay::v1::NodeGpu;

constexpr absl::Duration kFresh = absl::Seconds(1);
constexpr int kMostGpus = 64;
constexpr size_t kMostFactsBytes = size_t{64} << 10;
constexpr size_t kMostIdBytes = 128;

absl::Status CheckFacts(absl::string_view name, const NodeFacts& facts) {
  if (facts.gpus_size() == 0 || facts.gpus_size() > kMostGpus) {
    return absl::InvalidArgumentError(
        absl::StrCat("facts.gpus: expected 1 to ", kMostGpus, ", got ", facts.gpus_size()));
  }
  if (facts.ByteSizeLong() > kMostFactsBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("facts: expected at most ", kMostFactsBytes, " bytes, got ", facts.ByteSizeLong()));
  }
  const std::string own_end = absl::StrCat("@", name.substr(name.rfind('/') + 1));
  std::set<absl::string_view> seen;
  for (const NodeGpu& gpu : facts.gpus()) {
    const bool emulated = absl::StartsWith(gpu.uuid(), "emulated:");
    const bool named = !gpu.uuid().empty() && gpu.uuid().size() <= kMostIdBytes && seen.insert(gpu.uuid()).second;
    if (named && (!emulated || absl::EndsWith(gpu.uuid(), own_end))) continue;
    return absl::InvalidArgumentError(absl::StrCat("facts.gpus.uuid: expected a GPU's UUID, or 'emulated:ARCH#N",
                                                   own_end, "', each once, got '",
                                                   absl::CEscape(gpu.uuid().substr(0, kMostIdBytes)), "'"));
  }
  return absl::OkStatus();
}

Node Gone(Node node) {
  node.instance.clear();
  node.draining = true;
  return node;
}

}  // namespace

bool Node::Has(absl::string_view gpu) const {
  return std::any_of(facts.gpus().begin(), facts.gpus().end(), [&](const NodeGpu& each) { return each.uuid() == gpu; });
}

bool NodeRegistry::Lives(const Node& node) const { return !node.instance.empty() && now_() - node.seen < kSilence; }

absl::Status NodeRegistry::Refresh() {
  ASSIGN_OR_RETURN(const std::vector<store::NodeRecord> records, store_.Nodes());
  read_at_ = SteadyNow();
  std::map<std::string, NodePtr> nodes;
  for (const store::NodeRecord& record : records) {
    auto node = std::make_shared<Node>();
    node->name = record.name;
    node->instance = record.instance;
    node->seen = record.seen;
    node->draining = record.draining;
    if (!node->facts.ParseFromString(record.facts)) {
      spdlog::error("what is kept of node {} cannot be read; it is left out until it registers again", record.name);
      continue;
    }
    nodes[record.name] = std::move(node);
  }
  nodes_ = std::move(nodes);
  return absl::OkStatus();
}

void NodeRegistry::RefreshIfOld() {
  if (SteadyNow() - read_at_ < kFresh) return;
  const absl::Status read = Refresh();
  if (!read.ok()) spdlog::warn("cannot read which nodes there are: {}", read.ToString());
}

absl::Status NodeRegistry::Keep(Node node) {
  RETURN_IF_ERROR(store_.PutNode({node.name, node.instance, node.facts.SerializeAsString(), node.seen, node.draining}));
  nodes_[node.name] = std::make_shared<const Node>(std::move(node));
  return absl::OkStatus();
}

absl::Status NodeRegistry::CheckFree(const Node& node) const {
  for (const auto& [name, other] : nodes_) {
    if (!Lives(*other) || (name == node.name && other->instance == node.instance)) continue;
    const std::string when = absl::StrCat(
        ", which was heard of ", absl::FormatDuration(absl::Trunc(now_() - other->seen, absl::Milliseconds(100))),
        " ago; if it is gone, its place is free ", absl::FormatDuration(kSilence), " after its last sign");
    if (name == node.name) {
      return absl::AlreadyExistsError(
          absl::StrCat("node.name: another process is node ", name, when, "; else give each a --node-name of its own"));
    }
    for (const NodeGpu& gpu : node.facts.gpus()) {
      if (!other->Has(gpu.uuid())) continue;
      return absl::AlreadyExistsError(absl::StrCat("facts.gpus: ", gpu.uuid(), " is registered by node ", name, when));
    }
  }
  return absl::OkStatus();
}

absl::Status NodeRegistry::Register(const std::string& name, const std::string& instance, const NodeFacts& facts) {
  RETURN_IF_ERROR(CheckFacts(name, facts));
  absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(Refresh());
  const Node node{name, instance, facts, now_(), false};
  RETURN_IF_ERROR(CheckFree(node));
  RETURN_IF_ERROR(TakeOver(node));
  RETURN_IF_ERROR(Keep(node));
  // No transaction spans this: another front end may have let in somebody else meanwhile. Whoever sees that gives way.
  RETURN_IF_ERROR(Refresh());
  if (absl::Status free = CheckFree(node); !free.ok()) {
    RETURN_IF_ERROR(store_.DropNode(name, instance));
    RETURN_IF_ERROR(Refresh());
    return free;
  }
  spdlog::info("node {} registers {} GPUs", name, facts.gpus_size());
  return absl::OkStatus();
}

absl::Status NodeRegistry::TakeOver(const Node& node) {
  const std::map<std::string, NodePtr> others = nodes_;
  for (const auto& [name, other] : others) {
    const bool shares = std::any_of(node.facts.gpus().begin(), node.facts.gpus().end(),
                                    [&](const NodeGpu& gpu) { return other->Has(gpu.uuid()); });
    if (name == node.name || other->instance.empty() || !shares) continue;
    spdlog::warn("node {} has a GPU of node {}, which is silent: it must register again", node.name, name);
    RETURN_IF_ERROR(Keep(Gone(*other)));
  }
  return absl::OkStatus();
}

absl::StatusOr<NodeRegistry::NodePtr> NodeRegistry::FindLocked(const std::string& name, const std::string& instance) {
  for (const bool fresh : {false, true}) {
    if (fresh) RETURN_IF_ERROR(Refresh());
    const auto found = nodes_.find(name);
    if (found != nodes_.end() && found->second->instance == instance) return found->second;
  }
  return absl::NotFoundError(absl::StrCat("node ", name, ": this process of it is not registered; call Register"));
}

absl::StatusOr<NodeRegistry::NodePtr> NodeRegistry::Find(const std::string& name, const std::string& instance) {
  absl::MutexLock lock(&mutex_);
  return FindLocked(name, instance);
}

absl::Status NodeRegistry::Beat(const std::string& name, const std::string& instance, bool draining) {
  absl::MutexLock lock(&mutex_);
  // Read again: another front end may have let the next process of that name in.
  RETURN_IF_ERROR(Refresh());
  ASSIGN_OR_RETURN(const NodePtr known, FindLocked(name, instance));
  Node node = *known;
  node.seen = now_();
  node.draining = draining;
  return Keep(std::move(node));
}

absl::Status NodeRegistry::Leave(const std::string& name, const std::string& instance) {
  absl::MutexLock lock(&mutex_);
  const absl::StatusOr<NodePtr> known = FindLocked(name, instance);
  if (absl::IsNotFound(known.status())) return absl::OkStatus();
  RETURN_IF_ERROR(known.status());
  spdlog::info("node {} leaves", name);
  return Keep(Gone(**known));
}

std::vector<NodeRegistry::NodePtr> NodeRegistry::Known() {
  absl::MutexLock lock(&mutex_);
  RefreshIfOld();
  std::vector<NodePtr> known;
  for (const auto& [name, node] : nodes_) {
    if (now_() - node->seen < kForgotten) known.push_back(node);
  }
  return known;
}

std::vector<NodeRegistry::NodePtr> NodeRegistry::Living() {
  std::vector<NodePtr> living = Known();
  living.erase(std::remove_if(living.begin(), living.end(), [this](const NodePtr& node) { return !Lives(*node); }),
               living.end());
  return living;
}

NodeCounts NodeRegistry::Count() {
  NodeCounts counts;
  for (const NodePtr& node : Known()) {
    const bool lives = Lives(*node);
    if (!lives) {
      ++(node->instance.empty() ? counts.left : counts.silent);
      continue;
    }
    ++(node->draining ? counts.draining : counts.living);
    if (!node->draining) counts.places += node->facts.places();
    counts.longest_silence = std::max(counts.longest_silence, now_() - node->seen);
  }
  return counts;
}

bool NodeRegistry::IsOfLivingNode(absl::string_view gpu) {
  const std::vector<NodePtr> living = Living();
  return std::any_of(living.begin(), living.end(), [&](const NodePtr& node) { return node->Has(gpu); });
}

void NodeRegistry::KeepHouse() {
  absl::MutexLock lock(&mutex_);
  if (!Refresh().ok()) return;
  for (auto node = nodes_.begin(); node != nodes_.end();) {
    const bool forgotten = now_() - node->second->seen >= kForgotten;
    if (forgotten && store_.DropNode(node->first, node->second->instance).ok()) {
      node = nodes_.erase(node);
    } else {
      ++node;
    }
  }
}

}  // namespace sassay::cluster
