// The state of one recorded process: what the task says about kernels, symbols and the device, and the stream of events
// that leaves it. Every implemented CUDA function is a few lines on top of this.
//
// Everything here shares the process with hostile host code; nothing here is trusted by whoever reads the events.
#ifndef SASSAY_AGENT_CAPTURE_RUNTIME_SESSION_H_
#define SASSAY_AGENT_CAPTURE_RUNTIME_SESSION_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "agent/capture/runtime/wire_writer.h"

namespace sassay::capture {

// What the cubin says about a kernel, and what the host code has set since.
struct KernelInfo {
  std::string symbol;
  uint32_t registers = 0;
  uint32_t static_shared_bytes = 0;
  uint32_t max_threads = 1024;
  uint32_t stack_bytes = 0;
  uint32_t cluster[3] = {0, 0, 0};   // __cluster_dims__; all zero without
  bool blocks_are_clusters = false;  // the grid of a launch counts clusters (__block_size__ with a second extent)
  std::vector<uint32_t> parameter_bytes;
  std::vector<uint32_t> parameter_offsets;  // in the cubin's parameter space; packed launches are laid out so

  uint32_t dynamic_shared_limit = 0;  // set by cudaFuncSetAttribute; 0: the default of 48 KiB less the static part
  int carveout_percent = -1;
  bool non_portable_cluster = false;
  uint32_t required_cluster[3] = {0, 0, 0};  // cudaFuncAttributeRequiredClusterWidth, …Height, …Depth

  // The cluster of a launch that names none: the cubin's, else the one required; all zero without.
  const uint32_t (&OwnCluster() const)[3] { return cluster[0] != 0 ? cluster : required_cluster; }
};

// A __device__ or __constant__ variable.
struct SymbolInfo {
  std::string name;
  uint64_t size_bytes = 0;
  uint64_t address = 0;  // fake; given out on first use, the same in every call
};

// How one argument of run() is passed.
struct Argument {
  enum class Kind { kTensor, kInteger, kFloat32, kFloat64 };
  Kind kind = Kind::kTensor;
  // kTensor
  uint64_t size_bytes = 0;
  uint8_t dlpack_code = 0, dlpack_bits = 0;
  std::vector<int64_t> shape;
  // the others
  int64_t integer = 0;
  double real = 0;
  // Passed by tvm-ffi callers too (axes are not: a tvm-ffi candidate reads them from the tensors).
  bool axis = false;
};

// What to capture; parsed from the text that the supervisor hands over.
struct Task {
  std::string library;          // the candidate's shared object
  std::string tvm_ffi_library;  // empty without
  bool tvm_ffi = false;
  std::string entry = "run";  // what tvm-ffi exports as __tvm_ffi_run
  int calls = 3;
  std::string device_model;
  uint64_t device_memory_bytes = 0;
  std::map<int, int64_t> attributes;  // cudaDeviceAttr -> value
  std::vector<int> gpc_multiprocessors;
  std::map<std::string, KernelInfo> kernels;
  std::vector<SymbolInfo> symbols;
  std::vector<Argument> arguments;

  // One "keyword value…" a line. Returns an empty string, or what is wrong with the text.
  std::string Parse(std::string_view text);
};

// Field numbers of record.proto's Event.what, so that both sides can be compared in a test.
enum EventField : int {
  kAllocate = 1,
  kFree = 2,
  kLaunch = 3,
  kUpload = 4,
  kCopy = 5,
  kMemset = 6,
  kTensorMap = 7,
  kEventRecord = 8,
  kStreamWait = 9,
  kHostWait = 10,
  kAssumption = 11,
  kFinding = 12,
  kCallMark = 13,
  kCudaError = 14,
  kCrash = 15,
  kEnding = 16,
  kLine = 17,
  kEntry = 18,
  kHostRange = 19,
  kPcs = 20,
};

// Codes of v1::VerdictCode that the runtime gives; a test compares them with verdict.proto.
enum class FindingCode : uint32_t {
  kEntryMissing = 30,
  kEntrySignature = 31,
  kHostReadsDevice = 32,
  kCallsDiffer = 34,
  kSharedMemoryLimit = 35,
  kBlockLimit = 36,
  kLaunchInvalid = 37,
  kUnsupportedApi = 38,
  kForbiddenLibrary = 39,
  kHostCrash = 40,
  kHostExit = 42,
  kHostLimit = 43,
  kTensorMapInvalid = 45,
  kPointerOutOfBuffer = 46,
  kHostCudaError = 47,
};

// Return addresses of the candidate, innermost first.
struct CallSite {
  uint64_t pcs[6] = {};
  int count = 0;
};

// The process's one recording. Threads: candidates may start threads; every public CUDA function holds `mutex` through
// ApiScope.
class Session {
 public:
  static Session& Get();

  // Reads the task, and remembers where events go. Before that, CUDA calls (static initialisers of libraries that were
  // loaded by accident) are answered but not recorded.
  void Start(Task task, int record_fd);
  // The address range whose return addresses are reported.
  void SetCandidateRange(uint64_t base, uint64_t end);
  void BeginCall(int call);
  void EndCall(int call);
  int call() const { return call_; }

  Task& task() { return task_; }
  int64_t Attribute(int attribute) const;
  bool HasAttribute(int attribute) const { return task_.attributes.count(attribute) != 0; }

  // Appends one event, with the call site of the current CUDA call.
  void Emit(EventField field, const WireWriter& payload);
  void EmitAt(EventField field, const WireWriter& payload, const CallSite& site);
  void Assume(std::string_view property, int64_t value);
  // Records why this candidate cannot be captured and ends the process. First cause wins.
  [[noreturn]] void Refuse(FindingCode code, std::string_view message);
  // Records something that a lenient capture turns into a warning, and goes on.
  void Object(FindingCode code, std::string_view message);
  // Records something that becomes a warning of the plan.
  void Note(std::string_view message);
  // Leaves without running destructors or atexit handlers of the candidate.
  [[noreturn]] void Leave(int status);
  // For signal handlers: no heap, and no waiting for a lock. False, and nothing is written, where another thread is in
  // the middle of an event of its own.
  bool EmitFromHandler(EventField field, const SignalSafeWriter& payload);

  CallSite FindCallSite() const;
  // Whether candidate code is among the callers, or its static initialisers run.
  bool InCandidate() const { return call_ != 0 && (candidate_end_ == 0 || FindCallSite().count > 0); }

  std::recursive_mutex mutex;

 private:
  Task task_;
  int record_fd_ = -1;
  int call_ = 0;
  uint64_t candidate_base_ = 0, candidate_end_ = 0;
};

// Held by every public CUDA function: serialises, and on the way out repaints the stack below the function's own frame,
// so that little of ours turns up as padding of the candidate's structs. What that frame leaves is the same in every
// call and every process, and so is taken for data.
class ApiScope {
 public:
  explicit ApiScope(const char* function);
  ~ApiScope();
  ApiScope(const ApiScope&) = delete;
  ApiScope& operator=(const ApiScope&) = delete;

  // Sets the thread's last error and records it. Returns `code`.
  int Return(int code, std::string_view detail = "");

 private:
  const char* function_;
};

// The byte that the current call's stack and heap are painted with.
uint8_t PaintByte();
void PaintStackBelow(size_t bytes);

// cudaGetLastError's per-thread memory.
int& LastError();

}  // namespace sassay::capture

#endif  // SASSAY_AGENT_CAPTURE_RUNTIME_SESSION_H_
