#include "agent/submit/connection.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "agent/submit/calls.h"
#include "agent/submit/fake_profiler.h"
#include "common/base/files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay::agent {
namespace {

using ::testing::HasSubstr;

struct Identity {
  std::string certificate;
  std::string key;
};

template <typename Write>
std::string Pem(const Write& write) {
  BIO* bio = BIO_new(BIO_s_mem());
  write(bio);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string text(data, size);
  BIO_free(bio);
  return text;
}

// A self-signed certificate for 127.0.0.1, valid for an hour.
Identity MakeIdentity() {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = X509_new();
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_set_version(certificate, 2);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  X509_set_pubkey(certificate, key);
  X509_NAME* name = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("test"), -1, -1, 0);
  X509_set_issuer_name(certificate, name);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "IP:127.0.0.1");
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
  X509_sign(certificate, key, EVP_sha256());
  Identity identity = {Pem([&](BIO* bio) { PEM_write_bio_X509(bio, certificate); }), Pem([&](BIO* bio) {
                         PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
                       })};
  X509_free(certificate);
  EVP_PKEY_free(key);
  return identity;
}

class ConnectionTest : public ::testing::Test {
 protected:
  ConnectionTest() : directory_(*TemporaryDirectory::Create("connection")) {}
  std::string Write(const std::string& name, const std::string& text) {
    EXPECT_TRUE(WriteFileAtomically(directory_.path() / name, text).ok());
    return directory_.path() / name;
  }
  TemporaryDirectory directory_;
};

TEST_F(ConnectionTest, TokenFromFileReachesTheService) {
  FakeProfiler profiler;
  profiler.token = "swordfish";
  ConnectionOptions options = profiler.Options();
  EXPECT_EQ(GetCapabilities(**Connection::Open(options)).status().code(), absl::StatusCode::kUnauthenticated);
  options.token_file = Write("token", "swordfish\n");
  EXPECT_TRUE(GetCapabilities(**Connection::Open(options)).ok());
}

TEST_F(ConnectionTest, TokenWithAnUnprintableCharacterIsAnErrorAndWhiteSpaceAroundItIsNone) {
  FakeProfiler profiler;
  profiler.token = "swordfish";
  ConnectionOptions options = profiler.Options();
  options.token = " swordfish\r\n";
  EXPECT_TRUE(GetCapabilities(**Connection::Open(options)).ok());
  options.token = "sword\rfish";
  const std::string error(Connection::Open(options).status().message());
  EXPECT_THAT(error, AllOf(HasSubstr("SASSAY_TOKEN"), HasSubstr("character 6 is \\x0d"), Not(HasSubstr("sword"))));
  options.token_file = Write("token", "sword fish\n");
  EXPECT_THAT(std::string(Connection::Open(options).status().message()), HasSubstr("character 6 is \\x20"));
}

TEST_F(ConnectionTest, TlsIsVerifiedAgainstTheAuthority) {
  const Identity identity = MakeIdentity();
  grpc::SslServerCredentialsOptions tls;
  tls.pem_key_cert_pairs.push_back({identity.key, identity.certificate});
  FakeProfiler profiler(grpc::SslServerCredentials(tls));
  ConnectionOptions options = profiler.Options();
  options.ca_file = Write("ca.pem", identity.certificate);
  EXPECT_TRUE(GetCapabilities(**Connection::Open(options)).ok());
  options.ca_file = Write("other.pem", MakeIdentity().certificate);
  EXPECT_EQ(GetCapabilities(**Connection::Open(options)).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(ConnectionTest, WrongUseNamesTheFlag) {
  const auto error = [](const ConnectionOptions& options) {
    return std::string(Connection::Open(options).status().message());
  };
  EXPECT_THAT(error({.service = "host"}), HasSubstr("--service must be HOST:PORT"));
  EXPECT_THAT(error({.service = "host:99999"}), HasSubstr("--service"));
  EXPECT_THAT(error({.service = "localhost:1", .token_file = "/nowhere"}), HasSubstr("--token-file /nowhere"));
  EXPECT_THAT(error({.service = "localhost:1", .token_file = Write("empty", "\n")}), HasSubstr("empty"));
  EXPECT_THAT(error({.service = "host:1", .ca_file = "/nowhere"}), HasSubstr("--ca-file"));
  EXPECT_THAT(error({.service = "host:1", .ca_file = Write("kernel.cu", "int x;")}),
              HasSubstr("holds no PEM certificate"));
  EXPECT_THAT(error({.service = "host:1", .cert_file = "/x"}), HasSubstr("go together"));
}

TEST_F(ConnectionTest, ServiceThatIsNotThereIsUnavailable) {
  std::string address = FakeProfiler().address();
  const absl::Status status = GetCapabilities(**Connection::Open({.service = address})).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr(address));
}

TEST(IsLoopbackTest, KnowsThisMachine) {
  EXPECT_TRUE(IsLoopback("127.0.0.1:50051"));
  EXPECT_TRUE(IsLoopback("localhost:1"));
  EXPECT_TRUE(IsLoopback("[::1]:1"));
  EXPECT_TRUE(IsLoopback("unix:/run/sassay.sock"));
  EXPECT_FALSE(IsLoopback("127.0.0.1.example.com:1"));
  EXPECT_FALSE(IsLoopback("gpu.example.com:50051"));
}

TEST_F(ConnectionTest, AnOlderServiceIsAskedForNothingThatItWouldPassOver) {
  FakeProfiler service;
  service.protocol = 0;
  const auto connection = *Connection::Open(service.Options());
  v1::ProfileRequest request;
  EXPECT_TRUE(GetCapabilitiesFor(*connection, request).ok()) << "one version back is asked";
  request.set_fresh(true);
  EXPECT_TRUE(GetCapabilitiesFor(*connection, request).ok()) << "it does everything anew";
  request.set_fresh(false);
  request.mutable_max_age()->set_seconds(60);
  const absl::Status refused = GetCapabilitiesFor(*connection, request).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("the service (Sassay fake, protocol 1)"));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("--max-age needs protocol 2"));
  service.protocol = kProtocol;
  EXPECT_TRUE(GetCapabilitiesFor(*connection, request).ok());
}

}  // namespace
}  // namespace sassay::agent
