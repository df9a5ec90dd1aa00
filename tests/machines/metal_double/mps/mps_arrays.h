// Arrays over memory, and command buffers, of Metal Performance Shaders.
#pragma once

#include <vector>

#include "machines/metal_double/commands.h"
#include "machines/metal_double/mps/graph_nodes.h"
#include "machines/metal_double/objc/foundation.h"

namespace hearth::metal::fake {

// The numbers of an NSArray; a fault and nothing where it has others, or none.
GraphShape shape_of(Id array);

struct ArrayDescriptor final : Object {
  static constexpr const char* kType = "MPSNDArrayDescriptor";
  ArrayDescriptor(unsigned of, GraphShape extents)
      : Object(class_named(kType)), dtype(of), shape(std::move(extents)) {}
  void set_packed(Bool value) { is_packed = value != 0; }

  unsigned dtype;
  GraphShape shape;
  bool is_packed = false;
};

struct NdArray final : Object {
  static constexpr const char* kType = "MPSNDArray";
  NdArray() : Object(class_named(kType)) {}
  static Id alloc() { return new NdArray; }
  Id init(Id memory, UInteger first, Id descriptor);
  Id view(Id shape, Id strides);
  void dispose() override { release(buffer); }
  // Within its buffer, in elements from its first.
  std::size_t place(std::size_t element) const;
  // Bytes from the first element to after the last.
  std::size_t reach() const;

  Buffer* buffer = nullptr;  // null: not initialised
  UInteger offset = 0;
  unsigned dtype = 0;
  GraphShape shape, strides;
};

struct TensorData final : Object {
  static constexpr const char* kType = "MPSGraphTensorData";
  TensorData() : Object(class_named(kType)) {}
  static Id alloc() { return new TensorData; }
  Id init(Id given);
  void dispose() override { release(array); }

  NdArray* array = nullptr;
};

struct MpsCommandBuffer final : Object {
  static constexpr const char* kType = "MPSCommandBuffer";
  explicit MpsCommandBuffer(CommandBuffer& of) : Object(class_named(kType)), root(&of) {
    retain(root);
  }
  void dispose() override { release(root); }
  Id root_command_buffer() { return root; }
  // Commits what there is, and goes on in another command buffer.
  void commit_and_continue();

  CommandBuffer* root;
};

}  // namespace hearth::metal::fake
