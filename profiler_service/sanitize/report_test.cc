#include "profiler_service/sanitize/report.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "google/protobuf/text_format.h"

namespace sassay::sanitize {
namespace {

std::string Recorded(const std::string& name) {
  const std::string root = std::getenv("SASSAY_TEST_SOURCE");
  auto content = ReadFile(root + "/profiler_service/sanitize/testdata/" + name);
  EXPECT_TRUE(content.ok()) << content.status();
  return content.value_or("");
}

v1::Bundle Bundle() {
  v1::Bundle bundle;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"pb(kernels { symbol: "_Z10store_pastPsi" name: "store_past(short*, int)" }
           kernels { symbol: "_Z5trapkv" name: "trapk()" }
           sources { path: "oob.cu" content: "one\ntwo\nthree\n  p[i] = 1;  // past\nfive\n" })pb",
      &bundle));
  return bundle;
}

worker::Placement At(const std::string& buffer, uint64_t address, uint64_t size) {
  worker::Placement placement;
  placement.set_buffer(buffer);
  placement.set_address(address);
  placement.set_size_bytes(size);
  return placement;
}

TEST(Report, StorePastTheEndNamesKernelThreadLineAndBuffer) {
  const auto report = ParseReport(Recorded("memcheck_out_of_bounds.xml"), Tool::kMemcheck,
                                  {At("A", 0x7f13fa000000, 2000), At("C", 0x7f13fa800000, 2000)}, Bundle());
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->convicting.size(), 1u);
  EXPECT_TRUE(report->advisory.empty()) << "the API error that follows is not a finding of its own";
  const v1::Finding& finding = report->convicting[0];
  EXPECT_EQ(finding.code(), v1::VERDICT_CODE_OOB_GLOBAL_WRITE);
  EXPECT_EQ(finding.where().kernel(), "_Z10store_pastPsi");
  EXPECT_EQ(finding.where().thread().x(), 488u);
  EXPECT_EQ(finding.where().block().x(), 1u);
  EXPECT_EQ(finding.where().source_line(), "oob.cu:4");
  EXPECT_EQ(finding.where().source_text(), "p[i] = 1;  // past");
  EXPECT_EQ(finding.buffer(), "C");
  EXPECT_EQ(finding.distance_bytes(), 0) << "the first byte past the end";
  EXPECT_EQ(finding.access_bytes(), 2u);
  EXPECT_EQ(finding.message(),
            "__global__ write of 2 bytes is out of bounds 0 bytes past the end of C (2000 bytes), by thread (488,0,0) "
            "of block (1,0,0) in store_past at oob.cu:4");
}

TEST(Report, DistanceIsNegativeBeforeABufferAndTheNearestBufferIsMeant) {
  const auto report = ParseReport(Recorded("memcheck_out_of_bounds.xml"), Tool::kMemcheck,
                                  {At("far", 0x7f13fa000000, 2000), At("near", 0x7f13fa8007d0 + 12, 64)}, Bundle());
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->convicting.at(0).buffer(), "near");
  EXPECT_EQ(report->convicting.at(0).distance_bytes(), -12);
}

TEST(Report, WithoutPlacementsTheFindingStandsWithoutABuffer) {
  const auto report = ParseReport(Recorded("memcheck_out_of_bounds.xml"), Tool::kMemcheck, {}, Bundle());
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->convicting.at(0).buffer(), "");
}

TEST(Report, EqualFindingsOfManyThreadsAreOneWithACount) {
  const auto report =
      ParseReport(Recorded("memcheck_misaligned.xml"), Tool::kMemcheck, {At("C", 0x7ff044800000, 2000)}, Bundle());
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->convicting.size(), 1u);
  EXPECT_EQ(report->convicting[0].code(), v1::VERDICT_CODE_MISALIGNED);
  EXPECT_EQ(report->convicting[0].count(), 5u);
  EXPECT_EQ(report->convicting[0].where().thread().x(), 0u);
}

TEST(Report, TrapsAdviseAndDoNotConvict) {
  const auto trap = ParseReport(Recorded("memcheck_trap.xml"), Tool::kMemcheck, {}, Bundle());
  ASSERT_TRUE(trap.ok());
  EXPECT_TRUE(trap->convicting.empty());
  EXPECT_EQ(trap->advisory.at(0).code(), v1::VERDICT_CODE_TRAP);
  EXPECT_EQ(trap->advisory.at(0).where().kernel(), "_Z5trapkv");
}

// racecheck, synccheck and initcheck, recorded with kernels of bad.cu.
v1::Bundle Bad() {
  v1::Bundle bundle;
  bundle.add_kernels()->set_symbol("_Z4racePi");
  bundle.add_kernels()->set_symbol("bad_syncwarp");
  std::string& content = *bundle.add_sources()->mutable_content();
  for (int line = 1; line < 60; ++line) content += absl::StrCat("line ", line, "\n");
  bundle.mutable_sources(0)->set_path("bad.cu");
  return bundle;
}

