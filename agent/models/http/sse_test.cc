#include "agent/models/http/sse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace sassay::agent {
namespace {

using ::testing::ElementsAre;
using Event = std::pair<std::string, std::string>;

std::vector<Event> Parse(absl::string_view text, size_t piece) {
  SseParser parser(1000);
  std::vector<Event> events;
  for (size_t i = 0; i < text.size(); i += piece) {
    EXPECT_TRUE(parser
                    .Feed(text.substr(i, piece),
                          [&](absl::string_view type, absl::string_view data) {
                            events.emplace_back(type, data);
                            return absl::OkStatus();
                          })
                    .ok());
  }
  return events;
}

TEST(SseTest, EventsAreTheSameHoweverTheBytesArrive) {
  constexpr char kText[] =
      "\xEF\xBB\xBF"
      "data: one\n\n: a comment\n\nevent: named\ndata:two\r\ndata:  three\r\n\r\nid: 7\rdata\r\rdata: four\n\nretry: "
      "1\n\n";
  for (size_t piece = 1; piece < sizeof kText; ++piece) {
    EXPECT_THAT(Parse(kText, piece), ElementsAre(Event("message", "one"), Event("named", "two\n three"),
                                                 Event("message", ""), Event("message", "four")))
        << piece;
  }
}

TEST(SseTest, AnEventThatTheEndCutsIsNone) {
  EXPECT_THAT(Parse("data: one\n\ndata: two\n", 3), ElementsAre(Event("message", "one")));
}

TEST(SseTest, AnErrorLineIsAnErrorEvent) {
  EXPECT_THAT(Parse("error: {\"code\":500}\n\n", 100), ElementsAre(Event("error", "{\"code\":500}")));
}

TEST(SseTest, AnEndlessLineIsRefused) {
  SseParser parser(1000);
  const auto none = [](absl::string_view, absl::string_view) { return absl::OkStatus(); };
  EXPECT_TRUE(parser.Feed(std::string(1000, 'x'), none).ok());
  EXPECT_EQ(parser.Feed("x", none).code(), absl::StatusCode::kResourceExhausted);
}

TEST(SseTest, AnEventOfEndlessLinesIsRefused) {
  SseParser parser(1000);
  const auto none = [](absl::string_view, absl::string_view) { return absl::OkStatus(); };
  absl::Status status;
  for (int i = 0; i < 1001 && status.ok(); ++i) status = parser.Feed("data: x\n", none);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
}

TEST(SseTest, TheSinksErrorEndsTheParsing) {
  SseParser parser(1000);
  int events = 0;
  const auto sink = [&](absl::string_view, absl::string_view) {
    ++events;
    return absl::DataLossError("no");
  };
  EXPECT_EQ(parser.Feed("data: 1\n\ndata: 2\n\n", sink).code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(events, 1);
}

}  // namespace
}  // namespace sassay::agent
