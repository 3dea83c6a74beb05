#include "agent/models/providers/dialect.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/base/sha256.h"

namespace sassay::agent {
namespace {

constexpr uint64_t kMaxAnswerBytes = 16 << 20;

}  // namespace

absl::Status AnswerDraft::Append(absl::string_view piece, std::string& to) {
  if (answered.text().size() + answered.reasoning().size() + piece.size() > kMaxAnswerBytes) {
    return absl::ResourceExhaustedError(absl::StrCat("the answer is longer than ", kMaxAnswerBytes, " bytes"));
  }
  to.append(piece.data(), piece.size());
  if (!piece.empty()) ++pieces;
  return absl::OkStatus();
}

uint32_t SeedOf(const GenerationRequest& request) {
  const std::string digest =
      Sha256(absl::StrCat(request.sampling.seed(), "/", request.trajectory_id, "/", request.turn));
  uint32_t seed = 0;
  memcpy(&seed, digest.data(), sizeof seed);
  return seed & 0x7FFFFFFF;
}

}  // namespace sassay::agent
