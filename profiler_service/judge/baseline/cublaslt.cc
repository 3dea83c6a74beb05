#include <cublasLt.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/toolchain/vendor_libraries.h"
#include "profiler_service/judge/baseline/libraries.h"
#include "profiler_service/judge/baseline/trial.h"

namespace sassay::judge {
namespace {

#define SASSAY_CUBLASLT_FUNCTIONS(X)      \
  X(cublasLtCreate)                       \
  X(cublasLtDestroy)                      \
  X(cublasLtGetStatusString)              \
  X(cublasLtMatmul)                       \
  X(cublasLtMatmulAlgoGetHeuristic)       \
  X(cublasLtMatmulAlgoConfigGetAttribute) \
  X(cublasLtMatmulDescCreate)             \
  X(cublasLtMatmulDescDestroy)            \
  X(cublasLtMatmulDescSetAttribute)       \
  X(cublasLtMatrixLayoutCreate)           \
  X(cublasLtMatrixLayoutDestroy)          \
  X(cublasLtMatmulPreferenceCreate)       \
  X(cublasLtMatmulPreferenceDestroy)      \
  X(cublasLtMatmulPreferenceSetAttribute)

struct Library {
#define SASSAY_CUBLASLT_MEMBER(name) decltype(&::name) name = nullptr;
  SASSAY_CUBLASLT_FUNCTIONS(SASSAY_CUBLASLT_MEMBER)
#undef SASSAY_CUBLASLT_MEMBER
  std::string version;

  static absl::StatusOr<Library> Load() {
    ASSIGN_OR_RETURN(const LoadedLibrary loaded, LoadVendorLibrary(VendorLibrary::kCublasLt));
    Library library;
    library.version = loaded.version;
#define SASSAY_CUBLASLT_RESOLVE(name) RETURN_IF_ERROR(loaded.Resolve(#name, library.name));
    SASSAY_CUBLASLT_FUNCTIONS(SASSAY_CUBLASLT_RESOLVE)
#undef SASSAY_CUBLASLT_RESOLVE
    return library;
  }

  absl::Status Check(cublasStatus_t status, absl::string_view doing) const {
    if (status == CUBLAS_STATUS_SUCCESS) return absl::OkStatus();
    const std::string message = absl::StrCat("cuBLASLt ", version, ": ", doing, ": ", cublasLtGetStatusString(status));
    if (status == CUBLAS_STATUS_NOT_SUPPORTED) return absl::UnimplementedError(message);
    if (status == CUBLAS_STATUS_ALLOC_FAILED) return absl::ResourceExhaustedError(message);
    return absl::InternalError(message);
  }
};

// What cuBLAS itself takes on Hopper by default, and twice as much again; more only tempts it into large split-K.
constexpr uint64_t kWorkspaceLimit = 64 << 20;

struct NamedValue {
  uint32_t value;
  const char* name;
};

// Made by CMakeLists.txt from the enumerations of cublasLt.h.
constexpr NamedValue kTiles[] = {
#include "profiler_service/judge/baseline/cublaslt_tiles.inc"
};
constexpr NamedValue kStages[] = {
#include "profiler_service/judge/baseline/cublaslt_stages.inc"
};
constexpr NamedValue kClusters[] = {
#include "profiler_service/judge/baseline/cublaslt_clusters.inc"
};

template <size_t kCount>
std::string NameOf(const NamedValue (&names)[kCount], uint32_t value) {
  for (const NamedValue& named : names) {
    if (named.value == value) return named.name;
  }
  return absl::StrCat("#", value);
}

cudaDataType_t DataType(sassay::v1::DType dtype) {
  if (dtype == sassay::v1::DTYPE_FLOAT16) return CUDA_R_16F;
  return dtype == sassay::v1::DTYPE_FLOAT32 ? CUDA_R_32F : CUDA_R_16BF;
}

// Descriptors of one product. cuBLAS thinks in columns: C^T[n,m] = B[n,k] * A^T[k,m], whose columns are our rows.
class Product {
 public:
  static absl::StatusOr<std::unique_ptr<Product>> Create(const Library& library, const GemmShape& shape) {
    std::unique_ptr<Product> product(new Product(library));
    RETURN_IF_ERROR(product->Prepare(shape));
    return product;
  }
  ~Product() {
    for (cublasLtMatrixLayout_t layout : {a_, b_, c_}) {
      if (layout != nullptr) library_.cublasLtMatrixLayoutDestroy(layout);
    }
    if (description_ != nullptr) library_.cublasLtMatmulDescDestroy(description_);
    if (handle_ != nullptr) library_.cublasLtDestroy(handle_);
  }

