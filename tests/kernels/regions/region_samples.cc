#include "kernels/regions/region_samples.h"

#include "kernels/regions/reduction_text.h"

namespace hearth::gpu_test {

using namespace gpu;          // NOLINT(google-build-using-namespace): the kernels' makers
using namespace region_test;  // NOLINT(google-build-using-namespace): the ops

Region chain(DType dtype, const Shape& shape, const Strides& a, const Strides& b, int dynamic) {
  Region region;
  region.shape = shape;
  region.inputs = {{dtype, a}, {dtype, b}};
  region.scalars = {{dtype, dynamic}};
  region.instructions = {{&mul_def, dtype, {0, 2, -1, -1}},
                         {&add_def, dtype, {3, 1, -1, -1}},
                         {&exp_def, dtype, {4, -1, -1, -1}},
                         {&greater_def, DType::bool_, {5, 1, -1, -1}}};
  const Strides dense = contiguous_strides(shape);
  region.outputs = {{dtype, 5, dense}, {DType::bool_, 6, dense}};
  return region;
}

Region sum(DType dtype, const Shape& shape, std::uint32_t axes, const Strides& result) {
  Region region;
  region.shape = shape;
  region.inputs = {{dtype, contiguous_strides(shape)}};
  region.instructions = {{&square_def, dtype, {0, -1, -1, -1}}};
  region.reduction = {&sum_def, 1, axes, dtype, result};
  return region;
}

Region plain(const OpDef& op, DType dtype, const Shape& shape, std::uint32_t axes,
             const Strides& result) {
  Region region;
  region.shape = shape;
  region.inputs = {{dtype, contiguous_strides(shape)}};
  region.reduction = {&op, 0, axes, dtype, result};
  return region;
}

Region place_of_largest(DType dtype, const Shape& shape, int axis, const Strides& result) {
  static constexpr OpDef kArgmax{.name = "argmax", .kind = OpKind::opaque};
  Region region;
  region.shape = shape;
  region.inputs = {{dtype, contiguous_strides(shape)}};
  region.reduction = {&kArgmax, 0, 1u << axis, DType::i64, result};
  region.reduction.strides[axis] = 0;
  return region;
}

std::vector<BuiltKernel> kernels_of(const Region& region, bool wide) {
  RegionLayout layout = region_layout(region);
  layout.wide = layout.wide || wide;
  const RegionValues values(region);
  std::vector<BuiltKernel> kernels;
  if (region.reduction.op == nullptr) {
    kernels.push_back(map_kernel(region, layout, values, map_width(region, layout, values), 0));
    return kernels;
  }
  BuiltReduction built =
      reduction_kernels(region, layout, values, reduction_width(region, layout, values), 0);
  kernels.push_back(std::move(built.reduce));
  if (built.combine) kernels.push_back(std::move(*built.combine));
  return kernels;
}

std::vector<BuiltKernel> region_samples() {
  std::vector<BuiltKernel> all;
  const auto add = [&](const Region& region, bool wide = false) {
    for (BuiltKernel& kernel : kernels_of(region, wide)) all.push_back(std::move(kernel));
  };
  add(chain(DType::f32, {1000}, {1}, {1}));
  add(chain(DType::bf16, {30, 64}, {64, 1}, {0, 1}));
  add(chain(DType::f16, {4, 5, 6}, {1, 24, 4}, {0, -6, -1}), true);
  add(chain(DType::f32, {64, 80}, {1, 64}, {80, 1}));
  add(chain(DType::bf16, {2, 128, 160}, {20480, 1, 128}, {20480, 1, 128}), true);
  add(chain(DType::f16, {35, 80}, {1, 35}, {1, 35}));
  add(sum(DType::f32, {64, 256}, 2, {1, 0}));
  add(sum(DType::u8, {64, 256}, 1, {0, 1}));
  for (const Shape& shape : {Shape{64, 4096}, Shape{4096, 64}, Shape{64, 40}, Shape{1 << 20}}) {
    for (std::uint32_t axes = 1; axes < 1u << shape.rank() && axes < 3; ++axes) {
      Strides result = Strides::filled(shape.rank(), 0);
      if (shape.rank() > 1) result[axes == 1 ? 1 : 0] = 1;
      Region precise = sum(DType::f32, shape, axes, result);
      precise.reduction.precise = true;
      add(precise);
    }
  }
  add(sum(DType::u32, {1 << 20}, 1, {0}), true);
  // Vectors of 16 elements, along rows long and short.
  for (const std::int64_t length : {8192, 256}) {
    add(sum(DType::u8, {9000, length}, 2, {1, 0}));
    for (const OpDef* op : {&any_def, &all_def, &max_def}) {
      const DType dtype = op == &max_def ? DType::i8 : DType::bool_;
      add(plain(*op, dtype, {9000, length}, 2, {1, 0}));
    }
  }
  add(plain(any_def, DType::bool_, {9000, 256}, 1, {0, 1}));
  add(place_of_largest(DType::f32, {64, 4096}, 1, {1, 0}));
  add(place_of_largest(DType::f16, {1 << 20}, 0, {0}), true);
  add(place_of_largest(DType::u8, {1000, 256}, 0, {0, 1}));
  Region casts = chain(DType::f32, {100}, {1}, {1});
  casts.instructions = {{&cast_def, DType::i64, {0, -1, -1, -1}},
                        {&cast_def, DType::f16, {3, -1, -1, -1}},
                        {&cast_def, DType::u8, {1, -1, -1, -1}}};
  casts.outputs = {{DType::f16, 4, {1}}, {DType::u8, 5, {1}}};
  add(casts);
  return all;
}

}  // namespace hearth::gpu_test
