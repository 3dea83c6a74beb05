#include "agent/rollout/view/board.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/proto_json.h"
#include "common/terminal/text.h"
#include "fmt/format.h"

namespace sassay::agent {
namespace {

constexpr size_t kNotes = 4;

void TakeTurn(const Turn& turn, BoardRow& row) {
  row.glyphs += GlyphOf(turn);
  row.best_speedup = std::max(row.best_speedup, SpeedupOf(turn).value_or(0));
}

bool IsDecided(const Turn& turn) { return turn.feedback.has_value(); }

std::string OutcomeOf(const Turn& turn) {
  if (!turn.judged.has_value()) {
    return absl::StrCat(EnumName(turn.extracted->extraction()), ": ", PrintableLine(turn.extracted->reason()));
  }
  const v1::Verdict& verdict = turn.judged->verdict();
  const std::optional<double> speedup = SpeedupOf(turn);
  if (speedup.has_value()) return fmt::format("CORRECT, {:.3f}x", *speedup);
  if (verdict.status() == v1::VERDICT_STATUS_CORRECT) return "CORRECT, not timed";
  return absl::StrCat(EnumName(verdict.status()), " ", EnumName(verdict.code()), ": ", PrintableLine(verdict.reason()));
}

}  // namespace

char GlyphOf(const Turn& turn) {
  if (!turn.judged.has_value()) return '-';
  switch (turn.judged->verdict().status()) {
    case v1::VERDICT_STATUS_CORRECT:
      return '+';
    case v1::VERDICT_STATUS_COMPILE_ERROR:
      return 'c';
    case v1::VERDICT_STATUS_CAPTURE_ERROR:
      return 'h';
    case v1::VERDICT_STATUS_REJECTED:
      return 'r';
    case v1::VERDICT_STATUS_SANITIZER_ERROR:
      return 'z';
    case v1::VERDICT_STATUS_RUNTIME_ERROR:
      return 'x';
    case v1::VERDICT_STATUS_TIMEOUT:
      return 't';
    case v1::VERDICT_STATUS_INCORRECT_NUMERICAL:
      return 'n';
    case v1::VERDICT_STATUS_CHEATING:
      return '!';
    default:
      return '?';
  }
}

std::string LineOf(absl::string_view id, const Turn& turn) {
  return absl::StrCat(id, " turn ", turn.number, ": ", OutcomeOf(turn));
}

void Board::Add(std::string id, std::string workload) {
  absl::MutexLock lock(&mutex_);
  BoardRow& row = state_.rows.emplace_back();
  row.id = std::move(id);
  row.workload = std::move(workload);
  row.doing = "waiting";
}

void Board::Show(size_t row, const std::vector<Turn>& turns) {
  absl::MutexLock lock(&mutex_);
  BoardRow& shown = state_.rows[row];
  shown.glyphs.clear();
  shown.best_speedup = 0;
  shown.ended = false;
  for (const Turn& turn : turns) {
    if (IsDecided(turn)) TakeTurn(turn, shown);
  }
  changed_ = true;
}

void Board::Doing(size_t row, absl::string_view what) {
  absl::MutexLock lock(&mutex_);
  state_.rows[row].doing = std::string(what);
  state_.rows[row].asking = false;
  changed_ = true;
}

void Board::Arriving(size_t row, uint64_t text_bytes, uint64_t reasoning_bytes) {
  absl::MutexLock lock(&mutex_);
  BoardRow& shown = state_.rows[row];
  shown.asking = true;
  shown.doing = absl::StrCat("answer ", BytesText(text_bytes),
                             reasoning_bytes > 0 ? absl::StrCat(", reasoning ", BytesText(reasoning_bytes)) : "");
  changed_ = true;
}

void Board::Decided(size_t row, const Turn& turn) {
  {
    absl::MutexLock lock(&mutex_);
    TakeTurn(turn, state_.rows[row]);
    changed_ = true;
  }
  Say(LineOf(IdOf(row), turn));
}

void Board::Ended(size_t row, const v1::TrajectoryEnded& ended) {
  {
    absl::MutexLock lock(&mutex_);
    BoardRow& shown = state_.rows[row];
    shown.ended = true;
    shown.asking = false;
    shown.doing = absl::StrCat("ended: ", EnumName(ended.end()));
    changed_ = true;
  }
  Say(absl::StrCat(IdOf(row), " ended: ", EnumName(ended.end()),
                   ended.detail().empty() ? "" : absl::StrCat(", ", PrintableLine(ended.detail()))));
}

void Board::Spent(const v1::Usage& total) {
  absl::MutexLock lock(&mutex_);
  state_.spent = total;
  changed_ = true;
}

void Board::Note(size_t row, absl::string_view text) {
  const std::string line = absl::StrCat(IdOf(row), ": ", PrintableLine(text));
  Keep(line);
  Say(line);
}

void Board::Note(absl::string_view text) {
  const std::string line = PrintableLine(text);
  Keep(line);
  Say(line);
}

BoardState Board::state() const {
  absl::MutexLock lock(&mutex_);
  return state_;
}

bool Board::AwaitChange() {
  absl::MutexLock lock(&mutex_);
  const auto ready = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return changed_ || closed_; };
  mutex_.Await(absl::Condition(&ready));
  changed_ = false;
  return !closed_;
}

void Board::Close() {
  absl::MutexLock lock(&mutex_);
  closed_ = true;
}

std::string Board::IdOf(size_t row) const {
  absl::MutexLock lock(&mutex_);
  return state_.rows[row].id;
}

void Board::Keep(const std::string& note) {
  absl::MutexLock lock(&mutex_);
  state_.notes.push_back(note);
  if (state_.notes.size() > kNotes) state_.notes.erase(state_.notes.begin());
  changed_ = true;
}

void Board::Say(const std::string& line) {
  absl::MutexLock lock(&saying_);
  say_(line);
}

}  // namespace sassay::agent
