#include "absl/strings/str_cat.h"
#include "agent/bench/bench.h"
#include "agent/bench/comparison.h"
#include "common/base/utf8.h"
#include "fmt/format.h"

namespace sassay::agent {
namespace {

// XML 1.0 has no way to write most controls, not even escaped.
std::string Escaped(absl::string_view untrusted) {
  std::string text;
  for (const char c : ToUtf8(untrusted)) {
    switch (c) {
      case '<':
        text += "&lt;";
        break;
      case '>':
        text += "&gt;";
        break;
      case '&':
        text += "&amp;";
        break;
      case '"':
        text += "&quot;";
        break;
      default:
        text += static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' ? '?' : c;
    }
  }
  return text;
}

std::string Numbers(double ratio, double low, double high) {
  return fmt::format("{:.4f} ({:.4f} to {:.4f})", ratio, low, high);
}

std::string Case(const std::string& name, const std::string& body) {
  return absl::StrCat("    <testcase classname=\"sassay.bench\" name=\"", Escaped(name), "\"",
                      body.empty() ? "/>\n" : ">");
}

std::string Inside(const char* element, const std::string& message) {
  return absl::StrCat("<", element, " message=\"", Escaped(message), "\"/></testcase>\n");
}

// What a ratio means for a test.
std::string Body(double ratio, double low, double high, double threshold) {
  const std::string numbers = Numbers(ratio, low, high);
  if (OutcomeOf({ratio, low, high}, threshold) == v1::BENCH_OUTCOME_SLOWER)
    return Inside("failure", fmt::format("slower by more than {:.3g} %: {}", threshold * 100, numbers));
  if (!IsNotSlower(low, threshold)) return Inside("skipped", absl::StrCat("inconclusive: ", numbers));
  return absl::StrCat("<system-out>", numbers, "</system-out></testcase>\n");
}

}  // namespace

std::string JUnit(const v1::BenchResult& result) {
  std::string cases;
  int failures = 0, errors = 0, skipped = 0;
  const auto add = [&](const std::string& name, const std::string& body) {
    failures += body.rfind("<failure", 0) == 0;
    errors += body.rfind("<error", 0) == 0;
    skipped += body.rfind("<skipped", 0) == 0;
    absl::StrAppend(&cases, Case(name, body), body);
  };
  for (const v1::BenchShape& shape : result.shapes()) {
    add(shape.workload(), shape.outcome() == v1::BENCH_OUTCOME_UNAVAILABLE
                              ? Inside("error", shape.reason())
                              : Body(shape.ratio(), shape.ratio_low(), shape.ratio_high(), result.threshold()));
  }
  if (result.geomean() > 0)
    add("geometric mean", Body(result.geomean(), result.geomean_low(), result.geomean_high(), result.threshold()));
  const int tests = result.shapes_size() + (result.geomean() > 0 ? 1 : 0);
  return absl::StrCat("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"",
                      Escaped(absl::StrCat(result.candidate(), " against ", result.against())), "\" tests=\"", tests,
                      "\" failures=\"", failures, "\" errors=\"", errors, "\" skipped=\"", skipped, "\">\n", cases,
                      "  </testsuite>\n</testsuites>\n");
}

}  // namespace sassay::agent
