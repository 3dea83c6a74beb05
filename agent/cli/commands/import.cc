#include "agent/interop/flashinfer/import.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "agent/cli/commands/commands.h"
#include "agent/cli/session.h"
#include "agent/render/text.h"
#include "agent/submit/rpc_error.h"

namespace sassay::agent {
namespace {

constexpr int kShownWorkloads = 3;
constexpr int kShownRefusals = 20;

struct ImportArguments {
  std::string root;
  std::string output;
};

std::string JudgedText(const v1::ImportedDefinition& definition, const Style& style) {
  if (!definition.judged_by().empty()) return absl::StrCat("judged by ", PrintableLine(definition.judged_by()));
  if (definition.golden_size() > 0) return absl::StrCat(definition.golden_size(), " workloads with golden tensors");
  return style.Warn("needs a reference");
}

std::string DefinitionText(const v1::ImportedDefinition& definition, const Style& style) {
  std::string text =
      absl::StrCat(style.Name(PrintableLine(definition.name())), "  ", JudgedText(definition, style), "\n");
  for (int i = 0; i < std::min(kShownWorkloads, definition.workloads_size()); ++i)
    absl::StrAppend(&text, "  ", PrintableLine(definition.workloads(i)), "\n");
  const int hidden = definition.workloads_size() - kShownWorkloads;
  return absl::StrCat(text, hidden > 0 ? absl::StrCat("  and ", hidden, " more workloads (--json shows all)\n") : "");
}

std::string ReportText(const v1::ImportReport& report, const Style& style) {
  std::string text;
  for (const v1::ImportedDefinition& definition : report.definitions())
    absl::StrAppend(&text, DefinitionText(definition, style));
  if (report.solutions_size() > 0)
    absl::StrAppend(&text, report.solutions_size(), " solutions; `submit` takes their files\n");
  for (int i = 0; i < std::min(kShownRefusals, report.refused_size()); ++i)
    absl::StrAppend(&text, style.Warn("left out"), " ", PrintableLine(report.refused(i).path()), ": ",
                    PrintableLine(report.refused(i).reason()), "\n");
  const int hidden = report.refused_size() - kShownRefusals;
  return absl::StrCat(text, hidden > 0 ? absl::StrCat("and ", hidden, " more left out (--json shows all)\n") : "");
}

int Import(Session& session, const ImportArguments& arguments) {
  const absl::StatusOr<v1::ImportReport> report = ImportFlashInferTrace(arguments.root, arguments.output);
  if (!report.ok()) return session.Fail(report.status());
  session.Answer(*report, ReportText(*report, session.style()));
  return kExitCorrect;
}

}  // namespace

void AddImportCommand(CLI::App& root, Invocation& invocation) {
  CLI::App* command = root.add_subcommand("import", "Makes a FlashInfer-Trace data set's definitions usable here");
  const auto arguments = std::make_shared<ImportArguments>();
  command->add_option("DATASET", arguments->root, "folder with definitions/, workloads/ and solutions/")->required();
  command->add_option("-o,--output", arguments->output, "folder to write definitions and golden tensors to")
      ->required()
      ->type_name("DIR");
  AddCommonFlags(*command, invocation);
  command->footer(
      "Examples:\n"
      "  mini-ptx-agent import flashinfer-trace -o my_operators\n"
      "  mini-ptx-agent workloads --definitions my_operators\n"
      "  mini-ptx-agent submit flashinfer-trace/solutions/a/gemm/x.json --definitions my_operators --workload "
      "gemm_n256_k256/M=64\n"
      "\n"
      "A definition that ships here is judged by what ships. A workload whose inputs and outputs are all stored "
      "becomes "
      "a\n"
      "definition with golden tensors. Any other needs a reference (docs/workloads.md). The service judges definitions "
      "of\n"
      "its own --workloads folder only.");
  command->callback([&invocation, arguments] {
    invocation.action = [arguments](Session& session) { return Import(session, *arguments); };
  });
}

}  // namespace sassay::agent
