#include "common/base/random.h"

#include <gtest/gtest.h>
#include <openssl/rand.h>

namespace sassay {
namespace {

TEST(Random, GivesTheCountAskedForAndNeverTheSame) {
  EXPECT_EQ(RandomBytes(32).size(), 32u);
  EXPECT_EQ(RandomHex(12).size(), 24u);
  EXPECT_NE(RandomBytes(32), RandomBytes(32));
}

int NoBytes(unsigned char*, int) { return 0; }

TEST(RandomDeathTest, AMachineWithoutRandomnessHandsOutNothing) {
  RAND_METHOD broken = {};
  broken.bytes = NoBytes;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  EXPECT_DEATH(
      {
        RAND_set_rand_method(&broken);
        RandomBytes(32);
      },
      "");
#pragma GCC diagnostic pop
}

}  // namespace
}  // namespace sassay
