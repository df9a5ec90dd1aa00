// cat, slice_assign, gather and scatter_add, for every dtype by element size; bound by memory.
//
// An index outside its axis reads as zero and is not written.
#include "core/integer_math.h"
#include "devices/cpu/ops/elements.h"
#include "graph/implementation.h"
#include "ops/definition/defs.h"

#include <cstring>

namespace hearth::cpu {
namespace {

// Elements that one task of a long row takes.
constexpr std::int64_t kPiece = 16384;

// Copies elements of `shape` between strided places; both strides are in elements.
template <class E>
void copy_elements(const Shape& shape, const E* from, const Strides& from_strides, E* to,
                   const Strides& to_strides) {
  int last = shape.rank() - 1;
  if (element_count(shape) == 0) return;
  while (last > 0 && shape[last] == 1) --last;
  if (last < 0) {
    *to = *from;
    return;
  }
  // The inner run: trailing axes that both sides keep together.
  int inner = last;
  std::int64_t n = shape[last];
  while (inner > 0 && from_strides[inner - 1] == n * from_strides[last] &&
         to_strides[inner - 1] == n * to_strides[last]) {
    n *= shape[--inner];
  }
  const std::int64_t from_step = from_strides[last], to_step = to_strides[last];
  const OffsetMap from_rows(shape, from_strides, 0, inner), to_rows(shape, to_strides, 0, inner);
  const std::int64_t pieces = ceil_div(n, kPiece);
  for_chunks(
      from_rows.count() * pieces, std::min(n, kPiece), [&](std::int64_t first, std::int64_t end) {
        for (std::int64_t task = first; task < end; ++task) {
          const std::int64_t begin = task % pieces * kPiece, count = std::min(kPiece, n - begin);
          const E* const x = from + from_rows.at(task / pieces) + begin * from_step;
          E* const y = to + to_rows.at(task / pieces) + begin * to_step;
          if (from_step == 1 && to_step == 1) {
            std::memcpy(y, x, static_cast<std::size_t>(count) * sizeof(E));
          } else {
            for (std::int64_t i = 0; i < count; ++i) y[i * to_step] = x[i * from_step];
          }
        }
      });
}

void copy_strided(const Operand& from, const Operand& to, std::int64_t to_offset,
                  const Strides& to_strides) {
  with_storage_type(to.dtype(), [&]<class E>() {
    copy_elements(from.shape(), reinterpret_cast<const E*>(from.data), from.strides(),
                  reinterpret_cast<E*>(to.at(to_offset)), to_strides);
  });
}

bool is_dense(const Operand& operand) {
  std::int64_t inner = 1;
  for (int axis = operand.shape().rank() - 1; axis >= 0; --axis) {
    if (operand.shape()[axis] != 1 && operand.stride(axis) != inner) return false;
    inner *= operand.shape()[axis];
  }
  return true;
}

// Dense a and b, with one element each along the last axis: real and imaginary parts, say.
void interleave_pairs(const Operand& a, const Operand& b, const Operand& output) {
  const std::int64_t count = element_count(a.shape());
  with_storage_type(output.dtype(), [&]<class E>() {
    const auto* const x = reinterpret_cast<const E*>(a.data);
    const auto* const y = reinterpret_cast<const E*>(b.data);
    auto* const to = reinterpret_cast<E*>(output.data);
    for_chunks(count, 2, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        to[2 * i] = x[i];
        to[2 * i + 1] = y[i];
      }
    });
  });
}

void launch_cat(const Launch& launch) {
  const Operand output = output_of(launch);
  const auto axis = static_cast<int>(statics_of(launch).i64());
  if (launch.signature->inputs.size() == 2 && output.shape()[axis] == 2) {
    const Operand a = input_of(launch, 0), b = input_of(launch, 1);
    std::int64_t inner = 1;
    for (int i = axis + 1; i < output.shape().rank(); ++i) inner *= output.shape()[i];
    if (inner == 1 && a.shape()[axis] == 1 && is_dense(a) && is_dense(b)) {
      return interleave_pairs(a, b, output);
    }
  }
  std::int64_t offset = 0;
  for (int i = 0; i < static_cast<int>(launch.signature->inputs.size()); ++i) {
    const Operand input = input_of(launch, i);
    copy_strided(input, output, offset, output.strides());
    offset += input.shape()[axis] * output.stride(axis);
  }
}

void launch_slice_assign(const Launch& launch) {
  const Operand value = input_of(launch, 1), output = output_of(launch);
  const Dims steps = statics_of(launch).list();
  Strides strides = output.strides();
  std::int64_t offset = 0;
  for (int axis = 0; axis < strides.rank(); ++axis) {
    const std::int64_t extent = output.shape()[axis], size = value.shape()[axis];
    if (size == 0) return;
    // Where the region would reach outside, it is moved inside.
    const std::int64_t span = (size - 1) * steps[axis];
    std::int64_t start = dynamic_i64(dynamic_of(launch, axis));
    start = span >= 0 ? std::max<std::int64_t>(0, std::min(start, extent - 1 - span))
                      : std::min(extent - 1, std::max(start, -span));
    offset += start * strides[axis];
    strides[axis] *= steps[axis];
  }
  copy_strided(value, output, offset, strides);
}

