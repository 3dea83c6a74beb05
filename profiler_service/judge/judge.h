// The judge: makes inputs, owns every buffer a candidate reads or writes, and compares what came out with what should
// have. It never runs candidate code, and it takes nobody's word: it looks through its own mapping.
#ifndef SASSAY_PROFILER_SERVICE_JUDGE_JUDGE_H_
#define SASSAY_PROFILER_SERVICE_JUDGE_JUDGE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "profiler_service/device/device.h"
#include "profiler_service/judge/comparison.h"
#include "profiler_service/judge/gpu/examiner.h"
#include "profiler_service/judge/guarded_buffer.h"
#include "profiler_service/judge/timed_baseline.h"
#include "profiler_service/judge/workload_state.h"
#include "profiler_service/wire/worker.pb.h"

namespace sassay::judge {

// Answers JudgeRequests.
//
// Life cycle: one per process and device. A case is one candidate in one stage: PrepareCase makes its buffers,
// RefillCase gives them other contents, CompareCase looks at them, DropCase frees them; several live at once. KeepCase
// makes of a case's outputs another case that has no buffers and can be compared only.
// Or it is a baseline: TimeBaseline makes it and times it, DropCase frees it.
// Threads: one thread calls (a device belongs to a thread); what computes on the CPU and may take a minute, references
// and comparisons, is taken out of Handle by Prework and runs on any other thread. With an examiner nearly everything
// is done on the device instead, in milliseconds, inside Handle. Ownership: the device and the catalogue must outlive
// it. Failure: Handle never fails; trouble is in the reply, in words and as a JudgeTrouble.
class Judge {
 public:
  // Baselines that are kept for who asks next; each may hold a workspace.
  static constexpr size_t kKnownBaselines = 4;

  // `examiner` judges on the device what it takes; null for a device that runs no kernels of ours.
  Judge(device::Device& device, const StateOptions& options, uint64_t cache_bytes,
        std::unique_ptr<gpu::Examiner> examiner = nullptr);

  // `descriptors` receives what travels beside the reply; they stay owned by the case.
  sassay::worker::JudgeReply Handle(const sassay::worker::JudgeRequest& request, std::vector<int>& descriptors);

  // The long computation without the device that `request` needs; empty where there is none. Run on any thread, then
  // call Handle, which finds its result for as long as what was returned is held. Its failures are Handle's to tell.
  // Setting `stop` ends it soon; then nobody calls Handle.
  using Work = std::function<std::shared_ptr<const void>(const std::atomic<bool>& stop)>;
  Work Prework(const sassay::worker::JudgeRequest& request);

  // False once its device must be given up: then another process has to judge.
  bool usable() { return device_.usable(); }

  // What a fresh judge says first.
  sassay::worker::JudgeReply Ready() const;

 private:
  // One tensor of a case.
  struct Slot {
    uint32_t plan_buffer;
    bool output;
    int tensor;  // index into the workload's inputs or outputs
    GuardedBuffer buffer;
  };
  struct Outcome {
    absl::Status status;
    sassay::worker::JudgeReply reply;
  };
  // An output taken aside.
  struct KeptOutput {
    gpu::SeenTensor seen;
    gpu::DeviceMemory memory;
  };
  struct Case {
    sassay::v1::Workload workload;
    // One of the two, wherever the case is judged.
    std::shared_ptr<WorkloadState> state;
    std::shared_ptr<gpu::State> device_state;
    uint64_t seed = 0;
    std::string distribution;
    // The inputs were made in place: there is no state before a comparison asks for it.
    bool passing = false;
    uint64_t poison_seed = 0;
    // Counts the case's fills: poison differs each time, and a replay sees the same.
    uint64_t fills = 0;
    std::vector<Slot> slots;
    // What a comparison's Work found, for Handle; null otherwise.
    std::shared_ptr<Outcome> outcome;
    // Of a kept case, which has no slots: what is to be compared, on the host or on the device.
    std::shared_ptr<Comparison> comparison;
    std::vector<KeptOutput> outputs;
    // What was found when it was kept.
    sassay::worker::JudgeReply found;
  };

