// What a report of 10,000 turns takes: reading, scoring, drawing, and the page's size.
#include <benchmark/benchmark.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "agent/report/html/page.h"
#include "agent/report/make_report.h"
#include "agent/report/read/published_turns.h"
#include "agent/report/render/csv_text.h"

namespace sassay::agent {
namespace {

constexpr size_t kTurns = 10'000;

// 10,000 turns in the published form: models of five definitions with 12 trajectories of 8 turns each.
std::string Table() {
  static constexpr const char* kClasses[] = {"Correct", "Compilation error", "Runtime error", "Numerical error"};
  std::string text = "model,arch,definition,workload,trajectory_id,turn,correctness,speedup,correct_with_arch\n";
  for (size_t i = 0; i < kTurns; ++i) {
    const size_t trajectory = i / 8, outcome = (i * 7919) % 4;
    absl::StrAppend(&text, "Model ", trajectory / 60, ",hopper,definition_", trajectory / 12 % 5, ",uuid,exp_",
                    trajectory % 12, ",", i % 8, ",", kClasses[outcome], ",", outcome == 0 ? 0.1 + i % 97 / 100.0 : 0,
                    ",", outcome == 0, "\n");
  }
  return text;
}

TurnTable Turns() {
  TurnTable table;
  ReadPublishedTurns(Table(), "bench", 8, table).IgnoreError();
  return table;
}

void BM_Read(benchmark::State& state) {
  const std::string text = Table();
  for (auto _ : state) {
    TurnTable table;
    benchmark::DoNotOptimize(ReadPublishedTurns(text, "bench", 8, table));
  }
  state.SetBytesProcessed(state.iterations() * text.size());
}
BENCHMARK(BM_Read)->Unit(benchmark::kMillisecond);

void BM_Score(benchmark::State& state) {
  const TurnTable table = Turns();
  for (auto _ : state) benchmark::DoNotOptimize(MakeReport(table, {}));
}
BENCHMARK(BM_Score)->Unit(benchmark::kMillisecond);

void BM_Page(benchmark::State& state) {
  const TurnTable table = Turns();
  const v1::Report report = *MakeReport(table, {});
  size_t bytes = 0;
  for (auto _ : state) bytes = HtmlPage(report, table).size();
  state.counters["page_bytes"] = static_cast<double>(bytes);
}
BENCHMARK(BM_Page)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sassay::agent

BENCHMARK_MAIN();
