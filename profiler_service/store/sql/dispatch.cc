#include "profiler_service/store/sql/dispatch.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "profiler_service/scheduling/policy.h"
#include "profiler_service/store/sql/rows.h"
#include "profiler_service/store/sql/shares.h"

// The first of a line: each is one step in an index.
#define SASSAY_HEAD(priority, condition)                                                                   \
  "SELECT * FROM (SELECT id, priority, model, workload, lost_on, accepted_at, place, queue_deadline FROM " \
  "submissions WHERE state = 0 AND arch = ?1 AND tenant = ?2 AND priority = " priority                     \
  " AND queue_deadline + 0 > ?3 AND " condition " LIMIT "
#define SASSAY_LINE(priority, model) SASSAY_HEAD(priority, "lost = 0 AND model = " model " ORDER BY place") "1) AS head"
#define SASSAY_WARM(priority, state) \
  SASSAY_HEAD(priority, "lost = 0 AND workload = " state " ORDER BY place") "1) AS head"
// Of those that were lost before, a few: the first may not go where the second may.
#define SASSAY_LOST(priority) SASSAY_HEAD(priority, "lost = 1 ORDER BY place") "8) AS head"
#define SASSAY_AND " UNION ALL "
#define SASSAY_HEADS(priority)                                                                                         \
  SASSAY_LINE(priority, "''")                                                                                          \
  SASSAY_AND SASSAY_LINE(priority, "?4") SASSAY_AND SASSAY_LINE(priority, "?5") SASSAY_AND SASSAY_LOST(priority)       \
  SASSAY_AND SASSAY_WARM(priority, "?6") SASSAY_AND SASSAY_WARM(priority, "?7") SASSAY_AND SASSAY_WARM(priority, "?8") \
      SASSAY_AND                                                                                                       \
      SASSAY_WARM(priority, "?9")

namespace sassay::store::sql {
namespace {

using scheduling::Account;
using scheduling::Decision;
using scheduling::Head;
using scheduling::Priority;

static_assert(Asker::kMostModels == 2 && Asker::kMostStates == 4, "the parameters 4 to 9 of SASSAY_HEADS");

// No model and no workload is called so.
constexpr absl::string_view kNone = "\x01";
// How often another head is tried where somebody else is changing the chosen one.
constexpr int kTries = 4;

std::vector<std::string> Names(const std::string& joined) { return absl::StrSplit(joined, '\n', absl::SkipEmpty()); }

Head ReadHead(const Query& row) {
  Head head;
  head.id = row.Text(0);
  head.priority = static_cast<Priority>(row.Int(1));
  head.model = row.Text(2);
  head.state = row.Text(3);
  head.lost_on = Names(row.Text(4));
  head.accepted_at = row.Time(5);
  head.place = static_cast<uint64_t>(row.Int(6));
  head.queue_deadline = row.Time(7);
  return head;
}

class Dispatch {
 public:
  Dispatch(Db& db, const Asker& asker, absl::Time now, absl::Time expires_at)
      : db_(db), asker_(asker), now_(now), expires_at_(expires_at) {
    node_.name = asker_.node;
    node_.models = asker_.models;
    node_.states = asker_.states;
    std::sort(node_.models.begin(), node_.models.end());
    std::sort(node_.states.begin(), node_.states.end());
  }

  absl::StatusOr<absl::optional<Lease>> Run() {
    if (asker_.pools.empty()) return absl::optional<Lease>();
    Settlements settlements(db_);
    Query suspects = db_.Prepare("SELECT count(*) FROM submissions WHERE state = 1 AND lost = 1 AND node = ?");
    suspects.Bind(asker_.node).Ask();
    absl::optional<PoolReading> reading(absl::in_place, db_, asker_.pools.front().arch);
    ASSIGN_OR_RETURN(const bool settled, settlements.Fold(rules_));
    RETURN_IF_ERROR(suspects.Step().status());
    node_.suspects = static_cast<uint32_t>(suspects.Int(0));
    for (const AskedPool& asked : asker_.pools) {
      if (settled || &asked != &asker_.pools.front()) {
        reading.reset();
        reading.emplace(db_, asked.arch);
      }
      ASSIGN_OR_RETURN(scheduling::Pool pool, reading->Read());
      ASSIGN_OR_RETURN(absl::optional<Lease> lease, From(asked, std::move(pool)));
      if (lease.has_value()) return lease;
    }
    return absl::optional<Lease>();
  }

 private:
  absl::StatusOr<absl::optional<Lease>> From(const AskedPool& asked, scheduling::Pool pool) {
    pool.gpus = std::max<uint64_t>(asked.gpus, 1);
    pool.living = asked.living;
    const auto heads_of = [&](const Account& account) { return HeadsOf(asked.arch, account); };
    for (int tries = 0; tries < kTries; ++tries) {
      ASSIGN_OR_RETURN(const Decision decision, scheduling::Decide(pool, node_, now_, rules_, heads_of));
      if (!decision.head.has_value()) return absl::optional<Lease>();
      ASSIGN_OR_RETURN(absl::optional<Lease> lease, Claim(decision.head->id));
      if (!lease.has_value()) {
        taken_.push_back(decision.head->id);
        continue;
      }
      RETURN_IF_ERROR(Book(asked.arch, decision, pool.accounts[decision.account]));
      RETURN_IF_ERROR(Store(*lease, decision));
      return lease;
    }
    return absl::optional<Lease>();
  }