  const Library& library() const { return library_; }

  absl::StatusOr<std::vector<cublasLtMatmulHeuristicResult_t>> Heuristics(const BaselineOptions& options) const;

  absl::Status Multiply(const cublasLtMatmulAlgo_t& algorithm, const DeviceMemory& workspace,
                        absl::Span<const device::DeviceAddress> inputs, absl::Span<const device::DeviceAddress> outputs,
                        void* stream) const {
    const float one = 1, zero = 0;
    void* const c = reinterpret_cast<void*>(outputs[0]);
    return library_.Check(library_.cublasLtMatmul(handle_, description_, &one, reinterpret_cast<const void*>(inputs[1]),
                                                  b_, reinterpret_cast<const void*>(inputs[0]), a_, &zero, c, c_, c, c_,
                                                  &algorithm, reinterpret_cast<void*>(workspace.address()),
                                                  workspace.size_bytes(), static_cast<cudaStream_t>(stream)),
                          "enqueueing a product");
  }

 private:
  explicit Product(const Library& library) : library_(library) {}

  absl::Status Prepare(const GemmShape& shape) {
    RETURN_IF_ERROR(library_.Check(library_.cublasLtCreate(&handle_), "creating a handle"));
    RETURN_IF_ERROR(library_.Check(library_.cublasLtMatmulDescCreate(&description_, CUBLAS_COMPUTE_32F, CUDA_R_32F),
                                   "describing a product"));
    const cublasOperation_t transposed = CUBLAS_OP_T;
    RETURN_IF_ERROR(library_.Check(library_.cublasLtMatmulDescSetAttribute(description_, CUBLASLT_MATMUL_DESC_TRANSA,
                                                                           &transposed, sizeof(transposed)),
                                   "describing a product"));
    RETURN_IF_ERROR(Layout(b_, shape.input, shape.k, shape.n));
    RETURN_IF_ERROR(Layout(a_, shape.input, shape.k, shape.m));
    return Layout(c_, shape.output, shape.n, shape.m);
  }

  absl::Status Layout(cublasLtMatrixLayout_t& layout, sassay::v1::DType dtype, int64_t rows, int64_t columns) {
    return library_.Check(library_.cublasLtMatrixLayoutCreate(&layout, DataType(dtype), static_cast<uint64_t>(rows),
                                                              static_cast<uint64_t>(columns), rows),
                          "describing a matrix");
  }

