// Who may do what: tokens, roles, tenants, TLS.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <thread>

#include "common/base/files.h"
#include "common/base/sha256.h"
#include "common/base/steady_time.h"
#include "common/metrics/cluster_metrics.h"
#include "common/process/subprocess.h"
#include "profiler_service/api/auth/tokens.h"
#include "profiler_service/api/service/server_testing.h"
#include "profiler_service/cluster/front_ends.h"
#include "profiler_service/cluster/join_trial.h"
#include "profiler_service/store/sqlite/sqlite_store.h"

namespace sassay::api {
namespace {

using grpc::StatusCode;
using sassay::v1::Event;
using testing::HasSubstr;

class AccessTest : public ServerTest {
 protected:
  AccessTest() {
    options_.token_file = directory_.path() / "tokens";
    ann_ = *AddToken(options_.token_file, "ann", Role::kTenant);
    bob_ = *AddToken(options_.token_file, "bob", Role::kTenant);
    root_ = *AddToken(options_.token_file, "root", Role::kAdmin);
  }

  std::string ann_, bob_, root_;
};

TEST_F(AccessTest, WithoutAKnownTokenNothingIsAnswered) {
  Start();
  for (const std::string& token : {std::string(), std::string("sassay_guess")}) {
    TestClient stranger = Client(token);
    EXPECT_EQ(stranger.FindMissing({Sha256Hex("")}).status.error_code(), StatusCode::UNAUTHENTICATED);
    EXPECT_EQ(stranger.Upload("x").error_code(), StatusCode::UNAUTHENTICATED);
    EXPECT_EQ(stranger.Download(Sha256Hex("")).status.error_code(), StatusCode::UNAUTHENTICATED);
    EXPECT_EQ(stranger.Profile(queue::RequestOf("r")).status.error_code(), StatusCode::UNAUTHENTICATED);
    EXPECT_EQ(stranger.Attach("s0").status.error_code(), StatusCode::UNAUTHENTICATED);
    EXPECT_EQ(stranger.Cancel("s0").status.error_code(), StatusCode::UNAUTHENTICATED);
    sassay::v1::ListGpusResponse gpus;
    EXPECT_EQ(stranger.control->ListGpus(stranger.Context().get(), {}, &gpus).error_code(),
              StatusCode::UNAUTHENTICATED);
  }
}

// A TestClient tells no protocol, as the versions before that had one.
TEST_F(AccessTest, AClientThatIsTooOldIsRefusedWithBothVersionsByEveryPort) {
  options_.oldest_client = 2;
  Start();
  TestClient old = Client(root_);
  const auto refused = [](const grpc::Status& status) {
    EXPECT_EQ(status.error_code(), StatusCode::FAILED_PRECONDITION) << status.error_message();
    EXPECT_THAT(status.error_message(), HasSubstr("protocol 1) is too old"));
    EXPECT_THAT(status.error_message(), HasSubstr("(Sassay " SASSAY_VERSION ", protocol 2) serves protocol 2"));
  };
  sassay::v1::GetCapabilitiesResponse capabilities;
  refused(old.profiler->GetCapabilities(old.Context().get(), {}, &capabilities));
  refused(old.FindMissing({Sha256Hex("")}).status);
  refused(old.Upload("x"));
  refused(old.WriteStatus(Sha256Hex("")).status);
  refused(old.Download(Sha256Hex("")).status);
  refused(old.Profile(queue::RequestOf("r")).status);
  refused(old.Attach("s0").status);
  refused(old.Cancel("s0").status);
  sassay::v1::ListGpusResponse gpus;
  refused(old.control->ListGpus(old.Context().get(), {}, &gpus));
  sassay::v1::Telemetry telemetry;
  const auto context = old.Context();
  const auto stream = old.control->StreamTelemetry(context.get(), {});
  EXPECT_FALSE(stream->Read(&telemetry));
  refused(stream->Finish());
}

TEST_F(AccessTest, AClientThatTellsItsProtocolIsServedAndStrangersAreToldNothingOfVersions) {
  options_.oldest_client = 2;
  Start();
  sassay::v1::GetCapabilitiesResponse capabilities;
  const auto ask = [&](const TestClient& client, const char* protocol) {
    const auto context = client.Context();
    context->AddMetadata("sassay-protocol", protocol);
    return client.profiler->GetCapabilities(context.get(), {}, &capabilities);
  };
  const TestClient ann = Client(ann_), stranger = Client("sassay_guess");
  EXPECT_TRUE(ask(ann, "2").ok());
  EXPECT_EQ(capabilities.protocol(), kProtocol);
  EXPECT_EQ(capabilities.oldest_protocol(), 2u);
  EXPECT_TRUE(ask(ann, "3").ok()) << "the next version's clients know what to do";
  EXPECT_EQ(ask(ann, "two").error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(ask(stranger, "1").error_code(), StatusCode::UNAUTHENTICATED);
}

TEST_F(AccessTest, TheVersionBeforeIsServed) {
  Start();
  TestClient ann = Client(ann_);
  EXPECT_TRUE(ann.Profile(Uploaded(ann, "r1")).status.ok());
}

TEST_F(AccessTest, AnothersBlobsAreNotThereEvenForIdenticalBytes) {
  Start();
  TestClient ann = Client(ann_), bob = Client(bob_);
  ASSERT_TRUE(ann.Upload(bundle_).ok());
  const std::string sha256 = Sha256Hex(bundle_);
  EXPECT_EQ(bob.FindMissing({sha256}).response.missing_sha256_size(), 1);
  EXPECT_EQ(bob.Download(sha256).status.error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(bob.WriteStatus(sha256).status.error_code(), StatusCode::NOT_FOUND);
  sassay::v1::ProfileRequest request = queue::RequestOf("r1");
  request.set_bundle_sha256(sha256);
  EXPECT_EQ(bob.Profile(request).status.error_code(), StatusCode::NOT_FOUND);
  ASSERT_TRUE(bob.Upload(bundle_).ok());
  EXPECT_EQ(bob.Download(sha256).response, bundle_);
}

TEST_F(AccessTest, AnothersSubmissionsAreNotThere) {
  Start();
  TestClient ann = Client(ann_), bob = Client(bob_), root = Client(root_);
  const auto answer = ann.Profile(Uploaded(ann, "r1"));
  ASSERT_TRUE(answer.status.ok());
  const std::string id = answer.response[0].submission_id();
  for (TestClient* other : {&bob, &root}) {
    EXPECT_EQ(other->Attach(id).status.error_code(), StatusCode::NOT_FOUND);
    EXPECT_EQ(other->Cancel(id).status.error_code(), StatusCode::NOT_FOUND);
  }
}

TEST_F(AccessTest, ControlIsForAdminsAndRemembersWhoAsked) {
  Start();
  TestClient ann = Client(ann_), root = Client(root_);
  sassay::v1::QuarantineGpuRequest quarantine;
  quarantine.set_uuid("GPU-1");
  sassay::v1::QuarantineGpuResponse response;
  EXPECT_EQ(ann.control->QuarantineGpu(ann.Context().get(), quarantine, &response).error_code(),
            StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(root.control->QuarantineGpu(root.Context().get(), quarantine, &response).error_code(),
            StatusCode::NOT_FOUND);
  sassay::v1::ListGpusResponse gpus;
  EXPECT_EQ(ann.control->ListGpus(ann.Context().get(), {}, &gpus).error_code(), StatusCode::PERMISSION_DENIED);
  ASSERT_TRUE(root.control->ListGpus(root.Context().get(), {}, &gpus).ok());
  ASSERT_EQ(gpus.gpus_size(), 1);
  EXPECT_EQ(gpus.gpus(0).state(), sassay::v1::GPU_STATE_HEALTHY);
  server_.reset();
  const auto store = *store::OpenSqliteStore(options_.state + "/sassay.db");
  const auto log = *store->AuditLog(0, 10);
  ASSERT_GE(log.size(), 2u);
  EXPECT_EQ(log[0].actor, "ann");
  EXPECT_EQ(log[0].outcome, "PERMISSION_DENIED");
  EXPECT_EQ(log[1].actor, "root");
  EXPECT_EQ(log[1].action, "Control.QuarantineGpu");
  EXPECT_EQ(log[1].target, "GPU-1");
}

TEST_F(AccessTest, APausedServiceStartsNothingUntilResumed) {
  Start();
  TestClient ann = Client(ann_), root = Client(root_);
  sassay::v1::PauseDispatchResponse paused;
  sassay::v1::PauseDispatchRequest why;
  why.set_reason("the fan is loud");
  ASSERT_TRUE(root.control->PauseDispatch(root.Context().get(), why, &paused).ok());
  sassay::v1::PauseDispatchRequest unknown;
  unknown.set_uuid("GPU-nowhere");
  EXPECT_EQ(root.control->PauseDispatch(root.Context().get(), unknown, &paused).error_code(), StatusCode::NOT_FOUND);
  sassay::v1::ListGpusResponse gpus;
  ASSERT_TRUE(root.control->ListGpus(root.Context().get(), {}, &gpus).ok());
  EXPECT_EQ(gpus.gpus(0).state(), sassay::v1::GPU_STATE_PAUSED);
  EXPECT_THAT(gpus.gpus(0).reason(), testing::MatchesRegex("paused by root since .*: the fan is loud"));
  const auto context = ann.Context();
  const auto reader = ann.profiler->Profile(context.get(), Uploaded(ann, "r1"));
  Event event;
  ASSERT_TRUE(reader->Read(&event));
  EXPECT_TRUE(event.has_accepted());
  sassay::v1::ResumeDispatchResponse resumed;
  ASSERT_TRUE(root.control->ResumeDispatch(root.Context().get(), {}, &resumed).ok());
  ASSERT_TRUE(reader->Read(&event));
  EXPECT_TRUE(event.has_verdict());
}

TEST_F(AccessTest, EveryRefusalIsWrittenDownOrCounted) {
  Start();
  TestClient ann = Client(ann_);
  const auto context = ann.Context();
  const auto incidents = ann.control->StreamIncidents(context.get(), {});
  sassay::v1::Incident incident;
  EXPECT_FALSE(incidents->Read(&incident));
  EXPECT_EQ(incidents->Finish().error_code(), StatusCode::PERMISSION_DENIED);
  sassay::v1::QuarantineGpuRequest quarantine;
  quarantine.set_uuid(std::string(1 << 20, 'u'));
  sassay::v1::QuarantineGpuResponse response;
  constexpr int kCalls = 20;
  for (int i = 0; i < kCalls; ++i) {
    EXPECT_EQ(ann.control->QuarantineGpu(ann.Context().get(), quarantine, &response).error_code(),
              StatusCode::PERMISSION_DENIED);
  }
  EXPECT_THAT(server_->MetricsText(), HasSubstr("sassay_rpcs_refused_total{code=\"PERMISSION_DENIED\"} 21"));
  // One a second is written down; the next one that is says how many were not.
  std::string last;
  for (int calls = 0; last.find("were not written down") == std::string::npos && calls < 100'000; ++calls) {
    ann.control->QuarantineGpu(ann.Context().get(), {}, &response);
    if (calls % 100 == 0) last = store::ReadAuditLog(options_.state + "/sassay.db", 0, 1000)->back().detail;
  }
  EXPECT_THAT(last, HasSubstr("were not written down"));
  const auto log = *store::ReadAuditLog(options_.state + "/sassay.db", 0, 1000);
  EXPECT_EQ(log[0].action, "Control.StreamIncidents");
  EXPECT_EQ(log[0].outcome, "PERMISSION_DENIED");
  EXPECT_EQ(log[1].target.size(), 1000u);
}

TEST_F(AccessTest, ChangesOfTheTokensAreInTheAuditLog) {
  Start();
  TestClient ann = Client(ann_);
  runner_.run = [](const Job&, JobObserver& observer) {
    while (!observer.cancelled()) std::this_thread::yield();
    return queue::CorrectVerdict();
  };
  const auto context = ann.Context();
  const auto reader = ann.profiler->Profile(context.get(), Uploaded(ann, "r1"));
  Event event;
  ASSERT_TRUE(reader->Read(&event));
  ASSERT_TRUE(RevokeTokens(options_.token_file, "ann").ok());
  EXPECT_FALSE(reader->Read(&event));  // the change was seen
  EXPECT_EQ(reader->Finish().error_code(), StatusCode::UNAUTHENTICATED);
  server_.reset();
  const auto log = *store::ReadAuditLog(options_.state + "/sassay.db", 0, 10);
  ASSERT_EQ(log.size(), 1u);
  EXPECT_EQ(log[0].action, "Tokens.Changed");
  EXPECT_THAT(log[0].detail, HasSubstr("removed: ann tenant"));
}

TEST_F(AccessTest, RevocationEndsOpenStreams) {
  runner_.run = [](const Job&, JobObserver& observer) {
    while (!observer.cancelled()) std::this_thread::yield();
    return queue::CorrectVerdict();
  };
  Start();
  TestClient ann = Client(ann_);
  const auto context = ann.Context();
  const auto reader = ann.profiler->Profile(context.get(), Uploaded(ann, "r1"));
  Event event;
  ASSERT_TRUE(reader->Read(&event));
  ASSERT_TRUE(RevokeTokens(options_.token_file, "ann").ok());
  EXPECT_FALSE(reader->Read(&event));
  EXPECT_EQ(reader->Finish().error_code(), StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(ann.Attach(event.submission_id()).status.error_code(), StatusCode::UNAUTHENTICATED);
}

TEST_F(ServerTest, ATokenFileThatIsMissingIsNamedWithTheCommandThatMakesIt) {
  options_.token_file = directory_.path() / "nothing";
  const absl::Status refused = TryStart(options_).status();
  EXPECT_TRUE(absl::IsNotFound(refused));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("token add NAME --token-file " + options_.token_file));
}

TEST_F(ServerTest, OnLoopbackWithoutATokenFileTheOneTenantIsAdminToo) {
  Start();
  TestClient local = Client();
  sassay::v1::ListGpusResponse gpus;
  EXPECT_TRUE(local.control->ListGpus(local.Context().get(), {}, &gpus).ok());
}

TEST_F(ServerTest, OtherAddressesNeedTlsOrAWordThatSaysSo) {
  options_.listen = "0.0.0.0:0";
  const absl::Status refused = TryStart(options_).status();
  EXPECT_TRUE(absl::IsInvalidArgument(refused));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("--insecure"));
  options_.insecure = true;
  Start();
  TestClient client("127.0.0.1:" + std::to_string(server_->port()), "");
  EXPECT_TRUE(client.FindMissing({}).status.ok());
  sassay::v1::ListGpusResponse gpus;
  EXPECT_EQ(client.control->ListGpus(client.Context().get(), {}, &gpus).error_code(), StatusCode::PERMISSION_DENIED);
}

// Certificates made with the openssl program.
class TlsTest : public ServerTest {
 protected:
  void SetUp() override {
    Openssl("req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=ca -keyout ca.key -out ca.crt");
    Issue("server");
    Issue("client");
    options_.tls_cert = File("server.crt");
    options_.tls_key = File("server.key");
  }
  std::string File(const std::string& name) const { return directory_.path() / name; }
  void Run(const std::string& script) {
    Command command;
    command.argv = {"/bin/sh", "-c", script};
    command.environment = {{"PATH", "/usr/bin:/bin"}};
    command.working_directory = directory_.path();
    const auto report = RunToCompletion(command, absl::Seconds(60));
    ASSERT_TRUE(report.ok() && report->Succeeded()) << (report.ok() ? report->stderr_text : report.status().ToString());
  }
  void Openssl(const std::string& arguments) { Run("openssl " + arguments); }
  void Issue(const std::string& name, const std::string& more_names = "") {
    ASSERT_TRUE(WriteFileAtomically(File("san"), "subjectAltName=DNS:localhost,IP:127.0.0.1" + more_names + "\n").ok());
    Openssl("req -newkey rsa:2048 -nodes -subj /CN=" + name + " -keyout " + name + ".key -out " + name + ".csr");
    Openssl("x509 -req -days 2 -CA ca.crt -CAkey ca.key -CAcreateserial -extfile san -in " + name + ".csr -out " +
            name + ".crt");
  }
  TestClient Secure(bool with_certificate) {
    grpc::SslCredentialsOptions tls;
    tls.pem_root_certs = *ReadFile(File("ca.crt"));
    if (with_certificate) {
      tls.pem_cert_chain = *ReadFile(File("client.crt"));
      tls.pem_private_key = *ReadFile(File("client.key"));
    }
    return TestClient(server_->address(), "", grpc::SslCredentials(tls));
  }
};

TEST_F(TlsTest, ServesOverTlsAndOnlyOverTls) {
  Start();
  EXPECT_TRUE(Secure(false).FindMissing({}).status.ok());
  EXPECT_FALSE(Client().FindMissing({}).status.ok());
}

TEST_F(TlsTest, MutualTlsTurnsAwayWhoHasNoCertificate) {
  options_.tls_client_ca = File("ca.crt");
  Start();
  EXPECT_TRUE(Secure(true).FindMissing({}).status.ok());
  EXPECT_FALSE(Secure(false).FindMissing({}).status.ok());
}

// A node with this certificate, as profiler-service joins.
class NodeTlsTest : public TlsTest {
 protected:
  void SetUp() override {
    TlsTest::SetUp();
    options_.nodes = true;
    options_.tls_client_ca = File("ca.crt");
    options_.token_file = File("tokens");
    WriteToken(*AddToken(options_.token_file, "gpus", Role::kNode));
    Issue("gpu-7");
    Start();
  }
  void WriteToken(const std::string& token) { ASSERT_TRUE(WriteFileAtomically(File("node.token"), token + "\n").ok()); }
  cluster::FrontEndOptions Node(const std::string& certificate, const std::string& name) {
    cluster::FrontEndOptions node;
    node.addresses = {server_->address()};
    node.connection.token_file = File("node.token");
    node.connection.ca_file = File("ca.crt");
    if (!certificate.empty()) {
      node.connection.cert_file = File(certificate + ".crt");
      node.connection.key_file = File(certificate + ".key");
    }
    node.node.set_name(name);
    node.node.set_instance(std::string(32, 'a'));
    node.facts.add_gpus()->set_uuid("GPU-of-" + name);
    return node;
  }
  absl::Status Join(const std::string& certificate, const std::string& name) {
    const auto front_ends = cluster::FrontEnds::Open(Node(certificate, name));
    if (!front_ends.ok()) return front_ends.status();
    return (*front_ends)->Register(SteadyNow() + absl::Seconds(20)).status();
  }
};

TEST_F(NodeTlsTest, ACertificateIsOneNodes) {
  EXPECT_TRUE(Join("gpu-7", "gpu-7").ok());
  const absl::Status other = Join("gpu-7", "gpu-8");
  EXPECT_EQ(other.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(other.message()), HasSubstr("the node calls itself gpu-8"));
}

TEST_F(NodeTlsTest, AnAlternativeNameOfOursStandsForANodeOrAPool) {
  Issue("pool", ",URI:sassay:node/pool-*,URI:sassay:node/gpu-8");
  EXPECT_TRUE(Join("pool", "pool-host3").ok());
  EXPECT_TRUE(Join("pool", "gpu-8").ok());
  EXPECT_TRUE(Join("pool", "localhost").ok());  // DNS
  EXPECT_EQ(Join("pool", "gpu-80").code(), absl::StatusCode::kPermissionDenied);
}

// Every call, not only the first: whoever knows another node's instance does not become it.
TEST_F(NodeTlsTest, AnotherNodesCallsAreRefusedToo) {
  ASSERT_TRUE(Join("gpu-7", "gpu-7").ok());
  Issue("gpu-8");
  const auto thief = cluster::FrontEnds::Open(Node("gpu-8", "gpu-7"));
  ASSERT_TRUE(thief.ok()) << thief.status();
  sassay::v1::BeatResponse response;
  const absl::Status beat = (*thief)->Call(&cluster::FrontEnds::Stub::Beat, sassay::v1::BeatRequest(), response,
                                           SteadyNow() + absl::Seconds(20));
  EXPECT_EQ(beat.code(), absl::StatusCode::kPermissionDenied);
}

TEST_F(NodeTlsTest, ACheckSaysWhatIsWrongAndRegistersNothing) {
  const auto trial = [&](cluster::FrontEndOptions node) { return cluster::TryJoin(node).front(); };
  const cluster::JoinTrial good = trial(Node("gpu-7", "gpu-7"));
  EXPECT_TRUE(good.status.ok()) << good.status;
  EXPECT_FALSE(good.version.empty());
  EXPECT_FALSE(good.name_taken);
  EXPECT_FALSE(trial(Node("gpu-7", "gpu-7")).name_taken) << "the first trial has registered the node";
  ASSERT_TRUE(Join("gpu-7", "gpu-7").ok());
  EXPECT_TRUE(trial(Node("gpu-7", "gpu-7")).name_taken);

  EXPECT_THAT(std::string(trial(Node("gpu-7", "gpu-8")).status.message()), HasSubstr("the certificate is for gpu-7"));
  EXPECT_THAT(std::string(trial(Node("", "gpu-7")).status.message()), HasSubstr("TLS"));
  cluster::FrontEndOptions node = Node("gpu-7", "gpu-7");
  Openssl("req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=other -keyout other.key -out other.crt");
  node.connection.ca_file = File("other.crt");
  EXPECT_THAT(std::string(trial(node).status.message()), HasSubstr("TLS"));
  node = Node("gpu-7", "gpu-7");
  node.now = [] { return absl::Now() + absl::Hours(2); };
  EXPECT_THAT(std::string(trial(node).status.message()), HasSubstr("clock"));
  WriteToken("sassay_unknown");
  EXPECT_THAT(std::string(trial(Node("gpu-7", "gpu-7")).status.message()), HasSubstr("--join-token-file"));
  node = Node("gpu-7", "gpu-7");
  node.addresses = {"127.0.0.1:1"};
  EXPECT_THAT(std::string(trial(node).status.message()), HasSubstr("nobody answers"));
}

TEST_F(NodeTlsTest, ARotatedTokenIsReadAgain) {
  const auto node = *cluster::FrontEnds::Open(Node("gpu-7", "gpu-7"));
  ASSERT_TRUE(node->Register(SteadyNow() + absl::Seconds(20)).ok());
  ASSERT_TRUE(RevokeTokens(options_.token_file, "gpus").ok());
  const auto beat = [&] {
    sassay::v1::BeatResponse response;
    return node->Call(&cluster::FrontEnds::Stub::Beat, sassay::v1::BeatRequest(), response,
                      SteadyNow() + absl::Seconds(20));
  };
  while (!absl::IsUnauthenticated(beat())) {
  }
  WriteToken(*AddToken(options_.token_file, "gpus", Role::kNode));
  while (absl::IsUnauthenticated(beat())) {
  }
  EXPECT_TRUE(beat().ok());
  // What is no token leaves the one that is.
  ASSERT_TRUE(WriteFileAtomically(File("node.token"), "\n").ok());
  EXPECT_TRUE(beat().ok());
}

TEST_F(NodeTlsTest, NodesAreCountedWhereTheyAreAdmitted) {
  options_.metrics = "127.0.0.1:0";
  Restart();
  EXPECT_THAT(server_->MetricsText(), HasSubstr("sassay_nodes{state=\"living\"} 0\n"));
  ASSERT_TRUE(Join("gpu-7", "gpu-7").ok());
  const std::string text = server_->MetricsText();
  EXPECT_THAT(text, HasSubstr("sassay_nodes{state=\"living\"} 1\n"));
  for (const metrics::Metric* row : metrics::FrontEndMetrics()) EXPECT_THAT(text, HasSubstr(std::string(row->name)));
}

TEST_F(TlsTest, HalfAKeyPairIsRefused) {
  options_.tls_key.clear();
  const absl::Status refused = TryStart(options_).status();
  EXPECT_TRUE(absl::IsInvalidArgument(refused));
}

}  // namespace
}  // namespace sassay::api
