#include "agent/capture/plan/compare.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/capture/plan/buffer_ids.h"
#include "common/demangle/demangle.h"
#include "google/protobuf/util/message_differencer.h"

namespace sassay::capture {
namespace {

namespace v1 = sassay::v1;
using google::protobuf::util::MessageDifferencer;

Refusal Differ(const std::string& what) {
  return {v1::VERDICT_CODE_CALLS_DIFFER,
          absl::StrCat(what,
                       ": run() must ask for the same work on every call (no counters, clocks, random numbers or "
                       "caches that change it)"),
          ""};
}

const char* ActionName(const v1::Step& step) {
  switch (step.action_case()) {
    case v1::Step::kLaunch:
      return "kernel launch";
    case v1::Step::kUpload:
      return "copy to the device";
    case v1::Step::kCopy:
      return "copy on the device";
    case v1::Step::kMemset:
      return "memset";
    case v1::Step::kAllocate:
      return "allocation";
    case v1::Step::kFree:
      return "free";
    case v1::Step::ACTION_NOT_SET:
      break;
  }
  return "step";
}

std::string Describe(const v1::Step& step) {
  const std::string kernel = step.has_launch() ? absl::StrCat(" of ", ShortKernelName(step.launch().kernel())) : "";
  const std::string line = step.source_line().empty() ? "" : absl::StrCat(" at ", step.source_line());
  return absl::StrCat("the ", ActionName(step), kernel, line);
}

// --- bytes ---

// Both calls' values of each pointer that both know.
struct PointerPair {
  uint64_t second, third;
};

std::vector<PointerPair> CommonPointers(const CallSteps& second, const CallSteps& third) {
  std::vector<PointerPair> pairs;
  for (const auto& [place, value] : second.pointers) {
    const auto other = third.pointers.find(place);
    if (other != third.pointers.end()) pairs.push_back({value, other->second});
  }
  return pairs;
}

uint64_t LoadSlot(const std::string& data, size_t slot) {
  uint64_t value = 0;
  std::memcpy(&value, data.data() + slot, std::min<size_t>(8, data.size() - slot));
  return value;
}

class ByteComparer {
 public:
  explicit ByteComparer(const RecordedSteps& recorded)
      : recorded_(recorded), pointers_(CommonPointers(recorded.calls[1], recorded.calls[2])) {}

  // Zeroes padding in `a`. False if data differs; then `at` is where.
  bool Reconcile(v1::RelocatableBytes* a, const v1::RelocatableBytes& b, size_t* at) const {
    *at = 0;
    if (a->data().size() != b.data().size() || !SameRelocations(*a, b)) return false;
    std::string clean = a->data();
    for (size_t i = 0; i < clean.size(); ++i) {
      const auto x = static_cast<uint8_t>(a->data()[i]), y = static_cast<uint8_t>(b.data()[i]);
      if (x == y) continue;
      *at = i;
      const bool paint = (x == 0x00 && y == 0xFF) || (x == 0xFF && y == 0x00);
      if (!paint && !IsLeftOver(a->data(), b.data(), i)) return false;
      clean[i] = 0;
    }
    a->set_data(clean);
    return true;
  }

 private:
  static bool SameRelocations(const v1::RelocatableBytes& a, const v1::RelocatableBytes& b) {
    v1::RelocatableBytes x, y;
    *x.mutable_relocations() = a.relocations();
    *y.mutable_relocations() = b.relocations();
    return MessageDifferencer::Equals(x, y);
  }

  // Whether byte `i` is a piece of the same pointer, or of any host address, in both calls.
  bool IsLeftOver(const std::string& a, const std::string& b, size_t i) const {
    const size_t slot = i / 8 * 8;
    const uint64_t x = LoadSlot(a, slot), y = LoadSlot(b, slot);
    if (IsHostAddress(x) && IsHostAddress(y)) return true;
    const uint64_t mask = DifferingBytes(x, y);
    return Masked(mask).count({x & mask, y & mask}) != 0;
  }

  // Host addresses mean nothing to a kernel, so bytes that hold one are left-overs.
  bool IsHostAddress(uint64_t value) const {
    const auto& ranges = recorded_.host_ranges;
    return std::any_of(ranges.begin(), ranges.end(),
                       [&](const auto& range) { return value >= range.first && value < range.second; });
  }