void launch_gather(const Launch& launch) {
  const Operand input = input_of(launch, 0), indices = input_of(launch, 1);
  const Operand output = output_of(launch);
  const auto axis = static_cast<int>(statics_of(launch).i64());
  const Shape& shape = output.shape();
  const int last = shape.rank() - 1;
  if (element_count(shape) == 0) return;
  Strides rest = input.strides();
  rest[axis] = 0;
  const OffsetMap input_rows(shape, rest, 0, last), index_rows(shape, indices.strides(), 0, last);
  const std::int64_t extent = input.shape()[axis], step = input.stride(axis), n = shape[last];
  const std::int64_t pieces = ceil_div(n, kPiece);
  with_storage_type(input.dtype(), [&]<class E>() {
    for_chunks(input_rows.count() * pieces, 4 * std::min(n, kPiece),
               [&](std::int64_t first, std::int64_t end) {
                 std::int64_t* const index = scratch<std::int64_t>(0, std::min(n, kPiece));
                 for (std::int64_t task = first; task < end; ++task) {
                   const std::int64_t row = task / pieces, begin = task % pieces * kPiece;
                   const std::int64_t count = std::min(kPiece, n - begin);
                   load_indices(indices, index_rows.at(row) + begin * indices.stride(last),
                                indices.stride(last), count, index);
                   const auto* x = reinterpret_cast<const E*>(input.data) + input_rows.at(row) +
                                   begin * rest[last];
                   E* const y = reinterpret_cast<E*>(output.data) + row * n + begin;
                   for (std::int64_t i = 0; i < count; ++i) {
                     y[i] = inside(index[i], extent) ? x[i * rest[last] + index[i] * step] : E(0);
                   }
                 }
               });
  });
}

// What adding two stored values means. Integers wrap; bool is or.
template <class E>
void add_element(E& sum, E value, bool is_or) {
  if constexpr (std::is_floating_point_v<E>) {
    sum += value;
  } else if constexpr (std::is_integral_v<E>) {
    using U = std::make_unsigned_t<E>;
    sum = is_or ? static_cast<E>(sum != 0 || value != 0)
                : static_cast<E>(static_cast<U>(sum) + static_cast<U>(value));
  }
}

// Along the last axis: lines one after the other.
template <class E>
void scatter_add_rows(const Launch& launch) {
  const Operand indices = input_of(launch, 1), values = input_of(launch, 2);
  const Operand output = output_of(launch);
  const Shape& shape = indices.shape();
  const int axis = shape.rank() - 1;
  constexpr bool kHalf = std::is_same_v<E, float16> || std::is_same_v<E, bfloat16>;
  using Sum = std::conditional_t<kHalf, float, E>;
  const bool is_or = is_bool(output.dtype());
  const std::int64_t extent = output.shape()[axis];
  const std::int64_t n = shape[axis], value_step = values.stride(axis);
  const OffsetMap index_rows(shape, indices.strides(), 0, axis);
  const OffsetMap value_rows(shape, values.strides(), 0, axis);
  const OffsetMap out_rows(shape, output.strides(), 0, axis);
  for_chunks(index_rows.count(), 4 * n, [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t row = first; row < end; ++row) {
      E* const out = reinterpret_cast<E*>(output.data) + out_rows.at(row);
      Sum* sums;
      if constexpr (kHalf) {
        sums = scratch<float>(1, extent);
        load_row(output.dtype(), out, 1, extent, sums);
      } else {
        sums = out;
      }
      for (std::int64_t begin = 0; begin < n; begin += kPiece) {
        const std::int64_t count = std::min(kPiece, n - begin);
        const std::int64_t index_step = indices.stride(axis);
        const std::int64_t index_begin = index_rows.at(row) + begin * index_step;
        const Address from = values.at(value_rows.at(row) + begin * value_step);
        const auto add_at = [=](const Sum* each, std::int64_t step, const std::int64_t* targets,
                                std::int64_t target_step) {
          for (std::int64_t i = 0; i < count; ++i) {
            const std::int64_t target = targets[i * target_step];
            if (inside(target, extent)) add_element(sums[target], each[i * step], is_or);
          }
        };
        const auto add_all = [&](const Sum* each, std::int64_t step) {
          if (indices.dtype() == DType::i64) {
            const Address at = indices.at(index_begin);
            return add_at(each, step, reinterpret_cast<const std::int64_t*>(at), index_step);
          }
          std::int64_t* const targets = scratch<std::int64_t>(0, std::min(n, kPiece));
          load_indices(indices, index_begin, index_step, count, targets);
          add_at(each, step, targets, 1);
        };
        if constexpr (kHalf) {
          float* const each = scratch<float>(2, std::min(n, kPiece));
          load_row(values.dtype(), from, value_step, count, each);
          add_all(each, 1);
        } else {
          add_all(reinterpret_cast<const E*>(from), value_step);
        }
      }
      if constexpr (kHalf) store_row(output.dtype(), sums, extent, out);
    }
  });
}

