#include "agent/knowledge/notes.h"

#include <algorithm>
#include <system_error>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "agent/explain/explain.h"
#include "common/base/files.h"
#include "common/base/foreign/chat_marks.h"
#include "common/base/foreign/code_block.h"
#include "common/base/foreign/path_below.h"
#include "common/base/status_macros.h"
#include "common/base/suggest.h"
#include "common/base/utf8.h"
#include "common/terminal/text.h"

namespace sassay::agent {
namespace {

namespace fs = std::filesystem;
using sassay::v1::Verdict;
using sassay::v1::VerdictCode;

constexpr uint64_t kNoteLimit = 64 << 10;
constexpr uint64_t kKernelLimit = 256 << 10;
constexpr size_t kNotesLimit = 1000;

std::vector<std::string> List(absl::string_view value) {
  std::vector<std::string> words;
  for (absl::string_view word : absl::StrSplit(value, ',')) {
    word = absl::StripAsciiWhitespace(word);
    if (!word.empty()) words.emplace_back(word);
  }
  return words;
}

absl::Status ReadCodes(absl::string_view value, RepairNote& note) {
  for (const std::string& word : List(value)) {
    const Explanation* explanation = FindExplanation(word);
    if (explanation == nullptr)
      return absl::InvalidArgumentError(
          absl::StrCat("no verdict has the code \"", PrintableLine(word), "\".", DidYouMean(word, CodeNames())));
    note.codes.push_back(explanation->code);
  }
  return absl::OkStatus();
}

absl::Status ReadHeaderLine(absl::string_view line, RepairNote& note) {
  const size_t colon = line.find(':');
  const absl::string_view key = absl::StripAsciiWhitespace(line.substr(0, colon));
  const absl::string_view value =
      colon == absl::string_view::npos ? "" : absl::StripAsciiWhitespace(line.substr(colon + 1));
  if (value.empty())
    return absl::InvalidArgumentError(absl::StrCat(
        "expected \"KEY: VALUE\" or the empty line that ends the header, not \"", PrintableLine(line), "\""));
  if (key == "code") return ReadCodes(value, note);
  if (key == "arch") return note.archs = List(value), absl::OkStatus();
  if (key == "definition") return note.definitions = List(value), absl::OkStatus();
  if (key == "symptom") return note.symptom = PrintableLine(value), absl::OkStatus();
  if (key == "kernel") return note.kernel = std::string(value), absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("expected code, arch, definition, symptom or kernel, not \"", PrintableLine(key), "\""));
}

// `*` stands for any letters, also none.
bool Fits(absl::string_view pattern, absl::string_view text) {
  const size_t star = pattern.find('*');
  if (star == absl::string_view::npos) return pattern == text;
  if (!absl::ConsumePrefix(&text, pattern.substr(0, star))) return false;
  pattern.remove_prefix(star + 1);
  for (size_t skip = 0; skip <= text.size(); ++skip) {
    if (Fits(pattern, text.substr(skip))) return true;
  }
  return false;
}

bool FitsOne(const std::vector<std::string>& patterns, absl::string_view text) {
  return patterns.empty() ||
         std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) { return Fits(pattern, text); });
}

// The verdict's code, then those of the findings that convict.
std::vector<VerdictCode> CodesOf(const Verdict& verdict) {
  std::vector<VerdictCode> codes = {verdict.code()};
  for (const auto& finding : verdict.details().findings()) codes.push_back(finding.code());
  return codes;
}

// Which of the verdict's codes the note is for, counted from 0; codes.size() if none.
size_t Rank(const RepairNote& note, const std::vector<VerdictCode>& codes) {
  const auto found = std::find_if(codes.begin(), codes.end(), [&](VerdictCode code) {
    return std::find(note.codes.begin(), note.codes.end(), code) != note.codes.end();
  });
  return found - codes.begin();
}

std::string Render(const RepairNote& note, bool with_kernel) {
  std::string text =
      absl::StrCat("Note: ", note.symptom.empty() ? note.name : note.symptom, "\n", note.explanation, "\n");
  if (with_kernel && !note.kernel.empty())
    absl::StrAppend(&text, "A kernel in which this is repaired:\n", CodeBlock("cuda", note.kernel));
  return WithoutChatMarks(text);
}

absl::Status InFile(const fs::path& path, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(path.string(), ": ", status.message()));
}

