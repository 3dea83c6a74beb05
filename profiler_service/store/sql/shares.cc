#include "profiler_service/store/sql/shares.h"

#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "common/base/status_macros.h"

#define SASSAY_SHARE                                                                                                 \
  "coalesce(s.pass, 0), coalesce(s.batch_credit, 0), coalesce(s.running_interactive, 0), coalesce(s.running_batch, " \
  "0), coalesce(s.charged_interactive, 0), coalesce(s.charged_batch, 0), coalesce(s.recent_interactive, 0), "        \
  "coalesce(s.recent_batch, 0), coalesce(s.attempts_interactive, 0), coalesce(s.attempts_batch, 0), "                \
  "coalesce(s.as_of_interactive, 0), coalesce(s.as_of_batch, 0)"

namespace sassay::store::sql {
namespace {

using scheduling::Account;
using scheduling::FromDisk;
using scheduling::kPriorities;
using scheduling::ToDisk;

// Fractions of attempts on disk.
constexpr double kMicro = 1e6;

// From the columns of SASSAY_SHARE, which begin at `first`.
Account ReadAccount(const Query& row, int first) {
  Account account;
  account.pass = FromDisk(row.Int(first));
  account.batch_credit = FromDisk(row.Int(first + 1));
  for (int i = 0; i < static_cast<int>(kPriorities); ++i) {
    account.running[i] = static_cast<uint64_t>(row.Int(first + 2 + i));
    account.charged[i] = FromDisk(row.Int(first + 4 + i));
    account.recent[i].gpu_time = FromDisk(row.Int(first + 6 + i));
    account.recent[i].attempts = static_cast<double>(row.Int(first + 8 + i)) / kMicro;
    account.recent[i].as_of = row.Time(first + 10 + i);
  }
  return account;
}

struct Ended {
  scheduling::Priority priority = scheduling::Priority::kInteractive;
  absl::Duration charged, gpu_time;
  scheduling::Outcome outcome = scheduling::Outcome::kRan;
  absl::Time at;
};

using Key = std::pair<std::string, std::string>;  // arch, tenant

absl::StatusOr<std::map<Key, std::vector<Ended>>> ReadSettlements(Query& query) {
  std::map<Key, std::vector<Ended>> ended;
  for (;;) {
    ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) return ended;
    ended[{query.Text(0), query.Text(1)}].push_back({static_cast<scheduling::Priority>(query.Int(2)),
                                                     FromDisk(query.Int(3)), absl::Nanoseconds(query.Int(4)),
                                                     static_cast<scheduling::Outcome>(query.Int(5)), query.Time(6)});
  }
}

absl::StatusOr<Account> LoadAccount(Db& db, const Key& key) {
  Query query = db.Prepare("SELECT coalesce(w.weight, 1), " SASSAY_SHARE
                           " FROM (SELECT ?1 AS arch, ?2 AS tenant) k LEFT JOIN shares s ON s.arch = k.arch AND "
                           "s.tenant = k.tenant LEFT JOIN weights w ON w.tenant = k.tenant");
  RETURN_IF_ERROR(query.Bind(key.first).Bind(key.second).Step().status());
  Account account = ReadAccount(query, 1);
  account.tenant = key.second;
  account.weight = static_cast<uint32_t>(query.Int(0));
  return account;
}

}  // namespace

// Rows that another transaction adds meanwhile are for the next dispatch.
Settlements::Settlements(Db& db)
    : db_(db),
      taken_(db.Prepare("DELETE FROM settlements RETURNING arch, tenant, priority, charged, gpu_ns, outcome, at")) {
  taken_.Ask();
}

absl::StatusOr<bool> Settlements::Fold(const scheduling::Rules& rules) {
  ASSIGN_OR_RETURN(const auto settlements, ReadSettlements(taken_));
  for (const auto& [key, ended] : settlements) {
    ASSIGN_OR_RETURN(Account account, LoadAccount(db_, key));
    for (const Ended& one : ended) {
      const auto settlement = scheduling::Settle(one.charged, one.gpu_time, one.outcome, account.weight);
      scheduling::Apply(settlement, one.priority, one.at, rules, account);
    }
    RETURN_IF_ERROR(SaveAccount(db_, key.first, account));
  }
  return !settlements.empty();
}

