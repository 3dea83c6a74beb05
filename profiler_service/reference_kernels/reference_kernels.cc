#include "profiler_service/reference_kernels/reference_kernels.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "common/base/status_macros.h"
#include "common/bundle/bundle.h"
#include "common/workload/definition.h"
#include "profiler_service/reference_kernels/kernels/arguments.h"
#include "sassay/v1/bundle.pb.h"

// sassay_cuda_images in CMakeLists.txt makes them.
#define SASSAY_IMAGE(name)              \
  extern "C" const char name##_begin[]; \
  extern "C" const char name##_end[];
SASSAY_IMAGE(sassay_gqa_sm_90a_cubin)
SASSAY_IMAGE(sassay_gqa_sm_90a_ptx)
SASSAY_IMAGE(sassay_gqa_sm_100a_cubin)
SASSAY_IMAGE(sassay_gqa_sm_100a_ptx)
#undef SASSAY_IMAGE

namespace sassay::reference_kernels {
namespace {

using sassay::v1::DType;
using sassay::v1::TensorSpec;
using sassay::v1::Workload;

constexpr char kKernel[] = "sassay_gqa";
constexpr uint32_t kMaxBlocks = 1 << 16;

struct Image {
  absl::string_view arch, cubin, ptx;
};

absl::string_view Between(const char* begin, const char* end) { return {begin, static_cast<size_t>(end - begin)}; }

std::vector<Image> Images() {
  return {{"sm_90a", Between(sassay_gqa_sm_90a_cubin_begin, sassay_gqa_sm_90a_cubin_end),
           Between(sassay_gqa_sm_90a_ptx_begin, sassay_gqa_sm_90a_ptx_end)},
          {"sm_100a", Between(sassay_gqa_sm_100a_cubin_begin, sassay_gqa_sm_100a_cubin_end),
           Between(sassay_gqa_sm_100a_ptx_begin, sassay_gqa_sm_100a_ptx_end)}};
}

absl::StatusOr<Image> ImageFor(absl::string_view arch) {
  const std::vector<Image> images = Images();
  const auto found = std::find_if(images.begin(), images.end(), [&](const Image& image) { return image.arch == arch; });
  if (found != images.end()) return *found;
  const auto spell = [](std::string* out, const Image& image) { absl::StrAppend(out, image.arch); };
  return absl::NotFoundError(absl::StrCat("this service has its reference kernels for ",
                                          absl::StrJoin(images, ", ", spell), ", none for ", arch));
}

using Shape = std::vector<int64_t>;

// Writes the plan of sassay_gqa for one workload.
class GqaPlan {
 public:
  explicit GqaPlan(const Workload& workload) : workload_(workload) {}

  absl::StatusOr<sassay::v1::LaunchPlan> Make() {
    RETURN_IF_ERROR(AddBuffers());
    RETURN_IF_ERROR(ReadSizes());
    argument_.set_data(std::string(sizeof(GqaArguments), '\0'));
    RETURN_IF_ERROR(PointAtTensors());
    // Addresses are 0 here; the service writes them in.
    argument_.mutable_data()->assign(reinterpret_cast<const char*>(&arguments_), sizeof(arguments_));
    AddLaunch();
    return std::move(plan_);
  }

 private:
  bool decode() const { return workload_.reference() == "kernel:gqa_paged_decode"; }
  bool paged() const { return workload_.reference() != "kernel:gqa_ragged_prefill"; }

  absl::Status AddBuffers() {
    plan_.set_workload(workload_.name());
    plan_.set_abi(sassay::v1::ENTRY_ABI_C);
    plan_.set_profile(sassay::v1::CAPTURE_PROFILE_STRICT);
    for (const TensorSpec& tensor : workload_.inputs()) {
      if (!tensor.scalar()) AddBuffer(tensor, sassay::v1::BUFFER_KIND_INPUT);
    }
    for (const TensorSpec& tensor : workload_.outputs()) AddBuffer(tensor, sassay::v1::BUFFER_KIND_OUTPUT);
    return absl::OkStatus();
  }

