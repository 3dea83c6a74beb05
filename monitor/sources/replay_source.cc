#include "monitor/sources/replay_source.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"

namespace sassay::monitor {
namespace {

constexpr char kNoGpu[] = "-";

absl::Status Broken(int number, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("trace, line ", number, ": ", what));
}

absl::StatusOr<Sample> ParseLine(absl::string_view line, int number) {
  const std::vector<absl::string_view> words = absl::StrSplit(line, absl::MaxSplits(' ', 4));
  double seconds = 0;
  Sample sample;
  if (words.size() < 4) return Broken(number, "expected SECONDS GPU SIGNAL VALUE [TEXT]");
  if (!absl::SimpleAtod(words[0], &seconds)) return Broken(number, "SECONDS is no number");
  if (!absl::SimpleAtod(words[3], &sample.value)) return Broken(number, "VALUE is no number");
  sample.at = absl::UnixEpoch() + absl::Seconds(seconds);
  if (words[1] != kNoGpu) sample.gpu = std::string(words[1]);
  sample.signal = std::string(words[2]);
  if (words.size() == 5) sample.text = std::string(words[4]);
  return sample;
}

class ReplaySource : public Source {
 public:
  ReplaySource(std::string name, std::vector<Sample> trace) : name_(std::move(name)), trace_(std::move(trace)) {}

  std::string name() const override { return name_; }
  absl::Duration period() const override { return absl::Milliseconds(20); }
  absl::Duration deadline() const override { return absl::Seconds(1); }

  absl::StatusOr<std::vector<Sample>> Read() override {
    const absl::Time now = SteadyNow();
    if (begin_ == absl::InfinitePast()) begin_ = now;
    std::vector<Sample> samples;
    for (; next_ < trace_.size(); ++next_) {
      const absl::Time due = begin_ + (trace_[next_].at - absl::UnixEpoch());
      if (due > now) break;
      samples.push_back(trace_[next_]);
      samples.back().at = due;
    }
    return samples;
  }

 private:
  const std::string name_;
  const std::vector<Sample> trace_;
  absl::Time begin_ = absl::InfinitePast();
  size_t next_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<Sample>> ParseTrace(absl::string_view text) {
  std::vector<Sample> trace;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (line.empty() || line[0] == '#') continue;
    ASSIGN_OR_RETURN(Sample sample, ParseLine(line, number));
    if (!trace.empty() && sample.at < trace.back().at) return Broken(number, "it is earlier than the line before");
    trace.push_back(std::move(sample));
  }
  return trace;
}

std::string TraceLine(const Sample& sample, absl::Time begin) {
  const std::string gpu = sample.gpu.empty() ? kNoGpu : sample.gpu;
  return absl::StrCat(absl::ToDoubleSeconds(sample.at - begin), " ", gpu, " ", sample.signal, " ", sample.value,
                      sample.text.empty() ? "" : " ", sample.text);
}

std::unique_ptr<Source> MakeReplaySource(std::string name, std::vector<Sample> trace) {
  return std::make_unique<ReplaySource>(std::move(name), std::move(trace));
}

}  // namespace sassay::monitor
