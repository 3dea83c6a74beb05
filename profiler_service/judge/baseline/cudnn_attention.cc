#include <cmath>
#include <exception>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/toolchain/vendor_libraries.h"
#include "cudnn_frontend.h"
#include "profiler_service/judge/baseline/libraries.h"
#include "profiler_service/judge/baseline/trial.h"

// Declared by the frontend, which takes its functions from it.
namespace cudnn_frontend {
void* cudnn_dlhandle = nullptr;
}

namespace sassay::judge {
namespace {

namespace fe = cudnn_frontend;
using Tensor = std::shared_ptr<fe::graph::Tensor_attributes>;

absl::Status FromFrontend(fe::error_t error, absl::string_view doing) {
  if (error.is_good()) return absl::OkStatus();
  const std::string message = absl::StrCat("cuDNN: ", doing, ": ", error.get_message());
  switch (error.get_code()) {
    case fe::error_code_t::GRAPH_NOT_SUPPORTED:
    case fe::error_code_t::HEURISTIC_QUERY_FAILED:
    case fe::error_code_t::GRAPH_EXECUTION_PLAN_CREATION_FAILED:
    case fe::error_code_t::UNSUPPORTED_GRAPH_FORMAT:
      return absl::UnimplementedError(message);
    default:
      return absl::InternalError(message);
  }
}

// The frontend throws where a library or a symbol is missing.
template <typename Function>
auto Guarded(const Function& function) -> decltype(function()) {
  try {
    return function();
  } catch (const std::exception& error) {
    return absl::UnavailableError(absl::StrCat("cuDNN's frontend: ", error.what()));
  }
}

// The library and one handle of it, shared by all baselines that live at the same time: a handle takes memory and a
// tenth of a second.
class Library {
 public:
  static absl::StatusOr<std::shared_ptr<Library>> Get() {
    static std::weak_ptr<Library>* const current = new std::weak_ptr<Library>;
    if (std::shared_ptr<Library> library = current->lock()) return library;
    std::shared_ptr<Library> library(new Library);
    RETURN_IF_ERROR(library->Open());
    *current = library;
    return library;
  }
  ~Library() {
    if (handle_ != nullptr) fe::detail::destroy_handle(handle_);
  }

  cudnnHandle_t handle() const { return handle_; }
  const std::string& version() const { return version_; }

  absl::Status UseStream(void* stream) {
    if (stream == stream_) return absl::OkStatus();
    const cudnnStatus_t status = fe::detail::set_stream(handle_, static_cast<cudaStream_t>(stream));
    if (status != CUDNN_STATUS_SUCCESS) return Failed(status, "setting the stream");
    stream_ = stream;
    return absl::OkStatus();
  }

 private:
  Library() = default;

  absl::Status Open() {
    ASSIGN_OR_RETURN(const LoadedLibrary runtime, LoadVendorLibrary(VendorLibrary::kCudart));
    ASSIGN_OR_RETURN(const LoadedLibrary cudnn, LoadVendorLibrary(VendorLibrary::kCudnn));
    // Else the frontend guesses among the names that the linker knows.
    setenv("CUDNN_FRONTEND_CUDART_LIB_NAME", runtime.path.c_str(), 0);
    fe::cudnn_dlhandle = cudnn.handle;
    version_ = cudnn.version;
    const cudnnStatus_t status = fe::detail::create_handle(&handle_);
    return status == CUDNN_STATUS_SUCCESS ? absl::OkStatus() : Failed(status, "creating a handle");
  }

  absl::Status Failed(cudnnStatus_t status, absl::string_view doing) const {
    return absl::InternalError(
        absl::StrCat("cuDNN ", version_, ": ", doing, ": ", fe::detail::get_error_string(status)));
  }

  cudnnHandle_t handle_ = nullptr;
  void* stream_ = nullptr;
  std::string version_;
};

// The operation as cuDNN's graph, its tensors numbered in definition order: inputs from 0, then outputs.
class AttentionGraph {
 public:
  explicit AttentionGraph(const AttentionShape& shape) : shape_(shape) {
    const fe::DataType_t type =
        shape.dtype == sassay::v1::DTYPE_FLOAT16 ? fe::DataType_t::HALF : fe::DataType_t::BFLOAT16;
    graph_.set_io_data_type(type)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
    shape.backward ? AddBackward() : AddForward();
  }

