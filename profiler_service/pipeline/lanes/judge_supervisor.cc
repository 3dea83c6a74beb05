#include "profiler_service/pipeline/lanes/judge_supervisor.h"

#include <deque>
#include <map>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"
#include "spdlog/spdlog.h"

namespace sassay::pipeline {

using sassay::worker::JudgeReply;
using sassay::worker::JudgeRequest;

namespace {

// No case has it.
constexpr uint64_t kNoCase = 0;
constexpr absl::Duration kAskForLife = absl::Seconds(1);

}  // namespace

// One judge process and the thread that listens to it. Replies of a case come in the order of its requests; a question
// whose asker has gone away still takes its reply.
class JudgeSupervisor::Conversation {
 public:
  static absl::StatusOr<std::shared_ptr<Conversation>> Start(const wire::WorkerOptions& options,
                                                             absl::Duration start_timeout, absl::Duration silence,
                                                             std::shared_ptr<Witness> witness, wire::KillSwitch& stop) {
    ASSIGN_OR_RETURN(std::unique_ptr<wire::WorkerProcess> judge, wire::WorkerProcess::Start(options));
    const wire::KillSwitch::Guard guard(&stop, [process = judge.get()] { process->Kill(); });
    JudgeReply ready;
    RETURN_IF_ERROR(judge->Receive(ready, SteadyNow() + start_timeout).status());
    if (!ready.error().empty()) return absl::UnavailableError(absl::StrCat("judge: ", ready.error()));
    ASSIGN_OR_RETURN(wire::Channel ears, judge->Listen());
    return std::shared_ptr<Conversation>(
        new Conversation(std::move(judge), std::move(ears), std::move(ready), silence, std::move(witness)));
  }

  ~Conversation() {
    {
      absl::MutexLock lock(&mutex_);
      closing_ = true;
    }
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
    Send(request, question);
    if (Await(*question, deadline, kill_switch)) {
      descriptors = std::move(question->descriptors);
      return std::move(question->reply);
    }
    if (kill_switch != nullptr && kill_switch->pulled()) {
      return absl::CancelledError("the judge's answer is not waited for any more");
    }
    if (ended()) return why_ended();
    if (Responds(kill_switch)) {
      return absl::DeadlineExceededError(absl::StrCat("the judge (pid ", pid(), ") did not answer in time"));
    }
    if (kill_switch != nullptr && kill_switch->pulled()) {
      return absl::CancelledError("the judge's answer is not waited for any more");
    }
    const std::string why =
        absl::StrCat("the judge (pid ", pid(), ") answered nothing at all for ", absl::FormatDuration(silence_));
    End(absl::UnavailableError(why), wire::Happening::kKilledSilent);
    judge_->Kill();
    return absl::DeadlineExceededError(why);
  }

  // Says something to which no answer is waited for.
  void Tell(const JudgeRequest& request) { Send(request, nullptr); }

  void TakeAway(absl::string_view why) {
    End(absl::UnavailableError(absl::StrCat("the judge (pid ", pid(), ") was ended: ", why)), wire::Happening::kEnded);
    judge_->TakeAway(why);
  }

  absl::Duration Silence() {
    absl::Duration silence;
    bool ask;
    {
      absl::MutexLock lock(&mutex_);
      if (!why_ended_.ok() || open_.empty()) return absl::ZeroDuration();
      silence = SteadyNow() - std::max(heard_at_, owes_since_);
      ask = silence > kAskForLife && open_.count(kNoCase) == 0;
    }
    // Whoever holds the lock is sending: then it is not even read.
    if (ask && send_mutex_.TryLock()) {
      SendLocked(DropNothing(), nullptr);
      send_mutex_.Unlock();
    }
    return silence;
  }

 private:
  struct Question {
    bool answered = false, cancelled = false;
    JudgeReply reply;
    std::vector<UniqueFd> descriptors;
  };

