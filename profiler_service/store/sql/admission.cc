// How submissions are accepted: many together, each as if it came alone.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "profiler_service/store/sql/attempts.h"
#include "profiler_service/store/sql/dispatch.h"
#include "profiler_service/store/sql/operations.h"
#include "profiler_service/store/sql/rows.h"

namespace sassay::store::sql {
namespace {

using sassay::v1::Event;

constexpr char kFindEarlier[] = "SELECT id, request FROM submissions WHERE tenant = ? AND request_id = ?";

// Verdicts of a tenant (?1) under a key (?2) that were not taken back and say something about their candidate, newest
// first; that the key is not empty lets the planner take the index. Followed by more conditions, and the order.
#define SASSAY_UNDER_KEY                                                                                         \
  "FROM submissions s JOIN verdicts v ON v.id = s.id AND v.status NOT IN (10, 11) JOIN events e ON e.id = v.id " \
  "AND e.sequence = v.sequence JOIN events l ON l.id = s.id AND l.sequence = s.last_sequence WHERE s.tenant = "  \
  "?1 AND s.reuse_key = ?2 AND s.reuse_key <> '' AND s.state = 2 AND NOT EXISTS (SELECT 1 FROM exclusions x "    \
  "WHERE x.id = s.id AND x.attempt = s.attempt) "
#define SASSAY_NEWEST "ORDER BY s.place DESC LIMIT "
static_assert(sassay::v1::VERDICT_STATUS_INFRA_ERROR == 10 && sassay::v1::VERDICT_STATUS_CANCELLED == 11);

// The newest that is settled, the last event of its submission, and how many different statuses the latest ones have.
constexpr char kFindReusable[] =
    "SELECT e.event, l.event, (SELECT count(DISTINCT latest.status) FROM (SELECT v.status " SASSAY_UNDER_KEY
        SASSAY_NEWEST "16) AS latest) " SASSAY_UNDER_KEY
    "AND NOT EXISTS (SELECT 1 FROM provisional p WHERE p.id = s.id) " SASSAY_NEWEST "1";

using MaybeId = absl::StatusOr<absl::optional<std::string>>;

// `request`: that of the submission `id`, as it was accepted.
MaybeId SameOrRefused(const std::string& id, const std::string& request, const sassay::v1::ProfileRequest& again) {
  if (request == CanonicalBytes(again)) return absl::optional<std::string>(id);
  return absl::AlreadyExistsError(absl::StrCat("request_id '", again.request_id(),
                                               "' was used for a different request (submission ", id,
                                               "); choose a fresh request_id for a new intention"));
}

MaybeId ReadEarlier(Query& query, const sassay::v1::ProfileRequest& request) {
  ASSIGN_OR_RETURN(const bool found, query.Step());
  if (!found) return absl::optional<std::string>();
  return SameOrRefused(query.Text(0), query.Blob(1), request);
}

// What a submission's verdict came to, where TimingSettled followed it.
void Settle(const sassay::v1::TimingSettled& settled, sassay::v1::Timing& timing) {
  timing.set_status(sassay::v1::Timing::MEASURED);
  if (!settled.warning().empty()) timing.add_warnings(settled.warning());
}

// Nothing where there is none, it cannot be read, or others contradict it: then the submission is run.
absl::StatusOr<absl::optional<sassay::v1::Verdict>> ReadReusable(Query& query) {
  ASSIGN_OR_RETURN(const bool found, query.Step());
  if (!found || query.Int(2) != 1) return absl::optional<sassay::v1::Verdict>();
  Event event, last;
  if (!event.ParseFromString(query.Blob(0)) || !last.ParseFromString(query.Blob(1)) || !event.has_verdict()) {
    return absl::optional<sassay::v1::Verdict>();
  }
  sassay::v1::Verdict& verdict = *event.mutable_verdict();
  if (last.has_timing_settled()) Settle(last.timing_settled(), *verdict.mutable_timing());
  return absl::optional<sassay::v1::Verdict>(std::move(verdict));
}

// The transaction has the admission to itself, so what waits is counted once for all that come in it.
class Admission {
 public:
  Admission(Db& db, const std::vector<const NewSubmission*>& submissions) : db_(db), submissions_(submissions) {}

