// A front end's ports on a free loopback port, on a store of the test's; and nodes for it.
#ifndef SASSAY_PROFILER_SERVICE_API_PORTS_CLUSTER_TESTING_FRONT_END_FIXTURE_H_
#define SASSAY_PROFILER_SERVICE_API_PORTS_CLUSTER_TESTING_FRONT_END_FIXTURE_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <vector>

#include "common/base/files.h"
#include "profiler_service/api/ports/cluster/cluster_gpus.h"
#include "profiler_service/api/ports/cluster/cluster_port.h"
#include "profiler_service/api/ports/control_port.h"
#include "profiler_service/api/ports/gpu_holds.h"
#include "profiler_service/api/ports/profiler_port.h"
#include "profiler_service/cluster/front_ends.h"
#include "profiler_service/cluster/node_registry.h"
#include "profiler_service/telemetry/hub.h"

namespace sassay::api {

// What every test of the cluster takes for now.
inline const absl::Time kClusterTestNow = absl::FromUnixSeconds(1'700'000'000);

// `directory` and both stores outlive it; `registered` keeps the nodes. Tokens: "token-of-NAME" is that of NAME, whose
// role is node for "pool" and "other", tenant for "ann", admin for "root".
class FrontEndFixture {
 public:
  FrontEndFixture(const std::filesystem::path& directory, store::Store& store, store::Store& registered, int port = 0);
  ~FrontEndFixture();

  const std::string& address() const { return address_; }
  int port() const { return port_number_; }
  store::BlobStore& blobs() { return *blobs_; }

 private:
  const std::unique_ptr<store::BlobStore> blobs_;
  const std::unique_ptr<TokenRegistry> tokens_;
  const WorkloadCatalog catalog_;
  RateLimiter submissions_{1000}, refusals_{1};
  OpenStreams streams_{100};
  queue::Queue queue_;
  IoPool pool_{2}, control_pool_{1}, cluster_pool_{4};
  PortContext context_;
  cluster::NodeRegistry nodes_;
  ClusterPort cluster_port_;
  ClusterGpus gpus_;
  GpuHolds holds_;
  telemetry::Hub telemetry_;
  ProfilerPort profiler_port_;
  ControlPort control_port_;
  std::unique_ptr<grpc::Server> server_;
  int port_number_ = 0;
  std::string address_;
};

// A token file with the tokens above.
std::filesystem::path WriteTokens(const std::filesystem::path& directory);

// A node of `token`'s, with GPUs.
cluster::FrontEndOptions NodeOptions(const std::vector<std::string>& addresses, const std::string& name,
                                     const std::vector<std::string>& gpus, const std::string& token = "pool");

}  // namespace sassay::api

#endif  // SASSAY_PROFILER_SERVICE_API_PORTS_CLUSTER_TESTING_FRONT_END_FIXTURE_H_
