// What the store keeps beside submissions: what each attempt took and where, what does not count and why, who holds
// which GPU, incidents, and what tenants have used.
#ifndef SASSAY_PROFILER_SERVICE_STORE_RECORDS_H_
#define SASSAY_PROFILER_SERVICE_STORE_RECORDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "sassay/v1/control.pb.h"
#include "sassay/v1/events.pb.h"
#include "sassay/v1/verdict.pb.h"

namespace sassay::store {

// What is known of an attempt that ends, besides its verdict.
struct Ending {
  std::string gpu;                                // where it had its place; empty: nowhere, or nobody knows
  absl::Time seated_at = absl::InfiniteFuture();  // since when
  uint32_t max_exclusions = 0;                    // a submission that was excluded so often is not run again
};

// An attempt that has ended. Never changes; what excludes it stands beside it.
struct Attempt {
  std::string id;
  uint32_t attempt = 0;
  std::string gpu;
  absl::Time seated_at;
  absl::Time ended_at;
  uint64_t gpu_ns = 0;  // device_ns of its stages
  // UNSPECIFIED: it was lost, it ended without a verdict.
  sassay::v1::VerdictStatus status = sassay::v1::VERDICT_STATUS_UNSPECIFIED;
  absl::optional<sassay::v1::Exclusion> excluded;
};

// Attempts that had a place on `gpu` between `from` and `to` do not count. An attempt overlaps if it began before `to`
// and ended after `from`: one that only touches the window does not.
struct BadWindow {
  std::string gpu;
  absl::Time from;
  absl::Time to = absl::InfiniteFuture();  // InfiniteFuture while it lasts
  std::string incident_id;
  std::string reason;
};

// What a BadWindow did.
struct Exclusions {
  std::vector<sassay::v1::Event> events;    // Excluded; of finished submissions, new ones only
  std::vector<std::string> submission_ids;  // everything that this window has excluded until now, sorted
};

// An Excluded event with its place among all of the service, for whoever goes on from there.
struct ExcludedEvent {
  uint64_t place = 0;
  sassay::v1::Event event;
};

// A verdict whose timing is not final yet.
struct Provisional {
  std::string id;
  uint32_t attempt = 0;
  std::string gpu;
  absl::Time ended_at;
  absl::Time seated_at;  // of its attempt
};

// Why a GPU takes no work. One per GPU and holder.
struct Hold {
  std::string gpu;  // empty: all GPUs
  std::string holder;
  sassay::v1::GpuState state = sassay::v1::GPU_STATE_PAUSED;
  std::string reason;
  std::string incident_id;
  absl::Time since;
  std::string actor;
};

// A GPU host that pulls work from this store through a front end.
struct NodeRecord {
  std::string name;      // with the name of its token before it: "pool/gpu-7"
  std::string instance;  // of its process
  std::string facts;     // sassay.v1.NodeFacts
  absl::Time seen;       // when a front end last heard of it
  bool draining = false;
};

// One revision of an incident with its place among all.
struct IncidentRecord {
  uint64_t place = 0;
  sassay::v1::Incident incident;
};

}  // namespace sassay::store

#endif  // SASSAY_PROFILER_SERVICE_STORE_RECORDS_H_
