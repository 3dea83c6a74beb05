#include "profiler_service/pipeline/chapters/baseline_chapter.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "profiler_service/wire/runner_client.h"

namespace sassay::pipeline {
namespace {

using admission::AdmittedBundle;

absl::StatusOr<AdmittedBundle> Trusted(const Chapter& chapter, const BaselineSources& sources,
                                       const std::string& sha256) {
  const bool is_reference =
      sources.definition.reference_kind == ReferenceKind::kBundle && sources.definition.reference_name == sha256;
  if (is_reference && sources.reference != nullptr) return *sources.reference;
  const auto bytes = sources.trusted_bundle(sha256);
  if (!bytes.ok()) return absl::NotFoundError(bytes.status().message());
  auto result = admission::Admit(*bytes, sources.workload, sources.limits, FactsOf(chapter.lane));
  if (const auto* rejection = std::get_if<admission::Rejection>(&result); rejection != nullptr) {
    return absl::NotFoundError(absl::StrCat("trusted bundle ", sha256, " was refused: ", rejection->Line()));
  }
  return std::get<AdmittedBundle>(std::move(result));
}

absl::Status Why(const timing::JudgedSets& sets, const absl::Status& status) {
  if (!sets.failure().has_value()) return status;
  const verdict::Failure& failure = *sets.failure();
  if (evaluate::IsLostWorker(failure)) return absl::UnavailableError(failure.reason);
  if (failure.code == sassay::v1::VERDICT_CODE_CANCELLED_BY_CLIENT) return absl::CancelledError(failure.reason);
  return absl::InternalError(absl::StrCat("the baseline's tensors: ", failure.reason));
}

}  // namespace

std::string BaselineDigest(const Definition& definition, const sassay::v1::Workload& workload) {
  absl::string_view named = workload.baseline();
  if (absl::ConsumePrefix(&named, "bundle:sha256:")) return std::string(named);
  const bool kernel = workload.baseline().empty() && definition.reference_kind == ReferenceKind::kBundle;
  return kernel ? definition.reference_name : "";
}

absl::StatusOr<std::unique_ptr<BaselineBundle>> BaselineBundle::Prepare(const Chapter& chapter,
                                                                        const BaselineSources& sources,
                                                                        evaluate::JudgePort& judge,
                                                                        evaluate::Seeds seeds,
                                                                        const timing::JudgedSets::Options& options) {
  const std::string sha256 = BaselineDigest(sources.definition, sources.workload);
  if (!sources.itself && sha256.empty()) return nullptr;
  absl::StatusOr<AdmittedBundle> admitted = chapter.bundle;
  if (!sources.itself) admitted = Trusted(chapter, sources, sha256);
  RETURN_IF_ERROR(admitted.status());
  std::unique_ptr<BaselineBundle> made(new BaselineBundle(*std::move(admitted), std::move(seeds)));
  ASSIGN_OR_RETURN(made->bundle_, wire::WithOnlyPlan(made->admitted_.bundle(), sources.workload.name()));
  made->sets_ = std::make_unique<timing::JudgedSets>(made->admitted_, judge, chapter.deadline, made->seeds_, options);
  if (const absl::Status status = made->sets_->Prepare(); !status.ok()) return Why(*made->sets_, status);
  made->baseline_.bundle = &made->bundle_;
  made->baseline_.sets = made->sets_.get();
  made->baseline_.program.set_library(sources.itself ? "the candidate itself" : "trusted bundle");
  if (!sources.itself) made->baseline_.program.set_version(sha256);
  made->baseline_.lasting = !sources.itself;
  return made;
}

}  // namespace sassay::pipeline
