#include "profiler_service/judge/judge.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/workload/definition.h"
#include "profiler_service/device/poison.h"

namespace sassay::judge {
namespace {

using sassay::v1::TensorSpec;
using sassay::worker::JudgeReply;
using sassay::worker::JudgeRequest;
using sassay::worker::JudgeTrouble;

template <typename Tensors>
int IndexOf(const Tensors& tensors, absl::string_view name) {
  for (int i = 0; i < tensors.size(); ++i) {
    if (tensors[i].name() == name) return i;
  }
  return -1;
}

// Every pattern differs: by case, by fill, by buffer.
uint64_t Mix(uint64_t a, uint64_t b) { return device::PoisonWord(a, b) ^ (a * 0x9E3779B97F4A7C15 + b); }

template <typename State>
sassay::worker::StateOrigin OriginOf(State& state) {
  return state.TakeIntoUse() ? sassay::worker::STATE_ORIGIN_KEPT : sassay::worker::STATE_ORIGIN_MADE;
}

}  // namespace

Judge::Judge(device::Device& device, const StateOptions& options, uint64_t cache_bytes,
             std::unique_ptr<gpu::Examiner> examiner)
    : device_(device), cache_(options, cache_bytes), examiner_(std::move(examiner)) {}

bool Judge::OnDevice(const sassay::v1::Workload& workload) const {
  return examiner_ != nullptr && examiner_->Takes(workload);
}

JudgeReply Judge::Ready() const {
  JudgeReply reply;
  reply.set_ready(true);
  reply.mutable_versions()->set_device(device_.info().model);
  reply.mutable_versions()->set_driver(device_.info().driver_version);
  sassay::worker::DeviceDescription* device = reply.mutable_device();
  device->set_kind(device_.info().kind);
  device->set_model(device_.info().model);
  device->set_uuid(device_.info().uuid);
  device->set_arch(device_.info().arch);
  device->set_driver_version(device_.info().driver_version);
  device->set_multiprocessors(device_.info().multiprocessors);
  device->set_memory_bytes(device_.info().memory_bytes);
  if (examiner_ != nullptr) device->set_judge_bytes(examiner_->reserved_bytes());
  device->mutable_attributes()->insert(device_.info().attributes.begin(), device_.info().attributes.end());
  return reply;
}

JudgeReply Judge::Handle(const JudgeRequest& request, std::vector<int>& descriptors) {
  JudgeReply reply;
  const absl::Status status = Dispatch(request, reply, descriptors);
  if (!status.ok()) {
    const JudgeTrouble known = reply.trouble();
    reply.Clear();
    descriptors.clear();
    reply.set_error(std::string(status.message()));
    reply.set_trouble(known == sassay::worker::JUDGE_TROUBLE_NONE ? sassay::worker::JUDGE_TROUBLE_OTHER : known);
  }
  reply.set_case_id(request.case_id());
  return reply;
}

Judge::Work Judge::Prework(const JudgeRequest& request) {
  if (request.has_prepare()) {
    return MakeState(request.prepare().workload(), request.prepare().seed(), request.prepare().distribution());
  }
  const auto found = cases_.find(request.case_id());
  if (found == cases_.end()) return nullptr;
  if (request.has_refill()) {
    return MakeState(found->second.workload, request.refill().seed(), request.refill().distribution());
  }
  const bool later = request.has_compare() && !OnDevice(found->second.workload);
  return later ? CompareLater(found->second) : nullptr;
}

Judge::Work Judge::CompareLater(Case& c) {
  absl::StatusOr<std::shared_ptr<Comparison>> comparison = c.comparison;
  if (c.comparison == nullptr) comparison = Look(c);
  if (!comparison.ok()) return nullptr;  // Handle meets the same trouble, and tells it
  c.outcome = std::make_shared<Outcome>();
  return [outcome = c.outcome,
          comparison = *std::move(comparison)](const std::atomic<bool>& stop) -> std::shared_ptr<const void> {
    outcome->status = comparison->Run(&stop, outcome->reply);
    return outcome;
  };
}

Judge::Work Judge::MakeState(const sassay::v1::Workload& workload, uint64_t seed, const std::string& distribution) {
  if (OnDevice(workload) || cache_.Find(workload, seed, distribution) != nullptr) return nullptr;
  return [this, workload, seed, distribution](const std::atomic<bool>& stop) -> std::shared_ptr<const void> {
    auto state = cache_.Get(workload, seed, distribution, &stop);
    return state.ok() ? *std::move(state) : nullptr;
  };
}

absl::Status Judge::Dispatch(const JudgeRequest& request, JudgeReply& reply, std::vector<int>& descriptors) {
  const uint64_t id = request.case_id();
  switch (request.request_case()) {
    case JudgeRequest::kPrepare:
      return Prepare(id, request.prepare(), reply, descriptors);
    case JudgeRequest::kRefill: {
      ASSIGN_OR_RETURN(Case * c, Find(id, reply));
      return Refill(*c, request.refill(), reply);
    }
    case JudgeRequest::kKeep: {
      ASSIGN_OR_RETURN(Case * c, Find(id, reply));
      return Keep(*c, request.keep().as());
    }
    case JudgeRequest::kCompare: {
      ASSIGN_OR_RETURN(Case * c, Find(id, reply));
      return Compare(*c, reply);
    }
    case JudgeRequest::kAdopt: {
      ASSIGN_OR_RETURN(Case * c, Find(id, reply));
      return Adopt(*c);
    }
    case JudgeRequest::kTimeBaseline:
      return TimeBaseline(id, request.time_baseline(), reply);
    case JudgeRequest::kCanary:
      return RunCanary(reply);
    case JudgeRequest::kDrop:
      cases_.erase(id);
      baselines_.erase(id);
      return absl::OkStatus();
    default:
      return absl::InvalidArgumentError("a JudgeRequest without a request; service and judge are of different builds");
  }
}

absl::StatusOr<Judge::Case*> Judge::Find(uint64_t id, JudgeReply& reply) {
  const auto found = cases_.find(id);
  if (found != cases_.end()) return &found->second;
  reply.set_trouble(sassay::worker::JUDGE_TROUBLE_NO_CASE);
  return absl::NotFoundError(absl::StrCat("the judge has no case ", id));
}

absl::Status Judge::TakeState(Case& c, uint64_t seed, absl::string_view distribution, JudgeReply& reply) {
  c.outcome.reset();
  c.passing = false;
  c.seed = seed;
  c.distribution = std::string(distribution);
  if (OnDevice(c.workload)) {
    ASSIGN_OR_RETURN(c.device_state, examiner_->Get(c.workload, seed, distribution));
    reply.set_state_origin(OriginOf(*c.device_state));
    return absl::OkStatus();
  }
  absl::StatusOr<std::shared_ptr<WorkloadState>> state = cache_.Get(c.workload, seed, distribution);
  if (absl::IsOutOfRange(state.status())) reply.set_trouble(sassay::worker::JUDGE_TROUBLE_REFERENCE_TOO_LONG);
  if (absl::IsNotFound(state.status())) reply.set_trouble(sassay::worker::JUDGE_TROUBLE_NO_REFERENCE);
  RETURN_IF_ERROR(state.status());
  c.state = *std::move(state);
  reply.set_state_origin(OriginOf(*c.state));
  return absl::OkStatus();
}

absl::Status Judge::Prepare(uint64_t id, const sassay::worker::PrepareCase& request, JudgeReply& reply,
                            std::vector<int>& descriptors) {
  std::map<uint64_t, Case> made;
  std::vector<uint64_t> ids(request.twins().begin(), request.twins().end());
  ids.insert(ids.begin(), id);
  // The state first: it refuses what is too large before memory is spent.
  for (const uint64_t each : ids) {
    made[each].workload = request.workload();
    RETURN_IF_ERROR(TakeState(made[each], request.seed(), request.distribution(), reply));
  }
  std::vector<uint64_t> sizes;
  for (size_t i = 0; i < ids.size(); ++i) {
    for (const sassay::worker::BufferNeed& need : request.needs()) {
      RETURN_IF_ERROR(CheckNeed(request.workload(), need));
      sizes.push_back(need.size_bytes());
    }
  }
  ASSIGN_OR_RETURN(const std::vector<GuardedRange> ranges, AllocateGuarded(device_, sizes));
  auto range = ranges.begin();
  for (const uint64_t each : ids) {
    Case& c = made[each];
    for (const sassay::worker::BufferNeed& need : request.needs()) {
      ASSIGN_OR_RETURN(Slot slot, MakeSlot(c.workload, need, *range++, Mix(request.seed(), need.buffer())));
      Lend(slot, reply, descriptors);
      c.slots.push_back(std::move(slot));
    }
    RETURN_IF_ERROR(Fill(c));
  }
  for (auto& [each, c] : made) {
    cases_.erase(each);
    cases_.emplace(each, std::move(c));
  }
  return absl::OkStatus();
}

void Judge::Lend(const Slot& slot, JudgeReply& reply, std::vector<int>& descriptors) {
  const device::SharedMemory& object = slot.buffer.object();
  const auto known = std::find(descriptors.begin(), descriptors.end(), object.fd.get());
  sassay::worker::SharedRegion* region = reply.add_regions();
  region->set_buffer(slot.plan_buffer);
  region->set_memory(static_cast<uint32_t>(known - descriptors.begin()));
  region->set_object_bytes(object.object_bytes);
  region->set_offset_bytes(slot.buffer.offset_bytes());
  region->set_size_bytes(slot.buffer.size_bytes());
  if (known == descriptors.end()) descriptors.push_back(object.fd.get());
}

absl::Status Judge::CheckNeed(const sassay::v1::Workload& workload, const sassay::worker::BufferNeed& need) {
  const auto& tensors = need.output() ? workload.outputs() : workload.inputs();
  const int tensor = IndexOf(tensors, need.tensor());
  if (tensor >= 0 && TensorBytes(tensors[tensor]) == need.size_bytes()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "buffer ", need.buffer(), ": ", workload.name(), need.output() ? " has no output \"" : " has no input \"",
      need.tensor(), "\" of ", need.size_bytes(), " bytes; admission should have refused the plan"));
}