  absl::Status Look() {
    RETURN_IF_ERROR(ForEach(
        db_, kFindEarlier, submissions_.size(),
        [&](size_t i, Query& query) {
          query.Bind(submissions_[i]->tenant).Bind(submissions_[i]->request.request_id());
        },
        [&](size_t i, Query& query) {
          earlier_.push_back(ReadEarlier(query, submissions_[i]->request));
          const absl::Status& status = earlier_.back().status();
          return IsDatabaseFailure(status) ? status : absl::OkStatus();
        }));
    RETURN_IF_ERROR(LookForReusable());
    return CountWhatWaits();
  }

  absl::StatusOr<Submitted> Admit(size_t i) {
    const NewSubmission& submission = *submissions_[i];
    ASSIGN_OR_RETURN(const absl::optional<std::string> earlier, earlier_[i]);
    if (earlier.has_value()) return Accepted(*earlier);
    const auto same = accepted_.find({submission.tenant, submission.request.request_id()});
    if (same != accepted_.end()) {
      RETURN_IF_ERROR(SameOrRefused(same->second.id, same->second.request, submission.request).status());
      return Submitted{same->second.id, false, same->second.event, absl::nullopt};
    }
    if (const absl::optional<sassay::v1::Verdict> known = Known(i); known.has_value()) {
      return Accept(submission, &*known);
    }
    RETURN_IF_ERROR(CheckLimits(submission));
    return Accept(submission, nullptr);
  }

 private:
  struct Now {
    std::string id, request;
    Event event;
  };

  absl::Status LookForReusable() {
    std::vector<size_t> asking;
    for (size_t i = 0; i < submissions_.size(); ++i) {
      const absl::StatusOr<absl::optional<std::string>>& earlier = earlier_[i];
      const bool fresh = earlier.ok() && !earlier->has_value();
      if (fresh && !submissions_[i]->reuse.key.empty() && submissions_[i]->reuse.copy) asking.push_back(i);
    }
    return ForEach(
        db_, kFindReusable, asking.size(),
        [&](size_t i, Query& query) {
          query.Bind(submissions_[asking[i]]->tenant).Bind(submissions_[asking[i]]->reuse.key);
        },
        [&](size_t i, Query& query) {
          ASSIGN_OR_RETURN(absl::optional<sassay::v1::Verdict> verdict, ReadReusable(query));
          if (verdict.has_value()) reusable_.emplace(asking[i], *std::move(verdict));
          return absl::OkStatus();
        });
  }

  // What a submission ends with at once.
  absl::optional<sassay::v1::Verdict> Known(size_t i) const {
    const auto found = reusable_.find(i);
    if (found == reusable_.end()) return absl::nullopt;
    return submissions_[i]->reuse.copy(found->second, submissions_[i]->accepted_at);
  }

  absl::Status CountWhatWaits() {
    Query all = db_.Prepare("SELECT CAST(coalesce(sum(queued), 0) AS BIGINT) FROM tenants");
    all.Ask();
    for (const NewSubmission* submission : submissions_) in_flight_.emplace(submission->tenant, 0);
    std::vector<std::pair<const std::string, uint64_t>*> tenants;
    for (auto& tenant : in_flight_) tenants.push_back(&tenant);
    RETURN_IF_ERROR(ForEach(
        db_, "SELECT queued + leased FROM tenants WHERE name = ?", tenants.size(),
        [&](size_t i, Query& query) { query.Bind(tenants[i]->first); },
        [&](size_t i, Query& query) {
          const absl::StatusOr<bool> found = query.Step();
          if (found.ok() && *found) tenants[i]->second = static_cast<uint64_t>(query.Int(0));
          return IsDatabaseFailure(found.status()) ? found.status() : absl::OkStatus();
        }));
    RETURN_IF_ERROR(all.Step().status());
    queued_ = static_cast<uint64_t>(all.Int(0));
    return absl::OkStatus();
  }

  absl::StatusOr<Submitted> Accepted(const std::string& id) {
    ASSIGN_OR_RETURN(std::vector<Event> events, Events(db_, id, 0, 1));
    if (events.empty()) return absl::DataLossError(absl::StrCat("submission ", id, " has no events"));
    return Submitted{id, false, std::move(events.front()), absl::nullopt};
  }