  void AddBuffer(const TensorSpec& tensor, sassay::v1::BufferKind kind) {
    sassay::v1::Buffer* buffer = plan_.add_buffers();
    buffer->set_kind(kind);
    buffer->set_name(tensor.name());
    buffer->set_size_bytes(TensorBytes(tensor));
  }

  absl::Status ReadSizes() {
    ASSIGN_OR_RETURN(const TensorSpec* q, Find("q"));
    ASSIGN_OR_RETURN(const TensorSpec* k, Find(paged() ? "k_cache" : "k"));
    if (q->shape_size() != 3 || k->shape_size() != (paged() ? 4 : 3)) return Wrong("q and k", "of another rank");
    arguments_.tokens = q->shape(0);
    arguments_.heads = q->shape(1);
    arguments_.head_dim = q->shape(2);
    arguments_.page_size = paged() ? k->shape(1) : 1;
    arguments_.kv_heads = k->shape(k->shape_size() - 2);
    pages_ = k->shape(0);
    if (arguments_.head_dim % 32 != 0 || arguments_.head_dim > kMaxHeadDim) {
      return Wrong(
          "q", absl::StrCat("of head size ", arguments_.head_dim, ", expected a multiple of 32 up to ", kMaxHeadDim));
    }
    if (arguments_.heads % arguments_.kv_heads != 0) {
      return Wrong("q", absl::StrCat("of ", arguments_.heads, " heads for ", arguments_.kv_heads, " of k"));
    }
    ASSIGN_OR_RETURN(const TensorSpec* kv_indptr, Find("kv_indptr"));
    sequences_ = kv_indptr->shape_size() == 1 ? kv_indptr->shape(0) - 1 : 0;
    const TensorSpec* scale = nullptr;
    ASSIGN_OR_RETURN(scale, Find("sm_scale"));
    ASSIGN_OR_RETURN(arguments_.scale, ScalarValue(workload_, *scale));
    // As run() gets it.
    arguments_.scale = static_cast<float>(arguments_.scale);
    return absl::OkStatus();
  }

  absl::Status PointAtTensors() {
    const Shape rows = {arguments_.tokens, arguments_.heads, arguments_.head_dim};
    Shape cache = {pages_, arguments_.page_size, arguments_.kv_heads, arguments_.head_dim};
    if (!paged()) cache.erase(cache.begin() + 1);
    RETURN_IF_ERROR(Point(offsetof(GqaArguments, q), "q", sassay::v1::DTYPE_BFLOAT16, rows));
    RETURN_IF_ERROR(Point(offsetof(GqaArguments, k), paged() ? "k_cache" : "k", sassay::v1::DTYPE_BFLOAT16, cache));
    RETURN_IF_ERROR(Point(offsetof(GqaArguments, v), paged() ? "v_cache" : "v", sassay::v1::DTYPE_BFLOAT16, cache));
    RETURN_IF_ERROR(PointAtIndices());
    RETURN_IF_ERROR(Point(offsetof(GqaArguments, output), "output", sassay::v1::DTYPE_BFLOAT16, rows));
    return Point(offsetof(GqaArguments, lse), "lse", sassay::v1::DTYPE_FLOAT32, {rows[0], rows[1]});
  }

  absl::Status PointAtIndices() {
    const Shape offsets = {sequences_ + 1};
    if (decode() && sequences_ != arguments_.tokens) return Wrong("kv_indptr", "not one longer than q");
    if (!decode()) {
      RETURN_IF_ERROR(Point(offsetof(GqaArguments, qo_indptr), "qo_indptr", sassay::v1::DTYPE_INT32, offsets));
    }
    RETURN_IF_ERROR(Point(offsetof(GqaArguments, kv_indptr), "kv_indptr", sassay::v1::DTYPE_INT32, offsets));
    if (!paged()) return absl::OkStatus();
    ASSIGN_OR_RETURN(const TensorSpec* indices, Find("kv_indices"));
    const Shape any(indices->shape().begin(), indices->shape().end());
    RETURN_IF_ERROR(Point(offsetof(GqaArguments, kv_indices), "kv_indices", sassay::v1::DTYPE_INT32, any));
    if (!Find("kv_last_page_len").ok()) return absl::OkStatus();
    return Point(offsetof(GqaArguments, kv_last_page_len), "kv_last_page_len", sassay::v1::DTYPE_INT32, {sequences_});
  }

