// Small line charts as inline SVG: axes, lines, steps, dots and bands; colours are the page's classes.
#ifndef SASSAY_AGENT_REPORT_HTML_PLOT_H_
#define SASSAY_AGENT_REPORT_HTML_PLOT_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace sassay::agent {

// A range of one axis with where its labels stand.
struct PlotAxis {
  double low = 0;
  double high = 1;
  std::vector<std::pair<double, std::string>> ticks;
  // Shown at the axis; plain text of ours.
  std::string title;
};

// 0 to a round number above `maximum`, with four or five ticks.
PlotAxis AxisFromZero(double maximum, std::string title);
// Turns 1 to `turns`, with half a turn's room at the ends. Labels count from 1, as people do.
PlotAxis TurnAxis(uint32_t turns);
// 0 to 100 %.
PlotAxis PercentAxis(std::string title);

using PlotPoints = std::vector<std::pair<double, double>>;

// One chart being drawn. Units are the axes'. Text that is handed in must be escaped. Value type.
class Plot {
 public:
  // `title` and `description` are read to who does not see the picture; `id` is unique in the page.
  Plot(absl::string_view id, absl::string_view title, absl::string_view description, PlotAxis x, PlotAxis y);

  void Line(const PlotPoints& points, absl::string_view classes);
  // Holds each point's y until the next one's x.
  void Steps(const PlotPoints& points, absl::string_view classes);
  // Between two lines over the same xs.
  void Band(const PlotPoints& low, const PlotPoints& high, absl::string_view classes);
  void Dot(double x, double y, absl::string_view classes);
  void Bar(double x, double half_width, double low, double high, absl::string_view classes, absl::string_view title);
  void HorizontalRule(double y, absl::string_view label);
  void VerticalRule(double x, absl::string_view label);
  void Label(double x, double y, absl::string_view text, absl::string_view anchor);

  // The whole <svg>.
  std::string Finish() const;

 private:
  double X(double x) const;
  double Y(double y) const;
  std::string Path(const PlotPoints& points) const;
  std::string Axes() const;

  std::string head_;
  PlotAxis x_, y_;
  std::string marks_;
};

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_REPORT_HTML_PLOT_H_