  Conversation(std::unique_ptr<wire::WorkerProcess> judge, wire::Channel ears, JudgeReply ready, absl::Duration silence,
               std::shared_ptr<Witness> witness)
      : judge_(std::move(judge)),
        ears_(std::move(ears)),
        ready_(std::move(ready)),
        silence_(silence),
        witness_(std::move(witness)),
        listener_([this] { Listen(); }) {
    witness_->Tell(wire::Happening::kStarted, pid(), "");
  }

  // A failure shows in the listener. A judge that does not even read is as silent as one that does not answer.
  void Send(const JudgeRequest& request, std::shared_ptr<Question> question) {
    absl::MutexLock sending(&send_mutex_);
    SendLocked(request, std::move(question));
  }

  void SendLocked(const JudgeRequest& request, std::shared_ptr<Question> question)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(send_mutex_) {
    {
      absl::MutexLock lock(&mutex_);
      if (open_.empty()) owes_since_ = SteadyNow();
      open_[request.case_id()].push_back(question != nullptr ? std::move(question) : std::make_shared<Question>());
    }
    judge_->Send(request, SteadyNow() + silence_).IgnoreError();
  }

  // Whether the answer came before the deadline, the end of the judge, or the switch.
  bool Await(Question& question, absl::Time deadline, wire::KillSwitch* kill_switch) {
    const wire::KillSwitch::Guard guard(kill_switch, [this, &question] {
      absl::MutexLock lock(&mutex_);
      question.cancelled = true;
    });
    absl::MutexLock lock(&mutex_);
    const auto over = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return question.answered || question.cancelled || !why_ended_.ok();
    };
    AwaitUntil(mutex_, absl::Condition(&over), deadline);
    return question.answered;
  }

  // Dropping a case that never was takes no time.
  static JudgeRequest DropNothing() {
    JudgeRequest request;
    request.set_case_id(kNoCase);
    request.mutable_drop();
    return request;
  }

  // Whether its own thread still answers.
  bool Responds(wire::KillSwitch* kill_switch) {
    const auto question = std::make_shared<Question>();
    Send(DropNothing(), question);
    return Await(*question, SteadyNow() + silence_, kill_switch);
  }

  absl::Status why_ended() const {
    absl::MutexLock lock(&mutex_);
    return why_ended_;
  }