  absl::StatusOr<std::vector<Head>> HeadsOf(const std::string& arch, const Account& account) {
    Query query = db_.Prepare(SASSAY_HEADS("0") SASSAY_AND SASSAY_HEADS("1"));
    query.Bind(arch).Bind(account.tenant).Bind(now_);
    BindFirst(asker_.models, Asker::kMostModels, query);
    BindFirst(asker_.states, Asker::kMostStates, query);
    std::vector<Head> heads;
    for (;;) {
      ASSIGN_OR_RETURN(const bool row, query.Step());
      if (!row) return heads;
      Head head = ReadHead(query);
      if (std::find(taken_.begin(), taken_.end(), head.id) == taken_.end()) heads.push_back(std::move(head));
    }
  }

  static void BindFirst(const std::vector<std::string>& values, size_t count, Query& query) {
    for (size_t i = 0; i < count; ++i) query.Bind(i < values.size() ? absl::string_view(values[i]) : kNone);
  }

  absl::StatusOr<absl::optional<Lease>> Claim(const std::string& id) {
    Query query = db_.Prepare(db_.dialect().claim);
    ASSIGN_OR_RETURN(const bool found, query.Bind(id).Step());
    return found ? absl::optional<Lease>(ReadLease(query)) : absl::nullopt;
  }

  absl::Status Book(const std::string& arch, const Decision& decision, Account account) {
    scheduling::Apply(decision.charge, decision.head->priority, account);
    RETURN_IF_ERROR(SaveAccount(db_, arch, account));
    return SavePool(db_, arch, decision.virtual_time);
  }

  absl::Status Store(Lease& lease, const Decision& decision) {
    lease.submission.state = State::kLeased;
    lease.submission.attempt += 1;
    lease.owner = asker_.owner;
    lease.epoch += 1;
    lease.expires_at = expires_at_;
    return db_
        .Prepare(
            "UPDATE submissions SET state = 1, owner = ?, epoch = ?, expires_at = ?, attempt = ?, node = ?, charged = "
            "? "
            "WHERE id = ?")
        .Bind(lease.owner)
        .Bind(static_cast<int64_t>(lease.epoch))
        .Bind(lease.expires_at)
        .Bind(lease.submission.attempt)
        .Bind(asker_.node)
        .Bind(scheduling::ToDisk(decision.charge.cost))
        .Bind(lease.submission.id)
        .Run();
  }

  Db& db_;
  const Asker& asker_;
  const absl::Time now_, expires_at_;
  const scheduling::Rules rules_;
  scheduling::Node node_;
  std::vector<std::string> taken_;
};

}  // namespace

Priority PriorityOf(const sassay::v1::ProfileRequest& request) {
  return request.priority() == sassay::v1::PRIORITY_BATCH ? Priority::kBatch : Priority::kInteractive;
}

absl::StatusOr<absl::optional<Lease>> Acquire(Db& db, const Asker& asker, absl::Time now, absl::Time expires_at) {
  return Dispatch(db, asker, now, expires_at).Run();
}

absl::Status PayFor(Db& db, const std::string& id, uint64_t gpu_ns, scheduling::Outcome outcome, absl::Time now) {
  return db
      .Prepare(
          "INSERT INTO settlements (arch, tenant, priority, charged, gpu_ns, outcome, at) SELECT arch, tenant, "
          "priority, "
          "charged, CAST(?1 AS BIGINT), CAST(?2 AS BIGINT), CAST(?3 AS BIGINT) FROM submissions WHERE id = ?4")
      .Bind(static_cast<int64_t>(gpu_ns))
      .Bind(static_cast<int64_t>(outcome))
      .Bind(now)
      .Bind(id)
      .Run();
}

absl::Status NoteLoss(Db& db, const std::string& id, Ended ended) {
  if (ended == Ended::kKilled) return absl::OkStatus();
  std::vector<std::string> nodes;
  if (ended == Ended::kCrashed) {
    Query query = db.Prepare("SELECT node, lost_on FROM submissions WHERE id = ?");
    RETURN_IF_ERROR(query.Bind(id).Step().status());
    nodes = Names(query.Text(1));
    const std::string node = query.Text(0);
    if (!node.empty() && std::find(nodes.begin(), nodes.end(), node) == nodes.end()) nodes.push_back(node);
  }
  return db.Prepare("UPDATE submissions SET lost_on = ?, lost = ? WHERE id = ?")
      .Bind(absl::StrJoin(nodes, "\n"))
      .Bind(nodes.empty() ? 0 : 1)
      .Bind(id)
      .Run();
}

}  // namespace sassay::store::sql
