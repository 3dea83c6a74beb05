// The recording runtime as a library: what it exports, and the numbers it shares with the contract.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "agent/capture/record/record.pb.h"
#include "agent/capture/runtime/api/device_properties_12.h"
#include "agent/capture/runtime/memory.h"
#include "agent/capture/runtime/session.h"
#include "agent/capture/runtime/tensor_map.h"
#include "sassay/v1/verdict.pb.h"

namespace sassay::capture {
namespace {

std::filesystem::path RuntimeDirectory() {
  return std::filesystem::path(std::getenv("SASSAY_TEST_BIN")).parent_path() / "lib" / "sassay-capture";
}

std::vector<std::string> Names(const std::string& file) {
  std::ifstream in(std::string(std::getenv("SASSAY_TEST_SOURCE")) + "/agent/capture/runtime/" + file);
  std::vector<std::string> names;
  for (std::string name; in >> name;) names.push_back(name);
  return names;
}

class Library : public testing::Test {
 protected:
  void SetUp() override {
    library_ = dlopen((RuntimeDirectory() / "libcudart.so.13").c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << dlerror();
  }
  void* library_ = nullptr;
};

TEST_F(Library, ExportsEveryFunctionOfBothRuntimes) {
  int checked = 0;
  for (const char* file : {"exports_cudart.txt", "exports_cuda.txt"}) {
    for (const std::string& name : Names(file)) {
      EXPECT_NE(dlsym(library_, name.c_str()), nullptr) << name;
      ++checked;
    }
  }
  EXPECT_GT(checked, 1000);
}

TEST_F(Library, HasCudartsSymbolVersion) { EXPECT_NE(dlvsym(library_, "cudaMalloc", "libcudart.so.13"), nullptr); }

// Offsets that gcc gives for driver_types.h of CUDA 12.4 and of 12.8.
TEST(DeviceProperties, OfCuda12LieWhereItsHeadersHaveThem) {
  EXPECT_EQ(sizeof(DeviceProperties12), 1032u);
  EXPECT_EQ(offsetof(DeviceProperties12, totalGlobalMem), 288u);
  EXPECT_EQ(offsetof(DeviceProperties12, regsPerBlock), 304u);
  EXPECT_EQ(offsetof(DeviceProperties12, maxThreadsDim), 324u);
  EXPECT_EQ(offsetof(DeviceProperties12, maxGridSize), 336u);
  EXPECT_EQ(offsetof(DeviceProperties12, totalConstMem), 352u);
  EXPECT_EQ(offsetof(DeviceProperties12, major), 360u);
  EXPECT_EQ(offsetof(DeviceProperties12, multiProcessorCount), 388u);
  EXPECT_EQ(offsetof(DeviceProperties12, concurrentKernels), 576u);
  EXPECT_EQ(offsetof(DeviceProperties12, asyncEngineCount), 600u);
  EXPECT_EQ(offsetof(DeviceProperties12, l2CacheSize), 616u);
  EXPECT_EQ(offsetof(DeviceProperties12, streamPrioritiesSupported), 628u);
  EXPECT_EQ(offsetof(DeviceProperties12, sharedMemPerMultiprocessor), 640u);
  EXPECT_EQ(offsetof(DeviceProperties12, cooperativeLaunch), 688u);
  EXPECT_EQ(offsetof(DeviceProperties12, sharedMemPerBlockOptin), 696u);
  EXPECT_EQ(offsetof(DeviceProperties12, maxBlocksPerMultiProcessor), 712u);
  EXPECT_EQ(offsetof(DeviceProperties12, reservedSharedMemPerBlock), 720u);
  EXPECT_EQ(offsetof(DeviceProperties12, memoryPoolsSupported), 744u);
  EXPECT_EQ(offsetof(DeviceProperties12, clusterLaunch), 772u);
}

TEST_F(Library, HidesItsOwnSymbols) {
  for (const char* name : {"seccomp_init", "ffi_call", "SassayRefuseFunction", "_ZN6sassay7capture7Session3GetEv"}) {
    void* found = dlsym(library_, name);
    Dl_info info{};
    EXPECT_TRUE(found == nullptr ||
                (dladdr(found, &info) != 0 && std::string(info.dli_fname).find("cudart") == std::string::npos))
        << name;
  }
}

TEST(LibraryLink, IsOneFileForBothRuntimes) {
  EXPECT_TRUE(std::filesystem::equivalent(RuntimeDirectory() / "libcudart.so.13", RuntimeDirectory() / "libcuda.so.1"));
}

TEST(Codes, AreThoseOfTheContract) {
  namespace v1 = sassay::v1;
  const std::pair<FindingCode, v1::VerdictCode> pairs[] = {
      {FindingCode::kEntryMissing, v1::VERDICT_CODE_ENTRY_MISSING},
      {FindingCode::kEntrySignature, v1::VERDICT_CODE_ENTRY_SIGNATURE},
      {FindingCode::kHostReadsDevice, v1::VERDICT_CODE_HOST_READS_DEVICE},
      {FindingCode::kCallsDiffer, v1::VERDICT_CODE_CALLS_DIFFER},
      {FindingCode::kSharedMemoryLimit, v1::VERDICT_CODE_SHARED_MEMORY_LIMIT},
      {FindingCode::kBlockLimit, v1::VERDICT_CODE_BLOCK_LIMIT},
      {FindingCode::kLaunchInvalid, v1::VERDICT_CODE_LAUNCH_INVALID},
      {FindingCode::kUnsupportedApi, v1::VERDICT_CODE_UNSUPPORTED_API},
      {FindingCode::kForbiddenLibrary, v1::VERDICT_CODE_FORBIDDEN_LIBRARY},
      {FindingCode::kHostCrash, v1::VERDICT_CODE_HOST_CRASH},
      {FindingCode::kHostExit, v1::VERDICT_CODE_HOST_EXIT},
      {FindingCode::kHostLimit, v1::VERDICT_CODE_HOST_LIMIT},
      {FindingCode::kTensorMapInvalid, v1::VERDICT_CODE_TENSOR_MAP_INVALID},
      {FindingCode::kPointerOutOfBuffer, v1::VERDICT_CODE_POINTER_OUT_OF_BUFFER},
      {FindingCode::kHostCudaError, v1::VERDICT_CODE_HOST_CUDA_ERROR},
  };
  for (const auto& [ours, theirs] : pairs) EXPECT_EQ(static_cast<int>(ours), static_cast<int>(theirs));
}

TEST(Wire, IsReadByProtobuf) {
  WireWriter finding;
  finding.Varint(1, 300);
  finding.Bytes(2, "why");
  WireWriter assumption;
  assumption.Bytes(1, "p");
  assumption.Signed(2, -5);
  WireWriter first, second, record;
  first.Message(kFinding, finding);
  first.Fixed64(kPcs, 0x1234);
  second.Message(kAssumption, assumption);
  record.Message(1, first);
  record.Message(1, second);
  Record read;
  ASSERT_TRUE(read.ParseFromString(record.bytes()));
  ASSERT_EQ(read.events_size(), 2);
  EXPECT_EQ(read.events(0).finding().code(), 300u);
  EXPECT_EQ(read.events(0).pcs(0), 0x1234u);
  EXPECT_EQ(read.events(1).assumption().value(), -5);
}

TEST(Pointers, AreNeverCanonical) {
  for (uint64_t tag = kFirstTag; tag <= kLastTag; ++tag) {
    for (uint64_t rest : {uint64_t{0}, (uint64_t{1} << kTagShift) - 1}) {
      const auto address = static_cast<int64_t>(tag << kTagShift | rest);
      EXPECT_NE(address, address << 16 >> 16);  // bits 63 to 47 are not all alike
    }
  }
}

}  // namespace
}  // namespace sassay::capture
