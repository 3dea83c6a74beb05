#include "profiler_service/api/service/node_backing.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "common/base/random.h"
#include "common/base/status_macros.h"
#include "common/process/host_name.h"
#include "profiler_service/cluster/front_ends.h"
#include "profiler_service/cluster/membership.h"
#include "profiler_service/cluster/remote_store.h"

namespace sassay::api {
namespace {

constexpr size_t kInstanceBytes = 16;

class NodeBacking : public Backing {
 public:
  NodeBacking(std::unique_ptr<cluster::FrontEnds> front_ends, cluster::MembershipOptions membership,
              absl::Duration lease)
      : front_ends_(std::move(front_ends)),
        membership_options_(std::move(membership)),
        store_(*front_ends_, {std::min(cluster::RemoteStoreOptions().patience, lease / 3)}) {}

  absl::Status Join() override {
    cluster::MembershipOptions options = membership_options_;
    options.held = [this] { return store_.Held(); };
    ASSIGN_OR_RETURN(membership_, cluster::Membership::Join(*front_ends_, std::move(options)));
    joined_ = membership_.get();
    return absl::OkStatus();
  }

  store::Store& store() override { return store_; }
  store::BlobStore* blobs() override { return nullptr; }
  cluster::NodeRegistry* nodes() override { return nullptr; }
  absl::optional<bool> heard() const override {
    const cluster::Membership* const membership = joined_;
    return membership != nullptr && membership->heard();
  }

  // That no front end answers is not the submission's doing: its lease says when there is no point any more.
  absl::StatusOr<std::string> ReadBundle(const store::Lease& lease) override {
    absl::StatusOr<std::string> bundle = store_.ReadBundle(lease);
    while (absl::IsUnavailable(bundle.status()) && !draining_) bundle = store_.ReadBundle(lease);
    return bundle;
  }
  absl::StatusOr<std::string> KeepArtifact(const store::Lease& lease, absl::string_view bytes) override {
    return store_.KeepArtifact(lease, bytes);
  }

  void Drain() override {
    draining_ = true;
    if (membership_ != nullptr) membership_->Drain();
  }
  void Leave() override {
    if (membership_ != nullptr) membership_->Leave();
  }

 private:
  const std::unique_ptr<cluster::FrontEnds> front_ends_;
  const cluster::MembershipOptions membership_options_;
  cluster::RemoteStore store_;
  std::unique_ptr<cluster::Membership> membership_;  // null until Join
  std::atomic<const cluster::Membership*> joined_ = nullptr;
  std::atomic<bool> draining_ = false;
};

sassay::v1::Predecessor PredecessorOf(const absl::optional<queue::PreviousProcess>& previous) {
  if (!previous.has_value()) return sassay::v1::PREDECESSOR_UNSPECIFIED;
  return *previous == queue::PreviousProcess::kCrashed ? sassay::v1::PREDECESSOR_CRASHED
                                                       : sassay::v1::PREDECESSOR_ENDED_OR_KILLED;
}

}  // namespace

sassay::v1::NodeFacts NodeFactsOf(const ServiceFacts& facts, uint32_t places) {
  sassay::v1::NodeFacts node;
  const std::vector<sassay::v1::Gpu> gpus = facts.gpus->List();
  const auto& devices = facts.capabilities.devices();
  for (size_t i = 0; i < gpus.size() && i < static_cast<size_t>(devices.size()); ++i) {
    sassay::v1::NodeGpu& gpu = *node.add_gpus();
    gpu.set_uuid(gpus[i].uuid());
    *gpu.mutable_device() = devices[static_cast<int>(i)];
  }
  node.set_sassay_version(facts.capabilities.sassay_version());
  node.set_rules_version(facts.capabilities.rules_version());
  node.set_provenance_toolkit(facts.capabilities.provenance_toolkit());
  node.set_settings_sha256(facts.settings_sha256);
  node.set_host(HostName());
  node.set_places(places);
  return node;
}

cluster::FrontEndOptions FrontEndOptionsOf(const ServiceOptions& options) {
  cluster::FrontEndOptions front_end;
  front_end.addresses = options.join.addresses;
  front_end.connection.token_file = options.join.token_file;
  front_end.connection.ca_file = options.join.ca_file;
  front_end.connection.cert_file = options.join.cert_file;
  front_end.connection.key_file = options.join.key_file;
  front_end.connection.insecure = options.join.insecure;
  front_end.node.set_name(options.join.node_name);
  front_end.node.set_instance(RandomHex(kInstanceBytes));
  return front_end;
}

absl::StatusOr<std::unique_ptr<Backing>> OpenNodeBacking(const ServiceOptions& options, const ServiceFacts& facts,
                                                         uint32_t places, std::function<bool()> give_up) {
  cluster::FrontEndOptions front_end = FrontEndOptionsOf(options);
  front_end.facts = NodeFactsOf(facts, places);
  front_end.predecessor = PredecessorOf(facts.previous);
  ASSIGN_OR_RETURN(auto front_ends, cluster::FrontEnds::Open(std::move(front_end)));
  cluster::MembershipOptions membership;
  membership.pulses = [&gpus = *facts.gpus] { return gpus.Pulses(); };
  membership.give_up = std::move(give_up);
  return std::make_unique<NodeBacking>(std::move(front_ends), std::move(membership), options.queue.lease);
}

}  // namespace sassay::api