  absl::Status CheckLimits(const NewSubmission& submission) const {
    const uint64_t in_flight = in_flight_.at(submission.tenant);
    if (in_flight >= submission.limits.tenant_in_flight) {
      return absl::ResourceExhaustedError(absl::StrCat(
          in_flight, " submissions of this tenant wait or run; the limit is --max-in-flight-per-tenant; wait for ",
          "verdicts and submit again"));
    }
    if (queued_ >= submission.limits.queued) {
      return absl::ResourceExhaustedError(
          absl::StrCat(queued_, " submissions wait; the limit is --max-queued; submit again later"));
    }
    return absl::OkStatus();
  }

  // `known`: what it ends with; null if it has to be run.
  absl::StatusOr<Submitted> Accept(const NewSubmission& submission, const sassay::v1::Verdict* known) {
    Now now = {submission.id, CanonicalBytes(submission.request), {}};
    RETURN_IF_ERROR(Insert(submission, now.request, known));
    now.event.set_submission_id(submission.id);
    now.event.set_sequence(1);
    SetTimestamp(submission.accepted_at, *now.event.mutable_at());
    now.event.mutable_accepted()->set_queue_position(known == nullptr ? queued_ : 0);
    RETURN_IF_ERROR(InsertEvent(db_, now.event));
    Submitted answer = {submission.id, true, now.event, absl::nullopt};
    if (known != nullptr) {
      Submission ending;
      ending.id = submission.id;
      ending.tenant = submission.tenant;
      ending.last_sequence = now.event.sequence();
      ASSIGN_OR_RETURN(answer.verdict, EndWith(db_, ending, *known));
    } else {
      ++queued_;
      ++in_flight_[submission.tenant];
    }
    accepted_.emplace(std::make_pair(submission.tenant, submission.request.request_id()), std::move(now));
    return answer;
  }

  absl::Status Insert(const NewSubmission& submission, const std::string& request, const sassay::v1::Verdict* known) {
    if (const char* insert_tenant = db_.dialect().insert_tenant; insert_tenant != nullptr) {
      RETURN_IF_ERROR(db_.Prepare(insert_tenant).Bind(submission.tenant).Run());
    }
    return db_
        .Prepare(
            "INSERT INTO submissions (id, tenant, request_id, request, accepted_at, queue_deadline, run_deadline, "
            "last_sequence, arch, priority, model, workload, reuse_key, reused_from) VALUES (?, ?, ?, ?, ?, ?, ?, 1, "
            "?, ?, "
            "?, ?, ?, ?)")
        .Bind(submission.id)
        .Bind(submission.tenant)
        .Bind(submission.request.request_id())
        .BindBlob(request)
        .Bind(submission.accepted_at)
        .Bind(submission.queue_deadline)
        .Bind(absl::ToInt64Nanoseconds(submission.run_deadline))
        .Bind(submission.arch)
        .Bind(static_cast<int64_t>(PriorityOf(submission.request)))
        .Bind(submission.request.gpu_model())
        .Bind(submission.request.workload())
        .Bind(known == nullptr ? submission.reuse.key : "")
        .Bind(known == nullptr ? "" : known->reused_from())
        .Run();
  }

  Db& db_;
  const std::vector<const NewSubmission*>& submissions_;
  std::vector<MaybeId> earlier_;                                 // of each, before this transaction
  std::map<size_t, sassay::v1::Verdict> reusable_;               // what may stand for some
  uint64_t queued_ = 0;                                          // of all tenants
  std::map<std::string, uint64_t> in_flight_;                    // of each tenant
  std::map<std::pair<std::string, std::string>, Now> accepted_;  // in this transaction, by tenant and request_id
};

}  // namespace

MaybeId FindEarlier(Db& db, absl::string_view tenant, const sassay::v1::ProfileRequest& request) {
  Query query = db.Prepare(kFindEarlier);
  query.Bind(tenant).Bind(request.request_id());
  return ReadEarlier(query, request);
}

absl::Status Submit(Db& db, const std::vector<const NewSubmission*>& submissions,
                    std::vector<absl::StatusOr<Submitted>>& answers) {
  Admission admission(db, submissions);
  RETURN_IF_ERROR(admission.Look());
  for (size_t i = 0; i < submissions.size(); ++i) {
    answers.push_back(admission.Admit(i));
    if (IsDatabaseFailure(answers.back().status())) return answers.back().status();
  }
  return absl::OkStatus();
}

}  // namespace sassay::store::sql