absl::StatusOr<Judge::Slot> Judge::MakeSlot(const sassay::v1::Workload& workload,
                                            const sassay::worker::BufferNeed& need, const GuardedRange& range,
                                            uint64_t guard_seed) {
  gpu::Kernels* const kernels = examiner_ == nullptr ? nullptr : &examiner_->kernels();
  ASSIGN_OR_RETURN(GuardedBuffer buffer,
                   GuardedBuffer::Create(device_, range, need.tensor(), need.size_bytes(), guard_seed, kernels));
  const int tensor = IndexOf(need.output() ? workload.outputs() : workload.inputs(), need.tensor());
  return Slot{need.buffer(), need.output(), tensor, std::move(buffer)};
}

absl::Status Judge::Refill(Case& c, const sassay::worker::RefillCase& request, JudgeReply& reply) {
  if (request.new_guards()) RETURN_IF_ERROR(RenewGuards(c));
  if (!request.passing() || !OnDevice(c.workload) || !InputBuffers(c).has_value()) {
    RETURN_IF_ERROR(TakeState(c, request.seed(), request.distribution(), reply));
    return Fill(c);
  }
  c.passing = true;
  c.seed = request.seed();
  c.distribution = request.distribution();
  c.device_state = nullptr;
  return Fill(c);
}

