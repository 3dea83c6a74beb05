#include "agent/report/html/plot.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "agent/report/html/markup.h"
#include "fmt/format.h"

namespace sassay::agent {
namespace {

constexpr double kWidth = 320, kHeight = 210;
constexpr double kLeft = 40, kRight = 12, kTop = 14, kBottom = 36;

// 1, 2 or 5 times a power of ten, so that at most five steps reach `maximum`.
double RoundStep(double maximum) {
  const double rough = maximum / 5;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

}  // namespace

PlotAxis AxisFromZero(double maximum, std::string title) {
  PlotAxis axis{0, 1, {}, std::move(title)};
  const double step = RoundStep(maximum > 0 ? maximum : 1);
  const int steps = std::max(1, static_cast<int>(std::ceil((maximum > 0 ? maximum : 1) / step - 1e-9)));
  axis.high = steps * step;
  for (int i = 0; i <= steps; ++i) axis.ticks.emplace_back(i * step, fmt::format("{:g}", i * step));
  return axis;
}

PlotAxis TurnAxis(uint32_t turns) {
  PlotAxis axis{0.5, turns + 0.5, {}, "turn"};
  const uint32_t every = std::max(1u, (turns + 9) / 10);
  for (uint32_t turn = 1; turn <= turns; turn += every) axis.ticks.emplace_back(turn, absl::StrCat(turn));
  return axis;
}

PlotAxis PercentAxis(std::string title) {
  PlotAxis axis{0, 1, {}, std::move(title)};
  for (int percent = 0; percent <= 100; percent += 25) axis.ticks.emplace_back(percent / 100.0, absl::StrCat(percent));
  return axis;
}

Plot::Plot(absl::string_view id, absl::string_view title, absl::string_view description, PlotAxis x, PlotAxis y)
    : x_(std::move(x)), y_(std::move(y)) {
  head_ =
      absl::StrCat("<svg viewBox=\"0 0 ", kWidth, " ", kHeight, "\" role=\"img\" aria-labelledby=\"", id, "t ", id,
                   "d\"><title id=\"", id, "t\">", title, "</title><desc id=\"", id, "d\">", description, "</desc>");
}

double Plot::X(double x) const { return kLeft + (x - x_.low) / (x_.high - x_.low) * (kWidth - kLeft - kRight); }
double Plot::Y(double y) const {
  return kHeight - kBottom - (y - y_.low) / (y_.high - y_.low) * (kHeight - kTop - kBottom);
}

std::string Plot::Path(const PlotPoints& points) const {
  std::string path;
  for (const auto& [x, y] : points)
    absl::StrAppend(&path, path.empty() ? "M" : "L", Coordinate(X(x)), " ", Coordinate(Y(y)));
  return path;
}

void Plot::Line(const PlotPoints& points, absl::string_view classes) {
  if (!points.empty()) absl::StrAppend(&marks_, "<path class=\"l ", classes, "\" d=\"", Path(points), "\"/>");
}

void Plot::Steps(const PlotPoints& points, absl::string_view classes) {
  PlotPoints corners;
  for (const auto& [x, y] : points) {
    if (!corners.empty()) corners.emplace_back(x, corners.back().second);
    corners.emplace_back(x, y);
  }
  Line(corners, classes);
}

void Plot::Band(const PlotPoints& low, const PlotPoints& high, absl::string_view classes) {
  PlotPoints outline = low;
  outline.insert(outline.end(), high.rbegin(), high.rend());
  if (!low.empty()) absl::StrAppend(&marks_, "<path class=\"b ", classes, "\" d=\"", Path(outline), "Z\"/>");
}

void Plot::Dot(double x, double y, absl::string_view classes) {
  absl::StrAppend(&marks_, "<circle class=\"", classes, "\" cx=\"", Coordinate(X(x)), "\" cy=\"", Coordinate(Y(y)),
                  "\" r=\"2.6\"/>");
}

void Plot::Bar(double x, double half_width, double low, double high, absl::string_view classes,
               absl::string_view title) {
  absl::StrAppend(&marks_, "<rect class=\"", classes, "\" x=\"", Coordinate(X(x - half_width)), "\" y=\"",
                  Coordinate(Y(high)), "\" width=\"", Coordinate(X(x + half_width) - X(x - half_width)), "\" height=\"",
                  Coordinate(Y(low) - Y(high)), "\"><title>", title, "</title></rect>");
}

void Plot::HorizontalRule(double y, absl::string_view label) {
  absl::StrAppend(&marks_, "<path class=\"r\" d=\"M", kLeft, " ", Coordinate(Y(y)), "H", kWidth - kRight,
                  "\"/><text class=\"q\" x=\"", kWidth - kRight - 2, "\" y=\"", Coordinate(Y(y) - 4),
                  "\" text-anchor=\"end\">", label, "</text>");
}

void Plot::VerticalRule(double x, absl::string_view label) {
  absl::StrAppend(&marks_, "<path class=\"r\" d=\"M", Coordinate(X(x)), " ", kTop, "V", kHeight - kBottom,
                  "\"/><text class=\"q\" x=\"", Coordinate(X(x) - 4), "\" y=\"", kTop + 8, "\" text-anchor=\"end\">",
                  label, "</text>");
}

void Plot::Label(double x, double y, absl::string_view text, absl::string_view anchor) {
  absl::StrAppend(&marks_, "<text class=\"q\" x=\"", Coordinate(X(x)), "\" y=\"", Coordinate(Y(y)), "\" text-anchor=\"",
                  anchor, "\">", text, "</text>");
}

std::string Plot::Axes() const {
  std::string axes;
  for (const auto& [value, label] : y_.ticks) {
    const std::string y = Coordinate(Y(value));
    absl::StrAppend(&axes, "<path class=\"", value == y_.low ? "a" : "g", "\" d=\"M", kLeft, " ", y, "H",
                    kWidth - kRight, "\"/><text x=\"", kLeft - 6, "\" y=\"", Coordinate(Y(value) + 3.5),
                    "\" text-anchor=\"end\">", label, "</text>");
  }
  for (const auto& [value, label] : x_.ticks) {
    absl::StrAppend(&axes, "<text x=\"", Coordinate(X(value)), "\" y=\"", kHeight - kBottom + 14,
                    "\" text-anchor=\"middle\">", label, "</text>");
  }
  absl::StrAppend(&axes, "<text x=\"", Coordinate((kLeft + kWidth - kRight) / 2), "\" y=\"", kHeight - 5,
                  "\" text-anchor=\"middle\">", x_.title, "</text>");
  if (!y_.title.empty())
    absl::StrAppend(&axes, "<text transform=\"translate(9 ", Coordinate((kTop + kHeight - kBottom) / 2),
                    ") rotate(-90)\" text-anchor=\"middle\">", y_.title, "</text>");
  return axes;
}

std::string Plot::Finish() const { return absl::StrCat(head_, Axes(), marks_, "</svg>"); }

}  // namespace sassay::agent