// Lines along the axis are independent; a task takes a run of neighbouring ones. Halves are summed
// in f32 and rounded once.
template <class E>
void scatter_add(const Launch& launch) {
  const Operand indices = input_of(launch, 1), values = input_of(launch, 2);
  const Operand output = output_of(launch);
  const auto axis = static_cast<int>(statics_of(launch).i64());
  const Shape& shape = indices.shape();
  const int rank = shape.rank();
  constexpr bool kHalf = std::is_same_v<E, float16> || std::is_same_v<E, bfloat16>;
  const bool is_or = is_bool(output.dtype());
  const std::int64_t extent = output.shape()[axis], out_step = output.stride(axis);
  const std::int64_t n = shape[axis];
  const OffsetMap index_outer(shape, indices.strides(), 0, axis);
  const OffsetMap value_outer(shape, values.strides(), 0, axis);
  const OffsetMap out_outer(shape, output.strides(), 0, axis);
  const OffsetMap index_inner(shape, indices.strides(), axis + 1, rank);
  const OffsetMap value_inner(shape, values.strides(), axis + 1, rank);
  const OffsetMap out_inner(shape, output.strides(), axis + 1, rank);
  const std::int64_t inner = index_inner.count();
  const std::int64_t width =
      std::min(inner, std::clamp<std::int64_t>(65536 / std::max<std::int64_t>(1, extent), 1, 4096));
  const std::int64_t blocks = ceil_div(inner, width);
  E* const out = reinterpret_cast<E*>(output.data);
  const auto* from = reinterpret_cast<const E*>(values.data);
  for_chunks(
      index_outer.count() * blocks, 8 * n * width, [&](std::int64_t first, std::int64_t end) {
        std::int64_t* const places = scratch<std::int64_t>(0, 4 * width);
        float* const sums = kHalf ? scratch<float>(1, extent * width) : nullptr;
        for (std::int64_t task = first; task < end; ++task) {
          const std::int64_t outer = task / blocks, begin = task % blocks * width;
          const std::int64_t count = std::min(width, inner - begin);
          std::int64_t* const index_at_column = places;
          std::int64_t* const value_at_column = places + width;
          std::int64_t* const out_at_column = places + 2 * width;
          for (std::int64_t i = 0; i < count; ++i) {
            index_at_column[i] = index_outer.at(outer) + index_inner.at(begin + i);
            value_at_column[i] = value_outer.at(outer) + value_inner.at(begin + i);
            out_at_column[i] = out_outer.at(outer) + out_inner.at(begin + i);
          }
          if constexpr (kHalf) {
            for (std::int64_t at = 0; at < extent; ++at) {
              for (std::int64_t i = 0; i < count; ++i) {
                sums[at * count + i] = static_cast<float>(out[out_at_column[i] + at * out_step]);
              }
            }
          }
          for (std::int64_t at = 0; at < n; ++at) {
            for (std::int64_t i = 0; i < count; ++i) {
              const std::int64_t target =
                  index_at(indices, index_at_column[i] + at * indices.stride(axis));
              if (!inside(target, extent)) continue;
              const E value = from[value_at_column[i] + at * values.stride(axis)];
              if constexpr (kHalf) {
                sums[target * count + i] += static_cast<float>(value);
              } else {
                add_element(out[out_at_column[i] + target * out_step], value, is_or);
              }
            }
          }
          if constexpr (kHalf) {
            for (std::int64_t at = 0; at < extent; ++at) {
              for (std::int64_t i = 0; i < count; ++i) {
                out[out_at_column[i] + at * out_step] = E(sums[at * count + i]);
              }
            }
          }
        }
      });
}

void launch_scatter_add(const Launch& launch) {
  if (element_count(launch.signature->inputs[1].shape) == 0) return;
  const int last = launch.signature->output.shape.rank() - 1;
  const bool has_rows = statics_of(launch).i64() == last;
  with_element_type(launch.signature->output.dtype, [&]<class E>() {
    if (has_rows) return scatter_add_rows<E>(launch);
    scatter_add<E>(launch);
  });
}

constexpr Implementation kImplementations[] = {
    {.name = "elements", .op = &defs::cat_op, .launch = launch_cat},
    {.name = "elements", .op = &defs::slice_assign_op, .launch = launch_slice_assign},
    {.name = "elements", .op = &defs::gather_op, .launch = launch_gather},
    {.name = "elements", .op = &defs::scatter_add_op, .launch = launch_scatter_add},
};

}  // namespace

Family indexing_family() { return kImplementations; }

}  // namespace hearth::cpu
