#include "agent/batch/batch.h"

#include <filesystem>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "agent/batch/corrections.h"
#include "agent/compile/sources.h"
#include "agent/models/answer.h"
#include "agent/rollout/policy.h"
#include "agent/submit/rpc_error.h"
#include "common/base/files.h"
#include "common/base/sha256.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"
#include "common/bundle/bundle.h"

namespace sassay::agent {
namespace {

// Of items that are read and wait for a thread: what reads on meets a cancellation sooner, and no input fills the
// memory.
constexpr uint64_t kMaxWaitingBytes = 64 << 20;

uint64_t BytesOf(const BatchItem& item) {
  uint64_t bytes = 256 + item.answer.value_or("").size();
  for (const v1::SourceFile& file : item.sources) bytes += file.content().size();
  return bytes;
}

absl::Status NoWorkload() {
  return absl::InvalidArgumentError(
      "\"workload\" is needed: what shall the candidate compute? Name one here, or one for all with --workload; "
      "`mini-ptx-agent workloads` lists what there is.");
}

absl::StatusOr<std::string> OnlyPlanOf(const v1::Bundle& bundle) {
  if (bundle.plans_size() == 1) return bundle.plans(0).workload();
  return absl::InvalidArgumentError(
      absl::StrCat("\"workload\" is needed: the bundle holds plans for ", bundle.plans_size(), " workloads."));
}

// Whether somebody stopped it before it was judged. The same request id would hear of that again; another one is
// judged.
bool WasCancelled(const v1::Verdict& verdict) { return verdict.status() == v1::VERDICT_STATUS_CANCELLED; }

}  // namespace

Batch::Batch(BatchParts parts, BatchOptions options)
    : parts_(std::move(parts)),
      options_(std::move(options)),
      batch_id_(parts_.found == nullptr ? NewBatchId() : parts_.found->batch_id()) {}

absl::Status Batch::Run(LineReader& input) {
  {
    absl::MutexLock lock(&mutex_);
    input_ = &input;
    if (!status_.ok()) input.Stop();
  }
  std::vector<std::thread> workers;
  for (size_t i = 0; i < options_.concurrency; ++i) workers.emplace_back([this] { Work(); });
  const absl::Status read = ReadAll(input);
  {
    absl::MutexLock lock(&mutex_);
    progress_.all_read = true;
    input_ = nullptr;
    if (status_.ok() && !read.ok()) status_ = read;
  }
  for (std::thread& worker : workers) worker.join();
  absl::MutexLock lock(&mutex_);
  // What was judged is not lost because something before it was not.
  for (const auto& [order, record] : std::exchange(held_, {})) {
    if (record != nullptr) Emit(*record);
  }
  return status_;
}

void Batch::Interrupt() {
  std::vector<std::shared_ptr<Job>> stopped;
  {
    absl::MutexLock lock(&mutex_);
    if (status_.ok()) status_ = absl::CancelledError("interrupted; the same command with the same -o FILE goes on.");
    if (input_ != nullptr) input_->Stop();
    for (const auto& [id, job] : live_) stopped.push_back(job);
    waiting_.clear();
  }
  parts_.judge.Close();
  for (const auto& job : stopped) job->stopper.Stop();
}

bool Batch::interrupted() const {
  absl::MutexLock lock(&mutex_);
  return !status_.ok();
}

BatchProgress Batch::progress() const {
  absl::MutexLock lock(&mutex_);
  return progress_;
}

absl::Status Batch::ReadAll(LineReader& input) {
  for (;;) {
    absl::StatusOr<std::optional<std::string>> line = input.Next();
    if (line.ok() && !line->has_value()) return absl::OkStatus();
    if (!line.ok() && !absl::IsOutOfRange(line.status())) return line.status();
    RETURN_IF_ERROR(TakeLine(line, input.line()));
    if (interrupted()) return absl::OkStatus();
  }
}

absl::Status Batch::TakeLine(const absl::StatusOr<std::optional<std::string>>& line, uint64_t number) {
  BatchItem item;
  item.line = number;
  item.id = absl::StrCat(number);
  absl::Status status = line.status();
  if (line.ok()) {
    if ((*line)->find_first_not_of(" \t\r") == std::string::npos) return absl::OkStatus();
    status = ParseBatchItem(**line, number, item);
  }
  if (status.ok() && !item.cancel.empty()) {
    CancelItem(item.cancel);
    return absl::OkStatus();
  }
  uint64_t order = 0;
  {
    absl::MutexLock lock(&mutex_);
    const auto [first, is_new] = line_of_id_.emplace(item.id, number);
    if (status.ok() && !is_new) {
      status = absl::InvalidArgumentError(absl::StrCat("the id \"", item.id, "\" stands in line ", first->second,
                                                       " already; each item needs its own."));
    }
    if (!status.ok()) {
      order = next_order_++;
      progress_.counts.set_items(progress_.counts.items() + 1);
    }
  }
  if (status.ok()) {
    Enqueue(std::move(item));
    return absl::OkStatus();
  }
  v1::BatchRecord record;
  record.set_id(item.id);
  record.set_line(number);
  *record.mutable_failure() = FailureOf(status);
  Finish(order, &record);
  return absl::OkStatus();
}

void Batch::Enqueue(BatchItem item) {
  const auto job = std::make_shared<Job>();
  job->item = std::move(item);
  const uint64_t bytes = BytesOf(job->item);
  absl::MutexLock lock(&mutex_);
  const auto has_room = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return waiting_bytes_ < kMaxWaitingBytes || !status_.ok();
  };
  mutex_.Await(absl::Condition(&has_room));
  if (!status_.ok()) return;
  job->order = next_order_++;
  progress_.counts.set_items(progress_.counts.items() + 1);
  waiting_bytes_ += bytes;
  live_[job->item.id] = job;
  waiting_.push_back(job);
}