  // Every plan of the heuristics that cuDNN can build and whose workspace fits: their indices.
  absl::StatusOr<std::vector<int64_t>> Build(cudnnHandle_t handle, const BaselineOptions& options);

  std::string PlanName(int64_t plan) const {
    std::string name;
    return graph_.get_plan_name_at_index(plan, name).is_good() ? name : "unnamed plan";
  }
  uint64_t WorkspaceBytes(int64_t plan) const {
    return static_cast<uint64_t>(std::max<int64_t>(graph_.get_workspace_size_plan_at_index(plan), 0));
  }
  absl::Status Run(cudnnHandle_t handle, int64_t plan, const DeviceMemory& workspace,
                   absl::Span<const device::DeviceAddress> inputs,
                   absl::Span<const device::DeviceAddress> outputs) const {
    void* pointers[kMostTensors];
    int count = 0;
    for (const auto& addresses : {inputs, outputs}) {
      for (const device::DeviceAddress address : addresses) pointers[count++] = reinterpret_cast<void*>(address);
    }
    return FromFrontend(
        graph_.execute_plan_at_index(handle, pointers, count, reinterpret_cast<void*>(workspace.address()), plan),
        "enqueueing attention");
  }

 private:
  static constexpr int kMostTensors = 9;

  Tensor Matrix(const char* name) { return graph_.tensor(Described(name)); }
  fe::graph::Tensor_attributes Described(const char* name) {
    const auto& [b, h, s, d] = std::tie(shape_.batch, shape_.heads, shape_.sequence, shape_.head_size);
    return fe::graph::Tensor_attributes()
        .set_name(name)
        .set_uid(next_uid_++)
        .set_dim({b, h, s, d})
        .set_stride({h * s * d, s * d, d, 1});
  }
  void Output(const Tensor& tensor) {
    const auto& [h, s, d] = std::tie(shape_.heads, shape_.sequence, shape_.head_size);
    tensor->set_output(true).set_uid(next_uid_++).set_dim({shape_.batch, h, s, d}).set_stride({h * s * d, s * d, d, 1});
  }
  template <typename Statistic>
  void AsStatistic(Statistic& tensor) {
    tensor.set_dim({shape_.batch, shape_.heads, shape_.sequence, 1})
        .set_stride({shape_.heads * shape_.sequence, shape_.sequence, 1, 1})
        .set_data_type(fe::DataType_t::FLOAT);
  }
  float Scale() const { return static_cast<float>(1 / std::sqrt(static_cast<double>(shape_.head_size))); }

  void AddForward() {
    const Tensor q = Matrix("Q"), k = Matrix("K"), v = Matrix("V");
    auto attributes =
        fe::graph::SDPA_attributes().set_name("attention").set_generate_stats(true).set_attn_scale(Scale());
    if (shape_.causal) attributes.set_causal_mask(true);
    auto [o, statistics] = graph_.sdpa(q, k, v, attributes);
    Output(o);
    statistics->set_output(true).set_uid(next_uid_++);
    AsStatistic(*statistics);
  }

  void AddBackward() {
    const Tensor q = Matrix("Q"), k = Matrix("K"), v = Matrix("V"), o = Matrix("O"), grad_o = Matrix("dO");
    auto described = fe::graph::Tensor_attributes().set_name("L").set_uid(next_uid_++);
    AsStatistic(described);
    const Tensor statistics = graph_.tensor(described);
    auto attributes = fe::graph::SDPA_backward_attributes().set_name("attention backward").set_attn_scale(Scale());
    if (shape_.causal) attributes.set_causal_mask(true);
    for (const Tensor& gradient : graph_.sdpa_backward(q, k, v, o, grad_o, statistics, attributes)) Output(gradient);
  }

