#include "common/terminal/log.h"

#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "spdlog/logger.h"
#include "spdlog/sinks/ostream_sink.h"

namespace sassay {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string Logged(const std::string& text) {
  std::ostringstream stream;
  spdlog::logger logger("program", std::make_shared<spdlog::sinks::ostream_sink_st>(stream));
  logger.set_formatter(HarmlessLogFormatter());
  logger.warn("{}", text);
  return stream.str();
}

TEST(LogTest, SaysWhoAndHowBad) {
  EXPECT_THAT(Logged("a fan stands still"),
              AllOf(StartsWith("["), EndsWith("] [program] [warning] a fan stands still\n")));
}

TEST(LogTest, OneTextIsOneLineWithoutControls) {
  EXPECT_THAT(
      Logged("a\n[2026-11-30] [program] [info] all is well\x1b[2J\u202E"),
      AllOf(EndsWith("a / [2026-11-30] [program] [info] all is well\\x1b[2J\\u{202e}\n"), Not(HasSubstr("\x1b"))));
}

}  // namespace
}  // namespace sassay
