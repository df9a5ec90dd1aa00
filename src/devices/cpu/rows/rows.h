// How row kernels walk their operands: offsets of rows, rows in compute precision, scratch, chunks.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "core/axes.h"
#include "core/thread_owned.h"
#include "devices/cpu/rows/row_math.h"
#include "devices/cpu/streaming.h"
#include "graph/implementation.h"
#include "graph/params.h"
#include "hearth/dtype.h"
#include "hearth/shape.h"
#include "runtime/device/worker_pool.h"

namespace hearth::cpu {

// Tasks of unequal work that even out what threads get.
inline std::int64_t enough_tasks() { return std::int64_t{4} * WorkerPool::global().threads(); }

// Elements that one claimed chunk of a cheap row loop handles.
inline constexpr std::int64_t kChunkElements = 32768;

// Offset, in elements, of the i-th of the positions that some axes of an operand span in row-major
// order. Axes that follow each other in memory are merged.
class OffsetMap {
 public:
  OffsetMap(const Shape& shape, const Strides& strides, int begin, int end) {
    for (int axis = begin; axis < end; ++axis) {
      count_ *= shape[axis];
      axes_.append(shape[axis], {strides[axis]});
    }
  }

  std::int64_t count() const { return count_; }
  // True where position i is at i * stride().
  bool linear() const { return axes_.rank <= 1; }
  std::int64_t stride() const { return axes_.rank == 0 ? 1 : axes_.strides[0][0]; }
  std::int64_t at(std::int64_t i) const {
    if (axes_.rank <= 1) return axes_.rank == 0 ? 0 : i * axes_.strides[0][0];
    std::int64_t offset = 0;
    for (int axis = axes_.rank - 1; axis > 0; --axis) {
      const std::int64_t next = i / axes_.extents[axis];
      offset += (i - next * axes_.extents[axis]) * axes_.strides[axis][0];
      i = next;
    }
    return offset + i * axes_.strides[0][0];
  }

 private:
  MergedAxes<1> axes_;
  std::int64_t count_ = 1;
};

// An operand of one op at one launch.
struct Operand {
  const TensorSpec* spec;
  Address data;

  bool absent() const { return spec->absent || data == nullptr; }
  DType dtype() const { return spec->dtype; }
  const Shape& shape() const { return spec->shape; }
  const Strides& strides() const { return spec->strides; }
  std::int64_t stride(int axis) const { return spec->strides[axis]; }
  Address at(std::int64_t offset) const { return data + offset * size_of(spec->dtype); }
};

inline Operand input_of(const Launch& launch, int i) {
  return {&launch.signature->inputs[static_cast<std::size_t>(i)], launch.input(i)};
}
inline bool has_input(const Launch& launch, int i) {
  const auto at = static_cast<std::size_t>(i);
  return at < launch.signature->inputs.size() && !launch.signature->inputs[at].absent;
}
inline Operand output_of(const Launch& launch, int i = 0) {
  return {&launch.signature->output_at(i), launch.output(i)};
}
inline ParamReader statics_of(const Launch& launch) {
  return ParamReader(launch.signature->statics);
}
inline std::uint64_t dynamic_of(const Launch& launch, int i) {
  return launch.dynamics[launch.signature->dynamic + i];
}

// Calls run.template operator()<double>() for f64 and <float>() for the other floats.
template <class Run>
void with_compute_type(DType dtype, Run run) {
  if (dtype == DType::f64) {
    run.template operator()<double>();
  } else {
    run.template operator()<float>();
  }
}

// One of the pieces of memory that a thread has of each type: a number that a compiler checks.
class ScratchSlot {
 public:
  static constexpr int kCount = 16;

  consteval ScratchSlot(int index)  // NOLINT(google-explicit-constructor)
      : index_(index) {
    if (index < 0 || index >= kCount) throw "no such slot";
  }
  int index() const { return index_; }

 private:
  int index_;
};

template <class T>
struct ScratchBlock {
  struct Release {
    void operator()(T* old) const { ::operator delete[](old, std::align_val_t{64}); }
  };
  std::unique_ptr<T[], Release> memory;
  std::int64_t size = 0;
};

// Memory of one task, kept by its thread for the next. It is the task's until something on the same
// thread asks for the slot with the same type: a function and those that it calls, chunks of work
// that it waits for among them, share no slot.
template <class T>
T* scratch(ScratchSlot slot, std::int64_t count) {
  using Blocks = std::array<ScratchBlock<T>, ScratchSlot::kCount>;
  ScratchBlock<T>& block = ThreadOwned<Blocks>::get()[static_cast<std::size_t>(slot.index())];
  if (block.size < count) {
    block.memory.reset();
    block.size = 0;
    block.memory.reset(static_cast<T*>(
        ::operator new[](static_cast<std::size_t>(count) * sizeof(T), std::align_val_t{64})));
    block.size = count;
  }
  return block.memory.get();
}

// A row of an operand in compute precision: in place where it can be read as it is, else in `copy`.
template <class T>
const T* read_row(const Operand& operand, std::int64_t offset, std::int64_t stride, std::int64_t n,
                  T* copy) {
  const Address at = operand.at(offset);
  if (stride == 1 && operand.dtype() == dtype_of_v<T>) return reinterpret_cast<const T*>(at);
  load_row(operand.dtype(), at, stride, n, copy);
  return copy;
}

// Where to put a dense row of the output: in place or in `copy`, which write_row() then stores.
template <class T>
T* row_to_write(const Operand& output, std::int64_t offset, T* copy) {
  return output.dtype() == dtype_of_v<T> ? reinterpret_cast<T*>(output.at(offset)) : copy;
}
template <class T>
void write_row(const Operand& output, std::int64_t offset, const T* row, std::int64_t n) {
  Address at = output.at(offset);
  if (reinterpret_cast<const std::byte*>(row) != at) store_row(output.dtype(), row, n, at);
}

inline bool streams(const Operand& output) {
  return element_count(output.shape()) * size_of(output.dtype()) >= kStreamBytes;
}

// Splits `count` tasks of `cost` elements each into chunks. The split never depends on the number
// of threads. Calls body(begin, end).
template <class Body>
void for_chunks(std::int64_t count, std::int64_t cost, Body&& body) {
  if (count <= 0) return;
  const std::int64_t grain =
      std::max<std::int64_t>(1, kChunkElements / std::max<std::int64_t>(1, cost));
  if (grain >= count) return body(std::int64_t{0}, count);
  WorkerPool::global().parallel_for_range(count, grain, body);
}

// Calls body(i) for each of `count` tasks, `grain` of which are claimed at a time.
template <class Body>
void for_each_task(std::int64_t count, std::int64_t grain, const Body& body) {
  WorkerPool::global().parallel_for_range(count, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) body(i);
  });
}

}  // namespace hearth::cpu
