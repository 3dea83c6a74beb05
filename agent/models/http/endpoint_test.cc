#include "agent/models/http/endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sassay::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Error(absl::string_view text) { return std::string(ParseEndpoint(text).status().message()); }

TEST(EndpointTest, ReadsEveryPart) {
  const Endpoint endpoint = *ParseEndpoint("https://API.Example.com:8443/api/v1/");
  EXPECT_TRUE(endpoint.tls);
  EXPECT_EQ(endpoint.host, "api.example.com");
  EXPECT_EQ(endpoint.path, "/api/v1");
  EXPECT_EQ(endpoint.Url(), "https://api.example.com:8443/api/v1");
  EXPECT_EQ(endpoint.With("/v1/models"), "https://api.example.com:8443/v1/models");
}

TEST(EndpointTest, KnowsThisMachine) {
  for (const char* url : {"http://127.0.0.1:1", "http://localhost", "http://[::1]:8000/v1"}) {
    EXPECT_TRUE(ParseEndpoint(url)->IsLoopback()) << url;
  }
  for (const char* url : {"http://10.0.0.1:1", "http://127.evil.example", "http://127.0.0.1.evil.example:8000/v1"}) {
    EXPECT_FALSE(ParseEndpoint(url)->IsLoopback()) << url;
  }
}

TEST(EndpointTest, SaysWhatIsWrong) {
  EXPECT_THAT(Error("localhost:8000"), HasSubstr("neither http:// nor https://"));
  EXPECT_THAT(Error("ftp://x"), HasSubstr("no http or https URL"));
  EXPECT_THAT(Error("http:///v1"), HasSubstr("names no host"));
  EXPECT_THAT(Error("http://h:99999"), HasSubstr("99999"));
  EXPECT_THAT(Error("http://h/v1?key=1"), HasSubstr("query"));
  EXPECT_THAT(Error("http://h/v 1"), HasSubstr("characters"));
  EXPECT_THAT(Error("http://h/v1\r\nX: y"), HasSubstr("characters"));
}

TEST(EndpointTest, RefusesACredentialWithoutRepeatingIt) {
  EXPECT_THAT(Error("https://user:sk-secret@host/v1"), AllOf(HasSubstr("SASSAY_API_KEY"), Not(HasSubstr("sk-secret"))));
}

}  // namespace
}  // namespace sassay::agent
