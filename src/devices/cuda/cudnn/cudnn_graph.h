// A computation for cuDNN: tensors, the operations between them, and what the library compiles them
// to.
#pragma once

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "devices/cuda/cudnn/cudnn_api.h"
#include "hearth/shape.h"

namespace hearth::cuda {

// A descriptor of the library's, which has to be given back.
class CudnnDescriptor {
 public:
  // Throws Error{device}, like all below.
  CudnnDescriptor(const CudnnApi& api, CudnnApi::DescriptorType type);
  ~CudnnDescriptor();
  CudnnDescriptor(CudnnDescriptor&& other) noexcept
      : api_(other.api_), descriptor_(std::exchange(other.descriptor_, nullptr)) {}
  CudnnDescriptor& operator=(CudnnDescriptor&&) = delete;

  CudnnApi::Descriptor get() const noexcept { return descriptor_; }
  template <class T>
  void set(CudnnApi::Attribute name, CudnnApi::AttributeType type, const T& value) {
    set(name, type, 1, &value);
  }
  void set(CudnnApi::Attribute name, CudnnApi::AttributeType type, std::int64_t count,
           const void* elements);
  void set(CudnnApi::Attribute name, const CudnnDescriptor& other) {
    set(name, CudnnApi::AttributeType::backend_descriptor, other.descriptor_);
  }
  void finalize();
  // False where the library does not support what it describes.
  bool try_finalize();

 private:
  const CudnnApi* api_;
  CudnnApi::Descriptor descriptor_ = nullptr;
};

using CudnnShape = Dims;

// A compiled graph.
class CudnnPlan {
 public:
  std::int64_t workspace_bytes() const noexcept { return workspace_bytes_; }
  // Queues the computation. `memory`: an address for each tensor of memory, in the order in which
  // the graph was given them.
  void run(CudnnApi::Handle handle, std::span<void* const> memory, void* workspace) const;

 private:
  friend class CudnnEngines;
  CudnnPlan(std::shared_ptr<const CudnnApi> api, CudnnDescriptor plan)
      : api_(std::move(api)), plan_(std::move(plan)) {}

  std::shared_ptr<const CudnnApi> api_;
  CudnnDescriptor plan_;
  std::int64_t workspace_bytes_ = 0;
  std::vector<std::int64_t> ids_;     // of memory, then of scalars
  std::deque<std::int64_t> scalars_;  // the bits of each
};

// What the library proposes for a graph, best first.
class CudnnEngines {
 public:
  std::size_t count() const noexcept { return configs_.size(); }
  // Null where this card does not support proposal i, where it takes more workspace, or where its
  // engine has a note that is unwanted.
  std::unique_ptr<const CudnnPlan> plan(std::size_t i) const;

 private:
  friend class CudnnGraph;
  CudnnEngines() = default;

  std::shared_ptr<const CudnnApi> api_;
  CudnnApi::Handle handle_ = nullptr;
  std::int64_t workspace_bytes_ = 0;
  std::vector<CudnnApi::NumericalNote> unwanted_;
  std::deque<CudnnDescriptor> graph_;  // that the configurations are of
  std::vector<CudnnDescriptor> configs_;
  std::vector<std::int64_t> ids_;
  std::vector<std::int64_t> scalars_;
};

// Builds a graph operation by operation. Values are named by the index of their tensor.
class CudnnGraph {
 public:
  using DataType = CudnnApi::DataType;
  using Pointwise = CudnnApi::Pointwise;
  using Value = int;
  static constexpr Value kNone = -1;

  explicit CudnnGraph(std::shared_ptr<const CudnnApi> api) : api_(std::move(api)) {}

  // A tensor in memory, at a multiple of 16 bytes.
  Value memory(DataType type, const CudnnShape& shape, const CudnnShape& strides);
  Value scalar(float value);
  Value scalar(std::int32_t value);
  // A tensor that exists in registers only; dense unless strides are given.
  Value virtual_tensor(DataType type, const CudnnShape& shape);
  Value virtual_tensor(DataType type, const CudnnShape& shape, const CudnnShape& strides);

  // y = mode(x, b), or for binary_select: t ? x : b. Computed in `math`.
  void pointwise(Pointwise mode, Value x, Value b, Value y, DataType math = DataType::float_,
                 Value t = kNone);
  // The same into a new virtual tensor like x.
  Value pointwise(Pointwise mode, Value x, Value b = kNone);
  // The position of each element along an axis, as int32.
  Value index_like(Value x, std::int64_t axis);
  // The rows and columns of c, and the length of the sums, that exist: as tensors say.
  struct Extents {
    Value m = kNone, n = kNone, k = kNone;
  };
  void matmul(Value a, Value b, Value c, const Extents& extents);
  void matmul(Value a, Value b, Value c) { matmul(a, b, c, {kNone, kNone, kNone}); }
  // Over the axes where y has extent 1.
  void reduce(CudnnApi::Reduction operation, Value x, Value y);
  // y, dx or dw of a convolution of x [batch, in, spatial...] and w [out, in / groups, kernel...]:
  // the groups are what the channels say.
  enum class Convolution : std::uint8_t { forward, input_gradient, weight_gradient };
  struct Window {
    CudnnShape stride, dilation, before, after;
  };
  void convolution(Convolution kind, Value x, Value w, Value y, const Window& window,
                   DataType math);
  // The same elements under another shape and strides.
  void reshape(Value x, Value y);

  const CudnnShape& shape(Value x) const { return tensors_[static_cast<std::size_t>(x)].shape; }
  // For plans with at most so much workspace and engines with none of the notes `unwanted`. The
  // graph has to live longer. None where the library does not know such graphs.
  CudnnEngines engines(CudnnApi::Handle handle, CudnnApi::HeuristicsMode mode,
                       std::int64_t workspace_bytes,
                       std::span<const CudnnApi::NumericalNote> unwanted = {}) const;
  // The first plan there is, of all heuristics; null where there is none.
  std::unique_ptr<const CudnnPlan> compile(
      CudnnApi::Handle handle, std::int64_t workspace_bytes,
      std::span<const CudnnApi::NumericalNote> unwanted = {}) const;

 private:
  struct Tensor {
    CudnnDescriptor descriptor;
    CudnnShape shape;
  };
  Value add(DataType type, const CudnnShape& shape, const CudnnShape& strides, bool is_virtual,
            bool by_value);
  const CudnnDescriptor& of(Value x) const {
    return tensors_[static_cast<std::size_t>(x)].descriptor;
  }

  std::shared_ptr<const CudnnApi> api_;
  std::deque<Tensor> tensors_;
  std::deque<CudnnDescriptor> parts_;       // what operations refer to
  std::deque<CudnnDescriptor> operations_;  // in the order of the computation
  std::vector<std::int64_t> memory_;
  std::vector<std::pair<std::int64_t, std::int64_t>> scalars_;  // id, bits
};

}  // namespace hearth::cuda
