// Holds, incidents, usage and nodes.
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "profiler_service/store/sql/operations.h"
#include "profiler_service/store/sql/shares.h"

namespace sassay::store::sql {

using sassay::v1::Incident;
using sassay::v1::TenantUsage;

absl::StatusOr<bool> PlaceHold(Db& db, const Hold& hold) {
  RETURN_IF_ERROR(db.Prepare("INSERT INTO holds (gpu, holder, state, reason, incident, since, actor) VALUES (?, ?, ?, "
                             "?, ?, ?, ?) ON CONFLICT (gpu, holder) DO UPDATE SET state = excluded.state, reason = "
                             "excluded.reason, incident = excluded.incident, since = excluded.since, actor = "
                             "excluded.actor")
                      .Bind(hold.gpu)
                      .Bind(hold.holder)
                      .Bind(static_cast<int64_t>(hold.state))
                      .Bind(hold.reason)
                      .Bind(hold.incident_id)
                      .Bind(hold.since)
                      .Bind(hold.actor)
                      .Run());
  return true;
}

absl::StatusOr<bool> LiftHold(Db& db, const std::string& gpu, const std::string& holder) {
  RETURN_IF_ERROR(db.Prepare("DELETE FROM holds WHERE gpu = ? AND holder = ?").Bind(gpu).Bind(holder).Run());
  return true;
}

absl::StatusOr<std::vector<Hold>> Holds(Db& db) {
  Query query = db.Prepare("SELECT gpu, holder, state, reason, incident, since, actor FROM holds ORDER BY gpu, holder");
  std::vector<Hold> holds;
  for (;;) {
    ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) return holds;
    holds.push_back({query.Text(0), query.Text(1), static_cast<sassay::v1::GpuState>(query.Int(2)), query.Text(3),
                     query.Text(4), query.Time(5), query.Text(6)});
  }
}

absl::StatusOr<bool> PutNode(Db& db, const NodeRecord& node) {
  RETURN_IF_ERROR(db.Prepare("INSERT INTO nodes (name, instance, facts, seen, draining) VALUES (?, ?, ?, ?, ?) ON "
                             "CONFLICT (name) DO UPDATE SET instance = excluded.instance, facts = excluded.facts, seen "
                             "= excluded.seen, draining = excluded.draining")
                      .Bind(node.name)
                      .Bind(node.instance)
                      .BindBlob(node.facts)
                      .Bind(node.seen)
                      .Bind(node.draining ? 1 : 0)
                      .Run());
  return true;
}

absl::StatusOr<bool> DropNode(Db& db, const std::string& name, const std::string& instance) {
  RETURN_IF_ERROR(db.Prepare("DELETE FROM nodes WHERE name = ? AND instance = ?").Bind(name).Bind(instance).Run());
  return true;
}

absl::StatusOr<std::vector<NodeRecord>> Nodes(Db& db) {
  Query query = db.Prepare("SELECT name, instance, facts, seen, draining FROM nodes ORDER BY name");
  std::vector<NodeRecord> nodes;
  for (;;) {
    ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) return nodes;
    nodes.push_back({query.Text(0), query.Text(1), query.Blob(2), query.Time(3), query.Int(4) != 0});
  }
}

absl::StatusOr<bool> RecordIncident(Db& db, const Incident& incident) {
  RETURN_IF_ERROR(db.Prepare("INSERT INTO incidents (id, revision, until, incident) VALUES (?, ?, ?, ?) ON CONFLICT DO "
                             "NOTHING")
                      .Bind(incident.id())
                      .Bind(incident.revision())
                      .Bind(incident.has_to() ? TimeOf(incident.to()) : absl::InfiniteFuture())
                      .BindBlob(incident.SerializeAsString())
                      .Run());
  return true;
}

absl::StatusOr<std::vector<IncidentRecord>> IncidentsSince(Db& db, absl::Time from, uint64_t after, int limit) {
  Query query = db.Prepare(
      "SELECT place, incident FROM incidents WHERE place > ? AND (SELECT until FROM incidents highest WHERE highest.id "
      "= "
      "incidents.id ORDER BY revision DESC LIMIT 1) >= ? ORDER BY place LIMIT ?");
  query.Bind(static_cast<int64_t>(after)).Bind(from).Bind(limit);
  std::vector<IncidentRecord> records;
  for (;;) {
    ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) return records;
    IncidentRecord& record = records.emplace_back();
    record.place = static_cast<uint64_t>(query.Int(0));
    if (!record.incident.ParseFromString(query.Blob(1))) {
      return absl::DataLossError(absl::StrCat("the incident at place ", record.place, " cannot be read"));
    }
  }
}

absl::StatusOr<uint64_t> LastIncident(Db& db) {
  Query query = db.Prepare("SELECT coalesce(max(place), 0) FROM incidents");
  RETURN_IF_ERROR(query.Step().status());
  return static_cast<uint64_t>(query.Int(0));
}

absl::StatusOr<std::vector<TenantUsage>> Usage(Db& db, absl::string_view tenant, absl::Time now) {
  ASSIGN_OR_RETURN(const auto recent, RecentUse(db, now));
  Query query = db.Prepare(
      "SELECT name, verdicts, gpu_ns, excluded_verdicts, excluded_gpu_ns, lost_attempts, lost_gpu_ns, queued, leased, "
      "coalesce(w.weight, 1) FROM tenants LEFT JOIN weights w ON w.tenant = name WHERE ?1 = '' OR name = ?1 ORDER BY "
      "name");
  query.Bind(tenant);
  const auto number = [&](int column) { return static_cast<uint64_t>(query.Int(column)); };
  std::vector<TenantUsage> tenants;
  for (;;) {
    ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) return tenants;
    TenantUsage& usage = tenants.emplace_back();
    usage.set_tenant(query.Text(0));
    usage.set_verdicts(number(1));
    usage.set_gpu_ns(number(2));
    usage.set_excluded_verdicts(number(3));
    usage.set_excluded_gpu_ns(number(4));
    usage.set_lost_attempts(number(5));
    usage.set_lost_gpu_ns(number(6));
    usage.set_queued(number(7));
    usage.set_running(number(8));
    usage.set_weight(static_cast<uint32_t>(number(9)));
    const auto used = recent.find(usage.tenant());
    if (used != recent.end()) usage.set_recent_gpu_ns(static_cast<uint64_t>(absl::ToInt64Nanoseconds(used->second)));
  }
}

}  // namespace sassay::store::sql
