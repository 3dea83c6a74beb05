#include "profiler_service/api/ports/io_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/synchronization/notification.h"

namespace sassay::api {
namespace {

using testing::ElementsAre;

TEST(IoPool, TenantsTakeTurns) {
  std::vector<std::string> order;  // one thread writes it
  {
    IoPool pool(1);
    absl::Notification posted;
    pool.Post("gate", [&] { posted.WaitForNotification(); });
    for (int i = 0; i < 3; ++i) pool.Post("flood", [&] { order.push_back("flood"); });
    pool.Post("ann", [&] { order.push_back("ann"); });
    posted.Notify();
  }
  EXPECT_THAT(order, ElementsAre("flood", "ann", "flood", "flood"));
}

TEST(IoPool, WhatWasPostedIsRunBeforeTheEnd) {
  int runs = 0;
  {
    IoPool pool(1);
    for (int i = 0; i < 100; ++i) pool.Post("ann", [&] { ++runs; });
  }
  EXPECT_EQ(runs, 100);
}

}  // namespace
}  // namespace sassay::api
