#include "profiler_service/api/service/server_testing.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "common/base/sha256.h"
#include "common/base/status_macros.h"
#include "common/metrics/service_metrics.h"
#include "common/workload/catalog.h"

namespace sassay::api {

using sassay::v1::Event;

TestClient::TestClient(const std::string& address, const std::string& token,
                       std::shared_ptr<grpc::ChannelCredentials> credentials)
    : channel(grpc::CreateChannel(address, credentials)),
      profiler(sassay::v1::Profiler::NewStub(channel)),
      control(sassay::v1::Control::NewStub(channel)),
      token_(token) {}

std::unique_ptr<grpc::ClientContext> TestClient::Context() const {
  auto context = std::make_unique<grpc::ClientContext>();
  if (!token_.empty()) context->AddMetadata("authorization", "Bearer " + token_);
  context->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  return context;
}

grpc::Status TestClient::Upload(const std::string& bytes) { return UploadPart(bytes, 0, bytes.size(), false); }

grpc::Status TestClient::UploadPart(const std::string& bytes, size_t from, size_t to, bool cancel) {
  constexpr size_t kChunk = 1 << 16;
  const auto context = Context();
  sassay::v1::WriteBlobResponse response;
  const auto writer = profiler->WriteBlob(context.get(), &response);
  for (size_t at = from; at < to; at += kChunk) {
    sassay::v1::WriteBlobRequest request;
    if (at == from) {
      request.set_sha256(Sha256Hex(bytes));
      request.set_total_bytes(bytes.size());
    }
    request.set_offset_bytes(at);
    request.set_data(bytes.substr(at, std::min(kChunk, to - at)));
    if (!writer->Write(request)) break;
  }
  if (cancel) context->TryCancel();
  writer->WritesDone();
  return writer->Finish();
}

Answer<std::string> TestClient::Download(const std::string& sha256, uint64_t offset) {
  const auto context = Context();
  sassay::v1::ReadBlobRequest request;
  request.set_sha256(sha256);
  request.set_offset_bytes(offset);
  const auto reader = profiler->ReadBlob(context.get(), request);
  Answer<std::string> answer;
  sassay::v1::ReadBlobResponse chunk;
  while (reader->Read(&chunk)) answer.response += chunk.data();
  answer.status = reader->Finish();
  return answer;
}

Answer<sassay::v1::QueryWriteStatusResponse> TestClient::WriteStatus(const std::string& sha256) {
  Answer<sassay::v1::QueryWriteStatusResponse> answer;
  sassay::v1::QueryWriteStatusRequest request;
  request.set_sha256(sha256);
  answer.status = profiler->QueryWriteStatus(Context().get(), request, &answer.response);
  return answer;
}

Answer<sassay::v1::FindMissingBlobsResponse> TestClient::FindMissing(const std::vector<std::string>& digests) {
  Answer<sassay::v1::FindMissingBlobsResponse> answer;
  sassay::v1::FindMissingBlobsRequest request;
  for (const std::string& digest : digests) request.add_sha256(digest);
  answer.status = profiler->FindMissingBlobs(Context().get(), request, &answer.response);
  return answer;
}

namespace {

Answer<std::vector<Event>> ReadAll(grpc::ClientReader<Event>& reader) {
  Answer<std::vector<Event>> answer;
  Event event;
  while (reader.Read(&event)) answer.response.push_back(event);
  answer.status = reader.Finish();
  return answer;
}

}  // namespace

Answer<std::vector<Event>> TestClient::Profile(const sassay::v1::ProfileRequest& request) {
  const auto context = Context();
  return ReadAll(*profiler->Profile(context.get(), request));
}

Answer<std::vector<Event>> TestClient::Attach(const std::string& id, uint64_t after) {
  const auto context = Context();
  sassay::v1::AttachRequest request;
  request.set_submission_id(id);
  request.set_after_sequence(after);
  return ReadAll(*profiler->Attach(context.get(), request));
}

Answer<sassay::v1::CancelResponse> TestClient::Cancel(const std::string& id) {
  Answer<sassay::v1::CancelResponse> answer;
  sassay::v1::CancelRequest request;
  request.set_submission_id(id);
  answer.status = profiler->Cancel(Context().get(), request, &answer.response);
  return answer;
}

ServerTest::ServerTest(std::vector<std::string> gpus) : gpus_(std::move(gpus)) {
  capabilities_.set_rules_version("test rules");
  options_.listen = "127.0.0.1:0";
  options_.state = directory_.path() / "state";
  options_.store = "sqlite:" + options_.state + "/sassay.db";
  options_.blobs_place = "dir:" + options_.state + "/blobs";
  options_.metrics = "";
  options_.drain = absl::ZeroDuration();
}

absl::StatusOr<std::unique_ptr<Server>> ServerTest::TryStart(const ServiceOptions& options) {
  ASSIGN_OR_RETURN(StateFolder state, StateFolder::Take(options.state));
  ServiceFacts facts;
  facts.capabilities = capabilities_;
  facts.settings_sha256 = settings_sha256_;
  for (const metrics::Metric* deaths : {&metrics::kJudgeDeaths, &metrics::kRunnerDeaths}) {
    facts.metrics.push_back({deaths, [] { return 1.0; }});
  }
  facts.gpus = acts_on_;
  facts.telemetry = &telemetry_;
  facts.metrics.push_back({&metrics::kJudgeStates, [] { return 1.0; }, {"kept"}});
  for (const auto& [mode, count] : {std::pair("PLAIN", 3.0), std::pair("CHECKED", 2.0)}) {
    facts.metrics.push_back({&metrics::kRunnersStarted, [count = count] { return count; }, {mode}});
  }
  ASSIGN_OR_RETURN(auto backing, OpenOwnBacking(options));
  return Server::Start(options, std::move(state), std::move(backing), &runner_, WorkloadCatalog::BuiltIn(),
                       std::move(facts));
}

void ServerTest::Start() {
  auto server = TryStart(options_);
  ASSERT_TRUE(server.ok()) << server.status();
  server_ = *std::move(server);
}

void ServerTest::Restart() {
  server_.reset();
  Start();
}

sassay::v1::ProfileRequest ServerTest::Uploaded(TestClient& client, const std::string& request_id) {
  EXPECT_TRUE(client.Upload(bundle_).ok());
  sassay::v1::ProfileRequest request = queue::RequestOf(request_id);
  request.set_bundle_sha256(Sha256Hex(bundle_));
  return request;
}

}  // namespace sassay::api
