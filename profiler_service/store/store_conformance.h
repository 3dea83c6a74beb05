// What every Store must do, as tests. An implementation registers itself with one INSTANTIATE_TEST_SUITE_P.
#ifndef SASSAY_PROFILER_SERVICE_STORE_STORE_CONFORMANCE_H_
#define SASSAY_PROFILER_SERVICE_STORE_STORE_CONFORMANCE_H_

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "profiler_service/store/store.h"

namespace sassay::store {

// A database that outlives the stores opened on it.
class StoreBed {
 public:
  virtual ~StoreBed() = default;
  // Opens the database; the previous store of this bed has been destroyed.
  virtual std::unique_ptr<Store> Open() = 0;
};

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
  absl::StatusOr<sassay::v1::Event> Finish(const Lease& lease, sassay::v1::VerdictStatus status);
  absl::StatusOr<sassay::v1::Event> Return(const Lease& lease, Ended ended);
  absl::StatusOr<Cancellation> Cancel(const std::string& tenant, const std::string& id);

  std::unique_ptr<StoreBed> bed_;
  std::unique_ptr<Store> store_;
  const absl::Time now_ = absl::FromUnixSeconds(1'700'000'000);
  int ids_ = 0;
};

}  // namespace sassay::store

#endif  // SASSAY_PROFILER_SERVICE_STORE_STORE_CONFORMANCE_H_
