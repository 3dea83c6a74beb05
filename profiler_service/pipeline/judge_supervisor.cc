#include "profiler_service/pipeline/judge_supervisor.h"

#include <deque>
#include <map>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/status_macros.h"

namespace sassay::pipeline {

using sassay::worker::JudgeReply;
using sassay::worker::JudgeRequest;

// One judge process and the thread that listens to it. Replies of a case come in the order of its requests; a question
// whose asker has gone away still takes its reply.
class JudgeSupervisor::Conversation {
 public:
  static absl::StatusOr<std::shared_ptr<Conversation>> Start(const wire::WorkerOptions& options,
                                                             absl::Duration start_timeout) {
    ASSIGN_OR_RETURN(std::unique_ptr<wire::WorkerProcess> judge, wire::WorkerProcess::Start(options));
    JudgeReply ready;
    RETURN_IF_ERROR(judge->Receive(ready, absl::Now() + start_timeout).status());
    if (!ready.error().empty()) return absl::UnavailableError(absl::StrCat("judge: ", ready.error()));
    ASSIGN_OR_RETURN(wire::Channel ears, judge->Listen());
    return std::shared_ptr<Conversation>(new Conversation(std::move(judge), std::move(ears), std::move(ready)));
  }

  ~Conversation() {
    judge_->Kill();
    listener_.join();
  }

  const JudgeReply& ready() const { return ready_; }
  pid_t pid() const { return judge_->pid(); }
  bool ended() const {
    absl::MutexLock lock(&mutex_);
    return !why_ended_.ok();
  }

  absl::StatusOr<JudgeReply> Ask(const JudgeRequest& request, std::vector<UniqueFd>& descriptors, absl::Time deadline,
                                 wire::KillSwitch* kill_switch) {
    const auto question = std::make_shared<Question>();
    Send(request, question, deadline);
    const wire::KillSwitch::Guard guard(kill_switch, [this, &question] {
      absl::MutexLock lock(&mutex_);
      question->cancelled = true;
    });
    absl::MutexLock lock(&mutex_);
    const auto over = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return question->answered || question->cancelled || !why_ended_.ok();
    };
    const bool in_time = mutex_.AwaitWithDeadline(absl::Condition(&over), deadline);
    if (question->answered) {
      descriptors = std::move(question->descriptors);
      return std::move(question->reply);
    }
    if (question->cancelled) return absl::CancelledError("the judge's answer is not waited for any more");
    if (in_time) return why_ended_;
    judge_->Kill();
    return absl::DeadlineExceededError(absl::StrCat("the judge (pid ", pid(), ") did not answer in time"));
  }

 private:
  struct Question {
    bool answered = false, cancelled = false;
    JudgeReply reply;
    std::vector<UniqueFd> descriptors;
  };

  Conversation(std::unique_ptr<wire::WorkerProcess> judge, wire::Channel ears, JudgeReply ready)
      : judge_(std::move(judge)), ears_(std::move(ears)), ready_(std::move(ready)), listener_([this] { Listen(); }) {}

  // A failure shows in the listener.
  void Send(const JudgeRequest& request, const std::shared_ptr<Question>& question, absl::Time deadline) {
    absl::MutexLock sending(&send_mutex_);
    {
      absl::MutexLock lock(&mutex_);
      open_[request.case_id()].push_back(question);
    }
    judge_->Send(request, deadline).IgnoreError();
  }

  void Listen() {
    while (true) {
      JudgeReply reply;
      auto received = ears_.Receive(reply, absl::InfiniteFuture());
      if (!received.ok()) return End(judge_->Explain(received.status()));
      absl::MutexLock lock(&mutex_);
      const auto asked = open_.find(reply.case_id());
      if (asked == open_.end()) continue;
      Question& question = *asked->second.front();
      question.reply = std::move(reply);
      question.descriptors = *std::move(received);
      question.answered = true;
      asked->second.pop_front();
      if (asked->second.empty()) open_.erase(asked);
    }
  }

  // Whoever had it killed says why to his own asker; to the others the judge is lost.
  void End(const absl::Status& why) {
    absl::MutexLock lock(&mutex_);
    why_ended_ = absl::UnavailableError(why.message());
  }

  const std::unique_ptr<wire::WorkerProcess> judge_;
  wire::Channel ears_;  // the listener's alone
  const JudgeReply ready_;
  absl::Mutex send_mutex_ ABSL_ACQUIRED_BEFORE(mutex_);
  mutable absl::Mutex mutex_;
  std::map<uint64_t, std::deque<std::shared_ptr<Question>>> open_ ABSL_GUARDED_BY(mutex_);  // by case
  absl::Status why_ended_ ABSL_GUARDED_BY(mutex_);                                          // OK while the judge lives
  std::thread listener_;  // last: it uses everything above
};

JudgeSupervisor::~JudgeSupervisor() = default;

absl::StatusOr<std::unique_ptr<JudgeSupervisor>> JudgeSupervisor::Start(wire::WorkerOptions options,
                                                                        absl::Duration start_timeout) {
  std::unique_ptr<JudgeSupervisor> supervisor(new JudgeSupervisor(std::move(options), start_timeout));
  ASSIGN_OR_RETURN(const std::shared_ptr<Conversation> first, supervisor->Current());
  supervisor->device_ = first->ready().device();
  return supervisor;
}

absl::StatusOr<std::shared_ptr<JudgeSupervisor::Conversation>> JudgeSupervisor::Current() {
  absl::MutexLock lock(&mutex_);
  if (current_ != nullptr && !current_->ended()) return current_;
  current_.reset();
  ASSIGN_OR_RETURN(current_, Conversation::Start(options_, start_timeout_));
  return current_;
}

absl::StatusOr<JudgeReply> JudgeSupervisor::Ask(const JudgeRequest& request, std::vector<UniqueFd>& descriptors,
                                                absl::Time deadline, wire::KillSwitch* kill_switch) {
  ASSIGN_OR_RETURN(const std::shared_ptr<Conversation> conversation, Current());
  return conversation->Ask(request, descriptors, deadline, kill_switch);
}

pid_t JudgeSupervisor::pid() {
  absl::MutexLock lock(&mutex_);
  return current_ == nullptr || current_->ended() ? 0 : current_->pid();
}

}  // namespace sassay::pipeline
