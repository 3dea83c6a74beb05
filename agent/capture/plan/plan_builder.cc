#include "agent/capture/plan/plan_builder.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/capture/plan/buffer_ids.h"
#include "agent/capture/plan/compare.h"
#include "agent/capture/plan/step_reader.h"
#include "agent/capture/plan/task_text.h"

namespace sassay::capture {
namespace {

namespace v1 = sassay::v1;

constexpr size_t kMaxPropertyBytes = 8192;  // a kernel's symbol may be in it
// Admission takes no more.
constexpr int kMaxWarnings = 64;

// The two lists of a plan, still with provisional buffer numbers.
struct Lists {
  std::vector<v1::Step> setup, steady;
};

// What steps name, the bases of their tensor maps included.
std::set<uint32_t> UsedBuffers(const Lists& lists, const std::vector<v1::TensorMap>& tensor_maps) {
  std::set<uint32_t> used;
  const auto use = [&](uint32_t id) {
    used.insert(id);
    return id;
  };
  const auto use_map = [&](uint32_t number) {
    used.insert(tensor_maps[number].base().buffer());
    return number;
  };
  for (const auto* list : {&lists.setup, &lists.steady}) {
    for (v1::Step step : *list) RenumberBuffers(&step, use, use_map);
  }
  return used;
}

// Picks the setup steps out of the first call. A step that is left out hands on what it came after: its dependencies,
// and what its stream had done.
class SetupPicker {
 public:
  explicit SetupPicker(const CallSteps& first) : first_(first), after_(first.steps.size()) {}

  std::vector<v1::Step> Pick(const std::vector<size_t>& positions) {
    auto next = positions.begin();
    for (size_t i = 0; i < first_.steps.size() && next != positions.end(); ++i) {
      const bool kept = *next == i;
      Read(i, kept);
      next += kept ? 1 : 0;
    }
    return std::move(setup_);
  }

 private:
  void Read(size_t i, bool kept) {
    const v1::Step& step = first_.steps[i];
    Cut before = of_stream_[step.stream()];
    for (uint32_t earlier : step.depends_on()) Join(before, after_[earlier]);
    if (kept) before = Keep(step, before);
    after_[i] = of_stream_[step.stream()] = std::move(before);
  }

  // Returns what a later step comes after if it comes after this one.
  Cut Keep(const v1::Step& step, const Cut& before) {
    const auto index = static_cast<uint32_t>(setup_.size());
    setup_.push_back(step);
    std::set<uint32_t> earlier;
    for (const auto& [stream, last] : before) {
      if (stream != step.stream()) earlier.insert(last);
    }
    *setup_.back().mutable_depends_on() = {earlier.begin(), earlier.end()};
    return {{step.stream(), index}};
  }

  const CallSteps& first_;
  std::vector<Cut> after_;             // by step: kept steps, in new numbers, that have ended when it has
  std::map<uint32_t, Cut> of_stream_;  // the same of a stream's last step
  std::vector<v1::Step> setup_;
};

// Memory of the first call that setup or steady steps use must come to life in setup, even where its allocation looked
// like the steady calls' own.
void AddMissingAllocations(Lists& lists, const std::vector<v1::TensorMap>& tensor_maps) {
  std::set<uint32_t> allocated;
  for (const v1::Step& step : lists.setup) {
    if (step.has_allocate()) allocated.insert(step.allocate().buffer());
  }
  std::vector<v1::Step> missing;
  for (uint32_t id : UsedBuffers(lists, tensor_maps)) {
    if (SpaceOf(id) == kSetupAllocations && allocated.count(id) == 0)
      missing.emplace_back().mutable_allocate()->set_buffer(id);
  }
  for (v1::Step& step : lists.setup) {
    for (uint32_t& earlier : *step.mutable_depends_on()) earlier += static_cast<uint32_t>(missing.size());
  }
  lists.setup.insert(lists.setup.begin(), missing.begin(), missing.end());
}

class PlanWriter {
 public:
  PlanWriter(const PlanContext& context, const RecordedSteps& recorded) : context_(context), recorded_(recorded) {}

  v1::LaunchPlan Write(Lists lists) {
    plan_.set_workload(context_.workload.name());
    plan_.set_abi(context_.abi);
    plan_.set_profile(context_.profile);
    plan_.set_device_model(context_.device_model);
    AddTensors();
    for (uint32_t id : UsedBuffers(lists, recorded_.tensor_maps)) AddBuffer(id);
    Append(std::move(lists.setup), plan_.mutable_setup());
    Append(std::move(lists.steady), plan_.mutable_steady());
    return std::move(plan_);
  }

