// block_bytes and packed_blocks: packed arrays as bytes, and bytes as packed arrays.
#include "ops/packed/blocks.h"

#include <string>

#include "graph/record/packed.h"
#include "hearth/quantization/packed.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"

namespace hearth {
namespace {

constexpr ParamSpec kFormatParams[] = {kFormatParam};

DType format_of(std::span<const std::uint64_t> statics) {
  ParamReader reader(statics);
  return read_format(reader);
}

void infer_block_bytes(Inference& inference) {
  require_input(inference, 0);
  const Array& x = inference.input(0);
  inference.dtype = inference.scalar_dtype = DType::u8;
  inference.shape = bytes_of_blocks(x.dtype(), x.shape(), contiguous_strides(x.shape())).shape;
}

bool view_block_bytes(std::span<const std::uint64_t> statics, const Shape& in_shape,
                      const Layout& in, const Shape&, Layout* out) {
  out->offset = in.offset;
  out->strides = bytes_of_blocks(format_of(statics), in_shape, in.strides).strides;
  return true;
}

void infer_packed_blocks(Inference& inference) {
  require_input(inference, 0);
  const DType format = format_of(inference.params.statics().span());
  require_format(inference, format);
  inference.dtype = format;
  inference.scalar_dtype = DType::u8;
  inference.shape = shape_of_blocks(inference, 0, format);
}

bool view_packed_blocks(std::span<const std::uint64_t> statics, const Shape& in_shape,
                        const Layout& in, const Shape&, Layout* out) {
  const DType format = format_of(statics);
  const int last = in_shape.rank() - 1;
  if (in_shape[last] > 1 && in.strides[last] != 1) return false;
  out->offset = in.offset;
  out->strides = in.strides;
  out->strides[last] = 1;
  for (int axis = 0; axis < last; ++axis) {
    if (in_shape[axis] > 1 && in.strides[axis] % size_of(format) != 0) return false;
    out->strides[axis] = in.strides[axis] / size_of(format) * block_of(format);
  }
  return true;
}

// Views that no device has a kernel for and no table of ops a sample: they are of packed arrays.
constinit const OpDef block_bytes_op = {
    .name = "block_bytes",
    .summary = "The bytes of a packed array's blocks.",
    .kind = OpKind::view,
    .params = kFormatParams,
    .infer = infer_block_bytes,
    .view = view_block_bytes,
    .takes_packed = true,
    .differentiable = false,
};

constinit const OpDef packed_blocks_op = {
    .name = "packed_blocks",
    .summary = "Bytes that are blocks as a packed array.",
    .kind = OpKind::view,
    .params = kFormatParams,
    .infer = infer_packed_blocks,
    .view = view_packed_blocks,
    .takes_packed = true,
    .differentiable = false,
};

}  // namespace

void require_format(const Inference& inference, DType format) {
  if (is_packed(format) && static_cast<int>(format) < kDTypeCount + kPackedDTypeCount) return;
  inference.fail(ErrorCode::dtype, "no packed dtype; got number " +
                                       std::to_string(static_cast<int>(format)) +
                                       ", expected one of q1_0 to affine8");
}

Shape shape_of_blocks(const Inference& inference, int input, DType format) {
  const Array& bytes = inference.input(input);
  const Shape& from = bytes.shape();
  if (bytes.dtype() != DType::u8) {
    inference.fail(ErrorCode::dtype,
                   "no bytes; got " + std::string(name(bytes.dtype())) + ", expected u8");
  }
  const int last = from.rank() - 1;
  Shape shape = from;
  std::int64_t extent = 0;
  if (last < 0 || from[last] % size_of(format) != 0 ||
      __builtin_mul_overflow(from[last] / size_of(format), block_of(format), &extent)) {
    inference.fail(ErrorCode::shape, "no whole blocks; got bytes " + to_string(from) +
                                         ", expected a last extent that is a multiple of " +
                                         std::to_string(size_of(format)) + ", the bytes of a " +
                                         std::string(name(format)) + " block");
  }
  shape[last] = extent;
  return shape;
}

inline namespace v0 {

Array block_bytes(const Array& x) {
  require_defined("block_bytes", x);
  require_packed("block_bytes", x);
  return call(block_bytes_op, format_params(x.dtype()), {&x});
}

Array packed_blocks(const Array& bytes, DType dtype) {
  require_defined("packed_blocks", bytes);
  return call(packed_blocks_op, format_params(dtype), {&bytes});
}

}  // namespace v0

void require_packed(const char* op, const Array& x) {
  if (is_packed(x.dtype())) return;
  throw Error(ErrorCode::dtype, std::string(op) + ": not packed; got " +
                                    std::string(name(x.dtype())) +
                                    ", expected one of q1_0 to "
                                    "affine8");
}

}  // namespace hearth