void Batch::CancelItem(const std::string& id) {
  std::shared_ptr<Job> job;
  {
    absl::MutexLock lock(&mutex_);
    const auto found = live_.find(id);
    if (found == live_.end()) return;
    job = found->second;
  }
  job->stopper.Stop();
}

void Batch::Work() {
  for (;;) {
    std::shared_ptr<Job> job;
    {
      absl::MutexLock lock(&mutex_);
      const auto has_work = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return !waiting_.empty() || progress_.all_read || !status_.ok();
      };
      mutex_.Await(absl::Condition(&has_work));
      if (waiting_.empty() || !status_.ok()) return;
      job = waiting_.front();
      waiting_.pop_front();
      waiting_bytes_ -= BytesOf(job->item);
    }
    Do(*job);
    absl::MutexLock lock(&mutex_);
    live_.erase(job->item.id);
  }
}

void Batch::Do(Job& job) {
  v1::BatchRecord record;
  const absl::Time begin = SteadyNow();
  const bool is_new = MakeRecord(job, record);
  record.set_wall_ns(absl::ToInt64Nanoseconds(SteadyNow() - begin));
  {
    absl::MutexLock lock(&mutex_);
    Counted(job, nullptr);
  }
  // What was stopped with the whole batch is done when it goes on.
  const bool given_up = record.has_failure() && interrupted();
  Finish(job.order, is_new && !given_up ? &record : nullptr);
}

bool Batch::MakeRecord(Job& job, v1::BatchRecord& record) {
  record.set_id(job.item.id);
  record.set_line(job.item.line);
  std::string submission_id;
  absl::StatusOr<Candidate> candidate = Load(job.item);
  if (!candidate.ok()) {
    *record.mutable_failure() = FailureOf(candidate.status());
    return true;
  }
  record.set_item_sha256(candidate->sha256);
  if (candidate->known != nullptr && candidate->known->judged) {
    absl::MutexLock lock(&mutex_);
    v1::BatchSummary& counts = progress_.counts;
    counts.set_found(counts.found() + 1);
    candidate->known->correct ? counts.set_correct(counts.correct() + 1) : counts.set_at_fault(counts.at_fault() + 1);
    return false;
  }
  if (!candidate->no_candidate.empty()) {
    record.set_no_candidate(candidate->no_candidate);
    return true;
  }
  absl::StatusOr<v1::Verdict> verdict = Submit(job, *candidate, record, submission_id);
  if (verdict.ok()) {
    *record.mutable_verdict() = *std::move(verdict);
    return true;
  }
  const bool cancelled = job.stopper.stopped() && !interrupted();
  *record.mutable_failure() =
      FailureOf(cancelled ? absl::CancelledError("cancelled by its client.") : verdict.status(), submission_id);
  return true;
}

void Batch::TakeAnswer(const BatchItem& item, Candidate& candidate) {
  ExtractedCode code = ExtractCode(*item.answer, item.triton ? Language::kTriton : Language::kCuda, /*cut=*/false);
  if (code.extraction != v1::EXTRACTION_CODE) {
    candidate.no_candidate = code.reason;
    candidate.job.files.clear();
    return;
  }
  v1::SourceFile& file = candidate.job.files.emplace_back();
  file.set_path(item.triton ? "kernel.py" : "kernel.cu");
  file.set_content(std::move(code.code));
}