// The first of a line, as one step in its index: a scalar sub-query with a limit, in the index's order, because EXISTS
// may be planned as a scan of all that waits, and a search without order as one by deadlines.
#define SASSAY_WAITS(priority)                                                                                      \
  "(SELECT 1 FROM submissions q WHERE q.state = 0 AND q.arch = ?1 AND q.tenant = t.name AND q.priority = " priority \
  " ORDER BY q.lost, q.model, q.place LIMIT 1) IS NOT NULL"

PoolReading::PoolReading(Db& db, const std::string& arch)
    : virtual_time_(db.Prepare("SELECT virtual_time FROM pools WHERE arch = ?")),
      accounts_(db.Prepare("SELECT t.name, coalesce(w.weight, 1), " SASSAY_WAITS("0") ", " SASSAY_WAITS(
          "1") ", " SASSAY_SHARE " FROM tenants t LEFT JOIN shares s ON s.arch = ?1 AND s.tenant = t.name LEFT JOIN "
               "weights w ON w.tenant = "
               "t.name WHERE t.queued + t.leased > 0 ORDER BY t.name")) {
  virtual_time_.Bind(arch).Ask();
  accounts_.Bind(arch).Ask();
}

absl::StatusOr<scheduling::Pool> PoolReading::Read() {
  scheduling::Pool pool;
  ASSIGN_OR_RETURN(const bool found, virtual_time_.Step());
  if (found) pool.virtual_time = FromDisk(virtual_time_.Int(0));
  for (;;) {
    ASSIGN_OR_RETURN(const bool row, accounts_.Step());
    if (!row) return pool;
    Account account = ReadAccount(accounts_, 4);
    account.tenant = accounts_.Text(0);
    account.weight = static_cast<uint32_t>(accounts_.Int(1));
    account.waiting = {static_cast<uint64_t>(accounts_.Int(2)), static_cast<uint64_t>(accounts_.Int(3))};
    if (account.active()) pool.accounts.push_back(std::move(account));
  }
}

absl::StatusOr<std::map<std::string, absl::Duration>> RecentUse(Db& db, absl::Time now) {
  const scheduling::Rules rules;
  Query query = db.Prepare("SELECT s.tenant, " SASSAY_SHARE " FROM shares s");
  std::map<std::string, absl::Duration> used;
  for (;;) {
    ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) return used;
    for (const scheduling::Decayed& recent : ReadAccount(query, 1).recent) {
      used[query.Text(0)] += recent.At(now, rules.half_life).gpu_time;
    }
  }
}

absl::Status SavePool(Db& db, const std::string& arch, scheduling::VirtualTime virtual_time) {
  return db
      .Prepare(
          "INSERT INTO pools (arch, virtual_time) VALUES (?, ?) ON CONFLICT (arch) DO UPDATE SET virtual_time = "
          "excluded.virtual_time")
      .Bind(arch)
      .Bind(ToDisk(virtual_time))
      .Run();
}

absl::Status SaveAccount(Db& db, const std::string& arch, const Account& account) {
  Query query = db.Prepare(
      "INSERT INTO shares (arch, tenant, pass, batch_credit, running_interactive, running_batch, charged_interactive, "
      "charged_batch, recent_interactive, recent_batch, attempts_interactive, attempts_batch, as_of_interactive, "
      "as_of_batch) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (arch, tenant) DO UPDATE SET pass = "
      "excluded.pass, batch_credit = excluded.batch_credit, running_interactive = excluded.running_interactive, "
      "running_batch = excluded.running_batch, charged_interactive = excluded.charged_interactive, charged_batch = "
      "excluded.charged_batch, recent_interactive = excluded.recent_interactive, recent_batch = excluded.recent_batch, "
      "attempts_interactive = excluded.attempts_interactive, attempts_batch = excluded.attempts_batch, "
      "as_of_interactive = excluded.as_of_interactive, as_of_batch = excluded.as_of_batch");
  query.Bind(arch).Bind(account.tenant).Bind(ToDisk(account.pass)).Bind(ToDisk(account.batch_credit));
  for (const uint64_t running : account.running) query.Bind(static_cast<int64_t>(running));
  for (const absl::Duration charged : account.charged) query.Bind(ToDisk(charged));
  for (const scheduling::Decayed& recent : account.recent) query.Bind(ToDisk(recent.gpu_time));
  for (const scheduling::Decayed& recent : account.recent) {
    query.Bind(static_cast<int64_t>(std::llround(recent.attempts * kMicro)));
  }
  for (const scheduling::Decayed& recent : account.recent) query.Bind(recent.as_of);
  return query.Run();
}

}  // namespace sassay::store::sql
