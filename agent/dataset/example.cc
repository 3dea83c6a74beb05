#include "agent/dataset/example.h"

#include <tuple>

#include "absl/strings/str_cat.h"

namespace sassay::agent {

std::string PlaceOf(const Example& example) { return absl::StrCat(example.trajectory, "/", example.turn); }

bool Before(const Example& a, const Example& b) {
  return std::tie(a.run_id, a.trajectory, a.turn, a.solution_turn) <
         std::tie(b.run_id, b.trajectory, b.turn, b.solution_turn);
}

}  // namespace sassay::agent