  // Whether the workload is judged on the device.
  bool OnDevice(const sassay::v1::Workload& workload) const;
  // Gives the case the state that the workload's cases share, and says what it means that there is none.
  absl::Status TakeState(Case& c, uint64_t seed, absl::string_view distribution, sassay::worker::JudgeReply& reply);
  absl::Status Refill(Case& c, const sassay::worker::RefillCase& request, sassay::worker::JudgeReply& reply);
  // Makes the state of a case whose inputs were made in place.
  absl::Status KnowState(Case& c);
  absl::Status Dispatch(const sassay::worker::JudgeRequest& request, sassay::worker::JudgeReply& reply,
                        std::vector<int>& descriptors);
  absl::Status Prepare(uint64_t id, const sassay::worker::PrepareCase& request, sassay::worker::JudgeReply& reply,
                       std::vector<int>& descriptors);
  // INVALID_ARGUMENT if the workload has no such tensor.
  static absl::Status CheckNeed(const sassay::v1::Workload& workload, const sassay::worker::BufferNeed& need);
  absl::StatusOr<Slot> MakeSlot(const sassay::v1::Workload& workload, const sassay::worker::BufferNeed& need,
                                const GuardedRange& range, uint64_t guard_seed);
  // What the one who asked can map.
  static void Lend(const Slot& slot, sassay::worker::JudgeReply& reply, std::vector<int>& descriptors);
  // Writes inputs, from the case's state where it has one, and poison over the outputs.
  absl::Status Fill(Case& c);
  absl::Status RenewGuards(Case& c);
  // Where the inputs lie, by their index; absent if one that is no scalar has no buffer.
  static absl::optional<std::vector<device::DeviceAddress>> InputBuffers(const Case& c);
  // Reads the case's tensors.
  absl::StatusOr<std::shared_ptr<Comparison>> Look(const Case& c) const;
  Work CompareLater(Case& c);
  // The case's tensors as they are now; damage to their guards is in the reply.
  absl::StatusOr<std::vector<gpu::SeenTensor>> LookOnDevice(const Case& c, sassay::worker::JudgeReply& reply) const;
  absl::Status CompareOnDevice(Case& c, sassay::worker::JudgeReply& reply);
  absl::Status Keep(Case& c, uint64_t as);
  absl::Status KeepOnDevice(Case& c, Case& kept);
  absl::Status Compare(Case& c, sassay::worker::JudgeReply& reply);
  absl::Status Adopt(Case& c);
  absl::Status TimeBaseline(uint64_t id, const sassay::worker::TimeBaseline& request,
                            sassay::worker::JudgeReply& reply);
  absl::Status RunCanary(sassay::worker::JudgeReply& reply);
  absl::StatusOr<std::shared_ptr<Baseline>> KnownBaseline(const sassay::v1::Workload& workload);
  absl::StatusOr<TimedBaseline*> FindBaseline(uint64_t id, const sassay::worker::TimeBaseline& request,
                                              sassay::worker::JudgeReply& reply);
  absl::StatusOr<Case*> Find(uint64_t id, sassay::worker::JudgeReply& reply);
  Work MakeState(const sassay::v1::Workload& workload, uint64_t seed, const std::string& distribution);

  device::Device& device_;
  StateCache cache_;
  const std::unique_ptr<gpu::Examiner> examiner_;
  std::map<uint64_t, Case> cases_;
  std::map<uint64_t, std::unique_ptr<TimedBaseline>> baselines_;
  // Baselines made before, by workload: choosing an algorithm takes up to a second. Used last last.
  std::vector<std::pair<std::string, std::shared_ptr<Baseline>>> known_baselines_;
};

}  // namespace sassay::judge

#endif  // SASSAY_PROFILER_SERVICE_JUDGE_JUDGE_H_
