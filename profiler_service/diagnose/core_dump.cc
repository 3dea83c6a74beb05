#include "profiler_service/diagnose/core_dump.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/fd.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"
#include "common/bundle/source_lines.h"
#include "common/demangle/demangle.h"
#include "profiler_service/diagnose/sandboxed_tool.h"
#include "profiler_service/wire/tool_run.h"

namespace sassay::diagnose {
namespace {

namespace fs = std::filesystem;

using sassay::v1::WarpState;
using sassay::worker::RunnerReply;

// All registers of an H200 are 300 MB and took four seconds.
constexpr uint64_t kMaxDumpBytes = uint64_t{2} << 30;
constexpr absl::Duration kDumping = absl::Seconds(40);
// A dump that does not grow for so long has been seen to hang in the driver.
constexpr absl::Duration kSilence = absl::Seconds(10);
constexpr absl::Duration kReading = absl::Seconds(60);
// compute-sanitizer's own end, with the dump that it writes.
constexpr absl::Duration kToolEnd = absl::Seconds(20);
// A hang is known by now: waiting longer for it would only hold the device.
constexpr absl::Duration kLongestHang = absl::Seconds(10);
constexpr const char* kRanToItsEnd = "this time the candidate ran to its end: there is nothing to debug";
constexpr size_t kMaxPlaces = 32;
constexpr uint32_t kWarpThreads = 32;
constexpr uint64_t kBytesAround = 160;
constexpr uint64_t kInstructionBytes = 16;

std::map<std::string, std::string> DumpEnvironment(const fs::path& folder) {
  return {{"CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "1"},
          {"CUDA_ENABLE_CPU_COREDUMP_ON_EXCEPTION", "0"},
          {"CUDA_ENABLE_USER_TRIGGERED_COREDUMP", "1"},
          {"CUDA_COREDUMP_FILE", (folder / "core").string()},
          {"CUDA_COREDUMP_PIPE", (folder / "pipe").string()},
          {"CUDA_COREDUMP_GENERATION_FLAGS",
           "skip_nonrelocated_elf_images,skip_global_memory,skip_shared_memory,skip_local_memory,"
           "skip_constbank_memory"}};
}

// The pipe lies in a folder that the runner writes to: only a pipe is written to, and never waited for.
absl::Status AskForDump(const fs::path& pipe) {
  const UniqueFd fd(open(pipe.c_str(), O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  if (!fd.valid() || fstat(fd.get(), &info) != 0 || !S_ISFIFO(info.st_mode) || write(fd.get(), "1", 1) != 1) {
    return absl::UnavailableError("the driver does not listen for requests of a core dump");
  }
  return absl::OkStatus();
}

uint64_t SizeOf(const fs::path& file) {
  struct stat info {};
  return lstat(file.c_str(), &info) == 0 ? static_cast<uint64_t>(info.st_size) : 0;
}

// The driver ends the process when it has written the dump.
void WaitForDump(wire::WorkerProcess& process, const fs::path& core) {
  const absl::Time end = SteadyNow() + kDumping;
  absl::Time silent = SteadyNow() + kSilence;
  for (uint64_t known = SizeOf(core); process.Alive() && SteadyNow() < std::min(end, silent);) {
    pollfd ended{process.pidfd(), POLLIN, 0};
    poll(&ended, 1, 100);
    if (SizeOf(core) == known) continue;
    known = SizeOf(core);
    silent = SteadyNow() + kSilence;
  }
}

// Runs until the dump is there. What the candidate did, in words.
absl::StatusOr<std::string> RunUntilDumped(const wire::CandidateRun& run, const wire::RunnerPoolOptions& options,
                                           const fs::path& folder) {
  ASSIGN_OR_RETURN(const auto runner,
                   StartRunner(options, run.device, worker::RUN_MODE_PLAIN, absl::InfiniteFuture(), run.kill_switch));
  const wire::KillSwitch::Guard guard(run.kill_switch, *runner);
  wire::CandidateRun short_run = run;
  short_run.deadline = std::min(run.deadline, kLongestHang);
  const absl::StatusOr<RunnerReply> reply = Converse(short_run, worker::RUN_MODE_PLAIN, *runner);
  if (absl::IsCancelled(reply.status())) return reply.status();
  // Lost as the driver meant it to be, with a dump, or otherwise, without.
  if (!reply.ok()) return std::string(reply.status().message());
  if (reply->outcome() == worker::RUN_OUTCOME_OK) return absl::NotFoundError(kRanToItsEnd);
  if (reply->outcome() == worker::RUN_OUTCOME_TIMEOUT) RETURN_IF_ERROR(AskForDump(folder / "pipe"));
  WaitForDump(runner->process(), folder / "core");
  return reply->message();
}

std::vector<std::string> GdbCommand(const std::string& cuda_gdb, const fs::path& core,
                                    const std::vector<std::string>& questions) {
  // The dump holds the candidate's cubin, and a debugger runs scripts that it finds in such files.
  std::vector<std::string> command = {cuda_gdb, "-nx", "-batch", "-iex", "set auto-load off"};
  for (const std::string& question : {std::string("set pagination off"), std::string("set width 0"),
                                      absl::StrCat("target cudacore ", core.string())}) {
    command.insert(command.end(), {"-ex", question});
  }
  for (const std::string& question : questions) command.insert(command.end(), {"-ex", question});
  return command;
}

// The places at which most threads stand, that of the fault first.
std::vector<uint64_t> PlacesOfInterest(const StandingThreads& threads) {
  std::map<uint64_t, uint64_t> counts;
  for (const ThreadGroup& group : threads.groups) counts[group.pc] += group.count;
  std::vector<std::pair<uint64_t, uint64_t>> sorted;
  for (const auto& [pc, count] : counts) sorted.emplace_back(pc == threads.exception_pc ? ~uint64_t{0} : count, pc);
  std::sort(sorted.rbegin(), sorted.rend());
  std::vector<uint64_t> pcs;
  if (threads.exception_pc != 0) pcs.push_back(threads.exception_pc);
  for (const auto& [count, pc] : sorted) {
    if (pcs.size() < kMaxPlaces && pc != threads.exception_pc) pcs.push_back(pc);
  }
  return pcs;
}

std::vector<std::string> QuestionsAbout(const std::vector<uint64_t>& pcs) {
  std::vector<std::string> questions;
  for (const uint64_t pc : pcs) {
    const std::string hex = absl::StrCat("0x", absl::Hex(pc));
    questions.push_back(absl::StrCat("echo PC ", hex, "\\n"));
    questions.push_back(absl::StrCat("info symbol ", hex));
    questions.push_back(absl::StrCat("info line *(", hex, " - 16)"));
    questions.push_back(absl::StrCat("x/20i ", hex, " - ", kBytesAround));
  }
  return questions;
}

// A question that the debugger cannot answer ends its batch with an error: what it said before still counts.
absl::StatusOr<std::map<uint64_t, Place>> AskAboutPlaces(const std::string& cuda_gdb, const fs::path& core,
                                                         const StandingThreads& threads, const wire::RunnerPool& pool) {
  const std::vector<uint64_t> pcs = PlacesOfInterest(threads);
  ASSIGN_OR_RETURN(const std::string text,
                   RunSandboxed(GdbCommand(cuda_gdb, core, QuestionsAbout(pcs)), core.parent_path(), kReading,
                                pool.options().allow_unsandboxed));
  return ParsePlaces(text, pcs);
}

// "NVIDIA (R) cuda-gdb 13.0".
std::string GdbVersion(const std::string& cuda_gdb, const fs::path& folder, const wire::RunnerPool& pool) {
  const auto text = RunSandboxed({cuda_gdb, "--version"}, folder, kReading, pool.options().allow_unsandboxed);
  const size_t at = text.ok() ? text->find(" cuda-gdb ") : std::string::npos;
  if (at == std::string::npos) return "";
  const size_t begin = at + std::string(" cuda-gdb ").size();
  return text->substr(begin, std::min<size_t>(32, text->find('\n', begin) - begin));
}

bool SameBlockAndWarp(const ThreadGroup& group, const StandingThreads& threads) {
  const auto equal = [](const v1::Dim3& a, const v1::Dim3& b) {
    return a.x() == b.x() && a.y() == b.y() && a.z() == b.z();
  };
  return equal(group.block, threads.focus_block) && group.thread.y() == threads.focus_thread.y() &&
         group.thread.z() == threads.focus_thread.z() && group.thread.x() <= threads.focus_thread.x() &&
         threads.focus_thread.x() < group.thread.x() + group.count;
}

uint32_t WarpOf(const ThreadGroup& group, const StandingThreads& threads) {
  const auto found = threads.block_dims.find(group.kernel);
  const v1::Dim3 block = found == threads.block_dims.end() ? v1::Dim3() : found->second;
  const uint64_t linear =
      group.thread.x() + uint64_t{block.x()} * (group.thread.y() + uint64_t{block.y()} * group.thread.z());
  return static_cast<uint32_t>(linear / kWarpThreads);
}

void Describe(const Place& place, const v1::Bundle& bundle, WarpState& warp) {
  bool behind = false;
  warp.mutable_where()->set_kernel(place.kernel);
  if (place.function != place.kernel) warp.set_function(place.function);
  warp.set_pc(place.offset);
  warp.set_sass(place.sass);
  warp.set_state(Doing(place, behind));
  if (!behind) return;
  warp.set_sass(place.before);
  warp.set_pc(place.offset - kInstructionBytes);
  SetSourceLine(place.file_before, place.line_before, bundle, *warp.mutable_where());
}

// The debugger may fall over a dump after it has told the fault.
WarpState FromException(const StandingThreads& threads, const v1::Bundle& bundle) {
  WarpState warp;
  warp.set_count(1);
  warp.set_state(threads.exception);
  warp.mutable_where()->set_kernel(threads.exception_function);
  const std::string& line = threads.exception_source_line;
  const size_t colon = line.rfind(':');
  uint64_t number = 0;
  if (colon != std::string::npos && absl::SimpleAtoi(line.substr(colon + 1), &number)) {
    SetSourceLine(line.substr(0, colon), number, bundle, *warp.mutable_where());
  }
  return warp;
}

// States that nobody would tell apart.
std::string Alike(const WarpState& warp, bool faulted) {
  return absl::StrCat(faulted, " ", warp.state(), " ", warp.where().kernel(), " ", warp.function(), " ",
                      warp.where().source_line());
}

std::string LineOf(const WarpState& warp) {
  std::string line = absl::StrCat(warp.state(), ": ", warp.count(), warp.count() == 1 ? " warp" : " warps", " in ",
                                  ShortKernelName(warp.function().empty() ? warp.where().kernel() : warp.function()),
                                  "+0x", absl::Hex(warp.pc()));
  if (!warp.where().source_line().empty()) absl::StrAppend(&line, " at ", warp.where().source_line());
  return line;
}

absl::StatusOr<Diagnosed> ReadDump(const wire::CandidateRun& run, const wire::RunnerPool& pool,
                                   const std::string& cuda_gdb, const fs::path& core) {
  ASSIGN_OR_RETURN(const std::string text,
                   RunSandboxed(GdbCommand(cuda_gdb, core, {"info cuda kernels", "info cuda threads"}),
                                core.parent_path(), kReading, pool.options().allow_unsandboxed));
  const StandingThreads threads = ParseStandingThreads(text);
  if (threads.groups.empty() && threads.exception.empty()) {
    return absl::NotFoundError("cuda-gdb tells of no thread in the core dump");
  }
  Diagnosed diagnosed;
  diagnosed.report.set_outcome(v1::DiagnosisReport::DONE);
  diagnosed.report.set_version(GdbVersion(cuda_gdb, core.parent_path(), pool));
  diagnosed.report.set_reason(threads.exception);
  if (threads.groups.empty()) {
    diagnosed.warps = {FromException(threads, *run.bundle)};
    diagnosed.report.add_summary("cuda-gdb told where the fault was and failed before it listed the other warps");
  } else {
    const auto places = AskAboutPlaces(cuda_gdb, core, threads, pool);
    diagnosed.warps = StandingWarps(threads, places.ok() ? *places : std::map<uint64_t, Place>(), *run.bundle);
  }
  for (const WarpState& warp : diagnosed.warps) diagnosed.report.add_summary(LineOf(warp));
  if (auto bytes = ReadUntrustedFile(core, kMaxArtifactBytes); bytes.ok()) {
    diagnosed.files.push_back({".nvcudmp", *std::move(bytes)});
  }
  return diagnosed;
}

bool HasDump(const fs::path& core) {
  std::error_code error;
  return fs::is_regular_file(fs::symlink_status(core, error));
}

absl::StatusOr<Diagnosed> FromDriver(const wire::CandidateRun& run, const wire::RunnerPool& pool,
                                     const std::string& cuda_gdb) {
  ASSIGN_OR_RETURN(const wire::ToolOutput output, wire::ToolOutput::Create("sassay_debug"));
  wire::RunnerPoolOptions options = output.Options(pool.options(), {});
  options.environment = DumpEnvironment(output.folder());
  options.file_bytes = kMaxDumpBytes;
  ASSIGN_OR_RETURN(const std::string ended, RunUntilDumped(run, options, output.folder()));
  const fs::path core = output.folder() / "core";
  if (!HasDump(core)) return absl::NotFoundError(absl::StrCat("the driver wrote no core dump: ", ended));
  return ReadDump(run, pool, cuda_gdb, core);
}

std::vector<std::string> MemcheckCommand(const std::string& compute_sanitizer, const fs::path& core) {
  return {compute_sanitizer,
          "--tool",
          "memcheck",
          "--generate-coredump",
          "--coredump-behavior",
          "exit",
          "--coredump-name",
          core.string(),
          "--launch-timeout",
          "60",
          "--report-api-errors",
          "no",
          "--show-backtrace",
          "no",
          "--print-limit",
          "10"};
}

// memcheck traps the threads that misuse memory, and dumps no others.
void SayWhoStopped(Diagnosed& diagnosed) {
  diagnosed.report.set_reason("memcheck stopped the threads that misused memory; its dump holds no others");
  diagnosed.report.clear_summary();
  for (WarpState& warp : diagnosed.warps) {
    warp.set_state("stopped by memcheck");
    diagnosed.report.add_summary(LineOf(warp));
  }
}

// memcheck sees an access before the hardware does, and writes a dump of the threads that it stopped.
absl::StatusOr<Diagnosed> FromMemcheck(const wire::CandidateRun& run, const wire::RunnerPool& pool,
                                       const std::string& cuda_gdb, const std::string& compute_sanitizer) {
  if (compute_sanitizer.empty()) return absl::NotFoundError("compute-sanitizer was not found");
  ASSIGN_OR_RETURN(const wire::ToolOutput output, wire::ToolOutput::Create("sassay_debug"));
  const fs::path core = output.folder() / "core";
  wire::RunnerPoolOptions options = output.Options(pool.options(), MemcheckCommand(compute_sanitizer, core));
  options.file_bytes = kMaxDumpBytes;
  wire::CandidateRun short_run = run;
  short_run.deadline = std::min(run.deadline, kLongestHang);
  const auto done = RunUnderTool(short_run, worker::RUN_MODE_CHECKED, options, kToolEnd);
  if (absl::IsCancelled(done.status())) return done.status();
  if (done.ok() && done->reply.outcome() == worker::RUN_OUTCOME_OK) return absl::NotFoundError(kRanToItsEnd);
  if (!HasDump(core)) {
    return absl::NotFoundError(
        absl::StrCat("no core dump: ", done.ok() ? done->reply.message() : done.status().message()));
  }
  ASSIGN_OR_RETURN(Diagnosed diagnosed, ReadDump(run, pool, cuda_gdb, core));
  SayWhoStopped(diagnosed);
  return diagnosed;
}

}  // namespace

std::vector<WarpState> StandingWarps(const StandingThreads& threads, const std::map<uint64_t, Place>& places,
                                     const v1::Bundle& bundle) {
  std::map<std::string, std::pair<bool, WarpState>> states;
  for (const ThreadGroup& group : threads.groups) {
    const bool faulted = !threads.exception.empty() && SameBlockAndWarp(group, threads);
    WarpState warp;
    *warp.mutable_where()->mutable_block() = group.block;
    *warp.mutable_where()->mutable_thread() = faulted ? threads.focus_thread : group.thread;
    warp.set_warp(WarpOf(group, threads));
    SetSourceLine(group.file, group.line, bundle, *warp.mutable_where());
    // The program counter has moved on when an imprecise fault is noticed.
    const auto place = places.find(faulted && threads.exception_pc != 0 ? threads.exception_pc : group.pc);
    if (place != places.end()) Describe(place->second, bundle, warp);
    if (faulted) warp.set_state(threads.exception);
    auto& [known_fault, known] = states.emplace(Alike(warp, faulted), std::make_pair(faulted, warp)).first->second;
    known.set_count(known.count() + (group.count + kWarpThreads - 1) / kWarpThreads);
  }
  std::vector<std::pair<bool, WarpState>> sorted;
  for (auto& [key, state] : states) sorted.push_back(std::move(state));
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return std::make_pair(a.first, a.second.count()) > std::make_pair(b.first, b.second.count());
  });
  std::vector<WarpState> warps;
  for (auto& [faulted, warp] : sorted) warps.push_back(std::move(warp));
  return warps;
}

absl::StatusOr<Diagnosed> DebugFault(const wire::CandidateRun& run, wire::RunnerPool& pool, const DebugTools& tools) {
  if (tools.cuda_gdb.empty()) {
    return Unavailable("cuda-gdb was not found; install it with `apt-get install cuda-gdb-13-0`");
  }
  absl::StatusOr<Diagnosed> diagnosed = FromDriver(run, pool, tools.cuda_gdb);
  if (absl::IsNotFound(diagnosed.status())) {
    const std::string first(diagnosed.status().message());
    diagnosed = FromMemcheck(run, pool, tools.cuda_gdb, tools.compute_sanitizer);
    if (!diagnosed.ok() && !absl::IsCancelled(diagnosed.status())) {
      return Unavailable(diagnosed.status().message() == first
                             ? first
                             : absl::StrCat(first, "; under memcheck: ", diagnosed.status().message()));
    }
  }
  if (absl::IsCancelled(diagnosed.status())) return diagnosed.status();
  if (!diagnosed.ok()) return Unavailable(diagnosed.status().message());
  return diagnosed;
}

}  // namespace sassay::diagnose