 private:
  void AddTensors() {
    const auto add = [&](const v1::TensorSpec& tensor, v1::BufferKind kind) {
      if (tensor.scalar()) return;
      v1::Buffer& buffer = *plan_.add_buffers();
      buffer.set_kind(kind);
      buffer.set_name(tensor.name());
      buffer.set_size_bytes(TensorBytes(tensor).value_or(0));
    };
    for (const auto& tensor : context_.workload.inputs()) add(tensor, v1::BUFFER_KIND_INPUT);
    for (const auto& tensor : context_.workload.outputs()) add(tensor, v1::BUFFER_KIND_OUTPUT);
  }

  void AddBuffer(uint32_t id) {
    if (SpaceOf(id) == kTensors) return;
    final_[id] = static_cast<uint32_t>(plan_.buffers_size());
    v1::Buffer& buffer = *plan_.add_buffers();
    if (SpaceOf(id) == kSymbols) {
      AddSymbol(IndexOf(id), buffer);
    } else {
      AddAllocation(id, buffer);
    }
  }

  void AddSymbol(uint32_t index, v1::Buffer& buffer) {
    buffer.set_kind(v1::BUFFER_KIND_SYMBOL);
    if (index >= context_.cubin.variables().size()) return;  // forged; admission refuses the empty name
    buffer.set_name(context_.cubin.variables()[index].name);
    buffer.set_size_bytes(context_.cubin.variables()[index].size_bytes);
  }

  void AddAllocation(uint32_t id, v1::Buffer& buffer) {
    const bool of_call = SpaceOf(id) == kCallAllocations;
    buffer.set_kind(of_call ? v1::BUFFER_KIND_CALL_ALLOCATION : v1::BUFFER_KIND_SETUP_ALLOCATION);
    const int call = of_call && context_.profile == v1::CAPTURE_PROFILE_STRICT ? 2 : 1;
    const Allocation* allocation = recorded_.memory.OfCall(call, IndexOf(id));
    if (allocation == nullptr) return;
    buffer.set_size_bytes(allocation->size_bytes);
    buffer.set_source_line(allocation->source_line);
  }

  uint32_t Final(uint32_t id) const {
    const auto found = final_.find(id);
    return found == final_.end() ? id : found->second;
  }

  uint32_t FinalMap(uint32_t number) {
    const auto [position, added] = final_maps_.emplace(number, static_cast<uint32_t>(plan_.tensor_maps_size()));
    if (added) {
      v1::TensorMap& map = *plan_.add_tensor_maps();
      map = recorded_.tensor_maps[number];
      map.mutable_base()->set_buffer(Final(map.base().buffer()));
    }
    return position->second;
  }

  void Append(std::vector<v1::Step> steps, google::protobuf::RepeatedPtrField<v1::Step>* out) {
    for (v1::Step& step : steps) {
      RenumberBuffers(
          &step, [&](uint32_t id) { return Final(id); }, [&](uint32_t number) { return FinalMap(number); });
      *out->Add() = std::move(step);
    }
  }

