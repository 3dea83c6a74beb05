#include "profiler_service/admission/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "common/base/proto_json.h"
#include "profiler_service/admission/testing/example_bundle.h"

namespace sassay::admission {
namespace {

using ::testing::HasSubstr;
using v1::Bundle;
using v1::KernelLaunch;
using v1::LaunchPlan;

static_assert(!std::is_default_constructible_v<AdmittedBundle>);

// Damages may make a bundle non-canonical, so it is written as protobuf would, not by SerializeBundle.
AdmissionResult AdmitBundle(const Bundle& bundle, const DeviceFacts& device = ExampleDevice(),
                            const Limits& limits = {}) {
  return Admit(bundle.SerializeAsString(), ExampleWorkload(), limits, device);
}

// "CODE field: reason", or "ADMITTED".
std::string Outcome(const AdmissionResult& result) {
  if (std::holds_alternative<AdmittedBundle>(result)) return "ADMITTED";
  const Rejection& rejection = std::get<Rejection>(result);
  return absl::StrCat(EnumName(rejection.code), " ", rejection.Line());
}

TEST(Admission, AdmitsAnHonestBundle) {
  const Bundle bundle = ExampleBundle();
  const AdmissionResult result = AdmitBundle(bundle);
  ASSERT_EQ(Outcome(result), "ADMITTED");
  const AdmittedBundle& admitted = std::get<AdmittedBundle>(result);
  EXPECT_EQ(admitted.plan().workload(), "gemm_n256_k256/M=64");
  EXPECT_EQ(admitted.workload().name(), admitted.plan().workload());
  EXPECT_EQ(admitted.cubin().arch(), "sm_90a");
  EXPECT_EQ(admitted.digest(), BundleDigest(bundle.SerializeAsString()));
  EXPECT_EQ(admitted.memory_bytes(), 2u * (64 * 256 + 256 * 256 + 64 * 256) + 4096 + 1024);
  EXPECT_TRUE(admitted.warnings().empty());
}

TEST(Admission, CopiesOfAnAdmittedBundleShareTheirContent) {
  const AdmissionResult result = AdmitBundle(ExampleBundle());
  const AdmittedBundle copy = std::get<AdmittedBundle>(result);
  EXPECT_EQ(&copy.bundle(), &std::get<AdmittedBundle>(result).bundle());
  EXPECT_EQ(&copy.plan(), &copy.bundle().plans(0));
}

TEST(Admission, AdmitsABlackwellBundleOnABlackwellDevice) {
  DeviceFacts device = ExampleDevice();
  device.arch = "sm_100a";
  EXPECT_EQ(Outcome(AdmitBundle(ExampleBundle("sm_100a"), device)), "ADMITTED");
}

TEST(Admission, AnEmulatedDeviceHasTheMultiprocessorsThatTheCaptureSaw) {
  DeviceFacts device = ExampleDevice();
  device.emulated = true;
  device.multiprocessors = 0;
  EXPECT_EQ(Outcome(AdmitBundle(ExampleBundle(), device)), "ADMITTED");
}

TEST(Admission, RefusesAnotherModelOfTheSameArchitecture) {
  DeviceFacts device = ExampleDevice();
  device.model = "NVIDIA H100 PCIe";
  device.multiprocessors = 114;
  EXPECT_THAT(Outcome(AdmitBundle(ExampleBundle(), device)),
              HasSubstr("DEVICE_MISMATCH plans[0].assumptions[0]: captured for 132 SMs, this GPU has 114"));
}

TEST(Admission, ChecksFurtherAssumptionsWhereTheDeviceIsKnown) {
  Bundle bundle = ExampleBundle();
  v1::DeviceAssumption& assumption = *bundle.mutable_plans(0)->add_assumptions();
  assumption.set_property("cudaDevAttrL2CacheSize");
  assumption.set_value(62914560);
  DeviceFacts device = ExampleDevice();
  EXPECT_EQ(Outcome(AdmitBundle(bundle, device)), "ADMITTED");
  device.attributes["cudaDevAttrL2CacheSize"] = 52428800;
  EXPECT_THAT(Outcome(AdmitBundle(bundle, device)),
              HasSubstr("cudaDevAttrL2CacheSize = 62914560, this GPU has 52428800"));
}

TEST(Admission, RefusesACubinForAnotherArchitecture) {
  EXPECT_THAT(Outcome(AdmitBundle(ExampleBundle("sm_100a"))),
              HasSubstr("ARCH_MISMATCH cubin: it is for sm_100a, this device is sm_90a"));
}

TEST(Admission, RefusesAWorkloadWithoutReference) {
  v1::Workload workload = ExampleWorkload();
  workload.clear_reference();
  EXPECT_THAT(Outcome(Admit(ExampleBundle().SerializeAsString(), workload, {}, ExampleDevice())),
              HasSubstr("NO_REFERENCE workload: gemm_n256_k256/M=64 has no reference"));
}

TEST(Admission, RefusesAWorkloadThatWasNotCaptured) {
  v1::Workload workload = ExampleWorkload();
  workload.set_name("gemm_n256_k256/M=128");
  EXPECT_THAT(
      Outcome(Admit(ExampleBundle().SerializeAsString(), workload, {}, ExampleDevice())),
      HasSubstr("WORKLOAD_MISMATCH plans: none is for gemm_n256_k256/M=128; captured were: gemm_n256_k256/M=64"));
}

TEST(Admission, RefusesEveryTruncationWithoutACrash) {
  const std::string bytes = ExampleBundle().SerializeAsString();
  for (size_t size = 0; size < bytes.size(); size += 97) {
    EXPECT_NE(Outcome(Admit(absl::string_view(bytes).substr(0, size), ExampleWorkload(), {}, ExampleDevice())),
              "ADMITTED")
        << size;
  }
}

// A flip on the way is caught by the digest before admission sees the bytes; here nothing may crash, and what is
// structure must be noticed. (A flip in machine code or in a fill's value makes another candidate; provenance tells
// them apart.)
TEST(Admission, SurvivesRandomBitFlips) {
  const std::string bytes = ExampleBundle().SerializeAsString();
  std::mt19937 random(3);
  int refused = 0;
  for (int i = 0; i < 500; ++i) {
    std::string damaged = bytes;
    // The plan is at the end; most flips go there.
    const size_t from = i % 4 == 0 ? 0 : bytes.size() - std::min<size_t>(bytes.size(), 1200);
    damaged[from + random() % (bytes.size() - from)] ^= static_cast<char>(1u << (random() % 8));
    if (Outcome(Admit(damaged, ExampleWorkload(), {}, ExampleDevice())) != "ADMITTED") ++refused;
  }
  EXPECT_GT(refused, 100);
}

TEST(Admission, RefusesAMillionLaunchesByCountingThem) {
  Bundle bundle = ExampleBundle();
  LaunchPlan& plan = *bundle.mutable_plans(0);
  const v1::Step launch = plan.steady(3);
  for (int i = 0; i < 10'000; ++i) *plan.add_steady() = launch;
  EXPECT_THAT(Outcome(AdmitBundle(bundle)), HasSubstr("PLAN_LIMIT plans[0].steady: 10002 launches, at most 10000"));
}

TEST(Admission, RefusesAMillionLaunchesBeforeTheyBecomeObjects) {
  Bundle bundle = ExampleBundle();
  std::string bytes = bundle.SerializeAsString();
  // One steady launch of an empty kernel is 4 bytes; a million of them inside one more plan (field 7).
  std::string steps;
  for (int i = 0; i < 1'000'000; ++i) steps += std::string("\x3a\x02\x0a\x00", 4);
  bytes += absl::StrCat("\x3a", std::string("\x80\x92\xf4\x01", 4), steps);
  EXPECT_THAT(Outcome(Admit(bytes, ExampleWorkload(), {}, ExampleDevice())), HasSubstr("PLAN_LIMIT plans[1].steady["));
}

TEST(Admission, RefusesATerabyteOfWorkspace) {
  Bundle bundle = ExampleBundle();
  bundle.mutable_plans(0)->mutable_buffers(3)->set_size_bytes(uint64_t{1} << 40);
  EXPECT_THAT(Outcome(AdmitBundle(bundle)),
              HasSubstr("MEMORY_BUDGET plans[0].buffers[3].size_bytes: 1099511627776 bytes"));
}

TEST(Admission, RefusesMoreThanTheDeviceCanSpare) {
  Bundle bundle = ExampleBundle();
  bundle.mutable_plans(0)->mutable_buffers(3)->set_size_bytes(uint64_t{100} << 30);
  EXPECT_THAT(Outcome(AdmitBundle(bundle)), HasSubstr("NVIDIA H200 allows"));
}

TEST(Admission, WarnsOfATensorMapThatDescribesMoreThanItsBuffer) {
  Bundle bundle = ExampleBundle();
  bundle.mutable_plans(0)->mutable_tensor_maps(0)->set_global_dim(1, 65);
  const AdmissionResult result = AdmitBundle(bundle);
  ASSERT_EQ(Outcome(result), "ADMITTED");
  EXPECT_THAT(std::get<AdmittedBundle>(result).warnings(), testing::ElementsAre(HasSubstr("plans[0].tensor_maps[0]")));
}

TEST(Admission, ACooperativeGridMustBeResident) {
  Bundle bundle = ExampleBundle();
  KernelLaunch& launch = *bundle.mutable_plans(0)->mutable_steady(3)->mutable_launch();
  launch.set_cooperative(true);
  launch.mutable_grid()->set_x(132 * 8);
  EXPECT_EQ(Outcome(AdmitBundle(bundle)), "ADMITTED");
  launch.mutable_grid()->set_x(132 * 8 + 1);
  EXPECT_THAT(Outcome(AdmitBundle(bundle)),
              HasSubstr("LAUNCH_INVALID plans[0].steady[3].launch.cooperative: 1057 blocks"));
}

TEST(Admission, ThePointerPastTheEndIsLegalAndTheNextOneIsNot) {
  Bundle bundle = ExampleBundle();
  v1::BufferPointer& pointer = *bundle.mutable_plans(0)
                                    ->mutable_steady(3)
                                    ->mutable_launch()
                                    ->mutable_arguments(2)
                                    ->mutable_relocations(0)
                                    ->mutable_pointer();
  pointer.set_offset_bytes(64 * 256 * 2);
  EXPECT_EQ(Outcome(AdmitBundle(bundle)), "ADMITTED");
  pointer.set_offset_bytes(64 * 256 * 2 + 1);
  EXPECT_THAT(
      Outcome(AdmitBundle(bundle)),
      HasSubstr("PLAN_POINTER_INVALID plans[0].steady[3].launch.arguments[2].relocations[0].pointer.offset_bytes: "
                "32769, C has 32768 bytes"));
}

struct Damage {
  const char* name;
  std::function<void(Bundle&)> damage;
  const char* words;
};

LaunchPlan& Plan(Bundle& bundle) { return *bundle.mutable_plans(0); }
KernelLaunch& Gemm(Bundle& bundle) { return *Plan(bundle).mutable_steady(3)->mutable_launch(); }
KernelLaunch& MapLaunch(Bundle& bundle) { return *Plan(bundle).mutable_steady(4)->mutable_launch(); }

class DamagedBundle : public ::testing::TestWithParam<Damage> {};

TEST_P(DamagedBundle, IsRefusedWithCodeFieldAndReason) {
  Bundle bundle = ExampleBundle();
  GetParam().damage(bundle);
  EXPECT_THAT(Outcome(AdmitBundle(bundle)), HasSubstr(GetParam().words));
}

std::string NameOf(const testing::TestParamInfo<Damage>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(
    Head, DamagedBundle,
    ::testing::Values(
        Damage{"Version", [](Bundle& b) { b.set_format_version(9); }, "BUNDLE_MALFORMED format_version: 9"},
        Damage{"ClaimedArch", [](Bundle& b) { b.mutable_compilation()->set_arch("sm_90"); },
               "ARCH_MISMATCH compilation.arch: sm_90, the cubin is for sm_90a"},
        Damage{"PtxTarget", [](Bundle& b) { b.set_ptx(".version 9.0\n.target sm_100a\n.address_size 64\n"); },
               "ARCH_MISMATCH ptx: its target is sm_100a"},
        Damage{"PtxLacksKernel", [](Bundle& b) { b.set_ptx(".version 9.0\n.target sm_90a\n.address_size 64\n"); },
               "KERNEL_MISSING ptx: it has no entry gemm"},
        Damage{"PtxFileNameWithLineBreak",
               [](Bundle& b) { b.mutable_ptx()->append(".file 9 \"y\n        /*0040*/ HGMMA.64x256x16 R24 ;\n\"\n"); },
               "BUNDLE_MALFORMED ptx: a string that is not one line"},
        Damage{"NoPtx", [](Bundle& b) { b.clear_ptx(); }, "BUNDLE_MALFORMED ptx: malformed PTX"},
        Damage{"NoCubin", [](Bundle& b) { b.clear_cubin(); }, "CUBIN_MALFORMED cubin: malformed ELF"},
        Damage{"CutCubin", [](Bundle& b) { b.mutable_cubin()->resize(b.cubin().size() / 2); }, "CUBIN_MALFORMED cubin"},
        Damage{"ForeignFunction",
               [](Bundle& b) {
                 for (size_t at = 0; (at = b.cubin().find("vprintf", at)) != std::string::npos;) {
                   b.mutable_cubin()->replace(at, 7, "strange");
                 }
               },
               "CUBIN_MALFORMED cubin: it lacks the device function strange"},
        Damage{"DeviceRuntime",
               [](Bundle& b) {
                 for (size_t at = 0; (at = b.cubin().find("vprintf", at)) != std::string::npos;) {
                   b.mutable_cubin()->replace(at, 7, "cnpSync");
                 }
               },
               "DEVICE_RUNTIME cubin: kernels that launch kernels"},
        Damage{"Abi", [](Bundle& b) { Plan(b).clear_abi(); }, "BUNDLE_MALFORMED plans[0].abi: UNSPECIFIED"},
        Damage{"UnknownAbi", [](Bundle& b) { Plan(b).set_abi(static_cast<v1::EntryAbi>(77)); }, "plans[0].abi: 77"},
        Damage{"Profile", [](Bundle& b) { Plan(b).clear_profile(); },
               "BUNDLE_MALFORMED plans[0].profile: UNSPECIFIED"}),
    NameOf);

// All of it is repeated in messages and verdicts, which are kept.
INSTANTIATE_TEST_SUITE_P(
    Text, DamagedBundle,
    ::testing::Values(
        Damage{"LongWarning", [](Bundle& b) { Plan(b).add_warnings(std::string(1001, 'w')); },
               "PLAN_LIMIT plans[0].warnings[0]: 1001 bytes of text, at most 1000"},
        Damage{"ManyWarnings",
               [](Bundle& b) {
                 for (int i = 0; i < 65; ++i) Plan(b).add_warnings("w");
               },
               "PLAN_LIMIT plans[0].warnings: 65 warnings, at most 64"},
        Damage{"LineOfAStep", [](Bundle& b) { Plan(b).mutable_steady(0)->set_source_line(std::string(1001, 'l')); },
               "PLAN_LIMIT plans[0].steady[0].source_line: 1001 bytes of text"},
        Damage{"LineOfABuffer", [](Bundle& b) { Plan(b).mutable_buffers(3)->set_source_line(std::string(1001, 'l')); },
               "PLAN_LIMIT plans[0].buffers[3].source_line: 1001 bytes of text"},
        Damage{"Toolkit", [](Bundle& b) { b.mutable_compilation()->set_toolkit_version(std::string(1001, '1')); },
               "PLAN_LIMIT compilation.toolkit_version: 1001 bytes of text"}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Buffers, DamagedBundle,
    ::testing::Values(
        Damage{"TensorSize", [](Bundle& b) { Plan(b).mutable_buffers(0)->set_size_bytes(1); },
               "WORKLOAD_MISMATCH plans[0].buffers[0]: INPUT A of 1 bytes, expected INPUT A of 32768 bytes"},
        Damage{"TensorOrder", [](Bundle& b) { Plan(b).mutable_buffers()->SwapElements(0, 1); },
               "WORKLOAD_MISMATCH plans[0].buffers[0]: INPUT B"},
        Damage{"TensorKind", [](Bundle& b) { Plan(b).mutable_buffers(2)->set_kind(v1::BUFFER_KIND_INPUT); },
               "WORKLOAD_MISMATCH plans[0].buffers[2]: INPUT C"},
        Damage{"ExtraTensor", [](Bundle& b) { Plan(b).mutable_buffers(3)->set_kind(v1::BUFFER_KIND_OUTPUT); },
               "WORKLOAD_MISMATCH plans[0].buffers[3]: tensor '' is not one of"},
        Damage{"NoBuffers", [](Bundle& b) { Plan(b).clear_buffers(); },
               "WORKLOAD_MISMATCH plans[0].buffers[0]: missing"},
        Damage{"Kind", [](Bundle& b) { Plan(b).mutable_buffers(3)->clear_kind(); },
               "plans[0].buffers[3].kind: UNSPECIFIED"},
        Damage{"EmptyAllocation", [](Bundle& b) { Plan(b).mutable_buffers(3)->set_size_bytes(0); },
               "BUNDLE_MALFORMED plans[0].buffers[3].size_bytes: 0"},
        Damage{"HugeAllocation", [](Bundle& b) { Plan(b).mutable_buffers(3)->set_size_bytes(UINT64_MAX); },
               "MEMORY_BUDGET"},
        Damage{"SymbolName", [](Bundle& b) { Plan(b).mutable_buffers(5)->set_name("nothing"); },
               "PLAN_POINTER_INVALID plans[0].buffers[5].name: the cubin has no variable 'nothing'"},
        Damage{"SymbolSize", [](Bundle& b) { Plan(b).mutable_buffers(5)->set_size_bytes(72); },
               "plans[0].buffers[5].size_bytes: 72, 'coefficients' has 68 bytes in the cubin"},
        Damage{"TooMany",
               [](Bundle& b) {
                 for (int i = 0; i < 5000; ++i) Plan(b).add_buffers();
               },
               "PLAN_LIMIT plans[0].buffers: 5006"},
        Damage{"TensorMap", [](Bundle& b) { Plan(b).mutable_tensor_maps(0)->set_box_dim(0, 128); },
               "TENSOR_MAP_INVALID plans[0].tensor_maps[0]: box_dim[0] in bytes: 256"},
        Damage{"TensorMapBase", [](Bundle& b) { Plan(b).mutable_tensor_maps(0)->mutable_base()->set_buffer(99); },
               "PLAN_POINTER_INVALID plans[0].tensor_maps[0].base"}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Launches, DamagedBundle,
    ::testing::Values(
        Damage{"Kernel", [](Bundle& b) { Gemm(b).set_kernel("gemn"); },
               "KERNEL_MISSING plans[0].steady[3].launch.kernel: the cubin has no kernel 'gemn'"},
        Damage{"GridZero", [](Bundle& b) { Gemm(b).mutable_grid()->set_y(0); },
               "LAUNCH_INVALID plans[0].steady[3].launch.grid: 64 x 0 x 1"},
        Damage{"NoGrid", [](Bundle& b) { Gemm(b).clear_grid(); }, "launch.grid: 0 x 0 x 0"},
        Damage{"GridTooLarge", [](Bundle& b) { Gemm(b).mutable_grid()->set_z(65536); }, "launch.grid: 64 x 1 x 65536"},
        Damage{"Block2048", [](Bundle& b) { Gemm(b).mutable_block()->set_x(2048); },
               "BLOCK_LIMIT plans[0].steady[3].launch.block: 2048 x 1 x 1"},
        Damage{"BlockProduct", [](Bundle& b) { Gemm(b).mutable_block()->set_y(64); }, "BLOCK_LIMIT"},
        Damage{"BlockZ",
               [](Bundle& b) {
                 Gemm(b).mutable_block()->set_x(1);
                 Gemm(b).mutable_block()->set_z(65);
               },
               "BLOCK_LIMIT"},
        Damage{"LaunchBounds", [](Bundle& b) { MapLaunch(b).mutable_block()->set_x(256); },
               "is compiled for at most 128"},
        Damage{"ClusterOfKernel", [](Bundle& b) { MapLaunch(b).mutable_grid()->set_x(6); },
               "LAUNCH_INVALID plans[0].steady[4].launch.cluster: the grid 6 x 1 x 1 is not a multiple of the cluster "
               "4 x 1 x 1"},
        Damage{"ClusterDisagrees",
               [](Bundle& b) {
                 auto& c = *MapLaunch(b).mutable_cluster();
                 c.set_x(2);
                 c.set_y(1);
                 c.set_z(1);
               },
               "is compiled for exactly 4 x 1 x 1"},
        Damage{"ClusterTooLarge",
               [](Bundle& b) {
                 auto& c = *Gemm(b).mutable_cluster();
                 c.set_x(32);
                 c.set_y(1);
                 c.set_z(1);
               },
               "32 x 1 x 1 is more than 16 blocks"},
        Damage{"ClusterZero", [](Bundle& b) { Gemm(b).mutable_cluster()->set_x(2); }, "launch.cluster: 2 x 0 x 0"},
        Damage{"Shared", [](Bundle& b) { Gemm(b).set_dynamic_shared_bytes(232449); },
               "SHARED_MEMORY_LIMIT plans[0].steady[3].launch.dynamic_shared_bytes: 232449 with 0 static bytes is more "
               "than the 232448"},
        Damage{"SharedHuge", [](Bundle& b) { Gemm(b).set_dynamic_shared_bytes(UINT32_MAX); }, "SHARED_MEMORY_LIMIT"},
        Damage{"Carveout", [](Bundle& b) { Gemm(b).set_shared_carveout_percent_plus_one(102); },
               "shared_carveout_percent_plus_one: 102"},
        Damage{"ArgumentCount", [](Bundle& b) { Gemm(b).mutable_arguments()->RemoveLast(); },
               "PARAMETERS_MISMATCH plans[0].steady[3].launch.arguments: 3 arguments, gemm has 4 parameters"},
        Damage{"ArgumentSize", [](Bundle& b) { Gemm(b).mutable_arguments(3)->set_data("12345678"); },
               "PARAMETERS_MISMATCH plans[0].steady[3].launch.arguments[3]: 8 bytes, expected 4 as the cubin says of "
               "gemm"},
        Damage{"NoLaunch", [](Bundle& b) { Plan(b).clear_steady(); },
               "NO_LAUNCH plans[0].steady: a call launches no kernel"}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Relocations, DamagedBundle,
    ::testing::Values(
        Damage{
            "Buffer",
            [](Bundle& b) { Gemm(b).mutable_arguments(0)->mutable_relocations(0)->mutable_pointer()->set_buffer(6); },
            "PLAN_POINTER_INVALID plans[0].steady[3].launch.arguments[0].relocations[0].pointer.buffer: 6, the plan "
            "has 6 buffers"},
        Damage{"PastTheEnd", [](Bundle& b) { Gemm(b).mutable_arguments(0)->mutable_relocations(0)->set_at_bytes(1); },
               "8 bytes at 1 reach past the 8 bytes"},
        Damage{"WrapAround",
               [](Bundle& b) { Gemm(b).mutable_arguments(0)->mutable_relocations(0)->set_at_bytes(UINT64_MAX - 3); },
               "reach past"},
        Damage{"Overlap",
               [](Bundle& b) {
                 auto& bytes = *Plan(b).mutable_setup(1)->mutable_upload()->mutable_bytes();
                 bytes.set_data(std::string(17 * 4, '\0'));
                 bytes.add_relocations()->mutable_pointer()->set_buffer(0);
                 bytes.add_relocations()->mutable_pointer()->set_buffer(0);
                 bytes.mutable_relocations(1)->set_at_bytes(7);
               },
               "PLAN_POINTER_INVALID plans[0].setup[1].upload.bytes.relocations[1]: begins at 7"},
        Damage{"Unsorted",
               [](Bundle& b) {
                 auto& bytes = *Plan(b).mutable_setup(1)->mutable_upload()->mutable_bytes();
                 bytes.set_data(std::string(17 * 4, '\0'));
                 bytes.add_relocations()->mutable_pointer()->set_buffer(0);
                 bytes.mutable_relocations(0)->set_at_bytes(16);
                 bytes.add_relocations()->mutable_pointer()->set_buffer(0);
               },
               "begins at 0"},
        Damage{"HiddenBytes", [](Bundle& b) { Gemm(b).mutable_arguments(0)->set_data("xxxxxxxx"); },
               "the bytes under it are not zero"},
        Damage{"NoTarget", [](Bundle& b) { Gemm(b).mutable_arguments(0)->mutable_relocations(0)->clear_pointer(); },
               "it has no target"},
        Damage{"TensorMapIndex",
               [](Bundle& b) { MapLaunch(b).mutable_arguments(0)->mutable_relocations(0)->set_tensor_map(1); },
               "relocations[0].tensor_map: 1, the plan has 1 tensor maps"},
        Damage{"TensorMapInAPointer",
               [](Bundle& b) { Gemm(b).mutable_arguments(0)->mutable_relocations(0)->set_tensor_map(0); },
               "128 bytes at 0 reach past the 8 bytes"}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Steps, DamagedBundle,
    ::testing::Values(
        Damage{"Empty", [](Bundle& b) { Plan(b).add_steady(); },
               "BUNDLE_MALFORMED plans[0].steady[6]: the step asks for nothing"},
        Damage{"UseBeforeAllocation", [](Bundle& b) { Plan(b).mutable_steady()->SwapElements(0, 1); },
               "PLAN_POINTER_INVALID plans[0].steady[0].memset.destination: buffer 4 (allocated at kernel.cu:20) is "
               "used before it is allocated"},
        Damage{"UseAfterFree",
               [](Bundle& b) {
                 Plan(b).mutable_steady(5)->clear_depends_on();
                 Plan(b).mutable_steady()->SwapElements(4, 5);
               },
               "arguments[2].relocations[0].pointer: buffer 4 (allocated at kernel.cu:20) is used after it was freed"},
        Damage{"AllocatedTwice", [](Bundle& b) { Plan(b).add_steady()->mutable_allocate()->set_buffer(4); },
               "is allocated twice"},
        Damage{"FreedTwice", [](Bundle& b) { Plan(b).add_steady()->mutable_free()->set_buffer(4); },
               "is freed while it is not allocated"},
        Damage{"FreesATensor", [](Bundle& b) { Plan(b).add_steady()->mutable_free()->set_buffer(0); },
               "plans[0].steady[6].free.buffer: A is INPUT, only a CALL_ALLOCATION"},
        Damage{"FreesSetupInACall", [](Bundle& b) { Plan(b).add_steady()->mutable_free()->set_buffer(3); },
               "is SETUP_ALLOCATION, only a CALL_ALLOCATION"},
        Damage{"CallAllocationInSetup", [](Bundle& b) { Plan(b).add_setup()->mutable_allocate()->set_buffer(4); },
               "is CALL_ALLOCATION, only a SETUP_ALLOCATION"},
        Damage{"LifetimeOfNothing", [](Bundle& b) { Plan(b).add_steady()->mutable_allocate()->set_buffer(6); },
               "allocate.buffer: 6, the plan has 6 buffers"},
        Damage{"UsedAfterFreeInSetup", [](Bundle& b) { Plan(b).add_setup()->mutable_free()->set_buffer(3); },
               "plans[0].steady[2].copy.destination: buffer 3 (allocated at kernel.cu:10) is used after it was freed"},
        Damage{"CopyPastTheEnd", [](Bundle& b) { Plan(b).mutable_steady(2)->mutable_copy()->set_width_bytes(1025); },
               "plans[0].steady[2].copy.source: 1 rows of 1025 bytes from offset 0 reach past buffer 4"},
        Damage{"CopyRows",
               [](Bundle& b) {
                 auto& c = *Plan(b).mutable_steady(2)->mutable_copy();
                 c.set_rows(2);
                 c.set_source_pitch_bytes(1024);
                 c.set_destination_pitch_bytes(1024);
               },
               "copy.source: 2 rows of 1024"},
        Damage{"CopyPitch", [](Bundle& b) { Plan(b).mutable_steady(2)->mutable_copy()->set_rows(2); },
               "are only 0 bytes apart"},
        Damage{"CopyManyEmptyRows",
               [](Bundle& b) {
                 auto& c = *Plan(b).mutable_steady(2)->mutable_copy();
                 c.set_width_bytes(0);
                 c.set_rows(UINT64_MAX);
                 c.set_source_pitch_bytes(0);
                 c.set_destination_pitch_bytes(0);
               },
               "copies and fills have more than 262144 rows"},
        Damage{"MemsetManyEmptyRows",
               [](Bundle& b) {
                 auto& m = *Plan(b).mutable_steady(1)->mutable_memset();
                 m.set_width_elements(0);
                 m.set_rows(uint64_t{1} << 40);
                 m.set_pitch_bytes(0);
               },
               "copies and fills have more than 262144 rows"},
        Damage{"CopyNoRows", [](Bundle& b) { Plan(b).mutable_steady(2)->mutable_copy()->set_rows(0); }, "0 rows"},
        Damage{"CopyOverflow",
               [](Bundle& b) {
                 auto& c = *Plan(b).mutable_steady(2)->mutable_copy();
                 c.set_width_bytes(1);
                 c.set_rows(UINT64_MAX);
                 c.set_source_pitch_bytes(UINT64_MAX);
                 c.set_destination_pitch_bytes(UINT64_MAX);
               },
               "PLAN_POINTER_INVALID plans[0].steady[2].copy.destination"},
        Damage{"MemsetElement", [](Bundle& b) { Plan(b).mutable_steady(1)->mutable_memset()->set_element_bytes(3); },
               "element_bytes: 3, expected 1, 2 or 4"},
        Damage{"MemsetAlignment",
               [](Bundle& b) {
                 auto& m = *Plan(b).mutable_steady(1)->mutable_memset();
                 m.mutable_destination()->set_offset_bytes(2);
                 m.set_width_elements(4);
               },
               "is not a multiple of the element's 4 bytes"},
        Damage{"MemsetOverflow",
               [](Bundle& b) { Plan(b).mutable_steady(1)->mutable_memset()->set_width_elements(UINT64_MAX / 2); },
               "reach past"},
        Damage{
            "UploadPastTheEnd",
            [](Bundle& b) { Plan(b).mutable_setup(1)->mutable_upload()->mutable_destination()->set_offset_bytes(4); },
            "plans[0].setup[1].upload.destination: 1 rows of 68 bytes from offset 4 reach past coefficients"},
        Damage{"Stream", [](Bundle& b) { Plan(b).mutable_steady(3)->set_stream(256); },
               "PLAN_LIMIT plans[0].steady[3].stream: 256"},
        Damage{"DependsOnLater", [](Bundle& b) { Plan(b).mutable_steady(3)->add_depends_on(3); },
               "depends_on: step 3 does not come before step 3"},
        Damage{"DependsOnMany",
               [](Bundle& b) {
                 for (int i = 0; i < 300; ++i) Plan(b).mutable_steady(3)->add_depends_on(0);
               },
               "PLAN_LIMIT"},
        Damage{"Steps",
               [](Bundle& b) {
                 for (int i = 0; i < 20000; ++i) *Plan(b).add_steady() = Plan(b).steady(1);
               },
               "PLAN_LIMIT plans[0].steady: 20006 steps"}),
    NameOf);

}  // namespace
}  // namespace sassay::admission
