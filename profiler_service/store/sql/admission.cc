// How submissions are accepted: many together, each as if it came alone.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "profiler_service/store/sql/dispatch.h"
#include "profiler_service/store/sql/operations.h"
#include "profiler_service/store/sql/rows.h"

namespace sassay::store::sql {
namespace {

using sassay::v1::Event;

constexpr char kFindEarlier[] = "SELECT id, request FROM submissions WHERE tenant = ? AND request_id = ?";

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
    return CountWhatWaits();
  }

  absl::StatusOr<Submitted> Admit(size_t i) {
    const NewSubmission& submission = *submissions_[i];
    ASSIGN_OR_RETURN(const absl::optional<std::string> earlier, earlier_[i]);
    if (earlier.has_value()) return Accepted(*earlier);
    const auto same = accepted_.find({submission.tenant, submission.request.request_id()});
    if (same != accepted_.end()) {
      RETURN_IF_ERROR(SameOrRefused(same->second.id, same->second.request, submission.request).status());
      return Submitted{same->second.id, false, same->second.event};
    }
    RETURN_IF_ERROR(CheckLimits(submission));
    return Accept(submission);
  }

 private:
  struct Now {
    std::string id, request;
    Event event;
  };

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
    return Submitted{id, false, std::move(events.front())};
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

  absl::StatusOr<Submitted> Accept(const NewSubmission& submission) {
    Now now = {submission.id, CanonicalBytes(submission.request), {}};
    RETURN_IF_ERROR(Insert(submission, now.request));
    now.event.set_submission_id(submission.id);
    now.event.set_sequence(1);
    SetTimestamp(submission.accepted_at, *now.event.mutable_at());
    now.event.mutable_accepted()->set_queue_position(queued_);
    RETURN_IF_ERROR(InsertEvent(db_, now.event));
    ++queued_;
    ++in_flight_[submission.tenant];
    Submitted answer = {submission.id, true, now.event};
    accepted_.emplace(std::make_pair(submission.tenant, submission.request.request_id()), std::move(now));
    return answer;
  }

  absl::Status Insert(const NewSubmission& submission, const std::string& request) {
    if (const char* insert_tenant = db_.dialect().insert_tenant; insert_tenant != nullptr) {
      RETURN_IF_ERROR(db_.Prepare(insert_tenant).Bind(submission.tenant).Run());
    }
    return db_
        .Prepare(
            "INSERT INTO submissions (id, tenant, request_id, request, accepted_at, queue_deadline, run_deadline, "
            "last_sequence, arch, priority, model, workload) VALUES (?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?)")
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
        .Run();
  }

  Db& db_;
  const std::vector<const NewSubmission*>& submissions_;
  std::vector<MaybeId> earlier_;                                 // of each, before this transaction
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
