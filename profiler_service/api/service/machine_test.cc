#include "profiler_service/api/service/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sassay::api {
namespace {

using testing::ElementsAre;

TEST(ParseDevices, ListsAreSpelledOut) {
  EXPECT_THAT(*ParseDevices("cuda:0"), ElementsAre("cuda:0"));
  EXPECT_THAT(*ParseDevices("cuda:0,1"), ElementsAre("cuda:0", "cuda:1"));
  EXPECT_THAT(*ParseDevices("cuda:0,cuda:3"), ElementsAre("cuda:0", "cuda:3"));
  EXPECT_THAT(*ParseDevices("emulated:sm_90a"), ElementsAre("emulated:sm_90a"));
  EXPECT_FALSE(ParseDevices("auto")->empty());
}

TEST(ParseDevices, WhatIsNotUnderstoodIsRefused) {
  for (const char* text : {"", "emulated:sm_90a#1", "gpu", "cuda:", "cuda:x", "0", "emulated:sm_90a,1", "cuda:0,,1"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseDevices(text).status())) << text;
  }
}

}  // namespace
}  // namespace sassay::api