  // All pairs of pointers under `mask`, of which there are at most 255; made when first asked for.
  const std::set<std::pair<uint64_t, uint64_t>>& Masked(uint64_t mask) const {
    const auto [position, added] = masked_.try_emplace(mask);
    for (size_t i = 0; added && i < pointers_.size(); ++i)
      position->second.emplace(pointers_[i].second & mask, pointers_[i].third & mask);
    return position->second;
  }

  // FF where the two differ.
  static uint64_t DifferingBytes(uint64_t x, uint64_t y) {
    uint64_t mask = 0;
    for (int byte = 0; byte < 8; ++byte) {
      const uint64_t ones = uint64_t{0xFF} << (8 * byte);
      if (((x ^ y) & ones) != 0) mask |= ones;
    }
    return mask;
  }

  const RecordedSteps& recorded_;
  const std::vector<PointerPair> pointers_;
  mutable std::map<uint64_t, std::set<std::pair<uint64_t, uint64_t>>> masked_;
};

// --- steps ---

absl::optional<Refusal> ReconcileArguments(v1::Step* a, const v1::Step& b, const ByteComparer& bytes) {
  v1::KernelLaunch* launch = a->mutable_launch();
  for (int i = 0; i < launch->arguments_size() && i < b.launch().arguments_size(); ++i) {
    size_t at = 0;
    if (bytes.Reconcile(launch->mutable_arguments(i), b.launch().arguments(i), &at)) continue;
    return Differ(absl::StrCat(Describe(*a), " passes another value for parameter ", i + 1, " (byte ", at,
                               ") in the third call than in the second"));
  }
  return absl::nullopt;
}

// Both steps allocate; the plan says only which buffer, and the buffer's size is the second call's.
absl::optional<Refusal> CompareSizes(const v1::Step& a, const v1::Step& b, const MemoryMap& memory) {
  const Allocation* second = memory.OfCall(2, IndexOf(a.allocate().buffer()));
  const Allocation* third = memory.OfCall(3, IndexOf(b.allocate().buffer()));
  if (second == nullptr || third == nullptr || second->size_bytes == third->size_bytes) return absl::nullopt;
  return Differ(absl::StrCat(Describe(a), " asks for ", third->size_bytes, " bytes in the third call and for ",
                             second->size_bytes, " in the second"));
}

absl::optional<Refusal> ReconcileStep(v1::Step* a, const v1::Step& b, const ByteComparer& bytes,
                                      const MemoryMap& memory) {
  if (a->action_case() != b.action_case()) {
    return Differ(absl::StrCat("where the second call has ", Describe(*a), ", the third has ", Describe(b)));
  }
  if (a->has_launch() && a->launch().kernel() == b.launch().kernel()) {
    if (auto refusal = ReconcileArguments(a, b, bytes)) return refusal;
  }
  if (a->has_allocate()) {
    if (auto refusal = CompareSizes(*a, b, memory)) return refusal;
  }
  size_t at = 0;
  if (a->has_upload() && !bytes.Reconcile(a->mutable_upload()->mutable_bytes(), b.upload().bytes(), &at)) {
    return Differ(
        absl::StrCat(Describe(*a), " writes other bytes (from byte ", at, ") in the third call than in the second"));
  }
  v1::Step expected = b;  // bytes are settled; the rest must be equal
  if (expected.has_launch()) *expected.mutable_launch()->mutable_arguments() = a->launch().arguments();
  if (expected.has_upload()) *expected.mutable_upload()->mutable_bytes() = a->upload().bytes();
  if (MessageDifferencer::Equals(*a, expected)) return absl::nullopt;
  MessageDifferencer differencer;
  std::string difference;
  differencer.ReportDifferencesToString(&difference);
  differencer.Compare(*a, expected);
  return Differ(absl::StrCat(Describe(*a), " is not the same in the third call as in the second (",
                             difference.substr(0, difference.find('\n')), ")"));
}

// A step with allocations replaced by what they have in common across calls: size and source line.
class Classifier {
 public:
  explicit Classifier(const RecordedSteps& recorded) : recorded_(recorded) {}

