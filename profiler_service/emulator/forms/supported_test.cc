#include "profiler_service/emulator/forms/supported.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "common/base/files.h"

namespace sassay::emulator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(FormsTest, BracesHoldAlternatives) {
  EXPECT_THAT(Expand("add{.rn,.rz}{,.ftz}.f32"),
              ElementsAre("add.rn.f32", "add.rn.ftz.f32", "add.rz.f32", "add.rz.ftz.f32"));
  EXPECT_THAT(Expand("trap"), ElementsAre("trap"));
}

TEST(FormsTest, WordsAreOperandsAndTheRestStandsForItself) {
  const auto name = [](std::string_view word) { return "<" + std::string(word) + ">"; };
  EXPECT_EQ(FillOperands("=i32|=p, [i64+4], #0..255, @s, %tid.x, -1", name),
            "<=i32>|<=p>, [<i64>+4], <#0..255>, s, %tid.x, -1");
}

TEST(FormsTest, WhatTheEmulatorLacksIsFoundOutAndNamed) {
  const auto probed = Probe({"tcgen05.shift{.cta_group::1}.down", "[i32]"});
  ASSERT_TRUE(probed.ok()) << probed.status();
  ASSERT_EQ(probed->size(), 1u);
  EXPECT_THAT((*probed)[0].refusal, HasSubstr("emulator lacks tcgen05.shift.cta_group::1.down (PTX line"));
}

// Those that the differential test draws from must all run.
TEST(FormsTest, EveryFormOfLanesAndWarpsRuns) {
  for (const Family& family : Families()) {
    if (family.kind == FamilyKind::kOther) continue;
    for (const Form& form : family.forms) {
      const auto probed = Probe(form);
      ASSERT_TRUE(probed.ok()) << form.pattern << ": " << probed.status();
      for (const Probed& one : *probed) EXPECT_EQ(one.refusal, "") << one.opcode;
    }
  }
}

// A form that is no PTX in the emulator's eyes is a mistake in the table, not something that the emulator lacks.
TEST(FormsTest, NoFormIsMalformed) {
  for (const Family& family : Families()) {
    for (const Form& form : family.forms) {
      const auto probed = Probe(form);
      ASSERT_TRUE(probed.ok()) << form.pattern << ": " << probed.status();
      for (const Probed& one : *probed) {
        EXPECT_TRUE(one.refusal.empty() || absl::StartsWith(one.refusal, "emulator lacks"))
            << one.opcode << ": " << one.refusal;
      }
    }
  }
}

TEST(FormsTest, ThePageOfInstructionsIsUpToDate) {
  const auto written = InstructionsDocument();
  ASSERT_TRUE(written.ok()) << written.status();
  const auto kept = ReadFile(SASSAY_SOURCE_DIR "/docs/emulator_instructions.md");
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_EQ(*written, *kept) << "write it anew: emulator_instructions > docs/emulator_instructions.md";
}

}  // namespace
}  // namespace sassay::emulator
