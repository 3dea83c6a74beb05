// A real gRPC server in the test's process that speaks the Profiler port and breaks where it is told to.
#ifndef SASSAY_AGENT_SUBMIT_FAKE_PROFILER_H_
#define SASSAY_AGENT_SUBMIT_FAKE_PROFILER_H_

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "agent/submit/connection.h"
#include "common/rpc/protocol.h"
#include "sassay/v1/profiler.grpc.pb.h"

namespace sassay::agent {

// Keeps blobs and one list of events per submission. Set the public members before the calls that they concern.
class FakeProfiler final : public v1::Profiler::Service {
 public:
  // Listens on a free loopback port.
  explicit FakeProfiler(std::shared_ptr<grpc::ServerCredentials> credentials = grpc::InsecureServerCredentials());
  ~FakeProfiler() override;

  std::string address() const;
  ConnectionOptions Options() const;

  // The token every call must carry; empty: none.
  std::string token;
  // What it says that it speaks; 0 of the versions before that.
  uint32_t protocol = kProtocol;
  // Every submission lives these events; the last should be a verdict, or what settles or excludes it, and is marked.
  std::vector<v1::Event> script;
  // The stream breaks before the event with this index, each value once, in order.
  std::vector<size_t> break_before_event;
  // The first write breaks after this many bytes; 0: never.
  uint64_t break_write_after_bytes = 0;
  // The first read breaks after this many bytes; 0: never.
  uint64_t break_read_after_bytes = 0;
  // Called when Profile has a submission and before it says so.
  std::function<void()> before_first_event;
  // Numbers of the events instead of 1, 2, …
  std::vector<uint64_t> sequences;
  // The first write is left without an answer after this many bytes; 0: never.
  uint64_t stall_write_after_bytes = 0;
  // Profile and Attach hold before the verdict until Cancel.
  bool hold_until_cancelled = false;

  // What happened.
  std::vector<std::string> profile_request_ids;
  v1::ProfileRequest last_request;
  std::vector<uint64_t> attach_after;
  std::vector<uint64_t> write_offsets;
  std::vector<uint64_t> read_offsets;
  std::map<std::string, std::string> blobs;
  int submissions = 0;

  grpc::Status GetCapabilities(grpc::ServerContext*, const v1::GetCapabilitiesRequest*,
                               v1::GetCapabilitiesResponse*) override;
  grpc::Status FindMissingBlobs(grpc::ServerContext*, const v1::FindMissingBlobsRequest*,
                                v1::FindMissingBlobsResponse*) override;
  grpc::Status WriteBlob(grpc::ServerContext*, grpc::ServerReader<v1::WriteBlobRequest>*,
                         v1::WriteBlobResponse*) override;
  grpc::Status QueryWriteStatus(grpc::ServerContext*, const v1::QueryWriteStatusRequest*,
                                v1::QueryWriteStatusResponse*) override;
  grpc::Status ReadBlob(grpc::ServerContext*, const v1::ReadBlobRequest*,
                        grpc::ServerWriter<v1::ReadBlobResponse>*) override;
  grpc::Status Profile(grpc::ServerContext*, const v1::ProfileRequest*, grpc::ServerWriter<v1::Event>*) override;
  grpc::Status Attach(grpc::ServerContext*, const v1::AttachRequest*, grpc::ServerWriter<v1::Event>*) override;
  grpc::Status Cancel(grpc::ServerContext*, const v1::CancelRequest*, v1::CancelResponse*) override;
  grpc::Status ListWorkloads(grpc::ServerContext*, const v1::ListWorkloadsRequest*,
                             v1::ListWorkloadsResponse*) override;
  grpc::Status GetWorkload(grpc::ServerContext*, const v1::GetWorkloadRequest*, v1::GetWorkloadResponse*) override;

 private:
  grpc::Status Authenticate(grpc::ServerContext* context) const;
  grpc::Status Stream(grpc::ServerContext* context, const std::string& id, size_t from,
                      grpc::ServerWriter<v1::Event>* writer);
  bool BreaksBefore(size_t index);

  absl::Mutex mutex_;
  std::map<std::string, std::string> id_of_request_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::string> partial_ ABSL_GUARDED_BY(mutex_);
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

// accepted, admission, evaluate, and a verdict with `status`.
std::vector<v1::Event> UsualScript(v1::VerdictStatus status);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_SUBMIT_FAKE_PROFILER_H_