  // Relocations come in ascending order, as the struct has its fields.
  absl::Status Point(size_t offset, absl::string_view name, DType dtype, const Shape& shape) {
    ASSIGN_OR_RETURN(const TensorSpec* tensor, Find(name));
    if (tensor->dtype() != dtype || tensor->scalar()) {
      return Wrong(name, absl::StrCat(DTypeName(tensor->dtype()), ", expected ", DTypeName(dtype)));
    }
    if (!std::equal(shape.begin(), shape.end(), tensor->shape().begin(), tensor->shape().end())) {
      return Wrong(name, absl::StrCat("[", absl::StrJoin(tensor->shape(), ","), "], expected [",
                                      absl::StrJoin(shape, ","), "]"));
    }
    sassay::v1::Relocation* relocation = argument_.add_relocations();
    relocation->set_at_bytes(offset);
    relocation->mutable_pointer()->set_buffer(BufferOf(name));
    return absl::OkStatus();
  }

  uint32_t BufferOf(absl::string_view name) const {
    int index = 0;
    while (plan_.buffers(index).name() != name) ++index;
    return static_cast<uint32_t>(index);
  }

  absl::StatusOr<const TensorSpec*> Find(absl::string_view name) const {
    for (const auto* tensors : {&workload_.inputs(), &workload_.outputs()}) {
      for (const TensorSpec& tensor : *tensors) {
        if (tensor.name() == name) return &tensor;
      }
    }
    return Wrong(name, "missing");
  }

  absl::Status Wrong(absl::string_view tensor, absl::string_view what) const {
    return absl::InvalidArgumentError(
        absl::StrCat(workload_.reference(), " cannot judge ", workload_.name(), ": ", tensor, " is ", what));
  }

  void AddLaunch() {
    sassay::v1::KernelLaunch* launch = plan_.add_steady()->mutable_launch();
    launch->set_kernel(kKernel);
    const int64_t warps = arguments_.tokens * arguments_.heads;
    const int64_t blocks = (warps + kWarpsPerBlock - 1) / kWarpsPerBlock;
    launch->mutable_grid()->set_x(static_cast<uint32_t>(std::min<int64_t>(blocks, kMaxBlocks)));
    launch->mutable_grid()->set_y(1);
    launch->mutable_grid()->set_z(1);
    launch->mutable_block()->set_x(kWarpsPerBlock * 32);
    launch->mutable_block()->set_y(1);
    launch->mutable_block()->set_z(1);
    *launch->add_arguments() = std::move(argument_);
  }

  const Workload& workload_;
  sassay::v1::LaunchPlan plan_;
  sassay::v1::RelocatableBytes argument_;
  GqaArguments arguments_{};
  int64_t pages_ = 0, sequences_ = 0;
};

}  // namespace

absl::StatusOr<std::string> BundleFor(const Workload& workload, absl::string_view arch) {
  if (!absl::StartsWith(workload.reference(), "kernel:gqa_")) {
    return absl::NotFoundError(absl::StrCat("this service has no reference ", workload.reference()));
  }
  ASSIGN_OR_RETURN(const Image image, ImageFor(arch));
  sassay::v1::Bundle bundle;
  bundle.mutable_compilation()->set_arch(std::string(arch));
  bundle.set_cubin(std::string(image.cubin));
  bundle.set_ptx(std::string(image.ptx));
  ASSIGN_OR_RETURN(*bundle.add_plans(), GqaPlan(workload).Make());
  return SerializeBundle(std::move(bundle));
}

}  // namespace sassay::reference_kernels
