#include "monitor/exporter/board.h"

#include "absl/strings/ascii.h"

namespace sassay::monitor {
namespace {

// More than can be open at once, by far.
constexpr size_t kCountedIds = 4096;

}  // namespace

absl::string_view SeverityLabel(sassay::v1::Severity severity) {
  switch (severity) {
    case sassay::v1::SEVERITY_INFO:
      return "info";
    case sassay::v1::SEVERITY_WARNING:
      return "warning";
    case sassay::v1::SEVERITY_CRITICAL:
      return "critical";
    default:
      return "unspecified";
  }
}

void Board::Name(const std::vector<GpuName>& gpus) {
  absl::MutexLock lock(&mutex_);
  for (const GpuName& gpu : gpus) snapshot_.names[gpu.uuid] = gpu;
}

void Board::Saw(const std::vector<Sample>& samples) {
  absl::MutexLock lock(&mutex_);
  for (const Sample& sample : samples) {
    if (sample.signal == "gpu.xid") ++snapshot_.xids[{sample.gpu, static_cast<int>(sample.value)}];
    if (sample.signal == "canary.failed") ++snapshot_.canary_failures[sample.gpu];
    snapshot_.latest.insert_or_assign({sample.gpu, sample.signal}, sample);
  }
}

void Board::Show(std::vector<SubjectView> subjects) {
  absl::MutexLock lock(&mutex_);
  for (SubjectView& subject : subjects) {
    for (sassay::v1::Incident& incident : subject.open) {
      incident.clear_evidence();
      Count(incident);
    }
  }
  snapshot_.subjects = std::move(subjects);
  snapshot_.decided = steady_now_();
}

void Board::Record(const sassay::v1::Incident& incident) {
  absl::MutexLock lock(&mutex_);
  Count(incident);
}

void Board::Acted(absl::string_view kind, bool ok) {
  absl::MutexLock lock(&mutex_);
  ++snapshot_.actions[{absl::AsciiStrToLower(kind), ok ? "ok" : "failed"}];
}

void Board::ShowSource(absl::string_view name, const Snapshot::Source& source) {
  absl::MutexLock lock(&mutex_);
  snapshot_.sources[std::string(name)] = source;
}

void Board::ShowDropped(uint64_t samples) {
  absl::MutexLock lock(&mutex_);
  snapshot_.samples_dropped = samples;
}

void Board::SetServiceUp(bool up) {
  absl::MutexLock lock(&mutex_);
  snapshot_.service_up = up;
}

Snapshot Board::snapshot() const {
  absl::MutexLock lock(&mutex_);
  return snapshot_;
}

void Board::Count(const sassay::v1::Incident& incident) {
  if (!counted_.insert(incident.id()).second) return;
  ++snapshot_.incidents[{incident.rule(), std::string(SeverityLabel(incident.severity()))}];
  counted_in_order_.push_back(incident.id());
  if (counted_in_order_.size() <= kCountedIds) return;
  counted_.erase(counted_in_order_.front());
  counted_in_order_.pop_front();
}

}  // namespace sassay::monitor