  const AttentionShape shape_;
  fe::graph::Graph graph_;
  int64_t next_uid_ = 0;
};

absl::StatusOr<std::vector<int64_t>> AttentionGraph::Build(cudnnHandle_t handle, const BaselineOptions& options) {
  RETURN_IF_ERROR(FromFrontend(graph_.validate(), "checking the attention graph"));
  RETURN_IF_ERROR(FromFrontend(graph_.build_operation_graph(handle), "building the attention graph"));
  RETURN_IF_ERROR(
      FromFrontend(graph_.create_execution_plans({fe::HeurMode_t::A, fe::HeurMode_t::B}), "asking the heuristics"));
  graph_.deselect_workspace_greater_than(static_cast<int64_t>(options.workspace_limit_bytes));
  RETURN_IF_ERROR(FromFrontend(graph_.check_support(), "no engine for this attention"));
  std::vector<int64_t> plans;
  std::set<std::string> names;
  absl::Status trouble = absl::UnimplementedError("cuDNN: its heuristics propose no plan for this attention");
  for (int64_t i = 0; i < graph_.get_execution_plan_count() && std::ssize(plans) < options.candidates; ++i) {
    // Both heuristics propose the same plan more often than not.
    if (!names.insert(PlanName(i)).second) continue;
    const absl::Status built = FromFrontend(graph_.build_plan_at_index(i), "building a plan");
    built.ok() ? plans.push_back(i) : trouble.Update(built);
  }
  if (plans.empty()) return trouble;
  return plans;
}

class CudnnAttentionBaseline : public Baseline {
 public:
  CudnnAttentionBaseline(std::shared_ptr<Library> library, std::unique_ptr<AttentionGraph> graph, int64_t plan,
                         DeviceMemory workspace, bool backward, BaselineFacts facts)
      : library_(std::move(library)),
        graph_(std::move(graph)),
        plan_(plan),
        workspace_(std::move(workspace)),
        backward_(backward),
        facts_(std::move(facts)) {}

  const BaselineFacts& facts() const override { return facts_; }

  absl::Status Enqueue(absl::Span<const device::DeviceAddress> inputs, absl::Span<const device::DeviceAddress> outputs,
                       void* stream) override {
    RETURN_IF_ERROR(CheckAddresses(inputs, backward_ ? 6 : 3, outputs, backward_ ? 3 : 2));
    return Guarded([&]() -> absl::Status {
      RETURN_IF_ERROR(library_->UseStream(stream));
      return graph_->Run(library_->handle(), plan_, workspace_, inputs, outputs);
    });
  }

 private:
  const std::shared_ptr<Library> library_;
  const std::unique_ptr<AttentionGraph> graph_;
  const int64_t plan_;
  const DeviceMemory workspace_;
  const bool backward_;
  const BaselineFacts facts_;
};

absl::StatusOr<int64_t> Choose(const BaselineRequest& request, Library& library, const AttentionGraph& graph,
                               const std::vector<int64_t>& plans) {
  if (plans.size() == 1) return plans[0];
  uint64_t workspace_bytes = 0;
  for (const int64_t plan : plans) workspace_bytes = std::max(workspace_bytes, graph.WorkspaceBytes(plan));
  ASSIGN_OR_RETURN(const DeviceMemory workspace,
                   DeviceMemory::Allocate(request.driver, workspace_bytes, "a workspace"));
  ASSIGN_OR_RETURN(const std::unique_ptr<Trial> trial, Trial::Create(request.driver, request.workload));
  std::vector<Trial::Run> runs;
  for (const int64_t plan : plans) {
    runs.push_back([&, plan](auto inputs, auto outputs, void* stream) -> absl::Status {
      RETURN_IF_ERROR(library.UseStream(stream));
      return graph.Run(library.handle(), plan, workspace, inputs, outputs);
    });
  }
  ASSIGN_OR_RETURN(const int best, trial->Fastest(runs));
  return plans[best];
}

absl::StatusOr<std::unique_ptr<Baseline>> Make(const BaselineRequest& request, const AttentionShape& shape) {
  ASSIGN_OR_RETURN(std::shared_ptr<Library> library, Library::Get());
  auto graph = std::make_unique<AttentionGraph>(shape);
  ASSIGN_OR_RETURN(const std::vector<int64_t> plans, graph->Build(library->handle(), request.options));
  ASSIGN_OR_RETURN(const int64_t plan, Choose(request, *library, *graph, plans));
  ASSIGN_OR_RETURN(DeviceMemory workspace,
                   DeviceMemory::Allocate(request.driver, graph->WorkspaceBytes(plan), "cuDNN's workspace"));
  BaselineFacts facts = {"cuDNN", library->version(), absl::StrCat("fused attention, plan ", graph->PlanName(plan)),
                         static_cast<int>(plans.size()), workspace.size_bytes()};
  return std::make_unique<CudnnAttentionBaseline>(std::move(library), std::move(graph), plan, std::move(workspace),
                                                  shape.backward, std::move(facts));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Baseline>> MakeCudnnAttentionBaseline(const BaselineRequest& request,
                                                                     const AttentionShape& shape) {
  return Guarded([&] { return Make(request, shape); });
}

}  // namespace sassay::judge
