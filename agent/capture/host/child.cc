#include "agent/capture/host/child.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/resource.h>
#include <unistd.h>

#include <exception>
#include <string>
#include <system_error>
#include <vector>

#include "agent/capture/host/entry.h"
#include "agent/capture/host/guards.h"
#include "agent/capture/runtime/host_memory.h"
#include "agent/capture/runtime/memory.h"
#include "agent/capture/runtime/session.h"

namespace sassay::capture {
namespace {

std::string ReadAll(int fd) {
  std::string text;
  char buffer[65536];
  for (ssize_t got; (got = read(fd, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(got));
  return text;
}

[[noreturn]] void FailOurselves(const std::string& why) {
  const std::string line = why + "\n";
  [[maybe_unused]] const ssize_t ignored = write(2, line.data(), line.size());
  _exit(3);
}

// "…: undefined symbol: cublasCreate_v2" -> "cublasCreate_v2".
std::string UndefinedSymbol(const std::string& message) {
  const std::string marker = "undefined symbol: ";
  const size_t at = message.find(marker);
  if (at == std::string::npos) return "";
  const std::string rest = message.substr(at + marker.size());
  return rest.substr(0, rest.find_first_of(" ,("));
}

bool BeginsWithAny(const std::string& text, std::initializer_list<const char*> prefixes) {
  for (const char* prefix : prefixes) {
    if (text.compare(0, std::string(prefix).size(), prefix) == 0) return true;
  }
  return false;
}

[[noreturn]] void RefuseUnloadable(const std::string& message) {
  const std::string symbol = UndefinedSymbol(message);
  Session& session = Session::Get();
  if (BeginsWithAny(symbol, {"cublas", "cudnn", "cufft", "cusparse", "cusolver", "curand", "nccl", "nvrtc", "cutensor",
                             "nvJit"}) ||
      message.find("libcu") != std::string::npos) {
    session.Refuse(
        FindingCode::kForbiddenLibrary,
        (symbol.empty() ? "the candidate needs a CUDA library (" + message + ")" : "the candidate calls " + symbol) +
            ": library kernels are not the candidate's own; write the kernel");
  }
  if (BeginsWithAny(symbol, {"TVMFFI"})) {
    session.Refuse(
        FindingCode::kEntrySignature,
        "the candidate is a tvm-ffi module, and libtvm_ffi.so is not there: install the apache-tvm-ffi wheel");
  }
  if (symbol.empty()) session.Refuse(FindingCode::kHostCrash, "the candidate cannot be loaded: " + message);
  session.Refuse(FindingCode::kUnsupportedApi, "the candidate calls " + symbol + ", which nothing defines");
}

// The candidate's link map gives the range whose return addresses are worth reporting.
void RememberRange(void* library) {
  link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) return;
  const auto base = static_cast<uint64_t>(map->l_addr);
  const auto* header = reinterpret_cast<const ElfW(Ehdr)*>(base);
  const auto* segments = reinterpret_cast<const ElfW(Phdr)*>(base + header->e_phoff);
  uint64_t end = base;
  for (int i = 0; i < header->e_phnum; ++i) {
    if (segments[i].p_type == PT_LOAD) end = base + segments[i].p_vaddr + segments[i].p_memsz;
  }
  Session::Get().SetCandidateRange(base, end);
}

void LoadTvmFfi(const Task& task) {
  if (!task.tvm_ffi || task.tvm_ffi_library.empty()) return;
  if (dlopen(task.tvm_ffi_library.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    FailOurselves(std::string("cannot load ") + task.tvm_ffi_library + ": " + dlerror());
  }
}

void* LoadCandidate(const Task& task) {
  // Static initialisers of the candidate belong to the first call.
  Session::Get().BeginCall(1);
  void* library = dlopen(task.library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) RefuseUnloadable(dlerror());
  RememberRange(library);
  return library;
}

std::vector<uint64_t> CreateTensors(const std::vector<Argument>& arguments) {
  AddressSpace::Get().ForgetTensors();
  std::vector<uint64_t> tensors;
  for (const Argument& argument : arguments) {
    if (argument.kind != Argument::Kind::kTensor) continue;
    const auto index = static_cast<uint32_t>(tensors.size());
    const uint64_t address = AddressSpace::Get().Create(kTensorOrigin, index, argument.size_bytes, 0);
    if (address == 0) {
      Session::Get().Refuse(FindingCode::kHostLimit,
                            "a tensor of " + std::to_string(argument.size_bytes) + " bytes is too large to capture");
    }
    tensors.push_back(address);
  }
  return tensors;
}

[[noreturn]] void RefuseException(const std::string& what) {
  Session::Get().Refuse(FindingCode::kHostCrash, "run() threw an exception: " + what);
}

// glibc's stack canary and pointer guard are random, and stay behind in the padding of structs, where every process
// would have other bytes. The canary is painted as the rest of the stack is; the guard is the same in all processes.
// Only functions that never return, or keep no canary, may be active meanwhile.
inline __attribute__((always_inline)) void PaintGuards(uint8_t byte) {
#if defined(__x86_64__)
  asm volatile("movq %0, %%fs:0x28" : : "r"(uint64_t{byte} * 0x0101010101010101));
  asm volatile("movq %0, %%fs:0x30" : : "r"(uint64_t{0}));
#endif
}

// One frame for all calls, so that their stacks lie alike.
__attribute__((noinline)) void CallOnce(void* function, const Task& task) {
  const std::vector<uint64_t> tensors = CreateTensors(task.arguments);
  PaintHeap(PaintByte());
  try {
    (task.tvm_ffi ? CallTvmFfi : CallC)(function, task.arguments, tensors);
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::resource_unavailable_try_again) {
      Session::Get().Refuse(
          FindingCode::kHostLimit,
          "run() starts more threads than the capture sandbox allows; it may only call the CUDA runtime");
    }
    RefuseException(error.what());
  } catch (const std::exception& error) {
    RefuseException(error.what());
  } catch (...) {
    RefuseException("of a type that is not derived from std::exception");
  }
}

__attribute__((noinline, no_stack_protector)) void CallAll(void* function, const Task& task) {
  Session& session = Session::Get();
  for (int call = 1; call <= task.calls; ++call) {
    if (call > 1) session.BeginCall(call);
    PaintGuards(PaintByte());
    CallOnce(function, task);
    RecordHostRanges();
    session.EndCall(call);
  }
}

void LimitCoreDumps() {
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
}

}  // namespace
}  // namespace sassay::capture

extern "C" __attribute__((visibility("default"), no_stack_protector)) void SassayCaptureChildMain() {
  using namespace sassay::capture;
  PaintGuards(0);
  Task task;
  const std::string trouble = task.Parse(ReadAll(kTaskFd));
  if (!trouble.empty()) FailOurselves(trouble);
  Session& session = Session::Get();
  session.Start(std::move(task), kRecordFd);
  LimitCoreDumps();
  LoadTvmFfi(session.task());
  InstallCrashHandlers();  // after libtvm_ffi, which brings a handler of its own
  if (const char* missing = ForbidProcesses()) FailOurselves(missing);
  void* library = LoadCandidate(session.task());
  const std::string entry = (session.task().tvm_ffi ? "__tvm_ffi_" : "") + session.task().entry;
  void* function = dlsym(library, entry.c_str());
  if (function == nullptr) session.Refuse(FindingCode::kEntryMissing, "the candidate exports no " + entry);
  CallAll(function, session.task());
  session.Leave(0);
}