absl::StatusOr<Batch::Candidate> Batch::Load(const BatchItem& item) const {
  Candidate candidate;
  std::string name = item.workload.empty() ? options_.workload : item.workload;
  const std::filesystem::path here = options_.working_directory;
  std::string content;
  if (!item.bundle.empty()) {
    ASSIGN_OR_RETURN(candidate.job.bundle, ReadFile(here / item.bundle, BundleLimits().max_bytes));
    absl::StatusOr<v1::Bundle> bundle = ParseBundle(candidate.job.bundle);
    if (!bundle.ok())
      return absl::InvalidArgumentError(
          absl::StrCat(item.bundle, " is not a bundle that can be read: ", bundle.status().message()));
    if (item.workload.empty() && (name.empty() || FindPlan(*bundle, name) == nullptr)) {
      ASSIGN_OR_RETURN(name, OnlyPlanOf(*bundle));
    }
    if (FindPlan(*bundle, name) == nullptr)
      return absl::InvalidArgumentError(absl::StrCat(item.bundle, " has no plan for ", name, "."));
    candidate.workload.set_name(name);
    content = BundleDigest(candidate.job.bundle);
  } else {
    if (name.empty()) return NoWorkload();
    candidate.job.files = item.sources;
    if (item.answer.has_value()) TakeAnswer(item, candidate);
    std::vector<std::string> paths;
    for (const std::string& path : item.paths) paths.push_back((here / path).string());
    if (!paths.empty()) {
      ASSIGN_OR_RETURN(candidate.job.files, LoadSources(paths));
    }
    ASSIGN_OR_RETURN(candidate.workload, parts_.find_workload(name));
    for (const v1::SourceFile& file : candidate.job.files)
      absl::StrAppend(&content, file.path(), "\n", Sha256Hex(file.content()), "\n");
    if (!candidate.no_candidate.empty()) content = Sha256Hex(*item.answer);
  }
  candidate.sha256 = Sha256Hex(absl::StrCat(candidate.workload.name(), "\n", candidate.workload.definition_sha256(),
                                            "\n", options_.settings, "\n", content));
  if (parts_.found != nullptr) candidate.known = parts_.found->Find(item.id, candidate.sha256);
  return candidate;
}

std::string Batch::RequestId(const BatchItem& item, const Candidate& candidate, unsigned attempt) const {
  const std::string digest = Sha256Hex(absl::StrCat(item.id, "\n", candidate.sha256));
  return absl::StrCat(batch_id_, "/", digest.substr(0, 24), "/", attempt);
}

absl::StatusOr<v1::Verdict> Batch::Submit(Job& job, Candidate& candidate, v1::BatchRecord& record,
                                          std::string& submission_id) {
  unsigned attempt = candidate.known == nullptr ? 0 : candidate.known->attempts;
  candidate.job.workload = &candidate.workload;
  absl::Duration queued;
  JudgeListener listener;
  listener.on_step = [&](absl::string_view step) {
    const bool builds = step == "compile" || step == "capture";
    absl::MutexLock lock(&mutex_);
    Counted(job, builds ? &progress_.building : absl::StartsWith(step, "waiting") ? nullptr : &progress_.submitted);
  };
  listener.on_accepted = [&](absl::string_view id) { submission_id = std::string(id); };
  Backoff backoff(options_.retry, job.stopper);
  // Of a batch that goes on, what its end has cancelled is no answer; of any other it is.
  bool may_be_left_over = parts_.found != nullptr;
  for (;;) {
    candidate.job.request_id = RequestId(job.item, candidate, attempt);
    record.set_request_id(candidate.job.request_id);
    absl::StatusOr<Judgement> judgement = parts_.judge.Run(candidate.job, listener, job.stopper);
    if (judgement.ok() && WasCancelled(judgement->verdict) && std::exchange(may_be_left_over, false)) {
      ++attempt;
      continue;
    }
    if (judgement.ok()) {
      record.set_queued_ns(absl::ToInt64Nanoseconds(judgement->queued));
      return std::move(judgement->verdict);
    }
    // A service that has restarted or is full for now.
    const bool passes = absl::IsUnavailable(judgement.status()) || absl::IsResourceExhausted(judgement.status());
    if (!passes || job.stopper.stopped() || !backoff.Wait()) return judgement.status();
  }
}

void Batch::Counted(Job& job, uint64_t* number) {
  if (job.counted != nullptr) --*job.counted;
  job.counted = number;
  if (number != nullptr) ++*number;
}

void Batch::Finish(uint64_t order, const v1::BatchRecord* record) {
  absl::MutexLock lock(&mutex_);
  if (record != nullptr) CountRecord(*record, progress_.counts);
  if (!options_.keep_order) {
    if (record != nullptr) Emit(*record);
    return;
  }
  held_[order] = record == nullptr ? nullptr : std::make_unique<v1::BatchRecord>(*record);
  for (auto next = held_.begin(); next != held_.end() && next->first == next_emitted_; next = held_.begin()) {
    if (next->second != nullptr) Emit(*next->second);
    held_.erase(next);
    ++next_emitted_;
  }
}

void Batch::Emit(const v1::BatchRecord& record) {
  const absl::Status status = parts_.emit(record);
  if (status.ok() || !status_.ok()) return;
  status_ = status;
  if (input_ != nullptr) input_->Stop();
  parts_.judge.Close();
  for (const auto& [id, job] : live_) job->stopper.Stop();
}

}  // namespace sassay::agent
