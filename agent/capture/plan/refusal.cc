#include "agent/capture/plan/refusal.h"

#include <csignal>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/capture/plan/task_text.h"
#include "common/base/utf8.h"

namespace sassay::capture {
namespace {

namespace v1 = sassay::v1;

constexpr int kKernelFault = 128;  // SI_KERNEL: a non-canonical address, which only our fake pointers are

std::string CudaTypeName(v1::DType dtype) {
  switch (dtype) {
    case v1::DTYPE_BFLOAT16:
      return "__nv_bfloat16";
    case v1::DTYPE_FLOAT16:
      return "__half";
    case v1::DTYPE_FLOAT32:
      return "float";
    case v1::DTYPE_FLOAT64:
      return "double";
    case v1::DTYPE_FLOAT8_E4M3FN:
      return "__nv_fp8_e4m3";
    case v1::DTYPE_FLOAT8_E5M2:
      return "__nv_fp8_e5m2";
    case v1::DTYPE_INT64:
      return "int64_t";
    case v1::DTYPE_INT32:
      return "int32_t";
    case v1::DTYPE_INT16:
      return "int16_t";
    case v1::DTYPE_INT8:
      return "int8_t";
    case v1::DTYPE_BOOL:
      return "bool";
    default:
      return "uint8_t";
  }
}

// --- the entry point ---

// One parameter as the workload asks for it.
struct Wanted {
  std::string name;
  std::string type;
  v1::DType dtype = v1::DTYPE_INT64;
  bool pointer = false;
};

std::vector<Wanted> WantedParameters(const v1::Workload& workload) {
  std::vector<Wanted> wanted;
  const auto add = [&](const v1::TensorSpec& tensor, const char* qualifier) {
    const std::string type = CudaTypeName(tensor.dtype());
    wanted.push_back(
        {tensor.name(), tensor.scalar() ? type : absl::StrCat(qualifier, type, "*"), tensor.dtype(), !tensor.scalar()});
  };
  for (const auto& tensor : workload.inputs()) add(tensor, "const ");
  for (const auto& tensor : workload.outputs()) add(tensor, "");
  for (const auto& axis : workload.variable_axes()) wanted.push_back({axis, "int64_t", v1::DTYPE_INT64, false});
  wanted.push_back({"stream", "cudaStream_t", v1::DTYPE_UNSPECIFIED, true});
  return wanted;
}

std::string Mismatch(const Parameter& got, const Wanted& want) {
  const auto differs = [&] {
    return absl::StrCat("parameter '", Printable(got.name(), 60), "' is ", Printable(got.type_name(), 60),
                        ", expected ", want.type, " ", want.name);
  };
  const bool floating = IsFloatingPoint(want.dtype) && want.dtype != v1::DTYPE_UNSPECIFIED;
  if (want.pointer != (got.type_class() == Parameter::POINTER)) return differs();
  if (want.pointer) {
    const uint32_t bytes = got.pointee_float_bytes();
    return floating && bytes != 0 && bytes != ElementBytes(want.dtype) ? differs() : "";
  }
  if (floating != (got.type_class() == Parameter::FLOAT)) return differs();
  return floating && got.size_bytes() != ElementBytes(want.dtype) ? differs() : "";
}

Refusal WrongSignature(const Entry& entry, const v1::Workload& workload, const std::string& name,
                       const SourceLines& lines, const std::string& what) {
  const std::string at =
      entry.file().empty() ? "" : absl::StrCat(" at ", lines.Relative(entry.file()), ":", entry.line());
  return {v1::VERDICT_CODE_ENTRY_SIGNATURE,
          absl::StrCat(name, "()", at, " has the wrong signature: ", what,
                       ". Expected: ", ExpectedSignature(workload, name)),
          ""};
}

absl::optional<Refusal> CheckParameters(const Entry& entry, const v1::Workload& workload, const std::string& name,
                                        const SourceLines& lines) {
  const std::vector<Wanted> wanted = WantedParameters(workload);
  const auto& got = entry.parameters();
  for (size_t i = 0; i < wanted.size() && i < static_cast<size_t>(got.size()); ++i) {
    const std::string what = Mismatch(got[static_cast<int>(i)], wanted[i]);
    if (!what.empty() && wanted.size() == static_cast<size_t>(got.size()))
      return WrongSignature(entry, workload, name, lines, what);
  }
  if (wanted.size() == static_cast<size_t>(got.size())) return absl::nullopt;
  return WrongSignature(entry, workload, name, lines,
                        absl::StrCat(got.size(), " parameters, expected ", wanted.size()));
}

// --- what the candidate did ---

std::string CallWords(int call) {
  static constexpr const char* kWords[] = {"before the first call", "in the first call", "in the second call",
                                           "in the third call"};
  return kWords[call >= 0 && call <= 3 ? call : 0];
}

// Walks the record in order and stops at the first cause.
class CauseFinder {
 public:
  CauseFinder(const Record& record, int calls, bool lenient, const SourceLines& lines)
      : record_(record), calls_(calls), lenient_(lenient), lines_(lines) {}

