#include "agent/report/scores/costs.h"

#include <map>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "agent/report/scores/counting.h"
#include "agent/report/scores/statistics.h"

namespace sassay::agent {
namespace {

void ForEachTurn(const Trajectories& trajectories, absl::FunctionRef<void(const TurnRow&)> visit) {
  for (const TrajectoryRows* trajectory : trajectories) {
    for (const TurnRow& turn : trajectory->turns) visit(turn);
  }
}

struct ReasoningSample {
  std::vector<double> tokens, bytes;
  bool estimated = false;
};

struct StageSample {
  std::vector<double> counted_s;
  double total_s = 0, device_s = 0;
};

StageSample SampleOf(const Trajectories& trajectories, size_t stage) {
  StageSample sample;
  ForEachTurn(trajectories, [&](const TurnRow& turn) {
    sample.device_s += turn.stage_device_s[stage];
    if (!turn.stage_s[stage].has_value()) return;
    sample.total_s += *turn.stage_s[stage];
    if (turn.counts()) sample.counted_s.push_back(*turn.stage_s[stage]);
  });
  return sample;
}

void AddDeviceTime(const TurnRow& turn, v1::ReportCost& cost) {
  if (!turn.device_s.has_value()) return;
  cost.set_device_s(cost.device_s() + *turn.device_s);
  cost.set_excluded_device_s(cost.excluded_device_s() + (turn.counts() ? 0 : *turn.device_s));
}

void AddTokens(const TurnRow& turn, v1::ReportCost& cost) {
  cost.set_prompt_tokens(cost.prompt_tokens() + turn.prompt_tokens.value_or(0));
  cost.set_completion_tokens(cost.completion_tokens() + turn.completion_tokens.value_or(0));
  if (turn.cost_usd.has_value()) cost.set_usd(cost.usd() + *turn.cost_usd);
}

}  // namespace

std::vector<v1::ReasoningByTurn> ReasoningByTurn(const Trajectories& trajectories) {
  std::map<uint32_t, ReasoningSample> samples;
  ForEachTurn(trajectories, [&](const TurnRow& turn) {
    if (!turn.counts() || !(turn.reasoning_tokens.has_value() || turn.reasoning_bytes.has_value())) return;
    ReasoningSample& sample = samples[turn.number];
    if (turn.reasoning_tokens.has_value()) sample.tokens.push_back(static_cast<double>(*turn.reasoning_tokens));
    if (turn.reasoning_bytes.has_value()) sample.bytes.push_back(static_cast<double>(*turn.reasoning_bytes));
    sample.estimated |= turn.reasoning_tokens.has_value() && turn.tokens_estimated;
  });
  std::vector<v1::ReasoningByTurn> turns;
  for (auto& [number, sample] : samples) {
    v1::ReasoningByTurn& turn = turns.emplace_back();
    turn.set_turn(number);
    turn.set_estimated(sample.estimated);
    if (!sample.tokens.empty()) *turn.mutable_tokens() = SpreadOf(std::move(sample.tokens));
    if (!sample.bytes.empty()) *turn.mutable_text_bytes() = SpreadOf(std::move(sample.bytes));
  }
  return turns;
}

std::vector<v1::StageTime> StageTimes(const Trajectories& trajectories) {
  std::vector<v1::StageTime> stages;
  for (size_t i = 0; i < kTurnStages; ++i) {
    StageSample sample = SampleOf(trajectories, i);
    if (sample.total_s == 0 && sample.device_s == 0) continue;
    v1::StageTime& stage = stages.emplace_back();
    stage.set_stage(std::string(StageName(static_cast<TurnStage>(i))));
    stage.set_wall_total_s(sample.total_s);
    stage.set_device_total_s(sample.device_s);
    if (!sample.counted_s.empty()) *stage.mutable_wall_s() = SpreadOf(std::move(sample.counted_s));
  }
  return stages;
}

v1::ReportCost CostOf(const Trajectories& trajectories) {
  v1::ReportCost cost;
  uint32_t counted = 0, with_target = 0;
  ForEachTurn(trajectories, [&](const TurnRow& turn) {
    AddDeviceTime(turn, cost);
    AddTokens(turn, cost);
    counted += turn.counts();
    with_target += turn.counts() && turn.with_target();
  });
  if (!cost.has_device_s()) return cost;
  if (counted > 0) cost.set_device_s_per_turn(cost.device_s() / counted);
  if (with_target > 0) cost.set_device_s_per_correct_with_target(cost.device_s() / with_target);
  return cost;
}

}  // namespace sassay::agent
