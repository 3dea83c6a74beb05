// A record is what hostile host code says. Whatever it says, BuildPlan gives a plan or a refusal, soon.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <random>
#include <string>
#include <variant>

#include "absl/time/clock.h"
#include "agent/capture/plan/plan_builder.h"
#include "agent/capture/runtime/memory.h"
#include "agent/capture/runtime/tensor_map.h"
#include "common/base/files.h"
#include "common/workload/catalog.h"

namespace sassay::capture {
namespace {

namespace v1 = sassay::v1;

// Events whose numbers are mostly plausible, so that they reach deep.
class Liar {
 public:
  explicit Liar(uint32_t seed) : seed_(seed), random_(seed) {}

  Record Lie(uint32_t calls) {
    Record record;
    for (uint32_t call = 1; call <= calls; ++call) {
      if (!Rarely()) random_.seed(seed_);  // the same work in each call
      next_ = 0;
      record.add_events()->mutable_call_mark()->set_call(Rarely() ? Below(5) : call);
      for (uint32_t tensor = 0; tensor < 3; ++tensor) Allocate(record, ORIGIN_TENSOR, tensor, call);
      const uint32_t events = Below(40);
      for (uint32_t i = 0; i < events; ++i) Add(record, call);
      record.add_events()->mutable_host_range()->set_end(Below(2) == 0 ? UINT64_MAX : 0);
      CallMark& end = *record.add_events()->mutable_call_mark();
      end.set_call(call);
      end.set_end(true);
    }
    record.add_events()->mutable_ending()->set_kind(Ending::EXITED);
    return record;
  }

 private:
  uint32_t Below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }
  bool Rarely() { return Below(50) == 0; }
  uint64_t Address(uint32_t call) {
    const uint64_t space = Rarely() ? Below(5) : call;
    return (kFirstTag + space) << kTagShift | uint64_t{Below(Rarely() ? 8 : 3)} << kOffsetBits |
           Below(Rarely() ? 1 << 30 : 64);
  }
  std::string Bytes(uint32_t call) {
    std::string bytes(Below(6) * 8 + (Rarely() ? 3 : 0), static_cast<char>(Below(3)));
    const uint64_t address = Address(call);
    if (bytes.size() >= 8) bytes.replace(bytes.size() / 16 * 8, 8, reinterpret_cast<const char*>(&address), 8);
    if (Below(8) == 0) {
      TensorMapToken token{};
      std::copy(std::begin(kTensorMapMagic), std::end(kTensorMapMagic), token.magic);
      token.index = Below(3);
      bytes.append(reinterpret_cast<const char*>(&token), sizeof token);
    }
    return bytes;
  }

  void Allocate(Record& record, Origin origin, uint32_t index, uint32_t call) {
    auto& allocate = *record.add_events()->mutable_allocate();
    allocate.set_origin(origin);
    allocate.set_index(Rarely() ? Below(1 << 25) : index);
    const uint64_t number = origin == ORIGIN_TENSOR ? index : 3 + next_++ % 64;
    allocate.set_address((kFirstTag + call) << kTagShift | number << kOffsetBits);
    allocate.set_size_bytes(64 + Below(1 << 12));
    allocate.set_stream(Below(4));
  }

  void Add(Record& record, uint32_t call) {
    switch (Below(16)) {
      case 0:
        return Allocate(record, Rarely() ? ORIGIN_SYMBOL : ORIGIN_ALLOCATION, 0, call);
      case 1:
        record.add_events()->mutable_free()->set_address((kFirstTag + call) << kTagShift | uint64_t{3 + Below(8)}
                                                                                               << kOffsetBits);
        return;
      case 2:
      case 3:
      case 4:
      case 11:
      case 12:
      case 13:
      case 14:
        return Launch(*record.add_events()->mutable_launch(), call);
      case 5: {
        auto& upload = *record.add_events()->mutable_upload();
        upload.set_destination(Address(call));
        upload.set_data(Bytes(call));
        return;
      }
      case 6: {
        auto& map = *record.add_events()->mutable_tensor_map();
        map.set_index(Below(3));
        map.set_base(Address(call));
        return;
      }
      case 7:
        record.add_events()->mutable_event_record()->set_event(Below(3));
        record.mutable_events()->rbegin()->mutable_event_record()->set_stream(Below(5));
        return;
      case 8:
        record.add_events()->mutable_stream_wait()->set_event(Below(3));
        record.mutable_events()->rbegin()->mutable_stream_wait()->set_stream(Below(5));
        return;
      case 9:
        record.add_events()->mutable_host_wait()->set_scope(static_cast<HostWait::Scope>(Below(4)));
        record.mutable_events()->rbegin()->mutable_host_wait()->set_id(Below(5));
        return;
      default:
        record.add_events()->mutable_memset()->set_destination(Address(call));
    }
  }

  void Launch(sassay::capture::Launch& launch, uint32_t call) {
    launch.set_kernel(Rarely() ? "\xff" : "kernel");
    for (int i = 0; i < 3; ++i) {
      launch.add_grid(1);
      launch.add_block(1);
    }
    launch.set_stream(Below(4));
    launch.add_arguments(Bytes(call));
  }

  const uint32_t seed_;
  std::mt19937 random_;
  uint64_t next_ = 0;
};

TEST(RandomRecords, GiveAPlanOrARefusal) {
  const std::string candidates = std::string(std::getenv("SASSAY_TEST_BIN")) + "/../tests/capture/";
  const Cubin cubin = *Cubin::Parse(*ReadFile(candidates + "shapes.cubin"));
  const v1::Workload workload = *WorkloadCatalog::BuiltIn().Resolve("gemm_n256_k256/M=64");
  int plans = 0;
  for (uint32_t seed = 0; seed < 4000; ++seed) {
    for (auto profile : {v1::CAPTURE_PROFILE_STRICT, v1::CAPTURE_PROFILE_LENIENT}) {
      const Record record = Liar(seed).Lie(static_cast<uint32_t>(CallsOf(profile)));
      const SourceLines lines(record, {});
      const auto outcome = BuildPlan(
          record, {workload, cubin, lines, v1::ENTRY_ABI_C, profile, "NVIDIA H200", absl::Now() + absl::Minutes(1)});
      plans += std::holds_alternative<v1::LaunchPlan>(outcome) ? 1 : 0;
    }
  }
  EXPECT_GT(plans, 100);  // or the records are too absurd to test anything
}

}  // namespace
}  // namespace sassay::capture
