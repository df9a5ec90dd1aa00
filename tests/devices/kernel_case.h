// Drives one CPU kernel without a graph: operands in any layout between poisoned bytes, a poisoned
// output, and the same launch on one and on two threads, which must give the same bits.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "devices/cpu/families.h"
#include "devices/element.h"
#include "graph/params.h"
#include "graph/selector.h"
#include "hearth/dtype.h"
#include "ops/definition/defs.h"
#include "runtime/device/worker_pool.h"

namespace hearth::cpu {

using Values = std::vector<double>;

inline std::mt19937_64& test_random() {
  static std::mt19937_64 engine(20260101);
  return engine;
}
inline std::int64_t pick(std::int64_t lo, std::int64_t hi) {
  return std::uniform_int_distribution<std::int64_t>(lo, hi)(test_random());
}
inline Values normal_values(std::int64_t count, double scale = 1) {
  std::normal_distribution<double> normal(0, scale);
  Values values(static_cast<std::size_t>(count));
  for (double& value : values) value = normal(test_random());
  return values;
}

enum class Layout { dense, shuffled };

// An operand. Shuffled: axes in random order in memory, gaps, some axes walked backwards.
class TestTensor {
 public:
  TestTensor(DType dtype, const Shape& shape, const Values& values,
             Layout layout = Layout::shuffled)
      : TestTensor(dtype, shape) {
    const int rank = shape.rank();
    std::vector<int> order;
    for (int i = 0; i < rank; ++i) order.push_back(i);
    if (layout == Layout::shuffled) std::shuffle(order.begin(), order.end(), test_random());
    std::int64_t step = 1, offset = 8;
    spec.strides = Strides::filled(rank, 0);
    for (int i = rank - 1; i >= 0; --i) {
      const int axis = order[static_cast<std::size_t>(i)];
      if (layout == Layout::shuffled)
        step += step * pick(0, 1) * (i == rank - 1) + pick(0, 2) * (i < rank - 1);
      const bool backwards = layout == Layout::shuffled && pick(0, 4) == 0;
      spec.strides[axis] = backwards ? -step : step;
      if (backwards) offset += step * std::max<std::int64_t>(0, shape[axis] - 1);
      step *= std::max<std::int64_t>(1, shape[axis]);
    }
    offset_ = offset;
    bytes_.assign(static_cast<std::size_t>((offset + step + 8) * size_of(dtype)), std::byte{0xff});
    for (std::int64_t i = 0; i < count(); ++i) {
      set_element(bytes_.data(), place(i), dtype, values[static_cast<std::size_t>(i)]);
    }
  }
  // Absent.
  TestTensor() { spec.absent = true; }
  // One value seen everywhere.
  static TestTensor broadcast(DType dtype, const Shape& shape, double value) {
    TestTensor tensor(dtype, shape);
    tensor.spec.strides = Strides::filled(shape.rank(), 0);
    tensor.bytes_.assign(64, std::byte{0xff});
    set_element(tensor.bytes_.data(), 0, dtype, value);
    return tensor;
  }

  std::int64_t count() const { return element_count(spec.shape); }
  Address address() {
    return spec.absent ? nullptr : bytes_.data() + offset_ * size_of(spec.dtype);
  }
  double operator[](std::int64_t i) const {
    return get_element(bytes_.data(), place(i), spec.dtype);
  }
  Values values() const {
    Values all;
    for (std::int64_t i = 0; i < count(); ++i) all.push_back((*this)[i]);
    return all;
  }

  TensorSpec spec;

 private:
  TestTensor(DType dtype, const Shape& shape) {
    spec.dtype = dtype;
    spec.shape = shape;
  }
  std::int64_t place(std::int64_t i) const {
    std::int64_t at = offset_;
    for (int axis = spec.shape.rank() - 1; axis >= 0; --axis) {
      at += i % spec.shape[axis] * spec.strides[axis];
      i /= spec.shape[axis];
    }
    return at;
  }
  std::vector<std::byte> bytes_;
  std::int64_t offset_ = 0;
};

inline const Selector& test_selector() {
  static const Selector made({.families = families()});
  return made;
}

// Memory of `bytes` between guards, all poisoned.
class Guarded {
 public:
  explicit Guarded(std::int64_t bytes)
      : bytes_(bytes), memory_(static_cast<std::size_t>(bytes + 3 * kGuard), std::byte{0xff}) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data() + kGuard);
    data_ = memory_.data() + kGuard + (64 - address % 64) % 64;
  }
  Guarded(Guarded&&) = default;  // the memory stays where it is
  Address data() { return data_; }
  std::int64_t size() const { return bytes_; }
  bool intact() const {
    for (const std::byte* at = memory_.data(); at < memory_.data() + memory_.size(); ++at) {
      if ((at < data_ || at >= data_ + bytes_) && *at != std::byte{0xff}) return false;
    }
    return true;
  }

 private:
  static constexpr std::int64_t kGuard = 128;
  std::int64_t bytes_;
  std::vector<std::byte> memory_;
  std::byte* data_;
};

using Bytes = std::vector<std::byte>;