  const Library library_;
  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t description_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, c_ = nullptr;
};

absl::StatusOr<std::vector<cublasLtMatmulHeuristicResult_t>> Product::Heuristics(const BaselineOptions& options) const {
  cublasLtMatmulPreference_t preference = nullptr;
  RETURN_IF_ERROR(library_.Check(library_.cublasLtMatmulPreferenceCreate(&preference), "creating a preference"));
  const size_t limit = std::min(options.workspace_limit_bytes, kWorkspaceLimit);
  std::vector<cublasLtMatmulHeuristicResult_t> results(std::max(options.candidates, 1));
  int count = 0;
  cublasStatus_t status = library_.cublasLtMatmulPreferenceSetAttribute(
      preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &limit, sizeof(limit));
  if (status == CUBLAS_STATUS_SUCCESS) {
    status = library_.cublasLtMatmulAlgoGetHeuristic(handle_, description_, b_, a_, c_, c_, preference,
                                                     static_cast<int>(results.size()), results.data(), &count);
  }
  library_.cublasLtMatmulPreferenceDestroy(preference);
  RETURN_IF_ERROR(library_.Check(status, "asking the heuristic"));
  results.resize(count);
  std::erase_if(results, [](const auto& result) { return result.state != CUBLAS_STATUS_SUCCESS; });
  if (results.empty()) return library_.Check(CUBLAS_STATUS_NOT_SUPPORTED, "no algorithm for this product");
  return results;
}

// "algorithm 66, tile 128x256, stages AUTO, cluster 2x1x1, split-K 1".
std::string InWords(const Library& library, const cublasLtMatmulAlgo_t& algorithm) {
  const auto attribute = [&](cublasLtMatmulAlgoConfigAttributes_t which, size_t size) {
    uint32_t value = 0;
    size_t written = 0;
    library.cublasLtMatmulAlgoConfigGetAttribute(&algorithm, which, &value, size, &written);
    return value;
  };
  return absl::StrCat("algorithm ", attribute(CUBLASLT_ALGO_CONFIG_ID, 4), ", tile ",
                      NameOf(kTiles, attribute(CUBLASLT_ALGO_CONFIG_TILE_ID, 4)), ", stages ",
                      NameOf(kStages, attribute(CUBLASLT_ALGO_CONFIG_STAGES_ID, 4)), ", cluster ",
                      NameOf(kClusters, attribute(CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, 2)), ", split-K ",
                      std::max(attribute(CUBLASLT_ALGO_CONFIG_SPLITK_NUM, 4), uint32_t{1}));
}

class CublasLtBaseline : public Baseline {
 public:
  CublasLtBaseline(std::unique_ptr<Product> product, const cublasLtMatmulAlgo_t& algorithm, DeviceMemory workspace,
                   BaselineFacts facts)
      : product_(std::move(product)),
        algorithm_(algorithm),
        workspace_(std::move(workspace)),
        facts_(std::move(facts)) {}

  const BaselineFacts& facts() const override { return facts_; }

  absl::Status Enqueue(absl::Span<const device::DeviceAddress> inputs, absl::Span<const device::DeviceAddress> outputs,
                       void* stream) override {
    RETURN_IF_ERROR(CheckAddresses(inputs, 2, outputs, 1));
    return product_->Multiply(algorithm_, workspace_, inputs, outputs, stream);
  }

 private:
  const std::unique_ptr<Product> product_;
  const cublasLtMatmulAlgo_t algorithm_;
  const DeviceMemory workspace_;
  const BaselineFacts facts_;
};

absl::StatusOr<int> Choose(const BaselineRequest& request, const Product& product,
                           const std::vector<cublasLtMatmulHeuristicResult_t>& proposals) {
  if (proposals.size() == 1) return 0;
  size_t workspace_bytes = 0;
  for (const auto& proposal : proposals) workspace_bytes = std::max(workspace_bytes, proposal.workspaceSize);
  ASSIGN_OR_RETURN(const DeviceMemory workspace,
                   DeviceMemory::Allocate(request.driver, workspace_bytes, "a workspace"));
  ASSIGN_OR_RETURN(const std::unique_ptr<Trial> trial, Trial::Create(request.driver, request.workload));
  std::vector<Trial::Run> runs;
  for (const auto& proposal : proposals) {
    runs.push_back([&](auto inputs, auto outputs, void* stream) {
      return product.Multiply(proposal.algo, workspace, inputs, outputs, stream);
    });
  }
  return trial->Fastest(runs);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Baseline>> MakeCublasLtBaseline(const BaselineRequest& request, const GemmShape& shape) {
  ASSIGN_OR_RETURN(const Library library, Library::Load());
  ASSIGN_OR_RETURN(std::unique_ptr<Product> product, Product::Create(library, shape));
  ASSIGN_OR_RETURN(const auto proposals, product->Heuristics(request.options));
  ASSIGN_OR_RETURN(const int best, Choose(request, *product, proposals));
  const cublasLtMatmulHeuristicResult_t& chosen = proposals[best];
  ASSIGN_OR_RETURN(DeviceMemory workspace,
                   DeviceMemory::Allocate(request.driver, chosen.workspaceSize, "cuBLASLt's workspace"));
  BaselineFacts facts = {"cuBLASLt", library.version, InWords(library, chosen.algo), static_cast<int>(proposals.size()),
                         chosen.workspaceSize};
  return std::make_unique<CublasLtBaseline>(std::move(product), chosen.algo, std::move(workspace), std::move(facts));
}

}  // namespace sassay::judge