// The only finding; nothing of these tools convicts.
v1::Finding OnlyAdvice(const std::string& recording, Tool tool, absl::Span<const worker::Placement> placements = {}) {
  const auto report = ParseReport(Recorded(recording), tool, placements, Bad());
  EXPECT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->convicting.empty());
  EXPECT_EQ(report->advisory.size(), 1u);
  return report->advisory.at(0);
}

TEST(Report, ARaceNamesBothLinesAndCountsItsHazards) {
  const v1::Finding race = OnlyAdvice("racecheck_analysis.xml", Tool::kRacecheck);
  EXPECT_EQ(race.code(), v1::VERDICT_CODE_SHARED_RACE);
  EXPECT_EQ(race.count(), 1024u);
  EXPECT_EQ(race.where().kernel(), "_Z4racePi");
  EXPECT_EQ(race.where().source_text(), "line 9");
  EXPECT_EQ(race.other().source_line(), "bad.cu:10");
  EXPECT_EQ(race.message(),
            "Write at bad.cu:9 and Read at bad.cu:10 of the same shared memory without a barrier, in race");
}

TEST(Report, AHazardNamesBothThreads) {
  const v1::Finding hazard = OnlyAdvice("racecheck_hazards.xml", Tool::kRacecheck);
  EXPECT_EQ(hazard.code(), v1::VERDICT_CODE_SHARED_RACE);
  EXPECT_EQ(hazard.where().thread().x(), 31u);
  EXPECT_EQ(hazard.other().thread().x(), 160u);
  EXPECT_EQ(hazard.count(), 3u);
}

TEST(Report, ABarrierErrorInAHeaderIsToldAtTheLineThatTheCandidateWrote) {
  const v1::Finding barrier = OnlyAdvice("synccheck_invalid_arguments.xml", Tool::kSynccheck);
  EXPECT_EQ(barrier.code(), v1::VERDICT_CODE_BARRIER_MISUSE);
  EXPECT_EQ(barrier.where().kernel(), "bad_syncwarp");
  EXPECT_EQ(barrier.where().source_line(), "bad.cu:33");
  EXPECT_EQ(barrier.message(),
            "Barrier error: Invalid arguments, by thread (0,0,0) of block (0,0,0) in bad_syncwarp at bad.cu:33");
}

TEST(Report, AReadOfWhatNobodyWroteNamesTheByteOfTheBuffer) {
  const v1::Finding read =
      OnlyAdvice("initcheck_uninitialised.xml", Tool::kInitcheck, {At("workspace 0", 0x7fe212800000, 2000)});
  EXPECT_EQ(read.code(), v1::VERDICT_CODE_UNINITIALIZED_READ);
  EXPECT_EQ(read.buffer(), "workspace 0");
  EXPECT_EQ(read.count(), 3u);
  EXPECT_EQ(read.distance_bytes(), 0);
  EXPECT_EQ(read.message(),
            "read of 4 bytes at byte 128 of workspace 0 that nobody has written, by thread (0,0,0) of block (0,0,0) in "
            "uninit_read at bad.cu:47");
}

TEST(Report, AStorePastSharedMemoryOnlyAdvises) {
  const v1::Finding store = OnlyAdvice("memcheck_shared.xml", Tool::kMemcheck);
  EXPECT_EQ(store.code(), v1::VERDICT_CODE_OOB_SHARED);
  EXPECT_EQ(store.buffer(), "shared");
}

// A report of `records` stores past the end, each `frames` calls deep.
std::string DeepReport(int records, int frames) {
  std::string xml = "<ComputeSanitizerOutput>";
  for (int i = 0; i < records; ++i) {
    absl::StrAppend(&xml, "<record><kind>Precise</kind><what><space>__global__</space><size>4</size>",
                    "<direction>write</direction><error>out of bounds</error><address>0x10</address></what>",
                    "<where><func>leaf</func><path>x.cu</path><line>", i, "</line></where><deviceStack>");
    for (int j = 0; j < frames; ++j) absl::StrAppend(&xml, "<frame><func>f", j, "</func></frame>");
    absl::StrAppend(&xml, "<frame><func>kernel_7</func></frame></deviceStack></record>");
  }
  return xml + "</ComputeSanitizerOutput>";
}

// Demangling each kernel for each frame would be a hundred million times.
TEST(Report, DeepStacksOfABundleWithManyKernelsAreReadInNoTime) {
  v1::Bundle bundle;
  for (int i = 0; i < 1000; ++i) {
    const std::string name = absl::StrCat("kernel_", i);
    bundle.add_kernels()->set_symbol(absl::StrCat("_Z", name.size(), name, "PfPKfRKSt6vectorIfSaIfEE"));
  }
  const auto report = ParseReport(DeepReport(200, 500), Tool::kMemcheck, {}, bundle);
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->convicting.size(), kMaxFindings);
  EXPECT_EQ(report->convicting[0].where().kernel(), bundle.kernels(7).symbol()) << "the outermost frame is the kernel";
}

