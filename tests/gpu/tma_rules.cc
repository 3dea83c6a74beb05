// What TMA takes and what it refuses, asked of a device one request at a time: a process each, since a refusal ends the
// device's context. Prints a line for each, so that two devices' answers can be laid side by side:
//
//   tma_rules CUBIN cuda:0 > h200.txt; tma_rules - emulated:sm_90a > emulator.txt; diff h200.txt emulator.txt
//   tma_rules ptx > tma.ptx                                     the kernels, for ptxas -arch=sm_90a
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"
#include "profiler_service/device/device.h"

namespace sassay {
namespace {

constexpr uint32_t kSharedBytes = 4096;

// A kernel that lays a pattern into shared memory, has TMA do `request`, and copies shared memory to `out`.
std::string Kernel(absl::string_view name, absl::string_view request) {
  return absl::StrCat(
      ".visible .entry ", name,
      "(.param .align 64 .b8 map[128], .param .s32 x, .param .s32 y, .param .u32 bytes, .param .u64 out)\n{\n"
      ".reg .b32 %r<12>; .reg .b64 %d<6>; .reg .pred %p<4>;\n.shared .align 1024 .b8 s[",
      kSharedBytes,
      "];\n.shared .align 8 .b64 bar;\n"
      "mov.u32 %r0, %tid.x;\nmov.u32 %r1, s;\nmov.u32 %r2, bar;\nld.param.s32 %r3, [x];\nld.param.s32 %r9, [y];\n"
      "ld.param.u32 %r4, [bytes];\nld.param.u64 %d0, [out];\nmov.b64 %d1, map;\ncvta.param.u64 %d1, %d1;\n"
      "mad.lo.u32 %r5, %r0, 4, %r1;\nadd.u32 %r6, %r0, 0xabc00000;\nmov.u32 %r7, 0;\n"
      "fill: st.shared.b32 [%r5], %r6;\nadd.u32 %r5, %r5, 128;\nadd.u32 %r7, %r7, 128;\nsetp.lt.u32 %p0, %r7, ",
      kSharedBytes,
      ";\n@%p0 bra fill;\nsetp.eq.u32 %p1, %r0, 0;\n@%p1 mbarrier.init.shared.b64 [%r2], 1;\n"
      "fence.mbarrier_init.release.cluster;\nfence.proxy.async;\nbar.sync 0;\n@!%p1 bra asked;\n",
      request,
      "asked: bar.sync 0;\nmad.lo.u32 %r5, %r0, 4, %r1;\nmul.wide.u32 %d2, %r0, 4;\nadd.u64 %d0, %d0, %d2;\n"
      "mov.u32 %r7, 0;\nread: ld.shared.b32 %r6, [%r5];\nst.global.b32 [%d0], %r6;\nadd.u32 %r5, %r5, 128;\n"
      "add.u64 %d0, %d0, 128;\nadd.u32 %r7, %r7, 128;\nsetp.lt.u32 %p0, %r7, ",
      kSharedBytes, ";\n@%p0 bra read;\nret;\n}\n");
}

std::string Text() {
  constexpr char kWait[] =
      "mov.u32 %r8, 0;\nagain: add.u32 %r8, %r8, 1;\n"
      "mbarrier.try_wait.parity.shared.b64 %p2, [%r2], 0;\n@%p2 bra done;\nsetp.lt.u32 %p3, %r8, 1000;\n"
      "@%p3 bra again;\nst.shared.b32 [%r1+4092], 0xdead;\ndone:\n";
  constexpr char kStored[] = "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n";
  return absl::StrCat(
      ".version 8.8\n.target sm_90a\n.address_size 64\n",
      Kernel("load", absl::StrCat("mbarrier.arrive.expect_tx.shared.b64 _, [%r2], %r4;\n"
                                  "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                                  "[%r1], [%d1, {%r3, %r9}], [%r2];\n",
                                  kWait)),
      Kernel("store", absl::StrCat("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group "
                                   "[%d1, {%r3, %r9}], [%r1];\n",
                                   kStored)),
      Kernel("reduce", absl::StrCat("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group "
                                    "[%d1, {%r3, %r9}], [%r1];\n",
                                    kStored)),
      Kernel("prefetch", "cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%d1, {%r3, %r9}];\n"));
}

struct Request {
  const char* kernel;
  uint32_t data_type, element_bytes;  // CUtensorMapDataType
  uint32_t swizzle;                   // CUtensorMapSwizzle
  uint32_t row_bytes;                 // of the box
  int x, y;
  bool layout = false;  // print where each piece of 16 bytes lies
};

std::vector<Request> Requests() {
  std::vector<Request> all;
  constexpr struct { uint32_t data_type, bytes; } kTypes[] = {{0, 1}, {9, 2}, {7, 4}};
  for (const auto& type : kTypes) {
    for (const int at : {1, 2, 4, 8, 16, 24, 32, -4, -8, -16, 232, 240, 1024}) {
      if (at % static_cast<int>(type.bytes) != 0 || (type.bytes != 2 && (at > 24 || at < -8))) continue;
      all.push_back({"load", type.data_type, type.bytes, 0, 64, at / static_cast<int>(type.bytes), 0});
    }
  }
  for (const char* kernel : {"load", "store", "reduce", "prefetch"}) {
    for (uint32_t swizzle = kernel[0] == 'l' ? 1 : 0; swizzle <= 3; swizzle += kernel[0] == 'l' ? 1 : 3) {
      for (const int at : {8, 16}) all.push_back({kernel, 9, 2, swizzle, 32, at / 2, 1});
    }
  }
  for (uint32_t swizzle = 1; swizzle <= 3; ++swizzle) {
    for (uint32_t row = 16; row <= 16u << swizzle; row *= 2) all.push_back({"load", 9, 2, swizzle, row, 0, 0, true});
  }
  return all;
}

template <class T>
std::string Bytes(const T& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
}

constexpr uint32_t kRows = 64, kRowBytes = 256, kBoxRows = 8;

absl::StatusOr<std::string> Ask(const v1::Bundle& bundle, const std::string& where, const Request& request) {
  ASSIGN_OR_RETURN(const auto device, device::OpenDevice(where, worker::RUN_MODE_PLAIN));
  RETURN_IF_ERROR(device->LoadModule(bundle));
  ASSIGN_OR_RETURN(const auto tensor, device->Allocate(kRows * kRowBytes, "tensor"));
  ASSIGN_OR_RETURN(const auto out, device->Allocate(kSharedBytes, "out"));
  std::vector<uint32_t> words(kRows * kRowBytes / 4);
  for (size_t i = 0; i < words.size(); ++i) words[i] = static_cast<uint32_t>(i / 4);  // the number of its piece
  RETURN_IF_ERROR(device->Write(
      tensor, absl::MakeConstSpan(reinterpret_cast<const char*>(words.data()), words.size() * sizeof(uint32_t))));
  v1::TensorMap map;
  map.set_data_type(request.data_type);
  map.set_swizzle(request.swizzle);
  map.add_global_dim(kRowBytes / request.element_bytes);
  map.add_global_dim(kRows);
  map.add_global_stride_bytes(kRowBytes);
  map.add_box_dim(request.row_bytes / request.element_bytes);
  map.add_box_dim(kBoxRows);
  map.add_element_stride(1);
  map.add_element_stride(1);
  ASSIGN_OR_RETURN(const auto encoded, device->EncodeTensorMap(map, tensor));
  device::Launch launch;
  launch.kernel = request.kernel;
  for (auto* extent : {&launch.grid, &launch.block}) extent->set_x(1), extent->set_y(1), extent->set_z(1);
  launch.block.set_x(32);
  const uint32_t bytes = request.row_bytes * kBoxRows;
  launch.arguments = {std::string(encoded.data(), encoded.size()), Bytes(request.x), Bytes(request.y), Bytes(bytes),
                      Bytes(out)};
  RETURN_IF_ERROR(device->Enqueue(launch));
  ASSIGN_OR_RETURN(const device::Execution execution, device->Synchronize(SteadyNow() + absl::Seconds(5)));
  if (execution.outcome != worker::RUN_OUTCOME_OK) return v1::VerdictCode_Name(execution.code);
  std::vector<uint32_t> shared(kSharedBytes / 4);
  RETURN_IF_ERROR(device->Read(absl::MakeSpan(reinterpret_cast<char*>(shared.data()), kSharedBytes), out));
  RETURN_IF_ERROR(device->Read(absl::MakeSpan(reinterpret_cast<char*>(words.data()), words.size() * 4), tensor));
  uint64_t digest = 0xcbf29ce484222325;
  for (const auto* part : {&shared, &words}) {
    for (const uint32_t word : *part) digest = (digest ^ word) * 0x100000001b3;
  }
  std::string answer = absl::StrFormat("OK %016x%s", digest, shared.back() == 0xdead ? " and its barrier waits" : "");
  for (uint32_t piece = 0; request.layout && piece < 80; ++piece) {
    const uint32_t word = shared[4 * piece];
    absl::StrAppend(&answer, " ", word >= 0xabc00000 ? "-" : absl::StrCat(word / 16, ".", word % 16));
  }
  return answer;
}

int Main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "ptx") == 0) {
    std::fputs(Text().c_str(), stdout);
    return 0;
  }
  if (argc != 3) {
    std::fprintf(stderr, "usage: tma_rules ptx | tma_rules CUBIN|- DEVICE\n");
    return 2;
  }
  v1::Bundle bundle;
  bundle.set_ptx(Text());
  if (std::strcmp(argv[1], "-") != 0) {
    auto cubin = ReadFile(argv[1]);
    if (!cubin.ok()) {
      std::fprintf(stderr, "tma_rules: %s\n", cubin.status().ToString().c_str());
      return 1;
    }
    bundle.set_cubin(*std::move(cubin));
  }
  for (const Request& request : Requests()) {
    std::printf("%-8s type %u swizzle %u rows of %3u bytes at (%d, %d): ", request.kernel, request.data_type,
                request.swizzle, request.row_bytes, request.x, request.y);
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      const auto answer = Ask(bundle, argv[2], request);
      std::printf("%s\n", answer.ok() ? answer->c_str() : answer.status().ToString().c_str());
      std::fflush(stdout);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) std::printf("the process ended with %d\n", status);
  }
  return 0;
}

}  // namespace
}  // namespace sassay

int main(int argc, char** argv) { return sassay::Main(argc, argv); }
