#include "agent/rollout/rollout.h"

#include <algorithm>
#include <thread>

#include "absl/strings/str_cat.h"

namespace sassay::agent {
namespace {

constexpr size_t kReaders = 4;

}  // namespace

Rollout::Rollout(RolloutParts parts, RolloutOptions options, std::vector<TrajectorySpec> specs, Spending& spending)
    : parts_(std::move(parts)),
      options_(std::move(options)),
      specs_(std::move(specs)),
      answers_(options_.parallel),
      readers_(kReaders),
      exclusions_([this](size_t index) { OnExcluded(index); }),
      context_{parts_.folder,     parts_.model, parts_.judge, parts_.notes, answers_,
               readers_,          spending,     exclusions_,  parts_.board, options_.infrastructure,
               options_.language, closing_,     options_.now} {
  for (const TrajectorySpec& spec : specs_) {
    parts_.board.Add(spec.began.trajectory_id(), spec.began.workload());
    places_.push_back(std::make_unique<Place>());
    waiting_.push_back(spec.index);
  }
}

// Before any trajectory is opened, so that none ends, or pays for a turn, on a verdict that does not count.
void Rollout::AskWhatWasExcluded() {
  if (!parts_.past_exclusions) return;
  const absl::Status status =
      parts_.past_exclusions(asking_what_was_excluded_, [this](const v1::Event& event) { exclusions_.Take(event); });
  if (!status.ok() && !closing_)
    parts_.board.Note(absl::StrCat("what was excluded meanwhile could not be asked for: ", status.message()));
}

absl::Status Rollout::Run() {
  Stopper watching;
  std::thread watcher;
  if (parts_.watch_exclusions) {
    watcher = std::thread(
        [&] { parts_.watch_exclusions(watching, [this](const v1::Event& event) { exclusions_.Take(event); }); });
  }
  AskWhatWasExcluded();
  std::vector<std::thread> threads(std::min(options_.in_flight, specs_.size()));
  for (std::thread& thread : threads) thread = std::thread([this] { Serve(); });
  for (std::thread& thread : threads) thread.join();
  watching.Stop();
  if (watcher.joinable()) watcher.join();
  absl::MutexLock lock(&mutex_);
  return status_;
}

void Rollout::Serve() {
  for (size_t index = 0; TakeNext(index);) {
    Finish(index, TrajectoryWorker(context_, specs_[index], places_[index]->stops).Run());
  }
}

bool Rollout::TakeNext(size_t& index) {
  absl::MutexLock lock(&mutex_);
  const auto ready = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return closing_ || !waiting_.empty() || working_ == 0;
  };
  mutex_.Await(absl::Condition(&ready));
  if (closing_ || waiting_.empty()) return false;
  index = waiting_.front();
  waiting_.pop_front();
  places_[index]->queued = false;
  places_[index]->working = true;
  ++working_;
  return true;
}

void Rollout::Finish(size_t index, const absl::Status& status) {
  if (!status.ok() && !absl::IsCancelled(status)) Stop(status);
  absl::MutexLock lock(&mutex_);
  Place& place = *places_[index];
  place.working = false;
  --working_;
  // An exclusion may have come while the worker was leaving.
  if (closing_ || !exclusions_.Earliest(index).has_value()) return;
  place.stops.Renew();
  place.queued = true;
  waiting_.push_back(index);
}

void Rollout::OnExcluded(size_t index) {
  absl::MutexLock lock(&mutex_);
  Place& place = *places_[index];
  if (place.working) {
    place.stops.StopAll();
  } else if (!place.queued) {
    place.stops.Renew();
    place.queued = true;
    waiting_.push_back(index);
  }
}

void Rollout::Stop(const absl::Status& why) {
  absl::MutexLock lock(&mutex_);
  if (status_.ok()) status_ = why;
  closing_ = true;
  answers_.Close();
  parts_.judge.Close();
  asking_what_was_excluded_.Stop();
  for (const auto& place : places_) place->stops.StopJudging();
}

void Rollout::Interrupt(int times) {
  Stop(absl::CancelledError("stopped by Ctrl-C or SIGTERM."));
  if (times < 2) return;
  absl::MutexLock lock(&mutex_);
  for (const auto& place : places_) place->stops.StopAll();
}

}  // namespace sassay::agent