  const PlanContext& context_;
  const RecordedSteps& recorded_;
  v1::LaunchPlan plan_;
  std::map<uint32_t, uint32_t> final_, final_maps_;
};

void AddAssumptions(const Record& record, v1::LaunchPlan& plan) {
  std::map<std::string, int64_t> assumptions;
  for (const Event& event : record.events()) {
    if (event.has_assumption())
      assumptions.emplace(Printable(event.assumption().property(), kMaxPropertyBytes), event.assumption().value());
  }
  for (const auto& [property, value] : assumptions) {
    v1::DeviceAssumption& assumption = *plan.add_assumptions();
    assumption.set_property(property);
    assumption.set_value(value);
  }
}

void AddWarnings(const Record& record, const PlanContext& context, std::set<std::string> warnings,
                 v1::LaunchPlan& plan) {
  if (context.profile == v1::CAPTURE_PROFILE_LENIENT)
    warnings.insert("captured in lenient: one call in a fresh process, not compared with a second");
  for (const Event& event : record.events()) {
    const std::string line = context.lines.Of(event);
    const std::string prefix = line.empty() ? "" : line + ": ";
    if (event.has_finding()) warnings.insert(absl::StrCat(prefix, Printable(event.finding().message())));
    if (!event.has_cuda_error()) continue;
    const CudaError& error = event.cuda_error();
    warnings.insert(absl::StrCat(prefix, Printable(error.function(), 80), " returned error ", error.error(),
                                 " and run() went on (", Printable(error.detail(), 300), ")"));
  }
  const auto hoisted = std::count_if(plan.buffers().begin(), plan.buffers().end(), [](const v1::Buffer& buffer) {
    return buffer.kind() == v1::BUFFER_KIND_CALL_ALLOCATION;
  });
  if (hoisted > 0)
    warnings.insert(absl::StrCat(hoisted, " allocation(s) inside run() are made before the timed region"));
  for (const std::string& warning : warnings) {
    if (plan.warnings_size() == kMaxWarnings - 1) {
      plan.add_warnings(absl::StrCat("and ", warnings.size() - plan.warnings_size(), " warnings more"));
      break;
    }
    plan.add_warnings(warning);
  }
}

bool HasLaunch(const std::vector<v1::Step>& steps) {
  return std::any_of(steps.begin(), steps.end(), [](const v1::Step& step) { return step.has_launch(); });
}

OrRefusal<Lists> SplitStrict(const RecordedSteps& recorded) {
  OrRefusal<std::vector<v1::Step>> steady = CompareSteady(recorded);
  if (auto* refusal = std::get_if<Refusal>(&steady)) return *refusal;
  Lists lists;
  lists.steady = std::get<std::vector<v1::Step>>(std::move(steady));
  lists.setup = SetupPicker(recorded.calls[0]).Pick(SetupPositions(recorded, lists.steady));
  AddMissingAllocations(lists, recorded.tensor_maps);
  return lists;
}

// A tensor index, or a symbol, that the workload or cubin does not have: only a forged record holds one.
bool NamesUnknownBuffers(const RecordedSteps& recorded, const PlanContext& context) {
  size_t tensors = 0;
  for (const auto* list : {&context.workload.inputs(), &context.workload.outputs()}) {
    for (const v1::TensorSpec& tensor : *list) tensors += tensor.scalar() ? 0 : 1;
  }
  for (const Allocation* allocation : recorded.memory.in_order()) {
    if (allocation->origin == ORIGIN_TENSOR && allocation->index >= tensors) return true;
    if (allocation->origin == ORIGIN_SYMBOL && allocation->index >= context.cubin.variables().size()) return true;
  }
  return false;
}

}  // namespace

int CallsOf(v1::CaptureProfile profile) { return profile == v1::CAPTURE_PROFILE_LENIENT ? 1 : 3; }

OrRefusal<v1::LaunchPlan> BuildPlan(const Record& untrusted_record, const PlanContext& context) {
  const bool lenient = context.profile == v1::CAPTURE_PROFILE_LENIENT;
  const int calls = CallsOf(context.profile);
  if (auto refusal = FirstCause(untrusted_record, calls, lenient, context.lines)) return *std::move(refusal);
  OrRefusal<RecordedSteps> read =
      StepReader(untrusted_record, calls, context.workload, context.lines, context.deadline).Read();
  if (auto* refusal = std::get_if<Refusal>(&read)) return *refusal;
  const RecordedSteps& recorded = std::get<RecordedSteps>(read);
  if (NamesUnknownBuffers(recorded, context)) {
    return Refusal{v1::VERDICT_CODE_LAUNCH_INVALID,
                   "the record of run() makes no sense: it names memory that does not exist", ""};
  }
  Lists lists;
  if (lenient) {
    lists.steady = recorded.calls[0].steps;
  } else {
    OrRefusal<Lists> split = SplitStrict(recorded);
    if (auto* refusal = std::get_if<Refusal>(&split)) return *refusal;
    lists = std::get<Lists>(std::move(split));
  }
  if (!HasLaunch(lists.steady)) {
    const bool once = HasLaunch(lists.setup);
    return Refusal{once ? v1::VERDICT_CODE_CALLS_DIFFER : v1::VERDICT_CODE_NO_LAUNCH,
                   once ? "run() launches kernels only in its first call: every call must do the whole work"
                        : "run() returned without launching a kernel",
                   ""};
  }
  v1::LaunchPlan plan = PlanWriter(context, recorded).Write(std::move(lists));
  AddAssumptions(untrusted_record, plan);
  AddWarnings(untrusted_record, context, recorded.warnings, plan);
  return plan;
}

}  // namespace sassay::capture