// A note names a kernel beside it, not a file of this machine.
absl::Status LoadKernel(const fs::path& folder, RepairNote& note) {
  if (note.kernel.empty()) return absl::OkStatus();
  const std::string named = PrintableLine(note.kernel);
  const absl::StatusOr<fs::path> path = PathBelow(folder, note.kernel);
  if (!path.ok())
    return absl::InvalidArgumentError(absl::StrCat("kernel ", named, ": expected a file below the folder of notes"));
  ASSIGN_OR_RETURN(note.kernel, ReadUntrustedFile(*path, kKernelLimit));
  if (FirstInvalidUtf8(note.kernel) != absl::string_view::npos)
    return absl::InvalidArgumentError(absl::StrCat("kernel ", named, " is not UTF-8"));
  if (!absl::EndsWith(note.kernel, "\n")) note.kernel += "\n";
  return absl::OkStatus();
}

absl::StatusOr<RepairNote> LoadNote(const fs::path& path) {
  const absl::StatusOr<std::string> text = ReadUntrustedFile(path, kNoteLimit);
  if (!text.ok()) return InFile(path, text.status());
  absl::StatusOr<RepairNote> note = ParseRepairNote(*text, path.stem().string());
  if (!note.ok()) return InFile(path, note.status());
  if (const absl::Status status = LoadKernel(path.parent_path(), *note); !status.ok()) return InFile(path, status);
  return note;
}

absl::StatusOr<std::vector<fs::path>> NoteFiles(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error))
    return absl::NotFoundError(absl::StrCat("no folder of notes ", folder.string()));
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".md" && entry.path().filename() != "README.md") files.push_back(entry.path());
  }
  if (error) return absl::UnavailableError(absl::StrCat("cannot list ", folder.string(), ": ", error.message()));
  if (files.size() > kNotesLimit)
    return absl::InvalidArgumentError(absl::StrCat(folder.string(), " holds more than ", kNotesLimit, " notes"));
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

absl::StatusOr<RepairNote> ParseRepairNote(absl::string_view untrusted, absl::string_view name) {
  RepairNote note;
  note.name = std::string(name);
  if (FirstInvalidUtf8(untrusted) != absl::string_view::npos) return absl::InvalidArgumentError("not UTF-8");
  int number = 0;
  while (!untrusted.empty()) {
    const size_t end = std::min(untrusted.find('\n'), untrusted.size());
    const absl::string_view line = absl::StripSuffix(untrusted.substr(0, end), "\r");
    untrusted.remove_prefix(std::min(end + 1, untrusted.size()));
    ++number;
    if (line.empty()) break;
    const absl::Status status = ReadHeaderLine(line, note);
    if (!status.ok()) return absl::InvalidArgumentError(absl::StrCat("line ", number, ": ", status.message()));
  }
  if (note.codes.empty()) return absl::InvalidArgumentError("the header has no line \"code: VERDICT_CODE\"");
  note.explanation = Printable(absl::StripAsciiWhitespace(untrusted));
  if (note.explanation.empty()) return absl::InvalidArgumentError("no explanation behind the header's empty line");
  return note;
}

absl::StatusOr<RepairNotes> RepairNotes::Load(absl::string_view option) {
  RepairNotes notes;
  notes.shows_kernels_ = absl::ConsumeSuffix(&option, ":kernel");
  ASSIGN_OR_RETURN(const std::vector<fs::path> files, NoteFiles(fs::path(std::string(option))));
  for (const fs::path& file : files) {
    ASSIGN_OR_RETURN(RepairNote note, LoadNote(file));
    notes.notes_.push_back(std::move(note));
  }
  return notes;
}

std::string RepairNotes::For(const Verdict& verdict, absl::string_view arch, absl::string_view definition,
                             size_t most) const {
  if (verdict.status() == v1::VERDICT_STATUS_INFRA_ERROR || verdict.status() == v1::VERDICT_STATUS_CANCELLED) return "";
  const std::vector<VerdictCode> codes = CodesOf(verdict);
  std::vector<const RepairNote*> fitting;
  for (const RepairNote& note : notes_) {
    if (Rank(note, codes) < codes.size() && FitsOne(note.archs, arch) && FitsOne(note.definitions, definition))
      fitting.push_back(&note);
  }
  const auto key = [&](const RepairNote* note) {
    return std::make_tuple(Rank(*note, codes), note->definitions.empty(), note->archs.empty());
  };
  std::stable_sort(fitting.begin(), fitting.end(),
                   [&](const RepairNote* a, const RepairNote* b) { return key(a) < key(b); });
  if (fitting.size() > most) fitting.resize(most);
  return absl::StrJoin(fitting, "\n",
                       [&](std::string* out, const RepairNote* note) { out->append(Render(*note, shows_kernels_)); });
}

}  // namespace sassay::agent
