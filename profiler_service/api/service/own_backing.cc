#include <thread>
#include <utility>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/types/optional.h"
#include "common/base/sha256.h"
#include "common/base/status_macros.h"
#include "profiler_service/api/service/backing.h"
#include "profiler_service/store/open_store.h"
#include "spdlog/spdlog.h"

namespace sassay::api {
namespace {

constexpr absl::Duration kHousekeeping = absl::Minutes(10);
constexpr int kTrimAtOnce = 20;

class OwnBacking : public Backing {
 public:
  OwnBacking(const ServiceOptions& options, std::unique_ptr<store::Store> store,
             std::unique_ptr<store::BlobStore> blobs)
      : partial_upload_ttl_(options.partial_upload_ttl),
        keep_(options.keep),
        store_(std::move(store)),
        blobs_(std::move(blobs)) {
    if (options.AdmitsNodes()) nodes_.emplace(*store_);
    housekeeper_ = std::thread([this] { KeepHouse(); });
  }
  ~OwnBacking() override {
    stop_.Notify();
    housekeeper_.join();
  }

  store::Store& store() override { return *store_; }
  store::BlobStore* blobs() override { return blobs_.get(); }
  cluster::NodeRegistry* nodes() override { return nodes_.has_value() ? &*nodes_ : nullptr; }

  absl::StatusOr<std::string> ReadBundle(const store::Lease& lease) override {
    const store::Submission& submission = lease.submission;
    RETURN_IF_ERROR(blobs_->Touch(submission.tenant, submission.request.bundle_sha256(), absl::Now()));
    return blobs_->ReadAll(submission.tenant, submission.request.bundle_sha256());
  }

  absl::StatusOr<std::string> KeepArtifact(const store::Lease& lease, absl::string_view bytes) override {
    const std::string sha256 = Sha256Hex(bytes);
    RETURN_IF_ERROR(blobs_->Write(lease.submission.tenant, sha256, bytes.size(), 0, bytes).status());
    RETURN_IF_ERROR(blobs_->Touch(lease.submission.tenant, sha256, absl::Now()));
    return sha256;
  }

 private:
  // In small transactions, so that what is written meanwhile hardly waits.
  void Trim(absl::Time before) {
    absl::StatusOr<int> trimmed = kTrimAtOnce;
    while (trimmed.ok() && *trimmed == kTrimAtOnce && !stop_.HasBeenNotified()) {
      trimmed = store_->Trim(before, kTrimAtOnce);
    }
    if (!trimmed.ok()) spdlog::error("cannot drop old verdicts: {}", trimmed.status().ToString());
  }

  void KeepHouse() {
    do {
      const absl::Time now = absl::Now();
      const absl::Status status = blobs_->Expire(now - partial_upload_ttl_, now - keep_);
      if (!status.ok()) spdlog::error("cannot drop old blobs: {}", status.ToString());
      Trim(now - keep_);
      if (nodes_.has_value()) nodes_->KeepHouse();
    } while (!stop_.WaitForNotificationWithTimeout(kHousekeeping));
  }

  const absl::Duration partial_upload_ttl_, keep_;
  const std::unique_ptr<store::Store> store_;
  const std::unique_ptr<store::BlobStore> blobs_;
  absl::optional<cluster::NodeRegistry> nodes_;
  absl::Notification stop_;
  std::thread housekeeper_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Backing>> OpenOwnBacking(const ServiceOptions& options) {
  // What nodes write through this process, its own queue must hear of, and the other way round.
  const store::Hears hears = options.AdmitsNodes() ? store::Hears::kEverybody : store::Hears::kOthers;
  ASSIGN_OR_RETURN(auto store, store::OpenStore(options.store, hears));
  ASSIGN_OR_RETURN(auto blobs, store::OpenBlobs(options.blobs_place, options.store, options.blobs));
  return std::make_unique<OwnBacking>(options, std::move(store), std::move(blobs));
}

}  // namespace sassay::api
