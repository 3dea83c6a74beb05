#include "agent/render/progress.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "agent/render/text.h"
#include "common/base/proto_json.h"
#include "fmt/format.h"

namespace sassay::agent {
namespace {

constexpr char kFrames[] = {'|', '/', '-', '\\'};
constexpr absl::Duration kTick = absl::Milliseconds(100);
constexpr char kEraseLine[] = "\r\033[K";

std::string Elapsed(absl::Duration duration) { return DurationText(absl::ToDoubleNanoseconds(duration)); }

}  // namespace

Progress::Progress(std::ostream& out, Style style, bool interactive, std::function<absl::Time()> now)
    : style_(style), interactive_(interactive), now_(std::move(now)), out_(out) {}

void Progress::Begin(absl::string_view step, absl::string_view detail) {
  absl::MutexLock lock(&mutex_);
  BeginLocked(step, detail);
}

void Progress::BeginLocked(absl::string_view step, absl::string_view detail) {
  step_ = std::string(step);
  detail_ = PrintableLine(detail);
  began_ = now_();
  if (interactive_) Redraw();
}

void Progress::Detail(absl::string_view detail) {
  absl::MutexLock lock(&mutex_);
  detail_ = PrintableLine(detail);
}

void Progress::End(absl::string_view outcome, absl::string_view detail) {
  absl::MutexLock lock(&mutex_);
  if (step_.empty()) return;
  const std::string time = Elapsed(now_() - began_);
  Line(absl::StrCat(fmt::format("{:<11}", step_), OutcomeText(outcome), fmt::format("{:>12}  ", time),
                    PrintableLine(detail)));
  step_.clear();
}

void Progress::Note(absl::string_view text) {
  absl::MutexLock lock(&mutex_);
  Line(PrintableLine(text));
  if (interactive_) Redraw();
}

void Progress::OnEvent(const v1::Event& event) {
  absl::MutexLock lock(&mutex_);
  if (event.has_accepted()) {
    const uint64_t ahead = event.accepted().queue_position();
    Line(fmt::format("{:<11}{}{}", "accepted", PrintableLine(event.submission_id()),
                     ahead > 0 ? fmt::format(", {} ahead", ahead) : ""));
    BeginLocked("queued", "");
  } else if (event.has_stage_started()) {
    const v1::StageStarted& started = event.stage_started();
    BeginLocked(LowerCase(EnumName(started.stage())), started.device());
  } else if (event.has_stage_finished()) {
    StageLine(event.stage_finished().report());
  } else if (event.has_retrying()) {
    Line(style_.Warn(
        fmt::format("attempt {}: {}", event.retrying().attempt(), PrintableLine(event.retrying().reason()))));
    BeginLocked("queued", "");
  } else if (event.has_excluded()) {
    ExcludedLine(event.excluded());
  } else if (event.has_verdict()) {
    step_.clear();
    EraseLine();
    if (const std::string& from = event.verdict().reused_from(); !from.empty())
      Line(fmt::format("{:<11}from {}", "cached", PrintableLine(from)));
    const bool open = event.verdict().timing().status() == v1::Timing::PROVISIONAL && !event.last();
    if (open) BeginLocked("settling", "until the reliability monitor has vouched for the GPU");
  } else if (event.has_timing_settled()) {
    step_.clear();
    EraseLine();
  }
}

void Progress::ExcludedLine(const v1::Excluded& excluded) {
  const v1::Exclusion& exclusion = excluded.exclusion();
  Line(style_.Warn(fmt::format("attempt {}: excluded (incident {}: {}), {}", excluded.attempt(),
                               PrintableLine(exclusion.incident_id()), PrintableLine(exclusion.reason()),
                               excluded.rerun() ? "running again" : "too often to run again")));
  step_.clear();
  if (excluded.rerun()) BeginLocked("queued", "");
}

void Progress::StageLine(const v1::StageReport& report) {
  const std::string outcome = LowerCase(EnumName(report.outcome()));
  const std::string time = report.wall_ns() > 0 ? DurationText(report.wall_ns()) : "-";
  Line(absl::StrCat(fmt::format("{:<11}", LowerCase(EnumName(report.stage()))), OutcomeText(outcome),
                    fmt::format("{:>12}  ", time), PrintableLine(report.reason())));
  step_.clear();
}

void Progress::Tick() {
  absl::MutexLock lock(&mutex_);
  ++ticks_;
  if (interactive_) Redraw();
}

void Progress::Finish() {
  absl::MutexLock lock(&mutex_);
  step_.clear();
  EraseLine();
  out_.flush();
}

void Progress::Line(absl::string_view text) {
  EraseLine();
  out_ << absl::StripTrailingAsciiWhitespace(text) << "\n" << std::flush;
}

void Progress::Redraw() {
  if (step_.empty()) return;
  const std::string spinner(1, kFrames[ticks_ % std::size(kFrames)]);
  out_ << kEraseLine << style_.Name(spinner) << " " << step_ << " " << Elapsed(now_() - began_);
  if (!detail_.empty()) out_ << "  " << style_.Dim(detail_);
  out_ << std::flush;
  line_drawn_ = true;
}

void Progress::EraseLine() {
  if (line_drawn_) out_ << kEraseLine;
  line_drawn_ = false;
}

std::string Progress::OutcomeText(absl::string_view outcome) const {
  const std::string padded = fmt::format("{:<12}", fmt::string_view(outcome.data(), outcome.size()));
  if (outcome == "passed") return style_.Good(padded);
  return outcome == "failed" ? style_.Bad(padded) : style_.Warn(padded);
}

Spinner::Spinner(Progress& progress)
    : thread_([this, &progress] {
        while (!stop_.WaitForNotificationWithTimeout(kTick)) progress.Tick();
      }) {}

Spinner::~Spinner() {
  stop_.Notify();
  thread_.join();
}

}  // namespace sassay::agent
