#include "agent/feedback/numerics_section.h"

#include <cmath>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/feedback/quote.h"
#include "common/terminal/text.h"
#include "fmt/format.h"
#include "nlohmann/json.hpp"

namespace sassay::agent {
namespace {

// "M", "N" of an output as the definition spells them; empty where it does not tell.
std::vector<std::string> AxisNames(const v1::Workload& workload, const std::string& output) {
  const auto definition = nlohmann::json::parse(workload.definition_json(), nullptr, /*allow_exceptions=*/false);
  std::vector<std::string> names;
  if (!definition.is_object()) return names;
  const nlohmann::json::json_pointer path = nlohmann::json::json_pointer() / "outputs" / output / "shape";
  if (!definition.contains(path) || !definition.at(path).is_array()) return names;
  for (const auto& axis : definition.at(path)) names.push_back(axis.is_string() ? axis.get<std::string>() : "");
  return names;
}

// "C[M=34, N=188]".
std::string ElementText(const v1::OutputComparison& output, const v1::Workload& workload) {
  const std::vector<std::string> names = AxisNames(workload, output.output());
  std::vector<std::string> parts;
  for (int i = 0; i < output.worst_index_size(); ++i) {
    const bool named = static_cast<int>(names.size()) == output.worst_index_size() && !names[i].empty();
    parts.push_back(named ? absl::StrCat(InertLine(names[i], 40), "=", output.worst_index(i))
                          : absl::StrCat(output.worst_index(i)));
  }
  return absl::StrCat(InertLine(output.output(), 80), "[", absl::StrJoin(parts, ", "), "]");
}

std::string Percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? "" : fmt::format(" ({:.3g} %)", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

// Poison may equal a value that was computed: a few such elements say nothing.
bool HasUnwritten(const v1::OutputComparison& output) {
  return output.unwritten() > 0 && output.unwritten() * 50 >= output.wrong();
}

std::string CountsText(const v1::OutputComparison& output) {
  std::string text =
      fmt::format("{}: {} of {} elements are wrong{}", InertLine(output.output(), 80), CountText(output.wrong()),
                  CountText(output.elements()), Percent(output.wrong(), output.elements()));
  if (output.non_finite() > 0) absl::StrAppend(&text, "; ", CountText(output.non_finite()), " are NaN or infinite");
  if (HasUnwritten(output)) absl::StrAppend(&text, "; ", CountText(output.unwritten()), " were never written");
  return absl::StrCat(text, "\n");
}

std::string WorstText(const v1::OutputComparison& output, const v1::Workload& workload) {
  std::string text = fmt::format("  worst: {}: expected {}, got {}", ElementText(output, workload),
                                 NumberText(output.worst_expected()), NumberText(output.worst_actual()));
  if (std::isfinite(output.max_abs_error()) && output.max_abs_error() > 0)
    absl::StrAppend(&text, "; largest absolute error ", NumberText(output.max_abs_error()));
  return absl::StrCat(text, "\n");
}

std::string RelativeText(const v1::OutputComparison& output) {
  if (!(output.allowed_relative_rms_error() > 0)) return "";
  return fmt::format("  relative RMS error {:.2e}, allowed {:.2e} ({:.3g} times)\n", output.relative_rms_error(),
                     output.allowed_relative_rms_error(),
                     output.relative_rms_error() / output.allowed_relative_rms_error());
}

// What the size of an error says, where nothing more precise is known.
std::string ReadingText(const v1::OutputComparison& output) {
  const double error = output.relative_rms_error();
  const double allowed = output.allowed_relative_rms_error();
  if (output.non_finite() > 0)
    return "  NaN or infinity: an exponential without the row's maximum subtracted, 0/0 in a masked row, a value "
           "beyond "
           "the type's range, or memory read before it is written.\n";
  if (HasUnwritten(output))
    return "  Unwritten elements: a grid rounded down, an epilogue that skips rows or columns, or a store whose "
           "predicate is false.\n";
  if (!(allowed > 0) || error <= allowed) return "";
  if (error < 10 * allowed)
    return "  The error is small and spread: accumulate in float32, round once at the end, and do not round what goes "
           "from one step to the next more than the reference does.\n";
  return "";
}

void AddOutput(const v1::OutputComparison& output, const v1::Workload& workload, Composer& composer) {
  const bool wrong = output.wrong() > 0 || output.non_finite() > 0 || output.unwritten() > 0;
  if (!wrong) {
    composer.Add(Rank::kContext, absl::StrCat(InertLine(output.output(), 80), ": all elements are right\n"));
    return;
  }
  std::string cause = CountsText(output);
  if (!output.pattern().empty()) absl::StrAppend(&cause, "  pattern: ", InertLine(output.pattern()), "\n");
  composer.Add(Rank::kCause, absl::StrCat(cause, WorstText(output, workload)));
  composer.Add(Rank::kHelp, absl::StrCat(RelativeText(output), ReadingText(output)));
}

}  // namespace

void AddNumerics(const v1::Numerics& numerics, const v1::Workload& workload, Composer& composer) {
  composer.Section("Outputs");
  for (const v1::OutputComparison& output : numerics.outputs()) AddOutput(output, workload, composer);
  if (numerics.outputs().empty()) return;
  if (!numerics.worst_distribution().empty()) {
    composer.Add(Rank::kContext,
                 absl::StrCat("Inputs of the case shown: ", InertLine(numerics.worst_distribution(), 80),
                              "; tried: ", InertLine(absl::StrJoin(numerics.distributions(), ", "), 200), "\n"));
  }
}

}  // namespace sassay::agent
