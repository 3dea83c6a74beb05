#include "agent/capture/plan/ordering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sassay::capture {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

EventRecord RecordOf(uint64_t event, uint64_t stream) {
  EventRecord record;
  record.set_event(event);
  record.set_stream(stream);
  return record;
}

StreamWait WaitOf(uint64_t stream, uint64_t event) {
  StreamWait wait;
  wait.set_stream(stream);
  wait.set_event(event);
  return wait;
}

TEST(Ordering, OneStreamNeedsNoDependencies) {
  Ordering order;
  EXPECT_THAT(order.Next(0, 1).depends_on, IsEmpty());
  EXPECT_THAT(order.Next(1, 1).depends_on, IsEmpty());
}

TEST(Ordering, NumbersStreamsByFirstAppearance) {
  Ordering order;
  EXPECT_EQ(order.Next(0, 77).stream, 1u);
  EXPECT_EQ(order.Next(1, 5).stream, 2u);
  EXPECT_EQ(order.Next(2, 1).stream, 0u);
  EXPECT_EQ(order.Next(3, 77).stream, 1u);
}

TEST(Ordering, AnEventCarriesWhatItsStreamHadDone) {
  Ordering order;
  order.Next(0, 1);
  order.OnEventRecord(RecordOf(9, 1));
  order.Next(1, 1);
  order.OnStreamWait(WaitOf(5, 9));
  EXPECT_THAT(order.Next(2, 5).depends_on, ElementsAre(0));
}

TEST(Ordering, AnEventOnAnIdleStreamCarriesWhatThatStreamWaitsFor) {
  Ordering order;
  order.Next(0, 1);
  order.OnEventRecord(RecordOf(1, 1));
  order.OnStreamWait(WaitOf(5, 1));
  order.OnEventRecord(RecordOf(2, 5));
  order.OnStreamWait(WaitOf(6, 2));
  EXPECT_THAT(order.Next(1, 6).depends_on, ElementsAre(0));
}

TEST(Ordering, WaitingForAnUnrecordedEventIsNothing) {
  Ordering order;
  order.Next(0, 1);
  order.OnStreamWait(WaitOf(5, 3));
  EXPECT_THAT(order.Next(1, 5).depends_on, IsEmpty());
}

TEST(Ordering, TheDefaultStreamWaitsForAllAndHoldsUpAll) {
  Ordering order;
  order.Next(0, 5);
  EXPECT_THAT(order.Next(1, 0).depends_on, ElementsAre(0));
  EXPECT_THAT(order.Next(2, 5).depends_on, ElementsAre(1));
}

TEST(Ordering, ManyStepsOfTheDefaultStreamAreOneDependency) {
  Ordering order;
  order.Next(0, 5);
  for (uint32_t step = 1; step <= 1000; ++step) {
    const Ordering::Position position = order.Next(step, 0);
    EXPECT_EQ(position.depends_on.size(), step == 1 ? 1u : 0u) << step;
  }
  EXPECT_THAT(order.Next(1001, 5).depends_on, ElementsAre(1000));
  EXPECT_THAT(order.Next(1002, 6).depends_on, ElementsAre(1000));
  EXPECT_THAT(order.Next(1003, 5).depends_on, IsEmpty());
}

TEST(Ordering, TheDefaultStreamWaitsForTheLastStepOfEachStream) {
  Ordering order;
  for (uint32_t step = 0; step < 100; ++step) order.Next(step, 5 + step % 3);
  EXPECT_THAT(order.Next(100, 0).depends_on, ElementsAre(97, 98, 99));
}

TEST(Ordering, WhatAStreamWaitsForOutlastsAHostWaitForAnother) {
  Ordering order;
  order.Next(0, 5);
  order.OnEventRecord(RecordOf(1, 5));
  order.OnStreamWait(WaitOf(7, 1));
  order.Next(1, 6);
  HostWait wait;
  wait.set_scope(HostWait::STREAM);
  wait.set_id(6);
  order.OnHostWait(wait);
  EXPECT_THAT(order.Next(2, 7).depends_on, ElementsAre(0, 1));
  EXPECT_THAT(order.Next(3, 0).depends_on, ElementsAre(0, 1, 2));
}

TEST(Ordering, AHostWaitHoldsUpStreamsThatComeLater) {
  Ordering order;
  order.Next(0, 1);
  HostWait wait;
  wait.set_scope(HostWait::DEVICE);
  order.OnHostWait(wait);
  EXPECT_THAT(order.Next(1, 8).depends_on, ElementsAre(0));
}

}  // namespace
}  // namespace sassay::capture
