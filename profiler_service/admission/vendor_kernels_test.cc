#include "profiler_service/admission/vendor_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/files.h"
#include "profiler_service/admission/code_digest.h"
#include "profiler_service/admission/testing/example_bundle.h"

namespace sassay::admission {
namespace {

using ::testing::HasSubstr;

// A kernel as long as those that are listed: `count` instructions, no two the same.
std::string LongPtx(const std::string& name, int count, const std::string& target = "sm_90a") {
  std::string body;
  for (int i = 0; i < count; ++i) absl::StrAppend(&body, "  add.u32 %r", i + 1, ", %r", i, ", ", i, ";\n");
  return absl::StrCat(".version 9.0\n.target ", target, "\n.address_size 64\n.visible .entry ", name, "()\n{\n",
                      "  .reg .b32 %r<", count + 1, ">;\n", body, "  ret;\n}\n");
}

sassay::v1::Bundle WithPtx(const std::string& ptx) {
  sassay::v1::Bundle bundle;
  bundle.set_ptx(ptx);
  return bundle;
}

// The example's own kernels, as if a vendor shipped them.
std::string ListOfTheExample() {
  const std::string cubin = ExampleBundle().cubin();
  return MakeVendorList({"libvendor.so.1", 1234}, {cubin}, {LongPtx("vendor_kernel", 200, "sm_120")});
}

TEST(VendorKernels, AKernelThatALibraryShipsIsRefusedWithTheLibrarysName) {
  std::string longest;
  uint64_t instructions = 0;
  const auto digests = MachineCodeDigests(ExampleBundle().cubin());
  ASSERT_TRUE(digests.ok()) << digests.status();
  for (const CodeDigest& code : *digests) {
    if (code.instructions > instructions) longest = code.symbol;
    instructions = std::max(instructions, code.instructions);
  }
  ASSERT_GE(instructions, kFewestVendorInstructions) << "the example has no kernel that is long enough";
  VendorKernels known;
  ASSERT_TRUE(known.Add(ListOfTheExample()).ok());
  EXPECT_EQ(known.lists().front().library, "libvendor.so.1");
  EXPECT_EQ(known.lists().front().bytes, 1234u);
  const auto rejection = known.Find(ExampleBundle());
  ASSERT_TRUE(rejection.has_value());
  EXPECT_EQ(rejection->code, sassay::v1::VERDICT_CODE_VENDOR_KERNEL);
  EXPECT_EQ(rejection->field, "cubin");
  EXPECT_THAT(rejection->reason, HasSubstr("of libvendor.so.1"));
}

TEST(VendorKernels, PtxOfALibraryIsRefusedUnderAnotherNameAndForAnotherTarget) {
  VendorKernels known;
  ASSERT_TRUE(known.Add(ListOfTheExample()).ok());
  const auto rejection = known.Find(WithPtx(LongPtx("my_own_work", 200)));
  ASSERT_TRUE(rejection.has_value());
  EXPECT_EQ(rejection->field, "ptx");
  EXPECT_THAT(rejection->reason, HasSubstr("kernel my_own_work is vendor_kernel of libvendor.so.1"));
  EXPECT_FALSE(known.Find(WithPtx(LongPtx("vendor_kernel", 201))).has_value()) << "another kernel of that name";
}

TEST(VendorKernels, WhatTwoPeopleMayWellWriteIsInNoList) {
  const std::string list = MakeVendorList({"libvendor.so.1", 1}, {}, {LongPtx("short", 40)});
  VendorKernels known;
  ASSERT_TRUE(known.Add(list).ok());
  EXPECT_EQ(known.functions(), 0u);
  EXPECT_FALSE(known.Find(WithPtx(LongPtx("short", 40))).has_value());
}

TEST(VendorKernels, NamesOfUnpublishedGeneratorsAreRefusedWithoutAnyList) {
  const VendorKernels known;
  EXPECT_FALSE(known.Find(ExampleBundle()).has_value());
  const auto rejection = known.Find(WithPtx(LongPtx("nvjet_sm90_hsh_128x256_64x4_1x2_h_bz_coopA_NTT", 3)));
  ASSERT_TRUE(rejection.has_value());
  EXPECT_THAT(rejection->reason, HasSubstr("a name of cuBLAS's kernels"));
  EXPECT_EQ(VendorOfName("cudnn_generated_fort_native_sdpa_sm90_flash_fprop"), "cuDNN");
  EXPECT_EQ(VendorOfName("_ZN7cutlass13device_kernelI4gemmEEvT_"), "") << "CUTLASS is anybody's to instantiate";
  EXPECT_EQ(VendorOfName("my_xmma_gemm"), "");
}

TEST(VendorKernels, AFolderOfListsIsReadAndABrokenListNamed) {
  const auto folder = TemporaryDirectory::Create("vendor-kernels-test");
  ASSERT_TRUE(folder.ok());
  VendorKernels known;
  EXPECT_TRUE(known.AddFolder(folder->path() / "none").ok());
  std::ofstream(folder->path() / "a.list") << ListOfTheExample();
  std::ofstream(folder->path() / "README") << "no list";
  ASSERT_TRUE(known.AddFolder(folder->path()).ok());
  EXPECT_GT(known.functions(), 0u);
  std::ofstream(folder->path() / "b.list") << "sassay vendor kernels 1\nlibrary x 1\nsass 12 name\n";
  const absl::Status status = VendorKernels().AddFolder(folder->path());
  EXPECT_THAT(std::string(status.message()), HasSubstr("b.list: line 3"));
}

}  // namespace
}  // namespace sassay::admission
