// Runs the kernels of intrinsics.cu and compares what they give, row by row, with what the host computes.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_TESTING_INTRINSICS_FIXTURE_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_TESTING_INTRINSICS_FIXTURE_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <iomanip>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "profiler_service/emulator/testing/emulator_fixture.h"

namespace sassay::emulator {

inline constexpr int kThreads = 256;

template <class T>
struct Row {
  std::string name;
  std::function<T(T, T, T)> expected;
};

template <class T>
std::string Text(T value) {
  if constexpr (std::is_floating_point_v<T>) return testing::PrintToString(value);
  return "0x" + testing::PrintToString(std::bit_cast<std::array<uint8_t, sizeof(T)>>(value)) + " " +
         testing::PrintToString(value);
}

template <class T>
using Same = std::function<bool(T, T)>;

template <class T>
bool Equal(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) && std::isnan(b)) return true;
  }
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

class IntrinsicsTest : public testing::TestWithParam<sassay::worker::RunMode> {
 protected:
  IntrinsicsTest() : emulated_(CompiledBundle("intrinsics"), GetParam()) {}

  // Runs `kernel` on `inputs` (each of kThreads values) and compares its rows.
  template <class T>
  void Check(const std::string& kernel, const std::vector<std::vector<T>>& inputs, const std::vector<Row<T>>& rows,
             const Same<T>& same = Equal<T>) {
    std::vector<std::string> arguments;
    for (const auto& input : inputs) arguments.push_back(Bytes(emulated_.Upload(input, "in")));
    const uint64_t out = emulated_.Allocate(rows.size() * kThreads * sizeof(T), "out");
    arguments.push_back(Bytes(out));
    const auto execution = emulated_.Run(kernel, {1, 1, 1}, {kThreads, 1, 1}, arguments);
    ASSERT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_OK) << kernel << ": " << execution.message;
    const auto results = emulated_.Download<T>(out, rows.size() * kThreads);
    for (size_t row = 0; row < rows.size(); ++row) {
      int wrong = 0;
      for (size_t i = 0; i < kThreads && wrong < 2; ++i) {
        auto argument = [&](size_t k) { return k < inputs.size() ? inputs[k][i] : T(); };
        const T expected = rows[row].expected(argument(0), argument(1), argument(2));
        const T actual = results[row * kThreads + i];
        if (same(actual, expected)) continue;
        ++wrong;
        ADD_FAILURE() << std::setprecision(17) << kernel << " row " << row << " " << rows[row].name << " of "
                      << Text(argument(0)) << ", " << Text(argument(1)) << ", " << Text(argument(2)) << ": "
                      << Text(actual) << ", not " << Text(expected);
      }
    }
  }

  std::vector<uint32_t> Words(uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<uint32_t> words = {0, 1, 7, 0x80000000, 0x7fffffff, 0xffffffff, 0x8000, 0xff00ff00};
    while (words.size() < kThreads) words.push_back(words.size() % 3 ? random() : random() & 63);
    std::shuffle(words.begin(), words.end(), random);
    return words;
  }
  std::vector<float> Floats(uint32_t seed, float scale) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0, scale);
    std::vector<float> values = {0.0f, -0.0f, 1.0f, -1.0f, 0.5f, 2.5f, -3.5f, 1e-3f};
    while (values.size() < kThreads) values.push_back(normal(random));
    std::shuffle(values.begin(), values.end(), random);
    return values;
  }

  Emulated emulated_;
};

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_TESTING_INTRINSICS_FIXTURE_H_
