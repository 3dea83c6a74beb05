#include "profiler_service/api/auth/node_certificate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sassay::api {
namespace {

TEST(NodeCertificate, ANameStandsForItselfAndAPrefixForAPool) {
  EXPECT_TRUE(CheckNodeCertificate({"gpu-7"}, "gpu-7").ok());
  EXPECT_TRUE(CheckNodeCertificate({"other", "sassay:node/gpu-7"}, "gpu-7").ok());
  EXPECT_TRUE(CheckNodeCertificate({"sassay:node/pool-*"}, "pool-host3-991").ok());
}

TEST(NodeCertificate, AnotherNodesCertificateIsRefusedWithBothNames) {
  for (const std::vector<std::string>& names : {std::vector<std::string>{},
                                                {"gpu-8"},
                                                {"gpu-70"},
                                                {"gpu"},
                                                {"sassay:node/gpu-70"},
                                                {"sassay:node/pool*"},
                                                {"gpu-*"},
                                                {"*"},
                                                {"node/gpu-7"},
                                                {"sassay:node/"}}) {
    EXPECT_EQ(CheckNodeCertificate(names, "gpu-7").code(), absl::StatusCode::kPermissionDenied);
  }
  const std::string said(CheckNodeCertificate({"gpu-8\n"}, "gpu-7").message());
  EXPECT_THAT(said, testing::HasSubstr("the certificate is for gpu-8\\n, and the node calls itself gpu-7"));
  EXPECT_THAT(said, testing::HasSubstr("URI:sassay:node/gpu-7"));
}

}  // namespace
}  // namespace sassay::api
