#include "profiler_service/api/ports/gpu_holds.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "spdlog/spdlog.h"

namespace sassay::api {
namespace {

using store::Hold;

int Gravity(sassay::v1::GpuState state) {
  if (state == sassay::v1::GPU_STATE_QUARANTINED) return 2;
  return state == sassay::v1::GPU_STATE_COOLING ? 1 : 0;
}

const char* Word(sassay::v1::GpuState state) {
  if (state == sassay::v1::GPU_STATE_QUARANTINED) return "quarantined";
  return state == sassay::v1::GPU_STATE_COOLING ? "cooling, held" : "paused";
}

std::string Describe(const Hold& hold) {
  return absl::StrCat(Word(hold.state), " by ", hold.holder == "operator" ? hold.actor : hold.holder, " since ",
                      absl::FormatTime(hold.since, absl::UTCTimeZone()),
                      hold.reason.empty() ? "" : absl::StrCat(": ", hold.reason));
}

sassay::v1::Hold ToProto(const Hold& hold) {
  sassay::v1::Hold proto;
  proto.set_holder(hold.holder);
  proto.set_state(hold.state);
  proto.set_reason(hold.reason);
  proto.set_incident_id(hold.incident_id);
  SetTimestamp(hold.since, *proto.mutable_since());
  proto.set_actor(hold.actor);
  return proto;
}

bool SameHold(const Hold& a, const Hold& b) {
  return std::tie(a.gpu, a.holder, a.state, a.reason, a.incident_id, a.since, a.actor) ==
         std::tie(b.gpu, b.holder, b.state, b.reason, b.incident_id, b.since, b.actor);
}

}  // namespace

absl::StatusOr<bool> GpuHolds::Read() {
  ASSIGN_OR_RETURN(const std::vector<Hold> kept, store_.Holds());
  std::map<Key, Hold> holds;
  bool changed = kept.size() != holds_.size();
  for (const Hold& hold : kept) {
    const auto before = holds_.find({hold.gpu, hold.holder});
    if (before == holds_.end() || !SameHold(before->second, hold)) {
      spdlog::warn("{}: {}", hold.gpu.empty() ? "all GPUs" : hold.gpu, Describe(hold));
      changed = true;
    }
    holds[{hold.gpu, hold.holder}] = hold;
  }
  holds_ = std::move(holds);
  return changed;
}

absl::Status GpuHolds::Start() {
  absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(Read().status());
  return ApplyAll();
}

absl::Status GpuHolds::Refresh() {
  absl::MutexLock lock(&mutex_);
  ASSIGN_OR_RETURN(const bool changed, Read());
  return changed ? ApplyAll() : absl::OkStatus();
}

absl::Status GpuHolds::CheckGpu(absl::string_view gpu) const {
  if (gpu.empty()) return absl::OkStatus();
  const std::vector<sassay::v1::Gpu> gpus = gpus_.List();
  const bool here =
      std::any_of(gpus.begin(), gpus.end(), [&](const sassay::v1::Gpu& each) { return each.uuid() == gpu; });
  return here ? absl::OkStatus()
              : absl::NotFoundError(absl::StrCat("uuid: no GPU '", gpu.substr(0, 100), "' here; ListGpus names them"));
}

std::vector<Hold> GpuHolds::Covering(absl::string_view gpu) const {
  std::vector<Hold> covering;
  for (const auto& [key, hold] : holds_) {
    if (hold.gpu.empty() || hold.gpu == gpu) covering.push_back(hold);
  }
  std::stable_sort(covering.begin(), covering.end(),
                   [](const Hold& a, const Hold& b) { return Gravity(a.state) > Gravity(b.state); });
  return covering;
}

absl::Status GpuHolds::Apply(absl::string_view gpu) {
  const std::vector<Hold> covering = Covering(gpu);
  return covering.empty() ? gpus_.Open(gpu) : gpus_.Close(gpu, Describe(covering.front()));
}

absl::Status GpuHolds::ApplyAll() {
  for (const sassay::v1::Gpu& gpu : gpus_.List()) RETURN_IF_ERROR(Apply(gpu.uuid()));
  return absl::OkStatus();
}

absl::Status GpuHolds::PlaceLocked(Hold hold) {
  RETURN_IF_ERROR(store_.PlaceHold(hold));
  const std::string gpu = hold.gpu;
  holds_[{hold.gpu, hold.holder}] = std::move(hold);
  return gpu.empty() ? ApplyAll() : Apply(gpu);
}

absl::Status GpuHolds::LiftLocked(const std::string& gpu, const std::string& holder) {
  RETURN_IF_ERROR(store_.LiftHold(gpu, holder));
  holds_.erase({gpu, holder});
  return gpu.empty() ? ApplyAll() : Apply(gpu);
}

absl::Status GpuHolds::Place(Hold hold) {
  RETURN_IF_ERROR(CheckGpu(hold.gpu));
  absl::MutexLock lock(&mutex_);
  return PlaceLocked(std::move(hold));
}

absl::Status GpuHolds::TakeOutOfAll(absl::string_view gpu, const std::string& holder) {
  const auto all = holds_.find({"", holder});
  if (all == holds_.end()) return absl::OkStatus();
  // The others are held by themselves before the hold of all ends: whenever this is cut short, none of them opens.
  Hold of_one = all->second;
  for (const sassay::v1::Gpu& other : gpus_.List()) {
    if (other.uuid() == gpu || holds_.count({other.uuid(), holder}) > 0) continue;
    of_one.gpu = other.uuid();
    RETURN_IF_ERROR(PlaceLocked(of_one));
  }
  return LiftLocked("", holder);
}

absl::Status GpuHolds::Lift(absl::string_view gpu, absl::string_view holder) {
  RETURN_IF_ERROR(CheckGpu(gpu));
  const std::string of(holder);
  absl::MutexLock lock(&mutex_);
  if (!gpu.empty()) {
    RETURN_IF_ERROR(TakeOutOfAll(gpu, of));
    return LiftLocked(std::string(gpu), of);
  }
  std::vector<std::string> held;
  for (const auto& [key, hold] : holds_) {
    if (hold.holder == of) held.push_back(hold.gpu);
  }
  for (const std::string& each : held) RETURN_IF_ERROR(LiftLocked(each, of));
  return absl::OkStatus();
}

absl::Status GpuHolds::LiftEveryones(absl::string_view gpu) {
  RETURN_IF_ERROR(CheckGpu(gpu));
  absl::MutexLock lock(&mutex_);
  for (const Hold& hold : Covering(gpu)) {
    if (hold.gpu.empty()) RETURN_IF_ERROR(TakeOutOfAll(gpu, hold.holder));
    RETURN_IF_ERROR(LiftLocked(std::string(gpu), hold.holder));
  }
  return absl::OkStatus();
}

std::vector<sassay::v1::Gpu> GpuHolds::List() const {
  std::vector<sassay::v1::Gpu> gpus = gpus_.List();
  std::sort(gpus.begin(), gpus.end(),
            [](const sassay::v1::Gpu& a, const sassay::v1::Gpu& b) { return a.uuid() < b.uuid(); });
  absl::MutexLock lock(&mutex_);
  for (sassay::v1::Gpu& gpu : gpus) {
    const std::vector<Hold> covering = Covering(gpu.uuid());
    gpu.set_state(covering.empty() ? sassay::v1::GPU_STATE_HEALTHY : covering.front().state);
    if (!covering.empty()) gpu.set_reason(Describe(covering.front()));
    for (const Hold& hold : covering) *gpu.add_holds() = ToProto(hold);
    std::sort(gpu.mutable_holds()->begin(), gpu.mutable_holds()->end(),
              [](const sassay::v1::Hold& a, const sassay::v1::Hold& b) { return a.holder() < b.holder(); });
  }
  return gpus;
}

bool GpuHolds::AllHeld() const {
  const std::vector<sassay::v1::Gpu> gpus = List();
  return !gpus.empty() &&
         std::all_of(gpus.begin(), gpus.end(), [](const sassay::v1::Gpu& gpu) { return gpu.holds_size() > 0; });
}

}  // namespace sassay::api
