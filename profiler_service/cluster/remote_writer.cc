#include "profiler_service/cluster/remote_writer.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "profiler_service/cluster/convert.h"

namespace sassay::cluster {
namespace {

using sassay::v1::Event;
using store::Lease;

// Of one AppendRequest; Cluster allows more.
constexpr size_t kMostTogether = 500;
constexpr size_t kMostBytesTogether = size_t{2} << 20;

absl::Status TooMuchWaits() {
  return absl::UnavailableError(absl::StrCat("no front end has answered for a while: ", RemoteWriter::kMostWaiting,
                                             " writes or ", RemoteWriter::kMostBytes >> 20,
                                             " MiB wait already, no more are kept"));
}

}  // namespace

RemoteWriter::RemoteWriter(FrontEnds& front_ends, absl::Duration patience)
    : front_ends_(front_ends), patience_(patience), thread_([this] { Loop(); }) {}

RemoteWriter::~RemoteWriter() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

bool RemoteWriter::Enqueue(Write write) {
  absl::MutexLock lock(&mutex_);
  if (waiting_.size() >= kMostWaiting || waiting_bytes_ + write.bytes > kMostBytes) return false;
  waiting_bytes_ += write.bytes;
  write.until = SteadyNow() + patience_;
  waiting_.push_back(std::move(write));
  return true;
}

void RemoteWriter::Append(const Lease& lease, Event event, store::Callback<Event> done) {
  Write write;
  write.bytes = event.ByteSizeLong();
  write.append.push_back({lease, std::move(event), done});
  if (!Enqueue(std::move(write))) done(TooMuchWaits());
}

void RemoteWriter::Post(size_t bytes, std::function<void(absl::Time)> other, Refuse refuse) {
  Write write;
  write.bytes = bytes;
  write.other = std::move(other);
  if (!Enqueue(std::move(write))) refuse(TooMuchWaits());
}

// Either one write of another kind, or all events at the head of the line that fit into one request.
std::deque<RemoteWriter::Write> RemoteWriter::TakeTogether() {
  std::deque<Write> together;
  absl::MutexLock lock(&mutex_, absl::Condition(this, &RemoteWriter::SomethingToDo));
  size_t bytes = 0;
  while (!waiting_.empty()) {
    Write& next = waiting_.front();
    const bool first = together.empty();
    if (!first && (next.append.empty() || together.size() >= kMostTogether)) break;
    if (!first && bytes + next.bytes > kMostBytesTogether) break;
    bytes += next.bytes;
    waiting_bytes_ -= next.bytes;
    together.push_back(std::move(next));
    waiting_.pop_front();
    if (together.back().append.empty()) break;
  }
  return together;
}

void RemoteWriter::Loop() {
  for (;;) {
    std::deque<Write> together = TakeTogether();
    if (together.empty()) return;
    const absl::Time until = together.back().until;
    if (together.front().append.empty()) {
      together.front().other(until);
      continue;
    }
    std::vector<Appending> events;
    for (Write& write : together) events.push_back(std::move(write.append.front()));
    SendEvents(std::move(events), until, OutOfPlace::kSendAgain);
  }
}

sassay::v1::AppendRequest RemoteWriter::RequestFor(const std::vector<Appending>& events) const {
  sassay::v1::AppendRequest request;
  std::map<Key, uint64_t> next;
  absl::MutexLock lock(&mutex_);
  for (const Appending& each : events) {
    sassay::v1::EventOfLease& event = *request.add_events();
    *event.mutable_lease() = LeaseIdOf(each.lease);
    *event.mutable_event() = each.event;
    const auto held = held_.find(KeyOf(each.lease));
    if (held == held_.end() || each.event.sequence() != 0) continue;
    uint64_t& place = next.try_emplace(held->first, held->second.progress.last_sequence).first->second;
    event.mutable_event()->set_sequence(++place);
  }
  return request;
}

void RemoteWriter::NoteUnsure(const std::vector<Appending>& events) {
  absl::MutexLock lock(&mutex_);
  for (const Appending& each : events) {
    const auto held = held_.find(KeyOf(each.lease));
    if (held != held_.end()) held->second.progress.unsure = true;
  }
}

bool RemoteWriter::Settle(Appending& appending, const sassay::v1::Appended& answer, OutOfPlace out_of_place) {
  const auto code = static_cast<absl::StatusCode>(answer.code());
  bool again = false;
  {
    absl::MutexLock lock(&mutex_);
    const auto held = held_.find(KeyOf(appending.lease));
    if (held != held_.end()) {
      LeaseProgress& progress = held->second.progress;
      again = code == absl::StatusCode::kOutOfRange && progress.unsure && out_of_place == OutOfPlace::kSendAgain;
      if (code == absl::StatusCode::kOk || again)
        progress.last_sequence = std::max(progress.last_sequence, answer.sequence());
      if (code == absl::StatusCode::kAborted) held_.erase(held);
    }
  }
  if (again) return true;
  if (code != absl::StatusCode::kOk) {
    // Who asked for no place need not know of any: its lease is in other hands.
    const bool lost = code == absl::StatusCode::kOutOfRange && appending.event.sequence() == 0;
    appending.done(absl::Status(lost ? absl::StatusCode::kAborted : code, answer.message()));
    return false;
  }
  appending.event.set_sequence(answer.sequence());
  appending.event.set_submission_id(appending.lease.submission.id);
  appending.done(std::move(appending.event));
  return false;
}

void RemoteWriter::SendEvents(std::vector<Appending> events, absl::Time until, OutOfPlace out_of_place) {
  sassay::v1::AppendResponse response;
  absl::Status status = front_ends_.Call(&FrontEnds::Stub::Append, RequestFor(events), response, until);
  if (status.ok() && response.appended_size() != static_cast<int>(events.size())) {
    status = absl::InternalError("a front end answered another number of events than it was sent");
  }
  if (!status.ok()) {
    NoteUnsure(events);
    for (Appending& each : events) each.done(status);
    return;
  }
  std::vector<Appending> again;
  for (size_t i = 0; i < events.size(); ++i) {
    if (Settle(events[i], response.appended(static_cast<int>(i)), out_of_place)) again.push_back(std::move(events[i]));
  }
  if (!again.empty()) SendEvents(std::move(again), until, OutOfPlace::kIsLost);
}

void RemoteWriter::NoteAnswer(uint64_t number, const absl::optional<Lease>& taken) {
  absl::MutexLock lock(&mutex_);
  settled_number_ = number;
  if (taken.has_value()) held_[KeyOf(*taken)] = {*taken, {taken->submission.last_sequence, false}};
}

LeaseProgress RemoteWriter::ProgressOf(const Lease& lease) const {
  absl::MutexLock lock(&mutex_);
  const auto held = held_.find(KeyOf(lease));
  return held == held_.end() ? LeaseProgress() : held->second.progress;
}

void RemoteWriter::NoteOver(const Lease& lease) {
  absl::MutexLock lock(&mutex_);
  held_.erase(KeyOf(lease));
}

sassay::v1::HeldLeases RemoteWriter::Held() const {
  sassay::v1::HeldLeases all;
  absl::MutexLock lock(&mutex_);
  all.set_settled_number(settled_number_);
  for (const auto& [key, held] : held_) *all.add_leases() = LeaseIdOf(held.lease);
  return all;
}

Lease RemoteWriter::HeldOf(absl::string_view submission_id) const {
  absl::MutexLock lock(&mutex_);
  for (auto held = held_.lower_bound({std::string(submission_id), 0});
       held != held_.end() && held->first.first == submission_id; ++held) {
    if (std::next(held) == held_.end() || std::next(held)->first.first != submission_id) return held->second.lease;
  }
  return {};
}

}  // namespace sassay::cluster
