// What every Store must do, as tests. An implementation registers itself with one INSTANTIATE_TEST_SUITE_P.
#ifndef SASSAY_PROFILER_SERVICE_STORE_STORE_CONFORMANCE_H_
#define SASSAY_PROFILER_SERVICE_STORE_STORE_CONFORMANCE_H_

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "profiler_service/store/store.h"

namespace sassay::store {

// A database that outlives the stores opened on it.
class StoreBed {
 public:
  virtual ~StoreBed() = default;
  // Opens the database; the previous store of this bed has been destroyed.
  virtual std::unique_ptr<Store> Open() = 0;
};

// A verdict that was decided a second after StoreConformance::now_.
sassay::v1::Verdict VerdictOf(sassay::v1::VerdictStatus status);

using StoreBedFactory = std::function<std::unique_ptr<StoreBed>()>;

// The suite. Parameter: (name, factory).
class StoreConformance : public testing::TestWithParam<std::pair<std::string, StoreBedFactory>> {
 protected:
  void SetUp() override {
    bed_ = GetParam().second();
    store_ = bed_->Open();
    ASSERT_NE(store_, nullptr);
  }
  void Reopen() {
    store_.reset();
    store_ = bed_->Open();
    ASSERT_NE(store_, nullptr);
  }

  // Shorthands that wait for the answer.
  absl::StatusOr<Submitted> Submit(const std::string& tenant, const std::string& request_id,
                                   const std::string& workload = "w", AdmissionLimits limits = {1000, 1000});
  std::string Accept(const std::string& tenant, const std::string& request_id);
  absl::optional<Lease> Acquire(const std::string& owner = "me");
  absl::StatusOr<sassay::v1::Event> Append(const Lease& lease);
  // Answers the verdict's event.
  absl::StatusOr<sassay::v1::Event> Finish(const Lease& lease, sassay::v1::VerdictStatus status);
  absl::StatusOr<std::vector<sassay::v1::Event>> FinishOn(const std::string& gpu, const Lease& lease,
                                                          sassay::v1::Verdict verdict);
  absl::StatusOr<sassay::v1::Event> Return(const Lease& lease, Ended ended, const std::string& gpu = "");
  absl::StatusOr<Exclusions> Exclude(const BadWindow& window);
  absl::StatusOr<sassay::v1::Event> SettleTiming(const std::string& id, uint32_t attempt,
                                                 const std::string& warning = "");
  sassay::v1::TenantUsage UsageOf(const std::string& tenant);
  absl::StatusOr<Cancellation> Cancel(const std::string& tenant, const std::string& id);

  // Accepted a minute after now_.
  absl::StatusOr<Submitted> SubmitReusing(const std::string& tenant, const std::string& request_id, Reuse reuse,
                                          AdmissionLimits limits = {1000, 1000});
  // The id of a submission that was run on "g" for this verdict, which may stand for others of its key.
  std::string Judged(const std::string& tenant, const std::string& request_id, const std::string& key,
                     sassay::v1::Verdict verdict);

  // What scheduling looks at.
  struct Wish {
    sassay::v1::Priority priority = sassay::v1::PRIORITY_BATCH;
    std::string arch = "";
    std::string model = "";
    std::string workload = "w";
    absl::Duration later = absl::ZeroDuration();
  };
  std::string AcceptWith(const std::string& tenant, const std::string& request_id, const Wish& wish);
  absl::optional<Lease> AcquireAs(const Asker& asker);
  // Its request_id; "none".
  std::string NextFor(const Asker& asker);
  void FinishAfter(const Lease& lease, absl::Duration gpu_time);

  std::unique_ptr<StoreBed> bed_;
  std::unique_ptr<Store> store_;
  const absl::Time now_ = absl::FromUnixSeconds(1'700'000'000);
  // Attempts of FinishOn and Return have their places from seated_at_ on; those of FinishOn end a second after now_.
  absl::Time seated_at_ = now_;
  uint32_t max_exclusions_ = 3;
  int ids_ = 0;
};

}  // namespace sassay::store

#endif  // SASSAY_PROFILER_SERVICE_STORE_STORE_CONFORMANCE_H_
