#include "profiler_service/judge/inputs/indices.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/workload/index_definition.h"
#include "profiler_service/judge/inputs/philox.h"

namespace sassay::judge {
namespace {

using sassay::v1::Workload;

constexpr uint32_t kPurpose = 3;  // last word of Philox's counter; inputs.cc uses 0 to 2
constexpr int64_t kEmptyOneIn = 8, kLongOneIn = 8, kLongFactor = 8, kWeights = 64;
// Lengths follow from no seed, and their order from a stream that no tensor has.
constexpr uint64_t kLengthsKey = 0x6C656E67746873;
constexpr uint32_t kOrderStream = 1 << 20;
// From so many sequences on, one is empty for certain.
constexpr int64_t kCertainlyEmpty = 4;

// Random numbers, one after the other.
class Random {
 public:
  Random(uint64_t seed, uint32_t stream) : seed_(seed), stream_(stream) {}

  // Uniform over 0 … n - 1, but for a bias of n / 2^64.
  int64_t Below(int64_t n) {
    const auto count = static_cast<uint32_t>(next_), high = static_cast<uint32_t>(next_ >> 32);
    ++next_;
    const PhiloxBlock block = Philox(seed_, {count, high, stream_, kPurpose});
    const uint64_t bits = uint64_t{block[1]} << 32 | block[0];
    return static_cast<int64_t>(absl::Uint128High64(absl::uint128(bits) * static_cast<uint64_t>(n)));
  }
  bool OneIn(int64_t n) { return Below(n) == 0; }

 private:
  const uint64_t seed_;
  const uint32_t stream_;
  uint64_t next_ = 0;
};

// What each sequence gets of what is to spare. Where sequences may be empty, some get nothing; of several, one that
// must have something anyway.
std::vector<int64_t> DrawWeights(const std::vector<int64_t>& least, bool may_be_empty, Random& random) {
  const auto sequences = static_cast<int64_t>(least.size());
  std::vector<int64_t> weights(sequences);
  for (int64_t& weight : weights) {
    weight = 1 + random.Below(kWeights);
    if (random.OneIn(kLongOneIn)) weight *= kLongFactor;
    if (may_be_empty && random.OneIn(kEmptyOneIn)) weight = 0;
  }
  if (may_be_empty && sequences >= kCertainlyEmpty) {
    int64_t chosen = random.Below(sequences);
    for (int64_t i = 0; i < sequences && least[chosen] == 0; ++i) chosen = (chosen + 1) % sequences;
    weights[chosen] = 0;
  }
  if (std::all_of(weights.begin(), weights.end(), [](int64_t weight) { return weight == 0; })) {
    weights[random.Below(sequences)] = 1;
  }
  return weights;
}

// Lengths of sequences of at least `least` elements each, and together `total`.
std::vector<int64_t> DrawLengths(const std::vector<int64_t>& least, int64_t total, bool may_be_empty, Random& random) {
  const std::vector<int64_t> weights = DrawWeights(least, may_be_empty, random);
  int64_t weight = 0, needed = 0;
  for (const int64_t w : weights) weight += w;
  for (const int64_t n : least) needed += n;
  std::vector<int64_t> lengths = least;
  int64_t before = 0, given = 0;
  for (size_t i = 0; i < least.size(); ++i) {
    before += weights[i];
    const absl::uint128 until = absl::uint128(total - needed) * static_cast<uint64_t>(before) / weight;
    lengths[i] += static_cast<int64_t>(absl::Uint128Low64(until)) - given;
    given = static_cast<int64_t>(absl::Uint128Low64(until));
  }
  return lengths;
}

// Fisher and Yates's shuffle of 0 … below - 1, of which only what was moved is kept.
std::vector<int64_t> DrawDistinct(int64_t count, int64_t below, Random& random) {
  absl::flat_hash_map<int64_t, int64_t> moved;
  const auto at = [&](int64_t i) {
    const auto found = moved.find(i);
    return found == moved.end() ? i : found->second;
  };
  std::vector<int64_t> drawn(count);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t other = i + random.Below(below - i);
    drawn[i] = at(other);
    moved[other] = at(i);
  }
  return drawn;
}

// Makes the index tensors of one workload; those that others refer to first.
class IndexMaker {
 public:
  IndexMaker(const Definition& definition, const Workload& workload, uint64_t seed, Distribution distribution)
      : definition_(definition),
        workload_(workload),
        axes_(workload.axes().begin(), workload.axes().end()),
        seed_(seed),
        distribution_(static_cast<uint32_t>(distribution)) {}

