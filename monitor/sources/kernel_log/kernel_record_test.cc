#include "monitor/sources/kernel_log/kernel_record.h"

#include "gtest/gtest.h"

namespace sassay::monitor {
namespace {

TEST(KernelRecord, IsSequenceTimeAndFirstLine) {
  const auto record = ParseKernelRecord("3,1094,95003512,-;NVRM: Xid (PCI:0000:18:00): 79, x\n SUBSYSTEM=pci\n");
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->sequence, 1094u);
  EXPECT_EQ(record->since_boot, absl::Microseconds(95003512));
  EXPECT_TRUE(record->from_kernel);
  EXPECT_EQ(record->text, "NVRM: Xid (PCI:0000:18:00): 79, x");
}

TEST(KernelRecord, KnowsWhatAProcessWrote) {
  EXPECT_FALSE(ParseKernelRecord("12,1,2,-;NVRM: Xid (PCI:0000:18:00): 79, x\n")->from_kernel);
}

TEST(KernelRecord, IsNothingWithoutItsHeader) {
  EXPECT_FALSE(ParseKernelRecord("").has_value());
  EXPECT_FALSE(ParseKernelRecord("NVRM: Xid").has_value());
  EXPECT_FALSE(ParseKernelRecord("3,x,1,-;text").has_value());
  EXPECT_FALSE(ParseKernelRecord("3,1;text").has_value());
}

TEST(XidLine, NamesTheProcess) {
  const auto line = ParseXidLine(
      "NVRM: Xid (PCI:0000:3B:00): 31, pid=4711, name=python3, Ch 00000010, intr 00000000. MMU Fault: ENGINE GRAPHICS");
  ASSERT_TRUE(line.has_value());
  EXPECT_EQ(line->pci, "0000:3b:00");
  EXPECT_EQ(line->code, 31);
  EXPECT_EQ(line->pid, 4711);
  EXPECT_EQ(line->name, "python3");
}

TEST(XidLine, KnowsThatNobodyIsNamed) {
  const auto line =
      ParseXidLine("NVRM: Xid (PCI:0000:18:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.");
  ASSERT_TRUE(line.has_value());
  EXPECT_EQ(line->code, 79);
  EXPECT_EQ(line->pid, 0);
  EXPECT_EQ(line->name, "");
}

TEST(XidLine, OlderAndPartitionedFormsAreRead) {
  EXPECT_EQ(ParseXidLine("NVRM: Xid (0000:03:00): 13, Graphics Exception")->code, 13);
  const auto mig = ParseXidLine("NVRM: Xid (PCI:0000:18:00 GPU-I:05): 94, pid=7, name=a b, Contained");
  ASSERT_TRUE(mig.has_value());
  EXPECT_EQ(mig->pci, "0000:18:00");
  EXPECT_EQ(mig->name, "a b");
}

TEST(XidLine, AnythingElseIsNone) {
  for (const char* text : {"", "NVRM: Xid", "NVRM: Xid (PCI:0000:18:00): ", "NVRM: Xid (PCI:0000:18:00): x, y",
                           "NVRM: Xid (PCI:0000:18:00): 0, y", "NVRM: Xid (PCI:0000:18:00): 123456, y",
                           "NVRM: Xid (PCI:zz00:18:00): 79, y", "NVRM: Xid (everywhere): 79, y",
                           " NVRM: Xid (PCI:0000:18:00): 79, y", "nvidia: Xid (PCI:0000:18:00): 79"}) {
    EXPECT_FALSE(ParseXidLine(text).has_value()) << text;
  }
}

TEST(GpuLine, SaysWhichGpuAnAddressIs) {
  const auto line = ParseGpuLine("NVRM: GPU at PCI:0000:18:00: GPU-6f3e1c2a-0000-1111-2222-333344445555");
  ASSERT_TRUE(line.has_value());
  EXPECT_EQ(line->pci, "0000:18:00");
  EXPECT_EQ(line->uuid, "GPU-6f3e1c2a-0000-1111-2222-333344445555");
  EXPECT_FALSE(ParseGpuLine("NVRM: GPU at PCI:0000:18:00: GPU-short").has_value());
  EXPECT_FALSE(ParseGpuLine("NVRM: GPU at nowhere").has_value());
}

}  // namespace
}  // namespace sassay::monitor