absl::optional<std::vector<device::DeviceAddress>> Judge::InputBuffers(const Case& c) {
  std::vector<device::DeviceAddress> buffers(static_cast<size_t>(c.workload.inputs_size()));
  for (const Slot& slot : c.slots) {
    if (!slot.output) buffers[static_cast<size_t>(slot.tensor)] = slot.buffer.address();
  }
  for (int i = 0; i < c.workload.inputs_size(); ++i) {
    if (buffers[static_cast<size_t>(i)] == 0 && !c.workload.inputs(i).scalar()) return absl::nullopt;
  }
  return buffers;
}

absl::Status Judge::KnowState(Case& c) {
  if (c.device_state != nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(c.device_state, examiner_->Get(c.workload, c.seed, c.distribution));
  return absl::OkStatus();
}

absl::Status Judge::RenewGuards(Case& c) {
  for (Slot& slot : c.slots) {
    RETURN_IF_ERROR(slot.buffer.RenewGuards(Mix(Mix(c.seed, ++c.fills), slot.plan_buffer)));
  }
  return absl::OkStatus();
}

absl::Status Judge::Fill(Case& c) {
  c.poison_seed = Mix(c.seed, ++c.fills);
  if (c.passing) RETURN_IF_ERROR(examiner_->WriteInputs(c.workload, c.seed, c.distribution, *InputBuffers(c)));
  for (Slot& slot : c.slots) {
    if (slot.output) {
      RETURN_IF_ERROR(slot.buffer.Poison(Mix(c.poison_seed, slot.plan_buffer)));
    } else if (c.passing) {
      continue;
    } else if (c.device_state != nullptr) {
      RETURN_IF_ERROR(examiner_->WriteInput(*c.device_state, slot.tensor, slot.buffer.address()));
    } else {
      RETURN_IF_ERROR(slot.buffer.Write(c.state->inputs()[slot.tensor]));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<gpu::SeenTensor>> Judge::LookOnDevice(const Case& c, JudgeReply& reply) const {
  std::vector<gpu::SeenTensor> seen;
  for (const Slot& slot : c.slots) {
    ASSIGN_OR_RETURN(const auto damage, slot.buffer.CheckGuards());
    if (damage.has_value()) *reply.add_findings() = *damage;
    seen.push_back({slot.output, slot.tensor, slot.buffer.address(), Mix(c.poison_seed, slot.plan_buffer)});
  }
  return seen;
}

absl::Status Judge::CompareOnDevice(Case& c, JudgeReply& reply) {
  RETURN_IF_ERROR(KnowState(c));
  reply = c.found;
  ASSIGN_OR_RETURN(std::vector<gpu::SeenTensor> seen, LookOnDevice(c, reply));
  for (const KeptOutput& output : c.outputs) seen.push_back(output.seen);
  return examiner_->Compare(*c.device_state, seen, reply);
}

absl::StatusOr<std::shared_ptr<Comparison>> Judge::Look(const Case& c) const {
  auto comparison = std::make_shared<Comparison>(c.workload, c.distribution, c.state);
  for (const Slot& slot : c.slots) {
    SeenTensor seen;
    seen.output = slot.output;
    seen.tensor = slot.tensor;
    seen.poison_seed = Mix(c.poison_seed, slot.plan_buffer);
    ASSIGN_OR_RETURN(seen.damage, slot.buffer.CheckGuards());
    ASSIGN_OR_RETURN(seen.bytes, slot.buffer.Read());
    comparison->Add(std::move(seen));
  }
  return comparison;
}

absl::Status Judge::Compare(Case& c, JudgeReply& reply) {
  if (OnDevice(c.workload)) return CompareOnDevice(c, reply);
  std::shared_ptr<Outcome> outcome = std::exchange(c.outcome, nullptr);
  if (outcome == nullptr) {
    outcome = std::make_shared<Outcome>();
    std::shared_ptr<Comparison> comparison = c.comparison;
    if (comparison == nullptr) {
      ASSIGN_OR_RETURN(comparison, Look(c));
    }
    outcome->status = comparison->Run(nullptr, outcome->reply);
  }
  reply = std::move(outcome->reply);
  cache_.Trim();
  return outcome->status;
}

absl::Status Judge::Adopt(Case& c) {
  if (OnDevice(c.workload)) {
    RETURN_IF_ERROR(KnowState(c));
    std::vector<device::DeviceAddress> written(c.workload.outputs_size());
    for (const Slot& slot : c.slots) {
      if (slot.output) written[slot.tensor] = slot.buffer.address();
    }
    return examiner_->AdoptOutputs(*c.device_state, written);
  }
  std::vector<std::string> outputs(c.workload.outputs_size());
  for (const Slot& slot : c.slots) {
    if (!slot.output) continue;
    ASSIGN_OR_RETURN(outputs[slot.tensor], slot.buffer.Read());
  }
  return c.state->AdoptOutputs(outputs);
}

}  // namespace sassay::judge
