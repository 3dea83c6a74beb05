#include "profiler_service/evaluate/testing/fake_workers.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>

#include "profiler_service/judge/numerics/element.h"

namespace sassay::evaluate {
namespace {

using sassay::worker::RunnerReply;

judge::StateOptions OptionsWith(const WorkloadCatalog& catalog) {
  judge::StateOptions options;
  options.catalog = &catalog;
  options.threads = 2;
  return options;
}

class FakeRunner : public CandidateRunner {
 public:
  FakeRunner(FakeKernel kernel, FakeKernel without, RunnerReply load_reply)
      : kernel_(std::move(kernel)), without_(std::move(without)), load_reply_(std::move(load_reply)) {}
  ~FakeRunner() override {
    for (const auto& [address, size] : mappings_) munmap(address, size);
  }

  absl::StatusOr<RunnerReply> Load(const sassay::v1::Bundle& bundle, sassay::worker::RunMode mode) override {
    plan_ = bundle.plans(0);
    mode_ = mode;
    return load_reply_;
  }

  absl::StatusOr<RunnerReply> Bind(absl::Span<const sassay::worker::SharedRegion> regions,
                                   absl::Span<const int> descriptors) override {
    for (const auto& region : regions) {
      char* address = static_cast<char*>(
          mmap(nullptr, region.object_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, descriptors[region.memory()], 0));
      mappings_.emplace_back(address, region.object_bytes());
      tensors_[plan_.buffers(region.buffer()).name()] =
          absl::MakeSpan(address + region.offset_bytes(), region.size_bytes());
    }
    return Ended();
  }

  absl::StatusOr<RunnerReply> Setup(uint64_t, absl::Duration) override { return Ended(); }

  absl::StatusOr<RunnerReply> Steady(uint64_t, absl::Duration, absl::optional<uint32_t> left_out) override {
    if (mode_ == sassay::worker::RUN_MODE_TIMED) PoisonOutputs();
    RunnerReply reply = left_out.has_value() ? without_(*left_out, tensors_) : kernel_(calls_++, tensors_);
    // What a lost runner looks like to a stage.
    if (reply.outcome() == sassay::worker::RUN_OUTCOME_UNSPECIFIED) return absl::UnavailableError("runner: signal 9");
    return reply;
  }

  sassay::v1::Versions versions() const override { return {}; }
  void Kill() override {}

 private:
  // As the runner does before every timed call.
  void PoisonOutputs() {
    for (const sassay::v1::Buffer& buffer : plan_.buffers()) {
      if (buffer.kind() != sassay::v1::BUFFER_KIND_OUTPUT) continue;
      const absl::Span<char> output = tensors_[buffer.name()];
      std::fill(output.begin(), output.end(), '\x5a');
    }
  }

  const FakeKernel kernel_, without_;
  const RunnerReply load_reply_;
  sassay::v1::LaunchPlan plan_;
  sassay::worker::RunMode mode_ = sassay::worker::RUN_MODE_UNSPECIFIED;
  std::vector<std::pair<char*, size_t>> mappings_;
  Tensors tensors_;
  int calls_ = 0;
};

}  // namespace

RunnerReply Ended(sassay::worker::RunOutcome outcome, sassay::v1::VerdictCode code, const std::string& message) {
  RunnerReply reply;
  reply.set_outcome(outcome);
  reply.set_code(code);
  reply.set_message(message);
  reply.set_device_ns(1000);
  return reply;
}

void GemmRows(Tensors& tensors, int first, int last) {
  const auto text = [&](const char* name) { return absl::string_view(tensors[name].data(), tensors[name].size()); };
  const auto a = judge::DecodeFloats(sassay::v1::DTYPE_BFLOAT16, text("A"));
  const auto b = judge::DecodeFloats(sassay::v1::DTYPE_BFLOAT16, text("B"));
  for (int i = first; i < last; ++i) {
    for (int j = 0; j < 256; ++j) {
      float sum = 0;
      for (int k = 0; k < 256; ++k) sum += a[i * 256 + k] * b[j * 256 + k];
      judge::StoreElement(sassay::v1::DTYPE_BFLOAT16, sum, tensors["C"].data() + (i * 256 + j) * 2);
    }
  }
}

RunnerReply HonestGemm(int, Tensors& tensors) {
  GemmRows(tensors, 0, static_cast<int>(tensors["C"].size() / 512));
  return Ended();
}

FakeKernel Memoizer::Remember() {
  return [this](int call, Tensors& tensors) {
    RunnerReply reply = HonestGemm(call, tensors);
    remembered_.assign(tensors["C"].data(), tensors["C"].size());
    return reply;
  };
}

FakeKernel Memoizer::Repeat() {
  return [this](int, Tensors& tensors) {
    remembered_.copy(tensors["C"].data(), remembered_.size());
    return Ended();
  };
}

InProcessJudge::InProcessJudge(const WorkloadCatalog& catalog) : options_(OptionsWith(catalog)) {
  absl::MutexLock lock(&mutex_);
  Restart();
}

void InProcessJudge::Restart() {
  judge_.reset();
  device_ = std::make_unique<judge::MemoryDevice>();
  judge_ = std::make_unique<judge::Judge>(*device_, options_, 64 << 20);
  dead_ = false;
}

absl::StatusOr<sassay::worker::JudgeReply> InProcessJudge::Ask(const sassay::worker::JudgeRequest& request,
                                                               std::vector<UniqueFd>& descriptors, absl::Time) {
  absl::MutexLock lock(&mutex_);
  if (dead_) {
    Restart();
    return absl::UnavailableError("judge: signal 9");
  }
  std::vector<int> owned;
  sassay::worker::JudgeReply reply = judge_->Handle(request, owned);
  for (int fd : owned) descriptors.emplace_back(fcntl(fd, F_DUPFD_CLOEXEC, 0));
  return reply;
}

void InProcessJudge::Drop(uint64_t case_id) {
  sassay::worker::JudgeRequest request;
  request.set_case_id(case_id);
  request.mutable_drop();
  std::vector<UniqueFd> descriptors;
  Ask(request, descriptors, absl::InfiniteFuture()).IgnoreError();
}

uint64_t InProcessJudge::NewCase() {
  absl::MutexLock lock(&mutex_);
  return ++cases_;
}

void InProcessJudge::Kill() {
  absl::MutexLock lock(&mutex_);
  dead_ = true;
}

void InProcessJudge::LimitObjects(size_t count) {
  absl::MutexLock lock(&mutex_);
  device_->objects_left = count;
}

size_t InProcessJudge::objects() {
  absl::MutexLock lock(&mutex_);
  return device_->objects();
}

absl::StatusOr<std::unique_ptr<CandidateRunner>> FakeWorkers::StartRunner(sassay::worker::RunMode, absl::Time) {
  const size_t turn = std::min<size_t>(started_++, kernels_.size() - 1);
  return std::unique_ptr<CandidateRunner>(std::make_unique<FakeRunner>(kernels_[turn], without_launch, load_reply));
}

}  // namespace sassay::evaluate
