#include "profiler_service/api/ports/cluster/testing/front_end_fixture.h"

#include "absl/strings/str_cat.h"
#include "common/base/random.h"
#include "common/base/sha256.h"
#include "profiler_service/store/directory_blobs.h"

namespace sassay::api {

std::filesystem::path WriteTokens(const std::filesystem::path& directory) {
  std::string lines;
  for (const auto& [name, role] : {std::pair("pool", "node"), std::pair("other", "node"), std::pair("ann", "tenant"),
                                   std::pair("root", "admin")}) {
    absl::StrAppend(&lines, name, " ", role, " sha256:", Sha256Hex(absl::StrCat("token-of-", name)), "\n");
  }
  const std::filesystem::path file = directory / "tokens";
  WriteFileAtomically(file, lines, 0600).IgnoreError();
  return file;
}

FrontEndFixture::FrontEndFixture(const std::filesystem::path& directory, store::Store& store, store::Store& registered,
                                 int port)
    : blobs_(*store::DirectoryBlobs::Open(directory / absl::StrCat("blobs-", RandomHex(4)), {})),
      tokens_(*TokenRegistry::Open(WriteTokens(directory))),
      catalog_(*WorkloadCatalog::Load({})),
      queue_(store, {}),
      context_{queue_,
               store,
               blobs_.get(),
               catalog_,
               *tokens_,
               submissions_,
               refusals_,
               pool_,
               control_pool_,
               streams_,
               [](absl::StatusCode) {},
               {},
               "settings",
               &nodes_},
      nodes_(registered, [] { return kClusterTestNow; }),
      cluster_port_(context_, {nodes_, cluster_pool_, [] { return kClusterTestNow; }}),
      gpus_(nullptr, nodes_),
      holds_(store, gpus_),
      profiler_port_(context_),
      control_port_(context_, {gpus_, holds_, telemetry_, control_pool_}) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort(absl::StrCat("127.0.0.1:", port), grpc::InsecureServerCredentials(), &port_number_);
  builder.RegisterService(&cluster_port_);
  builder.RegisterService(&profiler_port_);
  builder.RegisterService(&control_port_);
  server_ = builder.BuildAndStart();
  address_ = absl::StrCat("127.0.0.1:", port_number_);
}

FrontEndFixture::~FrontEndFixture() {
  streams_.RefuseNew();
  streams_.EndAll();
  server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1));
  server_->Wait();
}

cluster::FrontEndOptions NodeOptions(const std::vector<std::string>& addresses, const std::string& name,
                                     const std::vector<std::string>& gpus, const std::string& token) {
  cluster::FrontEndOptions options;
  options.addresses = addresses;
  options.connection.token = absl::StrCat("token-of-", token);
  options.node.set_name(name);
  options.node.set_instance(RandomHex(16));
  for (const std::string& gpu : gpus) options.facts.add_gpus()->set_uuid(gpu);
  options.facts.set_host(absl::StrCat("host-of-", name));
  options.now = [] { return kClusterTestNow; };
  return options;
}

}  // namespace sassay::api
