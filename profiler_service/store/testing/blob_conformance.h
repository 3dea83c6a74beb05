// What every BlobStore must do, as tests. An implementation registers itself with one INSTANTIATE_TEST_SUITE_P.
#ifndef SASSAY_PROFILER_SERVICE_STORE_TESTING_BLOB_CONFORMANCE_H_
#define SASSAY_PROFILER_SERVICE_STORE_TESTING_BLOB_CONFORMANCE_H_

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "common/base/sha256.h"
#include "profiler_service/store/blob_store.h"

namespace sassay::store {

// What outlives the blob stores opened on it.
class BlobBed {
 public:
  virtual ~BlobBed() = default;
  // The previous store of this bed has been destroyed.
  virtual std::unique_ptr<BlobStore> Open(const BlobLimits& limits) = 0;
  // How often tests try what fails only now and then.
  virtual int rounds() const { return 300; }
};

using BlobBedFactory = std::function<std::unique_ptr<BlobBed>()>;

// The suite. Parameter: (name, factory).
class BlobConformance : public testing::TestWithParam<std::pair<std::string, BlobBedFactory>> {
 protected:
  void SetUp() override {
    bed_ = GetParam().second();
    Reopen({1 << 20, 64 << 10});
  }
  void Reopen(const BlobLimits& limits) {
    store_.reset();
    store_ = bed_->Open(limits);
    ASSERT_NE(store_, nullptr);
  }
  absl::StatusOr<WriteStatus> Upload(const std::string& tenant, const std::string& bytes) {
    return store_->Write(tenant, Sha256Hex(bytes), bytes.size(), 0, bytes);
  }

  std::unique_ptr<BlobBed> bed_;
  std::unique_ptr<BlobStore> store_;
  const std::string bytes_ = "what a kernel is really made of";
  const std::string sha256_ = Sha256Hex(bytes_);
};

}  // namespace sassay::store

#endif  // SASSAY_PROFILER_SERVICE_STORE_TESTING_BLOB_CONFORMANCE_H_
