#include "devices/cuda/cudnn/cudnn.h"

#include <array>
#include <vector>

#include "devices/cuda/cudnn/cudnn_attention.h"
#include "devices/cuda/cudnn/cudnn_conv_function.h"
#include "hearth/error.h"
#include "kernels/attention/library/problem.h"
#include "kernels/conv/problem.h"

namespace hearth::cuda {
namespace {

// Attention needs tensor cores of this generation, and the graphs that they are described by this
// version; the two before it have errors that NVIDIA's cudnn-frontend refuses them for.
constexpr int kMinCapability = 80;
constexpr std::size_t kMinVersion = 91002;
// The one generation whose kernels take heads of 256 columns both ways.
constexpr int kWideCapability = 90;

CudnnAttention attention_of(const gpu::AttentionProblem& p) {
  const auto strides = [](const gpu::AttentionProblem::Steps& steps) {
    return CudnnShape{steps.item, steps.head, steps.row, 1};
  };
  CudnnAttention a;
  a.type = static_cast<DType>(p.dtype) == DType::f16 ? CudnnApi::DataType::half
                                                     : CudnnApi::DataType::bfloat16;
  a.q = {p.batch, p.heads, p.rows, p.d};
  a.k = {p.batch, p.kv_heads, p.keys, p.d};
  a.v = {p.batch, p.kv_heads, p.keys, p.dv};
  a.q_strides = strides(p.q);
  a.k_strides = strides(p.k);
  a.v_strides = strides(p.v);
  a.out_strides = strides(p.out);
  a.grad_strides = strides(p.grad);
  a.bias = {p.bias_items, p.bias_heads, p.rows, p.keys};
  a.bias_strides = strides(p.bias);
  a.scale = static_cast<float>(p.scale);
  a.causal = p.causal != 0;
  a.bounded = p.bounded != 0;
  a.deterministic = p.deterministic != 0;
  return a;
}

// A graph whose arguments are memory, but for one.
class CudnnFunction final : public LibraryFunction {
 public:
  CudnnFunction(Cudnn& library, Context& context, const runtime::LibraryCall& call,
                const CudnnGraph& graph, std::size_t workspace, std::int64_t workspace_bytes)
      : LibraryFunction(context, call), library_(library), workspace_(workspace) {
    plan_ = library_.plan(name(), graph, workspace_bytes);
  }

  void enqueue(const runtime::Command& command, Stream stream) const override {
    check_arguments(command);
    std::vector<void*> memory;
    for (std::size_t i = 0; i < command.arguments.size(); ++i) {
      if (i != workspace_) memory.push_back(command.arguments[i].address);
    }
    const std::lock_guard lock(library_.lock());
    plan_->run(library_.handle(stream), memory, command.arguments[workspace_].address);
  }

 private:
  Cudnn& library_;
  const std::size_t workspace_;
  std::unique_ptr<const CudnnPlan> plan_;
};

std::unique_ptr<LibraryFunction> attention_function(Cudnn& library, Context& context,
                                                    const runtime::LibraryCall& call) {
  const gpu::AttentionProblem problem = gpu::attention_problem(call);
  const CudnnAttention attention = attention_of(problem);
  const CudnnGraph graph = problem.backward != 0
                               ? attention_backward_graph(library.api(), attention)
                               : attention_graph(library.api(), attention);
  return std::make_unique<CudnnFunction>(
      library, context, call, graph, gpu::workspace_parameter(problem), problem.workspace_bytes);
}

}  // namespace

Cudnn::~Cudnn() {
  if (handle_ == nullptr || !context_.drain()) return;
  try {
    const Context::Scope scope(context_, Context::Use::call);
    api_->cudnnDestroy(handle_);
  } catch (const std::exception&) {
    // The driver's library is gone, and what the handle holds with it.
  }
}

bool Cudnn::has_attention() const {
  return capability_ >= kMinCapability && api_->cudnnGetVersion() >= kMinVersion;
}

void Cudnn::add_to(runtime::LibraryTraits& traits) {
  if (has_attention()) traits.attention = {true, capability_ == kWideCapability ? 256 : 128};
  traits.conv = {.exists = true};
}

std::unique_ptr<LibraryFunction> Cudnn::function(const runtime::LibraryCall& call,
                                                 runtime::Autotuner& tuner) {
  if (call.function == gpu::kConvFunction) {
    return std::make_unique<CudnnConvFunction>(*this, context_, call, tuner);
  }
  const bool is_attention =
      call.function == gpu::kAttentionFunction || call.function == gpu::kAttentionBackwardFunction;
  if (!is_attention || !has_attention()) return nullptr;
  return attention_function(*this, context_, call);
}

std::unique_ptr<const CudnnPlan> Cudnn::plan(const std::string& function, const CudnnGraph& graph,
                                             std::int64_t workspace_bytes,
                                             std::span<const CudnnApi::NumericalNote> unwanted) {
  const Context::Scope scope(context_, Context::Use::call);
  const std::lock_guard lock(lock_);
  if (auto plan = graph.compile(handle(context_.stream()), workspace_bytes, unwanted)) return plan;
  throw Error(ErrorCode::unsupported, "cuda: cuDNN has no engine for " + function + " on " +
                                          context_.name() + "; got version " +
                                          std::to_string(api_->cudnnGetVersion()) +
                                          ", expected a version that has one");
}

CudnnApi::Handle Cudnn::handle(Stream stream) {
  const auto check = [&](CudnnApi::Status status, const char* call) {
    if (status == CudnnApi::Status::success) return;
    throw Error(ErrorCode::device, std::string("cuda: ") + call + " on " + context_.name() +
                                       " fails; got " + describe(*api_, status) +
                                       ", expected success");
  };
  if (handle_ == nullptr) check(api_->cudnnCreate(&handle_), "cudnnCreate");
  check(api_->cudnnSetStream(handle_, stream), "cudnnSetStream");
  return handle_;
}

}  // namespace hearth::cuda