  // `loose` leaves out literal bytes: left-overs in padding may differ where paint does not.
  std::string Key(v1::Step step, bool loose) {
    RenumberBuffers(
        &step, [&](uint32_t id) { return ClassOf(id); }, [&](uint32_t number) { return ClassOfMap(number); });
    step.clear_depends_on();
    if (loose && step.has_launch()) {
      for (auto& argument : *step.mutable_launch()->mutable_arguments()) argument.clear_data();
    }
    return step.SerializeAsString();
  }

 private:
  uint32_t ClassOf(uint32_t id) {
    const int call = SpaceOf(id) == kSetupAllocations ? 1 : SpaceOf(id) == kCallAllocations ? 2 : 0;
    if (call == 0) return id;
    const Allocation* allocation = recorded_.memory.OfCall(call, IndexOf(id));
    if (allocation == nullptr) return id;
    const auto kind = std::make_pair(allocation->size_bytes, allocation->source_line);
    return kClasses + classes_.emplace(kind, static_cast<uint32_t>(classes_.size())).first->second;
  }

  uint32_t ClassOfMap(uint32_t number) {
    v1::TensorMap map = recorded_.tensor_maps[number];
    map.mutable_base()->set_buffer(ClassOf(map.base().buffer()));
    return map_classes_.emplace(map.SerializeAsString(), static_cast<uint32_t>(map_classes_.size())).first->second;
  }

  const RecordedSteps& recorded_;
  std::map<std::pair<uint64_t, std::string>, uint32_t> classes_;
  std::map<std::string, uint32_t> map_classes_;
};

// Steps by their keys.
class Positions {
 public:
  // In ascending order of `position`.
  void Add(std::string key, size_t position) { by_key_[std::move(key)].push_back(position); }
  // The last position before `end` of a step with this key; npos if there is none.
  size_t LastBefore(size_t end, const std::string& key) const {
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return std::string::npos;
    const auto after = std::lower_bound(found->second.begin(), found->second.end(), end);
    return after == found->second.begin() ? std::string::npos : *std::prev(after);
  }

 private:
  std::unordered_map<std::string, std::vector<size_t>> by_key_;
};

}  // namespace

OrRefusal<std::vector<v1::Step>> CompareSteady(const RecordedSteps& recorded) {
  const CallSteps &second = recorded.calls[1], &third = recorded.calls[2];
  const ByteComparer bytes(recorded);
  std::vector<v1::Step> steady = second.steps;
  for (size_t i = 0; i < steady.size() && i < third.steps.size(); ++i) {
    if (auto refusal = ReconcileStep(&steady[i], third.steps[i], bytes, recorded.memory)) return *std::move(refusal);
  }
  if (second.steps.size() == third.steps.size()) return steady;
  const bool more = third.steps.size() > second.steps.size();
  const v1::Step& extra = more ? third.steps[second.steps.size()] : second.steps[third.steps.size()];
  return Differ(absl::StrCat("the ", more ? "third" : "second", " call does something that the ",
                             more ? "second" : "third", " does not: ", Describe(extra)));
}

std::vector<size_t> SetupPositions(const RecordedSteps& recorded, const std::vector<v1::Step>& steady) {
  const std::vector<v1::Step>& first = recorded.calls[0].steps;
  Classifier classifier(recorded);
  Positions exact, loose;
  for (size_t i = 0; i < first.size(); ++i) {
    exact.Add(classifier.Key(first[i], false), i);
    loose.Add(classifier.Key(first[i], true), i);
  }
  std::set<size_t> matched;
  size_t end = first.size();
  for (size_t i = steady.size(); i-- > 0;) {  // from the back: the steady work comes last in the first call
    size_t at = exact.LastBefore(end, classifier.Key(steady[i], false));
    if (at == std::string::npos) at = loose.LastBefore(end, classifier.Key(steady[i], true));
    if (at == std::string::npos) continue;
    matched.insert(at);
    end = at;
  }
  std::vector<size_t> setup;
  for (size_t i = 0; i < first.size(); ++i) {
    if (matched.count(i) == 0) setup.push_back(i);
  }
  return setup;
}

}  // namespace sassay::capture
