// A record to the steps of each call, with fake pointers replaced by relocations.
#ifndef SASSAY_AGENT_CAPTURE_PLAN_STEP_READER_H_
#define SASSAY_AGENT_CAPTURE_PLAN_STEP_READER_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "agent/capture/plan/memory_map.h"
#include "agent/capture/plan/ordering.h"
#include "agent/capture/plan/refusal.h"
#include "agent/capture/plan/source_lines.h"
#include "agent/capture/record/record.pb.h"
#include "sassay/v1/plan.pb.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::capture {

// What one call of run() asked for. Buffers are numbered in MemoryMap's spaces, tensor maps in Steps::tensor_maps.
struct CallSteps {
  std::vector<sassay::v1::Step> steps;
  // Every pointer that was met or could be: (buffer, offset) -> its value in this call. For telling left-over bytes of
  // pointers in padding from data.
  std::map<std::pair<uint32_t, uint64_t>, uint64_t> pointers;
};

// All calls of a record.
struct RecordedSteps {
  std::vector<CallSteps> calls;
  std::vector<sassay::v1::TensorMap> tensor_maps;  // each different one once, over all calls
  MemoryMap memory;
  std::set<std::string> warnings;  // for the plan
  // (begin, end) of the process's own memory, as it said at the ends of the calls.
  std::set<std::pair<uint64_t, uint64_t>> host_ranges;
};

// Reads one record. Every byte of it is hostile; whatever does not make sense is refused, never trusted.
class StepReader {
 public:
  // With one call (lenient) pointers have no earlier call to point into. Past `deadline` reading ends in a refusal.
  StepReader(const Record& untrusted_record, int calls, const sassay::v1::Workload& workload, const SourceLines& lines,
             absl::Time deadline);

  OrRefusal<RecordedSteps> Read();

 private:
  using OptionalRefusal = absl::optional<Refusal>;

  OptionalRefusal OnEvent(const Event& event);
  OptionalRefusal OnAllocate(const Event& event);
  OptionalRefusal OnFree(const Event& event);
  OptionalRefusal OnLaunch(const Event& event);
  OptionalRefusal OnUpload(const Event& event);
  OptionalRefusal OnCopy(const Event& event);
  OptionalRefusal OnMemset(const Event& event);
  OptionalRefusal OnTensorMap(const Event& event);

  // Finds pointers and tensor maps in `data`. A pointer to freed memory that is part of something larger may be a
  // left-over in padding: it becomes a null pointer, which traps whoever uses it, and a warning.
  OptionalRefusal Relocate(const std::string& data, const std::string& where, sassay::v1::RelocatableBytes* out);
  OptionalRefusal RelocatePointer(uint64_t value, size_t at, const std::string& where, size_t size,
                                  sassay::v1::RelocatableBytes* out, bool* found);
  // The encoding behind a token; its number in tensor_maps.
  OptionalRefusal UseTensorMap(uint64_t index, const std::string& where, uint32_t* number);
  OptionalRefusal Point(uint64_t address, const std::string& where, sassay::v1::BufferPointer* out);
  OptionalRefusal CheckPlace(const Place& place, const std::string& where) const;
  OptionalRefusal CheckDistances(const std::string& data, const std::string& where) const;
  OptionalRefusal CheckLimits(size_t events) const;
  OptionalRefusal AddTensor(uint64_t address);
  sassay::v1::Step& AddStep(const Event& event, uint64_t recorded_stream);
  std::string TensorName(uint32_t index) const;
  std::string Where(const Event& event, const char* what) const;

  const Record& record_;
  const sassay::v1::Workload& workload_;
  const SourceLines& lines_;
  RecordedSteps result_;
  std::vector<Ordering> orders_;
  std::map<uint32_t, const TensorMap*> encodings_;
  std::map<std::string, uint32_t> map_numbers_;
  size_t tensors_ = 0;                      // of the workload
  std::vector<uint64_t> tensor_addresses_;  // of the current call
  std::unordered_set<uint64_t> distances_;  // between any two tensors of one call
  const absl::Time deadline_;
  int call_ = 0;
  int launches_ = 0;  // of the current call
};

}  // namespace sassay::capture

#endif  // SASSAY_AGENT_CAPTURE_PLAN_STEP_READER_H_
