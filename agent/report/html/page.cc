#include "agent/report/html/page.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/report/html/markup.h"
#include "agent/report/html/sections.h"
#include "common/terminal/text.h"

extern "C" {
extern const char sassay_report_css_begin[];
extern const char sassay_report_css_end[];
}

namespace sassay::agent {
namespace {

struct Part {
  const char* id;
  const char* title;
  std::string (*make)(const PageModel&);
};

constexpr Part kParts[] = {{"scores", "Scores", ScoreSection},
                           {"speedup", "Best speed-up by turn", SpeedupSection},
                           {"fastp", "Fast_p", FastPSection},
                           {"outcomes", "Outcomes by turn", OutcomeSection},
                           {"transitions", "From turn to turn", TransitionSection},
                           {"reasoning", "Reasoning length", ReasoningSection},
                           {"cost", "Time and cost", CostSection},
                           {"turns", "Every turn", GridSection}};

absl::string_view Style() {
  return absl::string_view(sassay_report_css_begin, sassay_report_css_end - sassay_report_css_begin);
}

std::string Head(const std::string& title) {
  return absl::StrCat(
      "<!doctype html><html lang=en><head><meta charset=utf-8><meta http-equiv=\"Content-Security-Policy\" "
      "content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action "
      "'none'\"><meta "
      "name=viewport content=\"width=device-width, initial-scale=1\"><meta name=color-scheme content=\"light "
      "dark\"><meta "
      "name=referrer content=no-referrer><link rel=icon href=\"data:,\"><title>",
      title, "</title><style>", Style(), "</style></head>");
}

std::string TitleOf(const PageModel& model) {
  const std::string many = absl::StrCat(model.conditions.size(), " conditions");
  if (model.conditions.size() == 1) return absl::StrCat("Report: ", model.shared_name);
  return absl::StrCat("Report: ", model.shared_name, model.shared_name.empty() ? "" : ", ", many);
}

std::string Fact(uint64_t count, const char* one, const char* many) {
  return absl::StrCat("<li><b>", CountText(count), "</b> ", count == 1 ? one : many, "</li>");
}

std::string Facts(const PageModel& model) {
  const v1::Report& report = model.report;
  return absl::StrCat("<ul class=facts>", Fact(model.tasks.size(), "definition", "definitions"),
                      Fact(report.trajectories(), "trajectory", "trajectories"), Fact(report.turns(), "turn", "turns"),
                      Fact(report.excluded(), "excluded", "excluded"), "</ul>");
}

std::string Sources(const v1::Report& report) {
  std::vector<std::string> names, rules;
  for (int i = 0; i < std::min(report.sources_size(), 50); ++i)
    names.push_back(absl::StrCat("<code>", Escaped(report.sources(i), 200), "</code>"));
  if (report.sources_size() > 50) names.push_back(absl::StrCat("and ", report.sources_size() - 50, " more"));
  for (const std::string& version : report.rules()) rules.push_back(Escaped(version, 80));
  return absl::StrCat("<p class=sources>From ", absl::StrJoin(names, ", "),
                      ". Rules: ", rules.empty() ? "none asked" : absl::StrJoin(rules, ", "), ".</p>");
}

std::string Notes(const v1::Report& report) {
  if (report.notes().empty()) return "";
  std::string notes = "<aside class=notes aria-label=\"To keep in mind\"><h2>To keep in mind</h2><ul>";
  for (const std::string& note : report.notes()) absl::StrAppend(&notes, "<li>", Escaped(note, 1000), "</li>");
  return notes + "</ul></aside>";
}

std::string Navigation() {
  std::string navigation = "<nav aria-label=\"Parts of the report\"><ul>";
  for (const Part& part : kParts)
    absl::StrAppend(&navigation, "<li><a href=\"#", part.id, "\">", part.title, "</a></li>");
  return navigation + "</ul></nav>";
}

}  // namespace

std::string HtmlPage(const v1::Report& report, const TurnTable& turns) {
  const PageModel model = MakePageModel(report, turns);
  const std::string title = TitleOf(model);
  std::string page =
      absl::StrCat(Head(title),
                   "<body><a class=skip href=\"#scores\">Skip to the scores</a><header><p "
                   "class=brand>Sassay</p><h1>",
                   title, "</h1>", Facts(model), Sources(report), "</header>", Navigation(), "<main>", Notes(report));
  for (const Part& part : kParts)
    absl::StrAppend(&page, "<section id=", part.id, " aria-labelledby=h-", part.id, "><h2 id=h-", part.id, ">",
                    part.title, "</h2>", part.make(model), "</section>\n");
  return absl::StrCat(page, "</main><footer>Made by mini-ptx-agent report ", SASSAY_VERSION,
                      ". Formulas and sources: docs/report.md of Sassay.</footer></body></html>\n");
}

}  // namespace sassay::agent