  absl::optional<Refusal> Find() {
    for (const Event& event : record_.events()) {
      if (auto refusal = Look(event)) return refusal;
    }
    return absl::nullopt;
  }

 private:
  absl::optional<Refusal> Look(const Event& event);
  Refusal OfFinding(const Event& event) const;
  Refusal OfCrash(const Event& event) const;
  absl::optional<Refusal> OfEnding(const Ending& ending) const;
  // A host program that gives up after a failed CUDA call is refused for the call, not for giving up.
  Refusal Blame(Refusal refusal) const;
  std::string WhatFailed(const Event& error) const;

  const Record& record_;
  const int calls_;
  const bool lenient_;
  const SourceLines& lines_;
  int call_ = 0, ended_ = 0;
  const Event* cuda_error_ = nullptr;
  const Event* last_ = nullptr;
};

absl::optional<Refusal> CauseFinder::Look(const Event& event) {
  if (event.has_call_mark()) {
    (event.call_mark().end() ? ended_ : call_) = static_cast<int>(event.call_mark().call());
  }
  if (event.has_cuda_error()) cuda_error_ = &event;
  if (event.has_finding() && !event.finding().note() && !(lenient_ && event.finding().lenient_allows()))
    return OfFinding(event);
  if (event.has_crash()) return OfCrash(event);
  if (event.has_ending()) return OfEnding(event.ending());
  if (event.pcs_size() > 0) last_ = &event;
  return absl::nullopt;
}

Refusal CauseFinder::OfFinding(const Event& event) const {
  Refusal refusal;
  refusal.code = v1::VerdictCode_IsValid(static_cast<int>(event.finding().code()))
                     ? static_cast<v1::VerdictCode>(event.finding().code())
                     : v1::VERDICT_CODE_LAUNCH_INVALID;
  const std::string line = lines_.Of(event);
  refusal.reason = absl::StrCat(line.empty() ? "" : line + ": ", Printable(event.finding().message(), 2000));
  const bool gave_up = refusal.code == v1::VERDICT_CODE_HOST_EXIT || refusal.code == v1::VERDICT_CODE_HOST_CRASH ||
                       refusal.code == v1::VERDICT_CODE_HOST_CUDA_ERROR;
  return gave_up ? Blame(refusal) : refusal;
}

Refusal CauseFinder::OfCrash(const Event& event) const {
  const Crash& crash = event.crash();
  const std::string at = lines_.At(event);
  if (crash.signal() == SIGSEGV && crash.code() == kKernelFault) {
    return {v1::VERDICT_CODE_HOST_CRASH,
            absl::StrCat("host code dereferenced a device pointer", at,
                         ": tensors are in GPU memory; only kernels can touch them"),
            ""};
  }
  const char* name = sigabbrev_np(static_cast<int>(crash.signal()));
  std::string what =
      absl::StrCat("host code crashed with SIG", name == nullptr ? "?" : name, at, " ", CallWords(call_), " of run()");
  if (crash.signal() == SIGSEGV) absl::StrAppend(&what, " (address 0x", absl::Hex(crash.address()), ")");
  return Blame({v1::VERDICT_CODE_HOST_CRASH, what, ""});
}

absl::optional<Refusal> CauseFinder::OfEnding(const Ending& ending) const {
  const std::string last = last_ == nullptr ? "" : lines_.At(*last_);
  const std::string after = last.empty() ? "" : absl::StrCat("; its last CUDA call was", last);
  switch (ending.kind()) {
    case Ending::TIMED_OUT:
      return Refusal{
          v1::VERDICT_CODE_HOST_TIMEOUT,
          absl::StrCat("host code did not return ", CallWords(call_),
                       " of run() in time: an endless loop, or it waits for a value that only a GPU would write",
                       after),
          ""};
    case Ending::PRINTED_TOO_MUCH:
      return Refusal{v1::VERDICT_CODE_HOST_LIMIT,
                     absl::StrCat("host code printed more than 1 GiB ", CallWords(call_), " of run()"), ""};
    case Ending::RECORDED_TOO_MUCH:
      return Refusal{
          v1::VERDICT_CODE_HOST_LIMIT,
          absl::StrCat("host code asked for more than a launch plan can hold (256 MiB of launches and uploads) ",
                       CallWords(call_), " of run()"),
          ""};
    case Ending::SIGNALED:
      if (ending.status() == SIGXFSZ) {
        return Refusal{v1::VERDICT_CODE_HOST_LIMIT,
                       absl::StrCat("host code wrote a file larger than the capture sandbox allows ", CallWords(call_),
                                    " of run(); run() may only call the CUDA runtime"),
                       ""};
      }
      return Blame({v1::VERDICT_CODE_HOST_CRASH,
                    absl::StrCat("host code was killed by signal ", ending.status(), " ", CallWords(call_),
                                 " of run() (a limit of the sandbox, or a broken heap)"),
                    ""});
    default:
      break;
  }
  if (ended_ == calls_) return absl::nullopt;
  return Blame({v1::VERDICT_CODE_HOST_EXIT,
                absl::StrCat("host code ended the process with status ", ending.status(), " ", CallWords(call_),
                             " of run(): run() must return"),
                ""});
}

std::string CauseFinder::WhatFailed(const Event& event) const {
  const CudaError& error = event.cuda_error();
  const std::string detail = error.detail().empty() ? "" : absl::StrCat(" (", Printable(error.detail()), ")");
  const std::string line = lines_.Of(event);
  return absl::StrCat(line.empty() ? "" : line + ": ", Printable(error.function(), 80), " returned error ",
                      error.error(), detail);
}

Refusal CauseFinder::Blame(Refusal refusal) const {
  if (cuda_error_ == nullptr) return refusal;
  const bool shared = absl::StrContains(cuda_error_->cuda_error().detail(), "shared memory");
  refusal.reason = absl::StrCat(WhatFailed(*cuda_error_), "; then ", refusal.reason);
  refusal.code = shared ? v1::VERDICT_CODE_SHARED_MEMORY_LIMIT : v1::VERDICT_CODE_HOST_CUDA_ERROR;
  return refusal;
}

std::string Output(const Record& record) {
  for (const Event& event : record.events()) {
    if (event.has_ending()) return event.ending().output();
  }
  return "";
}

}  // namespace

std::string Printable(absl::string_view text, size_t limit) {
  std::string line = ToUtf8(text);
  if (line.size() > limit) {
    while (limit > 0 && (line[limit] & 0xC0) == 0x80) --limit;
    line.resize(limit);
  }
  for (char& c : line) c = absl::ascii_iscntrl(static_cast<unsigned char>(c)) ? ' ' : c;
  return line;
}

Refusal TookTooLong() {
  return {v1::VERDICT_CODE_HOST_LIMIT,
          "what run() asks for takes too long to turn into a launch plan: it launches, copies or uploads too much", ""};
}

std::string ExpectedSignature(const v1::Workload& workload, const std::string& entry_name) {
  return absl::StrCat(
      "extern \"C\" void ", entry_name, "(",
      absl::StrJoin(WantedParameters(workload), ", ",
                    [](std::string* out, const Wanted& want) { absl::StrAppend(out, want.type, " ", want.name); }),
      ")");
}

absl::optional<Refusal> CheckEntry(const Entry& entry, const v1::Workload& workload, v1::EntryAbi abi,
                                   const std::string& entry_name, const SourceLines& lines) {
  const bool wants_tvm_ffi = abi == v1::ENTRY_ABI_TVM_FFI || (abi == v1::ENTRY_ABI_UNSPECIFIED && !entry.has_c());
  if (wants_tvm_ffi && entry.has_tvm_ffi()) return absl::nullopt;
  if (entry.has_c() && abi != v1::ENTRY_ABI_TVM_FFI) {
    return entry.described() ? CheckParameters(entry, workload, entry_name, lines) : absl::nullopt;
  }
  if (entry.has_c() || entry.has_tvm_ffi()) {
    return Refusal{
        v1::VERDICT_CODE_ENTRY_MISSING,
        absl::StrCat("the candidate exports ", entry_name, entry.has_c() ? "() as extern \"C\"" : "() to tvm-ffi",
                     ", and the ABI ", entry.has_c() ? "tvm_ffi" : "c",
                     " was asked for: ask for the other one, or leave the choice to the candidate (--abi auto)"),
        ""};
  }
  if (!entry.cpp_name().empty()) {
    return Refusal{
        v1::VERDICT_CODE_ENTRY_SIGNATURE,
        absl::StrCat(
            "the candidate defines ", Printable(entry.cpp_name()),
            " as a C++ function; declare it extern \"C\" (or export it with TVM_FFI_DLL_EXPORT_TYPED_FUNC). Expected: ",
            ExpectedSignature(workload, entry_name)),
        ""};
  }
  return Refusal{v1::VERDICT_CODE_ENTRY_MISSING,
                 absl::StrCat("the candidate exports no entry point '", entry_name,
                              "'. Expected: ", ExpectedSignature(workload, entry_name),
                              ", or TVM_FFI_DLL_EXPORT_TYPED_FUNC(", entry_name, ", …)"),
                 ""};
}

absl::optional<Refusal> FirstCause(const Record& record, int calls, bool lenient, const SourceLines& lines) {
  absl::optional<Refusal> refusal = CauseFinder(record, calls, lenient, lines).Find();
  if (refusal.has_value()) refusal->output = Printable(Output(record), 4096);
  return refusal;
}

}  // namespace sassay::capture
