#include "agent/knowledge/notes.h"

#include <filesystem>

#include "common/base/files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay::agent {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

v1::Verdict Verdict(v1::VerdictCode code, v1::VerdictStatus status = v1::VERDICT_STATUS_RUNTIME_ERROR) {
  v1::Verdict verdict;
  verdict.set_code(code);
  verdict.set_status(status);
  return verdict;
}

class NotesTest : public ::testing::Test {
 protected:
  NotesTest() : folder_(*TemporaryDirectory::Create("notes")) {}

  void Write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(WriteFileAtomically(folder_.path() / name, text).ok());
  }
  RepairNotes Notes(const std::string& suffix = "") {
    absl::StatusOr<RepairNotes> notes = RepairNotes::Load(folder_.path().string() + suffix);
    EXPECT_TRUE(notes.ok()) << notes.status();
    return notes.ok() ? *notes : RepairNotes();
  }
  std::string Refusal() { return std::string(RepairNotes::Load(folder_.path().string()).status().message()); }

  TemporaryDirectory folder_;
};

TEST_F(NotesTest, ANoteIsFoundByCodeArchitectureAndDefinition) {
  Write("ring.md",
        "code: MBARRIER_DEADLOCK, KERNEL_TIMEOUT\narch: sm_90a\ndefinition: gemm_*\nsymptom: waits\n\nCount.\n");
  const RepairNotes notes = Notes();
  EXPECT_EQ(notes.For(Verdict(v1::VERDICT_CODE_KERNEL_TIMEOUT), "sm_90a", "gemm_n256_k256"), "Note: waits\nCount.\n");
  EXPECT_EQ(notes.For(Verdict(v1::VERDICT_CODE_MISMATCH), "sm_90a", "gemm_n256_k256"), "");
  EXPECT_EQ(notes.For(Verdict(v1::VERDICT_CODE_KERNEL_TIMEOUT), "sm_100a", "gemm_n256_k256"), "");
  EXPECT_EQ(notes.For(Verdict(v1::VERDICT_CODE_KERNEL_TIMEOUT), "sm_90a", "mha_gemm_"), "");
}

TEST_F(NotesTest, TheMostParticularNoteComesFirstThenTheName) {
  Write("a.md", "code: TRAP\n\nA\n");
  Write("b.md", "code: TRAP\narch: sm_90a\n\nB\n");
  Write("c.md", "code: TRAP\ndefinition: gemm_*\n\nC\n");
  Write("d.md", "code: TRAP\ndefinition: gemm_*\n\nD\n");
  const v1::Verdict verdict = Verdict(v1::VERDICT_CODE_TRAP);
  EXPECT_EQ(Notes().For(verdict, "sm_90a", "gemm_x", 9), "Note: c\nC\n\nNote: d\nD\n\nNote: b\nB\n\nNote: a\nA\n");
  EXPECT_EQ(Notes().For(verdict, "sm_90a", "gemm_x", 1), "Note: c\nC\n");
  EXPECT_EQ(Notes().For(verdict, "sm_90a", "gemm_x", 9), Notes().For(verdict, "sm_90a", "gemm_x", 9));
}

TEST_F(NotesTest, TheVerdictsCodeComesBeforeThoseOfItsFindings) {
  Write("a.md", "code: SHARED_RACE\n\nrace\n");
  Write("b.md", "code: MISMATCH\n\nmismatch\n");
  v1::Verdict verdict = Verdict(v1::VERDICT_CODE_MISMATCH, v1::VERDICT_STATUS_INCORRECT_NUMERICAL);
  verdict.mutable_details()->add_findings()->set_code(v1::VERDICT_CODE_SHARED_RACE);
  EXPECT_EQ(Notes().For(verdict, "sm_90a", "g"), "Note: b\nmismatch\n\nNote: a\nrace\n");
}

TEST_F(NotesTest, InfrastructuresTroubleGetsNoNote) {
  Write("a.md", "code: INTERNAL\n\nnever\n");
  EXPECT_EQ(Notes().For(Verdict(v1::VERDICT_CODE_INTERNAL, v1::VERDICT_STATUS_INFRA_ERROR), "sm_90a", "g"), "");
}

TEST_F(NotesTest, TheKernelIsShownOnlyWhereItIsAskedFor) {
  Write("a.md", "code: TRAP\nkernel: fixed.cu\n\nwhy\n");
  Write("fixed.cu", "__global__ void k() {}");
  const v1::Verdict verdict = Verdict(v1::VERDICT_CODE_TRAP);
  EXPECT_THAT(Notes().For(verdict, "sm_90a", "g"), Not(HasSubstr("__global__")));
  EXPECT_THAT(Notes(":kernel").For(verdict, "sm_90a", "g"), HasSubstr("```cuda\n__global__ void k() {}\n```\n"));
}

TEST_F(NotesTest, AKernelOutsideOfTheFolderIsRefused) {
  for (const char* path : {"/etc/passwd", "../secret.cu", "x/../../secret.cu"}) {
    Write("a.md", std::string("code: TRAP\nkernel: ") + path + "\n\nwhy\n");
    EXPECT_THAT(Refusal(), AllOf(HasSubstr("a.md"), HasSubstr("below the folder"))) << path;
  }
  Write("a.md", "code: TRAP\nkernel: link.cu\n\nwhy\n");
  fs::create_symlink("/etc/passwd", folder_.path() / "link.cu");
  EXPECT_FALSE(RepairNotes::Load(folder_.path().string()).ok());
  Write("a.md", "code: TRAP\nkernel: door/passwd\n\nwhy\n");
  fs::create_directory_symlink("/etc", folder_.path() / "door");
  EXPECT_THAT(Refusal(), HasSubstr("below the folder"));
}

TEST_F(NotesTest, MistakesNameFileAndLine) {
  Write("a.md", "code: TRAP\nkode: x\n\nwhy\n");
  EXPECT_THAT(Refusal(), AllOf(HasSubstr("a.md: line 2"), HasSubstr("\"kode\"")));
  Write("a.md", "code: TRAPP\n\nwhy\n");
  EXPECT_THAT(Refusal(), HasSubstr("TRAP"));
  Write("a.md", "symptom: x\n\nwhy\n");
  EXPECT_THAT(Refusal(), HasSubstr("code: VERDICT_CODE"));
  Write("a.md", "code: TRAP\n");
  EXPECT_THAT(Refusal(), HasSubstr("no explanation"));
  Write("a.md", "code: TRAP");
  EXPECT_THAT(Refusal(), HasSubstr("no explanation"));
  EXPECT_TRUE(absl::IsNotFound(RepairNotes::Load("/nowhere:kernel").status()));
}

TEST_F(NotesTest, WhatIsNoNoteIsLeftAlone) {
  Write("README.md", "about");
  Write("kernel.cu", "x");
  Write("a.md", "code: TRAP\r\n\r\nwhy\r\n");
  EXPECT_EQ(Notes().notes().size(), 1u);
}

TEST(ShippedNotesTest, AllCanBeReadAndSayWhatTheyAreFor) {
  const absl::StatusOr<RepairNotes> notes =
      RepairNotes::Load(std::string(SASSAY_SOURCE_DIR) + "/agent/knowledge/notes:kernel");
  ASSERT_TRUE(notes.ok()) << notes.status();
  EXPECT_GE(notes->notes().size(), 6u);
  for (const RepairNote& note : notes->notes()) EXPECT_FALSE(note.symptom.empty()) << note.name;
}

}  // namespace
}  // namespace sassay::agent
