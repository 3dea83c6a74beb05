#include "common/sass/disassembly.h"

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/sass/families.h"

namespace sassay {
namespace {

constexpr uint64_t kTextLimit = uint64_t{256} << 20;
constexpr const char* kCubinInside = "/work/candidate.cubin";

// "/*01b0*/   @!P1 BRA `(.L_x_3) ;" -> {0x1b0, "BRA"}; false for other lines.
bool ParseInstruction(absl::string_view line, SassInstruction& instruction) {
  line = absl::StripAsciiWhitespace(line);
  if (!absl::ConsumePrefix(&line, "/*")) return false;
  size_t end = line.find("*/");
  if (end == absl::string_view::npos || !absl::SimpleHexAtoi(line.substr(0, end), &instruction.pc_offset)) return false;
  line = absl::StripLeadingAsciiWhitespace(line.substr(end + 2));
  absl::ConsumePrefix(&line, "{");
  line = absl::StripLeadingAsciiWhitespace(line);
  if (absl::StartsWith(line, "@")) {
    line = absl::StripLeadingAsciiWhitespace(line.substr(std::min(line.size(), line.find_first_of(" \t"))));
  }
  instruction.opcode = std::string(line.substr(0, line.find_first_of(" \t;")));
  return !instruction.opcode.empty() && absl::ascii_isupper(instruction.opcode[0]);
}

absl::StatusOr<ExitReport> Run(const Toolchain& toolchain, const TemporaryDirectory& folder, absl::Duration timeout,
                               const AllowUnsandboxed* unsandboxed) {
  std::string file = (folder.path() / "candidate.cubin").string();
  Command command;
  command.argv = {unsandboxed != nullptr ? toolchain.nvdisasm : ToolInside(toolchain, toolchain.nvdisasm), "-c",
                  unsandboxed != nullptr ? file : kCubinInside};
  command.environment = {{"PATH", "/usr/bin:/bin"}};
  SandboxPolicy policy;
  policy.read_only = ToolMounts(toolchain, toolchain.nvdisasm);
  policy.writable = {{folder.path().string(), "/work"}};
  policy.address_space_bytes = uint64_t{8} << 30;
  policy.cpu_time = timeout;
  ASSIGN_OR_RETURN(command, unsandboxed != nullptr ? WrapWithoutSandbox(command, policy, *unsandboxed)
                                                   : WrapInSandbox(command, policy));
  return RunToCompletion(command, timeout, kTextLimit);
}

absl::Status CheckReport(const ExitReport& report) {
  if (report.kind == ExitReport::Kind::kTimedOut) {
    return absl::DeadlineExceededError(absl::StrCat("nvdisasm was ", DescribeExit(report)));
  }
  if (report.Succeeded()) return absl::OkStatus();
  RETURN_IF_ERROR(SandboxFailure(report));
  absl::string_view first = report.stderr_text;
  first = absl::StripAsciiWhitespace(first.substr(0, first.find('\n')));
  return absl::InvalidArgumentError(absl::StrCat("nvdisasm refuses the cubin: ", DescribeExit(report), ": ", first));
}

}  // namespace

Disassembly ParseDisassembly(absl::string_view untrusted_text) {
  Disassembly functions;
  std::vector<SassInstruction>* current = nullptr;
  for (absl::string_view line : absl::StrSplit(untrusted_text, '\n')) {
    SassInstruction instruction;
    absl::string_view label = line;
    if (absl::ConsumePrefix(&label, ".text.") && absl::ConsumeSuffix(&label, ":")) {
      current = &functions[std::string(label)];
    } else if (current != nullptr && ParseInstruction(line, instruction)) {
      current->push_back(std::move(instruction));
    }
  }
  return functions;
}

absl::StatusOr<Disassembly> Disassemble(const Toolchain& toolchain, absl::string_view untrusted_cubin,
                                        absl::Duration timeout, const AllowUnsandboxed* unsandboxed) {
  if (toolchain.nvdisasm.empty()) {
    return absl::NotFoundError("nvdisasm is not there: .venv/bin/pip install --no-deps nvidia-cuda-nvdisasm");
  }
  ASSIGN_OR_RETURN(TemporaryDirectory folder, TemporaryDirectory::Create("sassay-nvdisasm"));
  RETURN_IF_ERROR(WriteFileAtomically(folder.path() / "candidate.cubin", untrusted_cubin));
  ASSIGN_OR_RETURN(ExitReport report, Run(toolchain, folder, timeout, unsandboxed));
  RETURN_IF_ERROR(CheckReport(report));
  return ParseDisassembly(report.stdout_text);
}

std::map<std::string, uint32_t> CountFamilies(const std::vector<SassInstruction>& instructions) {
  std::map<std::string, uint32_t> counts;
  for (const auto& instruction : instructions) {
    if (std::string family = SassFamily(instruction.opcode); !family.empty()) ++counts[family];
  }
  return counts;
}

}  // namespace sassay
