#include "profiler_service/pipeline/lane.h"

namespace sassay::pipeline {

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
