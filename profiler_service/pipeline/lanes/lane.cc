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
