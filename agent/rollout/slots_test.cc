#include "agent/rollout/slots.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace sassay::agent {
namespace {

TEST(Slots, NoMoreThanSoManyAtOnce) {
  Slots slots(3);
  std::atomic<int> inside = 0, most = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        const Slots::Place place = slots.Take();
        EXPECT_TRUE(place);
        const int now = ++inside;
        for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) continue;
        std::this_thread::yield();
        --inside;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(most, 3);
  EXPECT_EQ(inside, 0);
}

TEST(Slots, ClosingEndsAllWaiting) {
  Slots slots(1);
  Slots::Place held = slots.Take();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { EXPECT_FALSE(slots.Take()); });
  slots.Close();
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(held);
  held.Release();
  EXPECT_FALSE(slots.Take());
}

TEST(Slots, APlaceThatIsGivenBackServesTheNext) {
  Slots slots(1);
  Slots::Place place = slots.Take();
  std::thread waiter([&] { EXPECT_TRUE(slots.Take()); });
  place.Release();
  waiter.join();
  place = slots.Take();
  EXPECT_TRUE(place);
}

}  // namespace
}  // namespace sassay::agent