TEST(Report, AKernelIsKnownByItsNameWithItsTemplateArgumentsAndWithout) {
  v1::Bundle bundle;
  bundle.add_kernels()->set_symbol("_Z4gemmILi128EEvPi");
  for (const char* name : {"_Z4gemmILi128EEvPi", "gemm&lt;128&gt;", "gemm"}) {
    const auto report = ParseReport(absl::StrCat("<ComputeSanitizerOutput><record><kind>Synccheck</kind><where><func>",
                                                 name, "</func></where></record></ComputeSanitizerOutput>"),
                                    Tool::kSynccheck, {}, bundle);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->advisory.at(0).where().kernel(), "_Z4gemmILi128EEvPi") << name;
  }
}

// An inlined function may be called anything: its name lies in PTX as bytes.
TEST(Report, ANameThatEndsTheReportEndsNothing) {
  const auto report =
      ParseReport(Recorded("memcheck_hostile_name.xml"), Tool::kMemcheck, {At("C", 0x7f3dac800000, 4096)}, Bundle());
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->convicting.size(), 1u);
  EXPECT_EQ(report->convicting[0].code(), v1::VERDICT_CODE_OOB_GLOBAL_WRITE);
  EXPECT_EQ(report->convicting[0].where().kernel(), "k");
  EXPECT_EQ(*ParseSummary(Recorded("memcheck_hostile_name.txt")), 1u) << "not the name's 0 errors";
}

TEST(Report, WhatMemcheckPrintedUntilItWasStoppedConvicts) {
  const std::string printed = Recorded("memcheck_flood.txt");
  const Report report = ParsePrinted(printed, {At("C", 0x7f805e801000, 4096)}, Bundle());
  ASSERT_EQ(report.convicting.size(), 1u);
  EXPECT_TRUE(report.advisory.empty());
  EXPECT_EQ(report.convicting[0].count(), 4u);
  EXPECT_EQ(report.convicting[0].distance_bytes(), 0);
  EXPECT_EQ(report.convicting[0].message(),
            "__global__ write of 4 bytes is out of bounds 0 bytes past the end of C (4096 bytes), by thread (1022,0,0) "
            "of block (8,0,0) in flood at hostile.cu:9");
  EXPECT_TRUE(ParsePrinted(printed.substr(0, 60), {}, Bundle()).convicting.empty())
      << "cut before it says what is wrong";
}

TEST(Report, OnlyGlobalMemoryIsTakenFromWhatWasPrinted) {
  for (const char* text :
       {"", "========= ERROR SUMMARY: 3 errors\n",
        "========= Invalid __shared__ write of size 4 bytes\n=========     Access to 0x40 is out of bounds\n",
        "Invalid __global__ write of size 4 bytes\n    Access to 0x40 is out of bounds\n"}) {
    EXPECT_TRUE(ParsePrinted(text, {}, Bundle()).convicting.empty()) << text;
  }
}

TEST(Report, CleanRunHasNoFindings) {
  const auto report = ParseReport(Recorded("memcheck_clean.xml"), Tool::kMemcheck, {}, Bundle());
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->convicting.empty());
  EXPECT_TRUE(report->advisory.empty());
}

TEST(Report, WhatIsNoReportIsDataLossAndNeverClean) {
  const std::string whole = Recorded("memcheck_out_of_bounds.xml");
  for (const std::string& bad :
       {std::string(), std::string("<html/>"), std::string("PASSED"), whole.substr(0, whole.size() / 2)}) {
    EXPECT_EQ(ParseReport(bad, Tool::kMemcheck, {}, Bundle()).status().code(), absl::StatusCode::kDataLoss)
        << bad.size();
  }
}

TEST(Summary, CountsErrorsAndItsAbsenceIsNotZero) {
  EXPECT_EQ(*ParseSummary("========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"), 0u);
  EXPECT_EQ(*ParseSummary("========= ERROR SUMMARY: 33 errors\n========= ERROR SUMMARY: 28 errors were not printed.\n"),
            33u);
  EXPECT_EQ(
      *ParseSummary("========= ERROR SUMMARY: 39632 errors\n========= ERROR SUMMARY: 39432 errors were not printed. "
                    "Use --print-limit option to adjust the number of printed errors\n"),
      39632u);
  EXPECT_EQ(*ParseSummary("========= ERROR SUMMARY: 1 error\n"), 1u);
  EXPECT_EQ(*ParseSummary("========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)\n"), 1u);
  EXPECT_EQ(*ParseSummary("========= ERROR SUMMARY: 0 errors\n========= ERROR SUMMARY: 7 errors\n"), 7u)
      << "the last word counts: a name may hold another";
  EXPECT_EQ(ParseSummary("========= COMPUTE-SANITIZER\n").status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(ParseSummary("ERROR SUMMARY: no errors").status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace sassay::sanitize
