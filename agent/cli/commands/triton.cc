#include <filesystem>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/cli/commands/commands.h"
#include "agent/cli/commands/compile_candidate.h"

namespace sassay::agent {
namespace {

int CompileTriton(Session& session, const CompileArguments& arguments) {
  const std::string& path = arguments.candidate.paths.front();
  if (absl::EndsWith(path, ".py") || absl::EndsWith(path, ".json")) return CompileCandidate(session, arguments);
  return session.Fail(
      absl::InvalidArgumentError(absl::StrCat("triton compiles one Python file, or a FlashInfer solution JSON, not ",
                                              path, ". `compile` is for CUDA sources.")));
}

}  // namespace

void AddTritonCommand(CLI::App& root, Invocation& invocation) {
  CLI::App* command =
      root.add_subcommand("triton", "Compiles a Triton candidate ahead of time into a bundle; needs no GPU");
  const auto arguments = std::make_shared<CompileArguments>();
  arguments->candidate.paths.resize(1);
  command->add_option("KERNEL", arguments->candidate.paths.front(), "kernel.py with run() and @triton.jit kernels")
      ->required();
  command->add_option("-o,--output", arguments->output, "file to write; default: the source's name with .bundle, here")
      ->type_name("OUT.bundle");
  AddSettingFlags(*command, invocation,
                  {"workload", "arch", "autotune_config", "triton_venv", "definitions", "device", "device_table",
                   "cuda", "cuda_home", "compile_deadline", "allow_unsandboxed", "builder"});
  AddCommonFlags(*command, invocation);
  command->footer(
      "Examples:\n"
      "  bash deploy/install_triton.sh\n"
      "  mini-ptx-agent triton kernel.py --workload gemm_n256_k256/M=256 -o kernel.bundle\n"
      "  mini-ptx-agent submit kernel.bundle --service gpu.example.com:50051\n"
      "\n"
      "run(inputs…, outputs…) gets tensors that know their shape and place and nothing else; it may launch Triton\n"
      "kernels and allocate. torch's operations, libraries and data on the host are refused (docs/interop.md).\n"
      "compile and submit take a Python file, too.");
  command->callback([&invocation, arguments] {
    invocation.action = [arguments](Session& session) { return CompileTriton(session, *arguments); };
  });
}

}  // namespace sassay::agent
