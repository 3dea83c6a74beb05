#include "agent/render/verdict.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/explain/explain.h"
#include "agent/render/diagnosis_sections.h"
#include "agent/render/text.h"
#include "agent/render/verdict_sections.h"
#include "common/base/proto_json.h"

namespace sassay::agent {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string StatusText(const v1::Verdict& verdict, const Style& style) {
  const std::string name = EnumName(verdict.status());
  if (verdict.status() == v1::VERDICT_STATUS_CORRECT) return style.Good(name);
  const bool nobodys_fault =
      verdict.status() == v1::VERDICT_STATUS_INFRA_ERROR || verdict.status() == v1::VERDICT_STATUS_CANCELLED;
  return nobodys_fault ? style.Warn(name) : style.Bad(name);
}

std::string Headline(const v1::Verdict& verdict, const Style& style) {
  std::string line = StatusText(verdict, style);
  if (verdict.code() > v1::VERDICT_CODE_OK) absl::StrAppend(&line, " ", style.Bold(EnumName(verdict.code())));
  if (verdict.stage() != v1::STAGE_UNSPECIFIED && verdict.status() != v1::VERDICT_STATUS_CORRECT) {
    absl::StrAppend(&line, " in ", LowerCase(EnumName(verdict.stage())));
  }
  if (!verdict.workload().empty()) absl::StrAppend(&line, "  ", style.Name(PrintableLine(verdict.workload())));
  absl::StrAppend(&line, "\n");
  if (!verdict.reason().empty()) absl::StrAppend(&line, "  ", PrintableLine(verdict.reason()), "\n");
  if (!verdict.has_excluded()) return line;
  return absl::StrCat(line, "  ", style.Warn("excluded"), ": ", PrintableLine(verdict.excluded().reason()),
                      " (incident ", PrintableLine(verdict.excluded().incident_id()),
                      "); it counts nowhere, and was excluded too often to be run again\n");
}

std::string ProvenanceText(const v1::Verdict& verdict) {
  std::vector<std::string> parts;
  if (verdict.provenance() != v1::PROVENANCE_UNSPECIFIED) parts.push_back(EnumName(verdict.provenance()));
  if (verdict.capture_profile() != v1::CAPTURE_PROFILE_UNSPECIFIED) {
    parts.push_back(LowerCase(EnumName(verdict.capture_profile())) + " capture");
  }
  if (parts.empty()) return "";
  parts.push_back(verdict.scorable() ? "scorable" : "not scorable");
  return absl::StrJoin(parts, ", ");
}

std::string VersionsText(const v1::Versions& versions) {
  std::vector<std::string> parts;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) parts.push_back(absl::StrCat(name, " ", PrintableLine(value)));
  };
  add("rules", versions.rules());
  add("sassay", versions.sassay());
  add("device", versions.device());
  add("driver", versions.driver());
  add("toolkit", versions.toolkit());
  std::vector<std::string> libraries;
  for (const auto& [name, version] : versions.libraries())
    libraries.push_back(PrintableLine(absl::StrCat(name, " ", version)));
  std::sort(libraries.begin(), libraries.end());
  parts.insert(parts.end(), libraries.begin(), libraries.end());
  return absl::StrJoin(parts, ", ");
}

std::string Footer(const v1::Verdict& verdict) {
  Rows rows;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) rows.push_back({name, value});
  };
  add("provenance", ProvenanceText(verdict));
  add("bundle", PrintableLine(verdict.bundle_sha256()));
  std::string submission = PrintableLine(verdict.submission_id());
  if (verdict.attempt() > 1) absl::StrAppend(&submission, " (attempt ", verdict.attempt(), ")");
  if (!verdict.reused_from().empty())
    absl::StrAppend(&submission, " (cached, from ", PrintableLine(verdict.reused_from()), ")");
  add("submission", submission);
  add("versions", VersionsText(verdict.versions()));
  if (!verdict.replay_id().empty())
    add("replay", absl::StrCat("mini-ptx-agent replay ", PrintableLine(verdict.replay_id())));
  if (verdict.code() > v1::VERDICT_CODE_OK)
    add("explain", absl::StrCat("mini-ptx-agent explain ", EnumName(verdict.code())));
  return rows.empty() ? "" : absl::StrCat("\n", Columns(rows, ""));
}

// The repair is worth showing beside the reason only where the candidate can be repaired.
std::string Hint(const v1::Verdict& verdict, const Style& style) {
  const Explanation* explanation = FindExplanation(verdict.code());
  if (explanation == nullptr || verdict.code() == v1::VERDICT_CODE_OK) return "";
  return absl::StrCat("  ", style.Dim(absl::StrCat("repair: ", explanation->repair)), "\n");
}

}  // namespace

std::string RenderVerdict(const v1::Verdict& verdict, const Style& style) {
  const v1::VerdictDetails& details = verdict.details();
  return absl::StrCat(Headline(verdict, style), Hint(verdict, style), DiagnosticsSection(details, style),
                      FindingsSection(details, style), WarpsSection(details, style),
                      NumericsSection(verdict.numerics(), style), EvidenceSection(verdict.evidence(), style),
                      TimingSection(verdict.timing(), style),
                      absl::StrCat(SanitizersSection(verdict, style), DiagnosesSection(verdict, style),
                                   StagesSection(verdict, style), NotesSection(details, style), Footer(verdict)));
}

}  // namespace sassay::agent
