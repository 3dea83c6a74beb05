// Runs the tests of a program on a host of its own (tests/end_to_end/network.h), where that is allowed.
#include <gtest/gtest.h>

#include "tests/end_to_end/network.h"

int main(int argc, char** argv) {
  sassay::testing::Network::Enter();
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
