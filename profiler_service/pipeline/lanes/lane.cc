#include "profiler_service/pipeline/lanes/lane.h"

#include "absl/strings/str_cat.h"
#include "google/protobuf/util/message_differencer.h"

namespace sassay::pipeline {

std::string Lane::label() const { return absl::StrCat(device().model(), " ", device().uuid()); }

bool SameKind(const Lane& a, const Lane& b) {
  sassay::worker::DeviceDescription left = a.device(), right = b.device();
  left.clear_uuid();
  right.clear_uuid();
  return google::protobuf::util::MessageDifferencer::Equals(left, right);
}

// Candidates have run on Hopper GPUs beside the emulated device; no Blackwell GPU was at hand.
std::vector<std::string> CaveatsOf(const Lane& lane) {
  if (!lane.emulated() || lane.device().arch() == "sm_90a") return {};
  return {absl::StrCat("the emulation of ", lane.device().arch(),
                       " has not been checked against hardware: it follows the text of the PTX ISA, and sums of "
                       "products are rounded once, which silicon may do otherwise")};
}

sassay::v1::Versions VersionsOf(const Lane& lane) {
  sassay::v1::Versions versions;
  versions.set_device(lane.device().model());
  versions.set_driver(lane.device().driver_version());
  return versions;
}

admission::DeviceFacts FactsOf(const Lane& lane) {
  admission::DeviceFacts facts;
  facts.arch = lane.device().arch();
  facts.model = lane.device().model();
  facts.emulated = lane.emulated();
  facts.multiprocessors = lane.device().multiprocessors();
  facts.memory_bytes = lane.device().memory_bytes();
  facts.attributes.insert(lane.device().attributes().begin(), lane.device().attributes().end());
  return facts;
}

}  // namespace sassay::pipeline
