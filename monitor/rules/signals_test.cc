#include "monitor/rules/signals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "monitor/rules/config.h"

namespace sassay::monitor {
namespace {

std::string Document() { return *ReadFile(std::string(getenv("SASSAY_TEST_SOURCE")) + "/docs/monitor.md"); }

TEST(Signals, AreSortedSoThatEachIsFound) {
  EXPECT_TRUE(std::is_sorted(Signals().begin(), Signals().end(),
                             [](const Signal& a, const Signal& b) { return a.name < b.name; }));
  for (const Signal& signal : Signals()) EXPECT_EQ(FindSignal(signal.name), &signal);
  EXPECT_EQ(FindSignal("gpu.nothing"), nullptr);
}

TEST(Signals, AreAllInTheDocument) {
  const std::string document = Document();
  for (const Signal& signal : Signals()) {
    EXPECT_NE(document.find(absl::StrCat("`", signal.name, "`")), std::string::npos) << signal.name;
  }
}

TEST(Signals, DefaultRulesAreAllInTheDocument) {
  const std::string document = Document();
  for (const v1::Rule& rule : DefaultConfig().rules()) {
    EXPECT_NE(document.find(absl::StrCat("`", rule.name(), "`")), std::string::npos) << rule.name();
  }
}

TEST(Signals, TheExampleOfTheDocumentIsARule) {
  const std::string document = Document();
  const size_t begin = document.find("rules {\n  name: \"memory_hot\"");
  ASSERT_NE(begin, std::string::npos);
  const std::string example = document.substr(begin, document.find("```", begin) - begin);
  const auto config = ParseConfig(example, "docs/monitor.md");
  EXPECT_TRUE(config.ok()) << config.status();
}

}  // namespace
}  // namespace sassay::monitor
