#include "agent/capture/runtime/session.h"

#include <alloca.h>
#include <unistd.h>
#include <unwind.h>

#include <cerrno>
#include <utility>

namespace sassay::capture {
namespace {

void WriteAll(int fd, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t written = write(fd, data, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) _exit(3);
    data += written;
    size -= static_cast<size_t>(written);
  }
}

template <typename Writer>
void WriteEvent(int fd, EventField field, const Writer& payload, const CallSite& site) {
  Writer event;
  event.Message(field, payload);
  for (int i = 0; i < site.count; ++i) event.Fixed64(kPcs, site.pcs[i]);
  Writer record;
  record.Message(1, event);
  WriteAll(fd, record.bytes().data(), record.bytes().size());
}

struct UnwindState {
  uint64_t base, end;
  CallSite site;
  int frames = 0;
};

_Unwind_Reason_Code CollectFrame(_Unwind_Context* context, void* argument) {
  auto* state = static_cast<UnwindState*>(argument);
  const uint64_t pc = _Unwind_GetIP(context);
  if (pc > state->base && pc <= state->end && state->site.count < 6) {
    state->site.pcs[state->site.count++] = pc - 1 - state->base;
  }
  return ++state->frames < 24 && state->site.count < 6 ? _URC_NO_REASON : _URC_END_OF_STACK;
}

}  // namespace

Session& Session::Get() {
  static Session* session = new Session;  // outlives every destructor of the candidate
  return *session;
}

void Session::Start(Task task, int record_fd) {
  task_ = std::move(task);
  record_fd_ = record_fd;
}

void Session::SetCandidateRange(uint64_t base, uint64_t end) {
  candidate_base_ = base;
  candidate_end_ = end;
}

void Session::BeginCall(int call) {
  call_ = call;
  WireWriter mark;
  mark.Varint(1, static_cast<uint64_t>(call));
  EmitAt(kCallMark, mark, CallSite{});
}

void Session::EndCall(int call) {
  WireWriter mark;
  mark.Varint(1, static_cast<uint64_t>(call));
  mark.Varint(2, 1);
  EmitAt(kCallMark, mark, CallSite{});
}

int64_t Session::Attribute(int attribute) const {
  const auto found = task_.attributes.find(attribute);
  return found == task_.attributes.end() ? 0 : found->second;
}

void Session::Emit(EventField field, const WireWriter& payload) { EmitAt(field, payload, FindCallSite()); }

void Session::EmitAt(EventField field, const WireWriter& payload, const CallSite& site) {
  if (record_fd_ >= 0) WriteEvent(record_fd_, field, payload, site);
}

bool Session::EmitFromHandler(EventField field, const SignalSafeWriter& payload) {
  if (record_fd_ < 0 || !mutex.try_lock()) return false;
  WriteEvent(record_fd_, field, payload, FindCallSite());
  mutex.unlock();
  return true;
}

void Session::Assume(std::string_view property, int64_t value) {
  WireWriter assumption;
  assumption.Bytes(1, property);
  assumption.Signed(2, value);
  EmitAt(kAssumption, assumption, CallSite{});
}

void Session::Refuse(FindingCode code, std::string_view message) {
  WireWriter finding;
  finding.Varint(1, static_cast<uint64_t>(code));
  finding.Bytes(2, message);
  Emit(kFinding, finding);
  Leave(0);
}

void Session::Object(FindingCode code, std::string_view message) {
  WireWriter finding;
  finding.Varint(1, static_cast<uint64_t>(code));
  finding.Bytes(2, message);
  finding.Varint(3, 1);
  Emit(kFinding, finding);
}

void Session::Note(std::string_view message) {
  WireWriter finding;
  finding.Bytes(2, message);
  finding.Varint(4, 1);
  Emit(kFinding, finding);
}

void Session::Leave(int status) { _exit(status); }

CallSite Session::FindCallSite() const {
  UnwindState state{candidate_base_, candidate_end_, {}, 0};
  if (candidate_end_ != 0) _Unwind_Backtrace(CollectFrame, &state);
  return state.site;
}

uint8_t PaintByte() { return Session::Get().call() == 3 ? 0xFF : 0x00; }

__attribute__((noinline)) void PaintStackBelow(size_t bytes) {
  void* area = alloca(bytes);
  __builtin_memset(area, PaintByte(), bytes);
  asm volatile("" : : "r"(area) : "memory");
}

int& LastError() {
  static thread_local int error = 0;
  return error;
}

ApiScope::ApiScope(const char* function) : function_(function) { Session::Get().mutex.lock(); }

ApiScope::~ApiScope() {
  PaintStackBelow(16 << 10);
  Session::Get().mutex.unlock();
}

int ApiScope::Return(int code, std::string_view detail) {
  if (code == 0) return 0;
  LastError() = code;
  WireWriter error;
  error.Bytes(1, function_);
  error.Varint(2, static_cast<uint64_t>(code));
  error.Bytes(3, detail);
  Session::Get().Emit(kCudaError, error);
  return code;
}

}  // namespace sassay::capture
