#include "monitor/rules/state/outbox.h"

#include <algorithm>
#include <map>
#include <utility>

namespace sassay::monitor {
namespace {

bool IsHold(DecisionKind kind) {
  return kind == DecisionKind::kPause || kind == DecisionKind::kResume || kind == DecisionKind::kQuarantine ||
         kind == DecisionKind::kRelease;
}

// Whether `newer` says all that `older` would.
bool Replaces(const Decision& newer, const Decision& older) {
  if (newer.gpu != older.gpu) return false;
  if (IsHold(newer.kind)) return IsHold(older.kind);
  if (newer.kind != older.kind || newer.kind == DecisionKind::kRecordIncident) return false;
  return newer.kind != DecisionKind::kExclude || newer.incident_id == older.incident_id;
}

}  // namespace

Outbox::Entries::iterator Outbox::At(uint64_t id) {
  return std::find_if(entries_.begin(), entries_.end(), [id](const Entry& entry) { return entry.decision.id == id; });
}

// Removes or marks what `by` replaces; true if among that was an exclusion that the service has not heard of.
bool Outbox::Replace(const Decision& by) {
  bool unknown = false;
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    if (entry->replaced || !Replaces(by, entry->decision)) {
      ++entry;
      continue;
    }
    unknown |= entry->unknown;
    entry->replaced = true;
    entry = entry->under_way ? std::next(entry) : entries_.erase(entry);
  }
  return unknown;
}

void Outbox::Add(Decision decision, bool announces) {
  decision.id = next_id_++;
  Entry entry;
  entry.unknown = Replace(decision) || announces;
  entry.decision = std::move(decision);
  entries_.push_back(std::move(entry));
  Shrink();
}

void Outbox::Restore(Decision decision) {
  RestoreNextId(decision.id + 1);
  Entry entry;
  entry.unknown = true;
  entry.decision = std::move(decision);
  entries_.push_back(std::move(entry));
}

// Newer revisions hold all that the older ones do.
void Outbox::Shrink() {
  size_t revisions = 0;
  for (const Entry& entry : entries_) revisions += entry.decision.kind == DecisionKind::kRecordIncident;
  if (revisions <= kMostRevisions) return;
  std::map<std::string, uint32_t> newest;
  for (const Entry& entry : entries_) {
    uint32_t& revision = newest[entry.decision.incident.id()];
    revision = std::max(revision, entry.decision.incident.revision());
  }
  entries_.remove_if([&](const Entry& entry) {
    return entry.decision.kind == DecisionKind::kRecordIncident && !entry.under_way &&
           entry.decision.incident.revision() < newest[entry.decision.incident.id()];
  });
}

bool Outbox::Waits(const Entry& entry) const {
  for (const Entry& other : entries_) {
    if (&other == &entry) break;
    const bool same_gpu = other.decision.gpu == entry.decision.gpu;
    // Holds, exclusions of an incident and revisions of an incident are said one after the other.
    if (other.replaced && Replaces(entry.decision, other.decision)) return true;
    if (entry.decision.kind == DecisionKind::kRecordIncident && other.decision.kind == DecisionKind::kRecordIncident &&
        other.decision.incident.id() == entry.decision.incident.id()) {
      return true;
    }
    // No work for a GPU whose windows the service does not know.
    const bool frees = entry.decision.kind == DecisionKind::kResume || entry.decision.kind == DecisionKind::kRelease;
    if (frees && same_gpu && other.decision.kind == DecisionKind::kExclude) {
      return true;
    }
  }
  return false;
}

std::vector<Decision> Outbox::HandOut(absl::Time now) {
  std::vector<Decision> due;
  entries_.remove_if([&](const Entry& entry) { return entry.replaced && now - entry.handed_out > kForgotten; });
  for (Entry& entry : entries_) {
    if (entry.under_way && now - entry.handed_out <= kForgotten) continue;
    if (entry.replaced || now < entry.not_before || Waits(entry)) continue;
    entry.under_way = true;
    entry.handed_out = now;
    due.push_back(entry.decision);
  }
  return due;
}

const Decision* Outbox::Find(uint64_t id) const {
  for (const Entry& entry : entries_) {
    if (entry.decision.id == id) return &entry.decision;
  }
  return nullptr;
}

void Outbox::Done(uint64_t id) {
  const auto entry = At(id);
  if (entry == entries_.end()) return;
  const Decision done = entry->decision;
  entries_.erase(entry);
  if (done.kind != DecisionKind::kExclude) return;
  for (Entry& other : entries_) {
    const bool same = other.decision.kind == done.kind && other.decision.gpu == done.gpu &&
                      other.decision.incident_id == done.incident_id;
    // The service knows when the window began; that it has ended can only make it smaller.
    if (same) other.unknown = false;
  }
}

void Outbox::Failed(uint64_t id, absl::Time now) {
  const auto entry = At(id);
  if (entry == entries_.end()) return;
  if (entry->replaced) {
    entries_.erase(entry);
    return;
  }
  entry->under_way = false;
  entry->not_before = now + entry->pause;
  entry->pause = std::min(2 * entry->pause, kLongestPause);
}

absl::Time Outbox::UnknownSince(const std::string& gpu) const {
  absl::Time since = absl::InfiniteFuture();
  for (const Entry& entry : entries_) {
    const bool exclusion = entry.decision.kind == DecisionKind::kExclude && entry.decision.gpu == gpu;
    if (exclusion && entry.unknown) since = std::min(since, entry.decision.from);
  }
  return since;
}

std::vector<Decision> Outbox::Of(const std::string& gpu) const {
  std::vector<Decision> pending;
  for (const Entry& entry : entries_) {
    if (entry.decision.gpu == gpu && !entry.replaced) pending.push_back(entry.decision);
  }
  return pending;
}

}  // namespace sassay::monitor