  void Listen() {
    while (true) {
      JudgeReply reply;
      auto received = ears_.Receive(reply, absl::InfiniteFuture());
      if (!received.ok()) return End(judge_->Explain(received.status()), wire::Happening::kDied);
      absl::MutexLock lock(&mutex_);
      heard_at_ = SteadyNow();
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

  // Whoever had it killed says why to his own asker; to the others the judge is lost. The first one stands.
  void End(const absl::Status& why, wire::Happening happening) {
    {
      absl::MutexLock lock(&mutex_);
      if (!why_ended_.ok()) return;
      why_ended_ = absl::UnavailableError(why.message());
      if (closing_) happening = wire::Happening::kEnded;
    }
    witness_->Tell(happening, pid(), why.message());
    if (happening == wire::Happening::kEnded) return;
    ++witness_->deaths;
    spdlog::warn("a judge ended, and the cases it had with it: {}", std::string(why.message()));
  }

  const std::unique_ptr<wire::WorkerProcess> judge_;
  wire::Channel ears_;  // the listener's alone
  const JudgeReply ready_;
  const absl::Duration silence_;
  const std::shared_ptr<Witness> witness_;
  absl::Mutex send_mutex_ ABSL_ACQUIRED_BEFORE(mutex_);
  mutable absl::Mutex mutex_;
  std::map<uint64_t, std::deque<std::shared_ptr<Question>>> open_ ABSL_GUARDED_BY(mutex_);  // by case
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status why_ended_ ABSL_GUARDED_BY(mutex_);  // OK while the judge lives
  absl::Time heard_at_ ABSL_GUARDED_BY(mutex_) = SteadyNow();
  absl::Time owes_since_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  std::thread listener_;  // last: it uses everything above
};

JudgeSupervisor::~JudgeSupervisor() {
  stop_.Pull();
  std::thread starter;
  {
    absl::MutexLock lock(&mutex_);
    starter = std::move(starter_);
  }
  if (starter.joinable()) starter.join();
}

absl::StatusOr<std::unique_ptr<JudgeSupervisor>> JudgeSupervisor::Start(wire::WorkerOptions options,
                                                                        absl::Duration start_timeout,
                                                                        absl::Duration silence, Listener listener) {
  std::unique_ptr<JudgeSupervisor> supervisor(
      new JudgeSupervisor(std::move(options), start_timeout, silence, std::move(listener)));
  ASSIGN_OR_RETURN(const std::shared_ptr<Conversation> first, supervisor->Current(absl::InfiniteFuture(), nullptr));
  supervisor->device_ = first->ready().device();
  return supervisor;
}

bool JudgeSupervisor::Alive() const { return current_ != nullptr && !current_->ended(); }

void JudgeSupervisor::BeginStart() {
  starting_ = true;
  if (starter_.joinable()) starter_.join();  // it has nothing more to do
  starter_ = std::thread([this, former = std::move(current_)]() mutable {
    former.reset();
    auto started = Conversation::Start(options_, start_timeout_, silence_, witness_, stop_);
    if (!started.ok()) {
      ++witness_->deaths;
      witness_->Tell(wire::Happening::kFailedToStart, 0, started.status().message());
      spdlog::error("a judge could not start: {}", started.status().ToString());
    }
    absl::MutexLock lock(&mutex_);
    why_not_started_ = started.status();
    if (started.ok()) current_ = *std::move(started);
    starting_ = false;
  });
}

absl::StatusOr<std::shared_ptr<JudgeSupervisor::Conversation>> JudgeSupervisor::Current(absl::Time deadline,
                                                                                        wire::KillSwitch* kill_switch) {
  bool cancelled = false;
  const wire::KillSwitch::Guard guard(kill_switch, [this, &cancelled] {
    absl::MutexLock lock(&mutex_);
    cancelled = true;
  });
  absl::MutexLock lock(&mutex_);
  if (Alive()) return current_;
  if (!starting_) BeginStart();
  const auto over = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !starting_ || cancelled; };
  const bool in_time = AwaitUntil(mutex_, absl::Condition(&over), deadline);
  if (cancelled) return absl::CancelledError("cancelled while a judge started");
  if (!in_time) return absl::DeadlineExceededError("no judge started in time");
  if (current_ != nullptr) return current_;
  return why_not_started_;
}

absl::StatusOr<JudgeReply> JudgeSupervisor::Ask(const JudgeRequest& request, std::vector<UniqueFd>& descriptors,
                                                absl::Time deadline, wire::KillSwitch* kill_switch) {
  ASSIGN_OR_RETURN(const std::shared_ptr<Conversation> conversation, Current(deadline, kill_switch));
  ASSIGN_OR_RETURN(JudgeReply reply, conversation->Ask(request, descriptors, deadline, kill_switch));
  if (sassay::worker::StateOrigin_IsValid(reply.state_origin())) ++states_[reply.state_origin()];
  return reply;
}

// The cases of a judge that has died are gone already.
void JudgeSupervisor::Drop(uint64_t case_id) {
  std::shared_ptr<Conversation> conversation;
  {
    absl::MutexLock lock(&mutex_);
    if (!Alive()) return;
    conversation = current_;
  }
  JudgeRequest request;
  request.set_case_id(case_id);
  request.mutable_drop();
  conversation->Tell(request);
}

void JudgeSupervisor::Restart(absl::string_view why) {
  absl::MutexLock lock(&mutex_);
  if (!Alive()) return;
  current_->TakeAway(why);
  if (!starting_) BeginStart();
}

absl::Duration JudgeSupervisor::Silence() {
  std::shared_ptr<Conversation> conversation;
  {
    absl::MutexLock lock(&mutex_);
    if (!Alive()) return absl::ZeroDuration();
    conversation = current_;
  }
  return conversation->Silence();
}

pid_t JudgeSupervisor::pid() {
  absl::MutexLock lock(&mutex_);
  return current_ == nullptr || current_->ended() ? 0 : current_->pid();
}

}  // namespace sassay::pipeline
