// Who keeps what a service must not forget: itself, or a front end.
#ifndef SASSAY_PROFILER_SERVICE_API_SERVICE_BACKING_H_
#define SASSAY_PROFILER_SERVICE_API_SERVICE_BACKING_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "profiler_service/api/service/options.h"
#include "profiler_service/cluster/node_registry.h"
#include "profiler_service/store/blob_store.h"
#include "profiler_service/store/store.h"

namespace sassay::api {

// Life cycle: open, Join, use, Drain, Leave, destroy; what is asked for before Join may be UNAVAILABLE. Thread-safe.
// What its accessors answer lives as long as it.
class Backing {
 public:
  virtual ~Backing() = default;

  // Waits until it can be used: a node until a front end has taken it in.
  virtual absl::Status Join() { return absl::OkStatus(); }

  virtual store::Store& store() = 0;
  // Null at a node: it has no clients.
  virtual store::BlobStore* blobs() = 0;
  // Null where no nodes are admitted.
  virtual cluster::NodeRegistry* nodes() = 0;

  // Whether a front end hears this node; nothing where there is none to hear it.
  virtual absl::optional<bool> heard() const { return {}; }

  // The bundle of a lease that is held here; it does not expire meanwhile.
  virtual absl::StatusOr<std::string> ReadBundle(const store::Lease& lease) = 0;
  // Keeps a file that belongs to the verdict of such a lease; answers its SHA-256. It counts against the tenant's
  // quota, and expires, as what the tenant uploads.
  virtual absl::StatusOr<std::string> KeepArtifact(const store::Lease& lease, absl::string_view bytes) = 0;

  // No new work is taken from now on.
  virtual void Drain() {}
  // The last work has ended or was given back. After Drain.
  virtual void Leave() {}
};

// A database, and a folder or that database for blobs, as --store and --blobs say; drops what is old (--keep,
// --partial-upload-ttl) from a thread of its own. Errors as of OpenStore and OpenBlobs.
absl::StatusOr<std::unique_ptr<Backing>> OpenOwnBacking(const ServiceOptions& options);

}  // namespace sassay::api

#endif  // SASSAY_PROFILER_SERVICE_API_SERVICE_BACKING_H_