// One launch on `threads` threads: the bytes of each output, none where the signature has it
// absent. For ops that overwrite, `start` is what the output holds before.
inline std::vector<Bytes> launch_once(const Implementation& kernel, const Signature& signature,
                                      std::vector<TestTensor>& inputs,
                                      const std::vector<std::uint64_t>& dynamics, int threads,
                                      const TestTensor* start) {
  const char* const op = signature.op->name.text;
  const Prepared prepared = kernel.prepare != nullptr ? kernel.prepare(signature) : Prepared{};
  std::vector<Address> operands;
  for (TestTensor& input : inputs) operands.push_back(input.address());
  std::vector<Guarded> outputs;
  for (int i = 0; i < signature.output_count(); ++i) {
    const TensorSpec& spec = signature.output_at(i);
    outputs.emplace_back(spec.absent ? 0 : element_count(spec.shape) * size_of(spec.dtype));
    operands.push_back(spec.absent ? nullptr : outputs.back().data());
  }
  for (std::int64_t i = 0; start != nullptr && i < start->count(); ++i) {
    set_element(outputs[0].data(), i, start->spec.dtype, (*start)[i]);
  }
  Guarded workspace(prepared.workspace_bytes);
  const Launch launch{.signature = &signature,
                      .state = prepared.state.get(),
                      .operands = operands.data(),
                      .operand_count = static_cast<int>(operands.size()),
                      .workspace = workspace.data(),
                      .dynamics = dynamics.data(),
                      .dynamic_count = static_cast<int>(dynamics.size()),
                      .output_count = signature.output_count()};
  WorkerPool& pool = WorkerPool::global();
  const int before = pool.threads();
  pool.set_threads(threads);
  kernel.launch(launch);
  pool.set_threads(before);
  EXPECT_TRUE(workspace.intact()) << op << " wrote outside its workspace";
  std::vector<Bytes> results;
  for (Guarded& output : outputs) {
    EXPECT_TRUE(output.intact()) << op << " wrote outside its output";
    results.emplace_back(output.data(), output.data() + output.size());
  }
  return results;
}

struct OutputSpec {
  DType dtype;
  Shape shape;
};

// What the op's kernel makes of the inputs, one list for each output. For ops that overwrite, input
// 0 is the start of the first.
inline std::vector<Values> run_kernel(const OpDef& op, std::vector<TestTensor> inputs,
                                      const Params& params, const std::vector<OutputSpec>& outputs,
                                      bool overwrites = false) {
  Signature signature;
  signature.op = &op;
  signature.statics = params.statics().span();
  std::vector<std::uint64_t> dynamics = {~std::uint64_t{0}};
  signature.dynamic = 1;
  for (const std::uint64_t word : params.dynamics().span()) dynamics.push_back(word);
  for (TestTensor& input : inputs) signature.inputs.push_back(input.spec);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto& [dtype, shape] = outputs[i];
    const TensorSpec spec{dtype, shape, contiguous_strides(shape), false};
    if (i == 0) {
      signature.output = spec;
    } else {
      signature.more_outputs.push_back(spec);
    }
  }
  const Implementation* const kernel = test_selector().find(signature);
  if (kernel == nullptr) {
    ADD_FAILURE() << op.name.text << " has no implementation";
    return std::vector<Values>(outputs.size());
  }
  EXPECT_EQ(kernel->layout, LayoutNeed::strided);
  const TestTensor start = overwrites ? inputs[0] : TestTensor();
  const auto launch = [&](int threads) {
    return launch_once(*kernel, signature, inputs, dynamics, threads,
                       overwrites ? &start : nullptr);
  };
  const std::vector<Bytes> all = launch(1);
  EXPECT_TRUE(all == launch(2)) << op.name.text << " depends on the number of threads";
  // What nobody wants changes nothing else.
  for (std::size_t left_out = 0; left_out < outputs.size() && outputs.size() > 1; ++left_out) {
    if ((kernel->may_omit >> left_out & 1u) == 0) continue;
    TensorSpec& spec = left_out == 0 ? signature.output : signature.more_outputs[left_out - 1];
    spec.absent = true;
    const std::vector<Bytes> others = launch(2);
    spec.absent = false;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      EXPECT_TRUE(i == left_out || others[i] == all[i])
          << op.name.text << ": output " << i << " differs without output " << left_out;
    }
  }
  std::vector<Values> values(outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Bytes bytes = all[i];
    for (std::int64_t k = 0; k < element_count(outputs[i].shape); ++k) {
      values[i].push_back(get_element(bytes.data(), k, outputs[i].dtype));
    }
  }
  return values;
}

// The same of an op of one output.
inline Values run_kernel(const OpDef& op, std::vector<TestTensor> inputs, const Params& params,
                         DType dtype, const Shape& shape, bool overwrites = false) {
  return run_kernel(op, std::move(inputs), params, {{dtype, shape}}, overwrites).front();
}

inline double tolerance_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 1e-12;
    case DType::f32:
      return 3e-6;
    case DType::f16:
      return 2e-3;
    case DType::bf16:
      return 1.2e-2;
    default:
      return 0;
  }
}

// Equal up to the dtype's precision, relative to the larger of 1 and the value; NaN equals NaN.
inline void expect_close(const Values& got, const Values& expected, DType dtype,
                         double factor = 1) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(expected[i]) ? std::isnan(got[i]) : got[i] == expected[i]) continue;
    const double bound = factor * tolerance_of(dtype) * std::max(1.0, std::abs(expected[i]));
    ASSERT_TRUE(std::abs(got[i] - expected[i]) <= bound)
        << "element " << i << ": got " << got[i] << ", expected " << expected[i];
  }
}

inline constexpr DType kFloats[] = {DType::f64, DType::f32, DType::f16, DType::bf16};
inline constexpr DType kAllDTypes[] = {DType::f64, DType::f32, DType::f16,  DType::bf16, DType::i64,
                                       DType::i32, DType::i16, DType::i8,   DType::u64,  DType::u32,
                                       DType::u16, DType::u8,  DType::bool_};

}  // namespace hearth::cpu
