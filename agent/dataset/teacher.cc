#include "agent/dataset/teacher.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "agent/models/answer.h"
#include "agent/trajectory/json_form.h"
#include "agent/trajectory/trajectory.h"
#include "common/base/files.h"
#include "common/base/foreign/code_block.h"
#include "common/base/sha256.h"
#include "common/base/status_macros.h"

namespace sassay::agent {
namespace {

constexpr char kRepairRequest[] =
    "\nMake the smallest change that repairs this candidate and keeps its structure. First say in a few sentences what "
    "was wrong and how the change mends it, then give the whole source in one code block.\n";
constexpr char kReasoningSystem[] =
    "You explain how an expert thinks about GPU kernels. Write the reasoning in the first person, as it goes before "
    "the "
    "solution is known: what the evidence says, what follows from it, which alternatives are set aside, what to write. "
    "Give no code block and do not mention that a solution was shown to you.";

ChatMessage Message(ChatMessage::Role role, std::string text) {
  return {role, std::make_shared<const std::string>(std::move(text))};
}

std::string Fenced(const Example& example, const std::string& code) {
  return CodeBlock(example.language == "triton" ? "python" : "cuda", code);
}

std::vector<ChatMessage> RepairMessages(const Example& example) {
  return {Message(ChatMessage::Role::kSystem, example.system), Message(ChatMessage::Role::kUser, example.user),
          Message(ChatMessage::Role::kAssistant, Fenced(example, example.failed_source)),
          Message(ChatMessage::Role::kUser, absl::StrCat(example.feedback, kRepairRequest))};
}

std::vector<ChatMessage> ReasoningMessages(const Example& example) {
  std::string question = absl::StrCat("The task:\n\n", example.user, "\n");
  if (!example.failed_source.empty()) {
    absl::StrAppend(&question, "\nThe candidate so far:\n\n", Fenced(example, example.failed_source),
                    "\nWhat was found:\n\n", example.feedback, "\n");
  }
  absl::StrAppend(&question, "\nThe solution:\n\n", Fenced(example, example.solution),
                  "\nWrite the reasoning that leads to it.\n");
  return {Message(ChatMessage::Role::kSystem, kReasoningSystem),
          Message(ChatMessage::Role::kUser, std::move(question))};
}

std::string Key(const std::string& name, const std::vector<ChatMessage>& messages) {
  std::string text = absl::StrCat(name, "\n");
  for (const ChatMessage& message : messages)
    absl::StrAppend(&text, static_cast<int>(message.role), " ", message.text->size(), "\n", *message.text);
  return Sha256Hex(text);
}

// A message of ours in the cache.
template <typename Proto>
absl::StatusOr<Proto> ReadCached(const std::filesystem::path& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  Proto message;
  RETURN_IF_ERROR(ParseJson(text, message));
  return message;
}

absl::Status WriteCached(const std::filesystem::path& path, const google::protobuf::Message& message) {
  ASSIGN_OR_RETURN(const std::string text, JsonOf(message));
  return WriteFileAtomically(path, text);
}

bool MayBeLearnt(const v1::Verdict& verdict) {
  return verdict.status() == v1::VERDICT_STATUS_CORRECT && verdict.scorable() && !verdict.has_excluded();
}

bool EndsConversationOnly(const absl::Status& status) {
  return status.code() == absl::StatusCode::kInvalidArgument || status.code() == absl::StatusCode::kResourceExhausted;
}

void TakeRepair(const v1::Answered& answer, const std::string& code, const v1::Verdict& verdict,
                const std::string& teacher, Example& example) {
  example.solution = code;
  example.solution_origin = TextOrigin::kTeacher;
  example.solution_model = teacher;
  example.explanation = ProseOf(answer.text());
  example.reasoning = answer.reasoning();
  if (!example.reasoning.empty()) {
    example.reasoning_origin = TextOrigin::kTeacher;
    example.reasoning_model = teacher;
  }
  if (verdict.timing().speedup() > 0) example.speedup = verdict.timing().speedup();
  example.has_target_instructions = verdict.evidence().status() == v1::Evidence::DYNAMIC_PRESENT;
  example.rules = verdict.versions().rules();
  example.device = verdict.versions().device();
  example.sassay_version = verdict.versions().sassay();
}

}  // namespace

void Teacher::Count(uint64_t TeacherCounts::*which) {
  absl::MutexLock lock(&mutex_);
  ++(counts_.*which);
}

absl::StatusOr<v1::Answered> Teacher::Ask(Model& model, const std::string& name,
                                          const std::vector<ChatMessage>& messages, Stopper& stopper) {
  const std::string key = Key(name, messages);
  const std::filesystem::path path = options_.cache / absl::StrCat("answer_", key, ".json");
  if (absl::StatusOr<v1::Answered> cached = ReadCached<v1::Answered>(path); cached.ok()) return cached;
  GenerationRequest request;
  request.messages = messages;
  request.sampling = options_.sampling;
  request.idempotency_key = absl::StrCat("dataset/", key);
  request.trajectory_id = "dataset";
  ASSIGN_OR_RETURN(v1::Answered answer, model.Generate(request, {}, stopper));
  RETURN_IF_ERROR(WriteCached(path, answer));
  return answer;
}

absl::StatusOr<v1::Verdict> Teacher::JudgeOnce(const JudgeRequest& request) {
  const std::string key = Sha256Hex(
      absl::StrCat(request.workload, "\n", request.arch, "\n", request.language, "\n", Sha256Hex(request.source)));
  const std::filesystem::path path = options_.cache / absl::StrCat("verdict_", key, ".json");
  if (absl::StatusOr<v1::Verdict> cached = ReadCached<v1::Verdict>(path); cached.ok()) return cached;
  ASSIGN_OR_RETURN(v1::Verdict verdict, options_.judge(request));
  RETURN_IF_ERROR(WriteCached(path, verdict));
  return verdict;
}

absl::Status Teacher::Repair(Example& example, Stopper& stopper) {
  if (!example.solution.empty()) return absl::OkStatus();
  Count(&TeacherCounts::repairs_asked);
  const absl::StatusOr<v1::Answered> answer =
      Ask(*options_.teacher, options_.teacher_name, RepairMessages(example), stopper);
  if (!answer.ok()) return EndsConversationOnly(answer.status()) ? absl::OkStatus() : answer.status();
  const Language language = example.language == "triton" ? Language::kTriton : Language::kCuda;
  const ExtractedCode extracted = ExtractCode(answer->text(), language, answer->finish_reason() == "length");
  if (extracted.extraction != v1::EXTRACTION_CODE) return Count(&TeacherCounts::repairs_without_code), absl::OkStatus();
  ASSIGN_OR_RETURN(const v1::Verdict verdict,
                   JudgeOnce({example.workload, example.arch, example.language, extracted.code}));
  if (!MayBeLearnt(verdict)) return Count(&TeacherCounts::repairs_refuted), absl::OkStatus();
  Count(&TeacherCounts::repairs_verified);
  TakeRepair(*answer, extracted.code, verdict, options_.teacher_name, example);
  return absl::OkStatus();
}

absl::Status Teacher::Explain(Example& example, Stopper& stopper) {
  if (example.solution.empty() || !example.reasoning.empty()) return absl::OkStatus();
  Count(&TeacherCounts::reasonings_asked);
  const absl::StatusOr<v1::Answered> answer =
      Ask(*options_.reasoning_model, options_.reasoning_name, ReasoningMessages(example), stopper);
  if (!answer.ok()) return EndsConversationOnly(answer.status()) ? absl::OkStatus() : answer.status();
  example.reasoning = ProseOf(answer->text());
  if (example.reasoning.empty()) return absl::OkStatus();
  Count(&TeacherCounts::reasonings_given);
  example.reasoning_origin = TextOrigin::kReasoningModel;
  example.reasoning_model = options_.reasoning_name;
  return absl::OkStatus();
}

absl::Status Teacher::ForEach(std::vector<Example>& examples, Stopper& stopper,
                              const std::function<absl::Status(Example&)>& work) {
  std::atomic<size_t> next = 0;
  absl::Mutex mutex;
  absl::Status first;
  const auto worker = [&] {
    for (size_t i = next++; i < examples.size() && !stopper.stopped(); i = next++) {
      const absl::Status status = work(examples[i]);
      if (status.ok()) continue;
      absl::MutexLock lock(&mutex);
      first.Update(status);
      next = examples.size();
    }
  };
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < std::max(1U, options_.parallel); ++i) threads.emplace_back(worker);
  for (std::thread& thread : threads) thread.join();
  if (first.ok() && stopper.stopped()) return absl::CancelledError("stopped; what was answered is kept");
  return first;
}

absl::Status Teacher::Complete(std::vector<Example>& examples, Stopper& stopper) {
  counts_.teacher = options_.teacher_name;
  counts_.reasoning_model = options_.reasoning_name;
  std::error_code error;
  std::filesystem::create_directories(options_.cache, error);
  if (error) return absl::UnavailableError(absl::StrCat(options_.cache.string(), " cannot be made: ", error.message()));
  if (options_.teacher != nullptr)
    RETURN_IF_ERROR(ForEach(examples, stopper, [&](Example& example) { return Repair(example, stopper); }));
  if (options_.reasoning_model == nullptr) return absl::OkStatus();
  return ForEach(examples, stopper, [&](Example& example) { return Explain(example, stopper); });
}

}  // namespace sassay::agent