  absl::StatusOr<std::map<int, std::string>> Make() {
    RETURN_IF_ERROR(CheckIndexAxes(definition_, axes_));
    std::map<int, std::string> bytes;
    for (int i = 0; i < workload_.inputs_size(); ++i) {
      const sassay::v1::TensorSpec& input = workload_.inputs(i);
      if (definition_.indices.count(input.name()) == 0) continue;
      ASSIGN_OR_RETURN(const std::vector<int64_t> values, Values(input.name()));
      bytes[i] = Encode(input, values);
    }
    return bytes;
  }

 private:
  absl::StatusOr<std::vector<int64_t>> Values(const std::string& input) const {
    const IndexDefinition& index = definition_.indices.at(input);
    ASSIGN_OR_RETURN(const IndexSizes sizes, IndexSizesOf(definition_, input, axes_));
    Random random(seed_, StreamOf(input));
    switch (index.kind) {
      case IndexKind::kOffsets:
        return Offsets(input, sizes);
      case IndexKind::kDistinct:
        return DrawDistinct(sizes.elements, sizes.below, random);
      case IndexKind::kLastLengths:
        return LastLengths(index, sizes, random);
    }
    return absl::InternalError(absl::StrCat(input, ": an index of unknown kind"));
  }

  // The order is the same for all offsets of the workload, so that what covers goes with what is covered.
  absl::StatusOr<std::vector<int64_t>> Offsets(const std::string& input, const IndexSizes& sizes) const {
    ASSIGN_OR_RETURN(const std::vector<int64_t> lengths, Lengths(input));
    Random random(seed_, kOrderStream + distribution_);
    std::vector<int64_t> offsets = {0};
    for (const int64_t sequence : DrawDistinct(sizes.sequences, sizes.sequences, random)) {
      offsets.push_back(offsets.back() + lengths[sequence]);
    }
    return offsets;
  }

  // Before they are put into a secret order: the same for every seed.
  absl::StatusOr<std::vector<int64_t>> Lengths(const std::string& input) const {
    const IndexDefinition& index = definition_.indices.at(input);
    ASSIGN_OR_RETURN(const IndexSizes sizes, IndexSizesOf(definition_, input, axes_));
    std::vector<int64_t> least(sizes.sequences, index.empty_sequences ? 0 : 1);
    if (!index.covers.empty()) {
      ASSIGN_OR_RETURN(const std::vector<int64_t> covered, Lengths(index.covers));
      for (int64_t i = 0; i < sizes.sequences; ++i) {
        least[i] = std::max(least[i], (covered[i] + sizes.page_size - 1) / sizes.page_size);
      }
    }
    Random random(kLengthsKey, StreamOf(input));
    return DrawLengths(least, sizes.total, index.empty_sequences, random);
  }

  absl::StatusOr<std::vector<int64_t>> LastLengths(const IndexDefinition& index, const IndexSizes& sizes,
                                                   Random& random) const {
    ASSIGN_OR_RETURN(const std::vector<int64_t> pages, Values(index.of));
    const std::string& covers = definition_.indices.at(index.of).covers;
    std::vector<int64_t> covered(pages.size(), 0);
    if (!covers.empty()) {
      ASSIGN_OR_RETURN(covered, Values(covers));
    }
    std::vector<int64_t> lengths(sizes.sequences);
    for (int64_t i = 0; i < sizes.sequences; ++i) {
      const int64_t in_full_pages = (pages[i + 1] - pages[i] - 1) * sizes.page_size;
      const int64_t least = std::max<int64_t>(1, covered[i + 1] - covered[i] - std::max<int64_t>(0, in_full_pages));
      lengths[i] = least + random.Below(sizes.page_size - least + 1);
    }
    return lengths;
  }

  uint32_t StreamOf(const std::string& input) const {
    return static_cast<uint32_t>(Position(input)) * 16 + distribution_;
  }

  int Position(const std::string& input) const {
    int position = 0;
    while (workload_.inputs(position).name() != input) ++position;
    return position;
  }

  static std::string Encode(const sassay::v1::TensorSpec& spec, const std::vector<int64_t>& values) {
    const size_t width = DTypeBytes(spec.dtype());
    std::string bytes(values.size() * width, '\0');
    // Little-endian, and no value is negative.
    for (size_t i = 0; i < values.size(); ++i) std::memcpy(bytes.data() + i * width, &values[i], width);
    return bytes;
  }

  const Definition& definition_;
  const Workload& workload_;
  const std::map<std::string, int64_t> axes_;
  const uint64_t seed_;
  const uint32_t distribution_;
};

}  // namespace

absl::StatusOr<std::map<int, std::string>> GenerateIndices(const Definition& definition, const Workload& workload,
                                                           uint64_t seed, Distribution distribution) {
  return IndexMaker(definition, workload, seed, distribution).Make();
}

}  // namespace sassay::judge
