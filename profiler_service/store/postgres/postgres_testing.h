// What the tests of the PostgreSQL store share.
#ifndef SASSAY_PROFILER_SERVICE_STORE_POSTGRES_POSTGRES_TESTING_H_
#define SASSAY_PROFILER_SERVICE_STORE_POSTGRES_POSTGRES_TESTING_H_

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "profiler_service/store/postgres/postgres_store.h"
#include "profiler_service/store/testing/postgres_server.h"

namespace sassay::store {

// Options for a store of a test on the program's server, with empty tables.
inline PostgresOptions EmptiedStore() {
  const absl::StatusOr<PostgresServer*> server = PostgresServer::OfThisProgram();
  EXPECT_TRUE(server.ok()) << server.status();
  const absl::StatusOr<std::string> uri = server.ok() ? (*server)->EmptiedDatabase() : server.status();
  EXPECT_TRUE(uri.ok()) << uri.status();
  PostgresOptions options;
  options.uri = uri.ok() ? *uri : "";
  options.readers = 1;
  return options;
}

// Each as good as a process of its own: they share nothing but the database.
inline std::vector<std::unique_ptr<Store>> OpenStores(int count, const PostgresOptions& options) {
  std::vector<std::unique_ptr<Store>> stores;
  for (int i = 0; i < count; ++i) {
    absl::StatusOr<std::unique_ptr<Store>> store = OpenPostgresStore(options);
    EXPECT_TRUE(store.ok()) << store.status();
    if (store.ok()) stores.push_back(*std::move(store));
  }
  return stores;
}

inline void OnThreads(int count, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back([&body, i] { body(i); });
  for (std::thread& thread : threads) thread.join();
}

inline NewSubmission SubmissionOf(const std::string& tenant, const std::string& request_id, const std::string& id,
                                  AdmissionLimits limits = {100'000, 100'000}) {
  const absl::Time now = absl::FromUnixSeconds(1'700'000'000);
  NewSubmission submission{id, tenant, {}, now, now + absl::Hours(1), absl::Minutes(1), limits};
  submission.request.set_request_id(request_id);
  return submission;
}

inline absl::StatusOr<Submitted> SubmitTo(Store& store, const NewSubmission& submission) {
  return Await<Submitted>([&](Callback<Submitted> done) { store.Submit(submission, std::move(done)); });
}

inline absl::StatusOr<absl::optional<Lease>> AcquireFrom(Store& store, const std::string& owner = "me") {
  const absl::Time now = absl::FromUnixSeconds(1'700'000'000);
  return Await<absl::optional<Lease>>([&](Callback<absl::optional<Lease>> done) {
    store.Acquire(owner, now, now + absl::Seconds(30), std::move(done));
  });
}

inline sassay::v1::Verdict CorrectVerdict(sassay::v1::VerdictStatus status = sassay::v1::VERDICT_STATUS_CORRECT) {
  sassay::v1::Verdict verdict;
  verdict.set_status(status);
  verdict.mutable_decided_at()->set_seconds(1'700'000'001);
  return verdict;
}

inline absl::StatusOr<std::vector<sassay::v1::Event>> FinishIn(
    Store& store, const Lease& lease, const std::string& gpu = "",
    sassay::v1::VerdictStatus status = sassay::v1::VERDICT_STATUS_CORRECT, uint32_t max_exclusions = 3) {
  using Events = std::vector<sassay::v1::Event>;
  return Await<Events>([&](Callback<Events> done) {
    store.Finish(lease, CorrectVerdict(status), {gpu, absl::FromUnixSeconds(1'700'000'000), max_exclusions},
                 std::move(done));
  });
}

inline absl::StatusOr<sassay::v1::Event> AppendTo(Store& store, const Lease& lease) {
  sassay::v1::Event event;
  event.mutable_stage_started()->set_stage(sassay::v1::STAGE_EVALUATE);
  return Await<sassay::v1::Event>(
      [&](Callback<sassay::v1::Event> done) { store.Append(lease, event, std::move(done)); });
}

inline absl::StatusOr<Cancellation> CancelIn(Store& store, const std::string& tenant, const std::string& id) {
  return Await<Cancellation>([&](Callback<Cancellation> done) {
    store.Cancel(tenant, id, CorrectVerdict(sassay::v1::VERDICT_STATUS_CANCELLED), std::move(done));
  });
}

}  // namespace sassay::store

#endif  // SASSAY_PROFILER_SERVICE_STORE_POSTGRES_POSTGRES_TESTING_H_
