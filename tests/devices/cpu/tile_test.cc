// The CPU's region kernel against scalar evaluation: random regions over dtypes, layouts,
// broadcasts, empty shapes, shared memory, and reductions.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

#include "devices/region_fixture.h"
#include "devices/scalar_reference.h"
#include "runtime/device/worker_pool.h"

namespace hearth::region_test {
namespace {

// ---- random regions

constexpr DType kDTypes[] = {DType::f64, DType::f32, DType::f16,  DType::bf16, DType::i64,
                             DType::i32, DType::i16, DType::i8,   DType::u64,  DType::u32,
                             DType::u16, DType::u8,  DType::bool_};

const OpDef* const kUnaryOps[] = {&neg_def,  &abs_def,   &sign_def, &square_def,
                                  &relu_def, &floor_def, &ceil_def, &round_def};
const OpDef* const kRealUnaryOps[] = {&sqrt_def, &recip_def};
const OpDef* const kBinaryOps[] = {&add_def,       &sub_def,     &mul_def,    &div_def,
                                   &remainder_def, &maximum_def, &minimum_def};
const OpDef* const kComparisons[] = {&equal_def,      &not_equal_def, &less_def,
                                     &less_equal_def, &greater_def,   &greater_equal_def};
const OpDef* const kLogicalOps[] = {&logical_and_def, &logical_or_def, &logical_xor_def};

class Maker {
 public:
  explicit Maker(std::uint32_t seed) : random_(seed) {}

  int pick(int n) { return static_cast<int>(random_() % static_cast<std::uint32_t>(n)); }
  template <class T, std::size_t N>
  const T& one_of(const T (&items)[N]) {
    return items[pick(static_cast<int>(N))];
  }

  Shape shape() {
    const int rank = pick(5);
    Shape shape;
    for (int i = 0; i < rank; ++i) {
      const int kind = pick(40);
      shape.push_back(kind == 0 ? 0 : kind < 6 ? 1 : kind < 9 ? 60 + pick(280) : 1 + pick(9));
    }
    if (pick(12) == 0) shape = {1 + pick(3000)};
    while (element_count(shape) > 2500) {
      std::int64_t& longest = *std::max_element(shape.begin(), shape.end());
      longest = 1 + longest / 3;
    }
    return shape;
  }

  Scalar element(DType dtype) {
    if (dtype == DType::bool_) return {0, pick(2)};
    const int kind = pick(16);
    if (is_float(dtype)) {
      if (kind == 0) return {0, 0};
      if (kind == 1) return {-0.0, 0};
      if (kind == 2) return {std::numeric_limits<double>::quiet_NaN(), 0};
      if (kind == 3) return {pick(2) == 0 ? INFINITY : -INFINITY, 0};
      double x = std::ldexp(static_cast<double>(random_()) / 4294967296.0 - 0.5,
                            pick(kind < 6 ? 80 : 8) - (kind < 6 ? 40 : 2));
      if (kind > 11) x = std::nearbyint(x * 4);
      // As the dtype holds it.
      std::byte buffer[8];
      Scalar value = rounded(x, dtype, true);
      store(buffer, dtype, value);
      return load(buffer, dtype);
    }
    if (kind == 0) return wrapped(0, dtype);
    if (kind < 3) return wrapped(std::numeric_limits<std::int64_t>::min() >> pick(60), dtype);
    if (kind < 5) {
      return wrapped(static_cast<std::int64_t>((std::uint64_t{random_()} << 32) | random_()),
                     dtype);
    }
    return wrapped(pick(41) - 20, dtype);
  }

  std::mt19937& random() { return random_; }

 private:
  std::mt19937 random_;
};

// An input with a layout: `at` is where its element (0, 0, ...) lies.
struct Input {
  Guarded memory;
  std::byte* at;
  DType dtype;
  Strides strides;
};

Input make_input(Maker& maker, const Shape& shape, DType dtype, bool dense) {
  const int rank = shape.rank();
  Strides strides;
  strides.resize(rank);
  // Axes in a random order, some repeated, some with gaps, some backwards.
  std::vector<int> order;
  for (int i = 0; i < rank; ++i) order.push_back(i);
  if (!dense && maker.pick(2) == 0) std::shuffle(order.begin(), order.end(), maker.random());
  std::int64_t next = 1;
  std::int64_t first = 0;
  for (int k = rank - 1; k >= 0; --k) {
    const int axis = order[static_cast<std::size_t>(k)];
    const int kind = dense ? 9 : maker.pick(9);
    if (kind == 0 || kind == 1) {
      strides[axis] = 0;
      continue;
    }
    const std::int64_t step = kind == 2 ? 2 + maker.pick(2) : 1;
    strides[axis] = next * step;
    next *= step * std::max<std::int64_t>(shape[axis], 1);
    if (kind == 3 && shape[axis] > 0) {
      first += strides[axis] * (shape[axis] - 1);
      strides[axis] = -strides[axis];
    }
  }
  const std::int64_t size = size_of(dtype);
  Input input{Guarded(next * size), nullptr, dtype, strides};
  for (std::int64_t i = 0; i < next; ++i) {
    store(input.memory.data() + i * size, dtype, maker.element(dtype));
  }
  input.at = input.memory.data() + first * size;
  return input;
}

// Calls body(index, offsets of the operands in elements) for every element of the shape, in order.
template <class Body>
void for_elements(const Shape& shape, Body body) {
  std::vector<std::int64_t> index(static_cast<std::size_t>(shape.rank()), 0);
  const std::int64_t count = element_count(shape);
  for (std::int64_t n = 0; n < count; ++n) {
    body(index);
    for (int i = shape.rank() - 1; i >= 0; --i) {
      if (++index[static_cast<std::size_t>(i)] < shape[i]) break;
      index[static_cast<std::size_t>(i)] = 0;
    }
  }
}
std::int64_t offset_of(const std::vector<std::int64_t>& index, const Strides& strides) {
  std::int64_t offset = 0;
  for (int i = 0; i < strides.rank(); ++i)
    offset += index[static_cast<std::size_t>(i)] * strides[i];
  return offset;
}

struct Program {
  Region region;
  std::vector<Input> inputs;
  std::vector<std::uint64_t> dynamics;
};

Program random_program(Maker& maker, int instructions) {
  Program program;
  Region& region = program.region;
  region.exact = true;
  region.shape = maker.shape();
  const int inputs = 1 + maker.pick(4);
  const DType main_dtype = maker.one_of(kDTypes);
  for (int i = 0; i < inputs; ++i) {
    const DType dtype = maker.pick(3) == 0 ? maker.one_of(kDTypes) : main_dtype;
    program.inputs.push_back(make_input(maker, region.shape, dtype, maker.pick(2) == 0));
    region.inputs.push_back({dtype, program.inputs.back().strides});
  }
  for (int i = maker.pick(3); i > 0; --i) {
    const DType dtype = maker.pick(2) == 0 ? main_dtype : maker.one_of(kDTypes);
    const Scalar x = maker.element(dtype);
    region.scalars.push_back({dtype, static_cast<int>(program.dynamics.size())});
    program.dynamics.push_back(is_float(dtype) ? std::bit_cast<std::uint64_t>(x.f)
                                               : static_cast<std::uint64_t>(x.i));
  }
  // Values by dtype are joined by casts where an op wants another one.
  const auto any_value = [&] {
    const int values = region.first_result() + static_cast<int>(region.instructions.size());
    const int recent = maker.pick(2) == 0 ? std::max(0, values - 3) : 0;
    return static_cast<std::int16_t>(recent + maker.pick(values - recent));
  };
  const auto emit = [&](const OpDef& op, DType dtype, std::int16_t a, std::int16_t b = -1,
                        std::int16_t c = -1) {
    region.instructions.push_back({&op, dtype, {a, b, c, -1}});
    return static_cast<std::int16_t>(region.first_result() +
                                     static_cast<int>(region.instructions.size()) - 1);
  };
  const auto as = [&](std::int16_t value, DType dtype) {
    return region.value_dtype(value) == dtype ? value : emit(cast_def, dtype, value);
  };
  for (int i = 0; i < instructions; ++i) {
    const std::int16_t a = any_value();
    const DType dtype = region.value_dtype(a);
    const int kind = maker.pick(12);
    if (kind == 0) {
      emit(cast_def, maker.one_of(kDTypes), a);
    } else if (kind == 1) {
      const std::int16_t b = as(any_value(), dtype);
      emit(*maker.one_of(kComparisons), DType::bool_, a, b);
    } else if (kind == 2) {
      const std::int16_t b = as(any_value(), dtype);
      const std::int16_t condition = as(any_value(), DType::bool_);
      emit(where_def, dtype, condition, a, b);
    } else if (kind == 3) {
      emit(is_nan_def, DType::bool_, a);
    } else if (dtype == DType::bool_) {
      const std::int16_t b = as(any_value(), DType::bool_);
      if (maker.pick(3) == 0) {
        emit(logical_not_def, DType::bool_, a);
      } else {
        emit(*maker.one_of(kLogicalOps), DType::bool_, a, b);
      }
    } else if (kind == 4) {
      const std::int16_t low = as(any_value(), dtype);
      const std::int16_t high = as(any_value(), dtype);
      emit(is_float(dtype) && maker.pick(2) == 0 ? lerp_def : clamp_def, dtype, a, low, high);
    } else if (kind < 7) {
      emit(is_float(dtype) && maker.pick(4) == 0 ? *maker.one_of(kRealUnaryOps)
                                                 : *maker.one_of(kUnaryOps),
           dtype, a);
    } else {
      const std::int16_t b = as(any_value(), dtype);
      emit(*maker.one_of(kBinaryOps), dtype, a, b);
    }
  }
  return program;
}

// Every value at one element.
std::vector<Scalar> evaluate_at(const Program& program, const std::vector<std::int64_t>& index) {
  const Region& region = program.region;
  std::vector<Scalar> values;
  for (std::size_t i = 0; i < region.inputs.size(); ++i) {
    const Input& input = program.inputs[i];
    values.push_back(
        load(input.at + offset_of(index, input.strides) * size_of(input.dtype), input.dtype));
  }
  for (const RegionScalar& scalar : region.scalars) {
    const std::uint64_t word = program.dynamics[static_cast<std::size_t>(scalar.dynamic)];
    values.push_back(is_float(scalar.dtype)
                         ? rounded(std::bit_cast<double>(word), scalar.dtype, true)
                         : wrapped(static_cast<std::int64_t>(word), scalar.dtype));
  }
  for (const RegionInstruction& instruction : region.instructions) {
    const std::string op = instruction.op->name.text;
    Scalar x[3];
    for (int k = 0; k < 3; ++k) {
      if (instruction.args[k] >= 0) x[k] = values[static_cast<std::size_t>(instruction.args[k])];
    }
    const DType first = region.value_dtype(instruction.args[0]);
    if (op == "cast") {
      values.push_back(convert(x[0], first, instruction.dtype));
    } else {
      const DType work = op == "where" ? instruction.dtype : first;
      values.push_back(evaluate(op, instruction.dtype, work, region.exact, x));
    }
  }
  return values;
}

std::string describe(const Program& program) {
  const Region& region = program.region;
  std::string text = to_string(region.shape) + "\n";
  for (const RegionInput& input : region.inputs) {
    text += "input " + std::string(name(input.dtype)) + " " + to_string(input.strides) + "\n";
  }
  for (const RegionScalar& scalar : region.scalars) {
    text += "scalar " + std::string(name(scalar.dtype)) + "\n";
  }
  int id = region.first_result();
  for (const RegionInstruction& instruction : region.instructions) {
    text += std::to_string(id++) + ": " + instruction.op->name.text + " " +
            std::string(name(instruction.dtype));
    for (const std::int16_t arg : instruction.args) {
      if (arg >= 0) text += " " + std::to_string(arg);
    }
    text += "\n";
  }
  return text;
}

void check_elementwise(std::uint32_t seed) {
  Maker maker(seed);
  Program program = random_program(maker, maker.pick(12));
  Region& region = program.region;
  const int values = region.first_result() + static_cast<int>(region.instructions.size());
  const int outputs = 1 + maker.pick(3);
  for (int o = 0; o < outputs; ++o) {
    const int value = o == 0 && !region.instructions.empty() ? values - 1 : maker.pick(values);
    region.outputs.push_back({region.value_dtype(value), value, contiguous_strides(region.shape)});
  }
  const std::int64_t count = element_count(region.shape);
  std::vector<std::vector<Scalar>> wanted(static_cast<std::size_t>(outputs));
  for_elements(region.shape, [&](const std::vector<std::int64_t>& index) {
    const std::vector<Scalar> at = evaluate_at(program, index);
    for (std::size_t o = 0; o < wanted.size(); ++o) {
      wanted[o].push_back(at[static_cast<std::size_t>(region.outputs[o].value)]);
    }
  });

  // An output may take over an input of the same dtype and layout.
  std::vector<Guarded> memory;
  std::vector<std::byte*> operands;
  for (Input& input : program.inputs) operands.push_back(input.at);
  std::vector<bool> taken(program.inputs.size(), false);
  for (const RegionOutput& output : region.outputs) {
    std::byte* place = nullptr;
    for (std::size_t i = 0; i < program.inputs.size() && place == nullptr; ++i) {
      const Input& input = program.inputs[i];
      if (!taken[i] && input.dtype == output.dtype && input.strides == output.strides &&
          maker.pick(2) == 0) {
        place = input.at;
        taken[i] = true;
      }
    }
    memory.emplace_back(count * size_of(output.dtype));
    operands.push_back(place != nullptr ? place : memory.back().data());
  }
  run_region(region, operands, program.dynamics);
  for (const Guarded& each : memory) ASSERT_TRUE(each.intact()) << seed;
  for (const Input& input : program.inputs) ASSERT_TRUE(input.memory.intact()) << seed;
  for (std::size_t o = 0; o < wanted.size(); ++o) {
    const DType dtype = region.outputs[o].dtype;
    const std::byte* base = operands[program.inputs.size() + o];
    for (std::int64_t i = 0; i < count; ++i) {
      // As memory holds it.
      std::byte buffer[8];
      store(buffer, dtype, wanted[o][static_cast<std::size_t>(i)]);
      const Scalar want = load(buffer, dtype);
      const Scalar got = load(base + i * size_of(dtype), dtype);
      ASSERT_TRUE(same(got, want, dtype))
          << "seed " << seed << " output " << o << " (value " << region.outputs[o].value
          << ") element " << i << ": " << got.f << " " << got.i << " instead of " << want.f << " "
          << want.i << "\n"
          << describe(program);
    }
  }
}

int effort(int full) {
  const char* text = std::getenv("HEARTH_TEST_EFFORT");
  return text == nullptr ? full : std::max(1, full * std::atoi(text) / 100);
}

TEST(TileRegion, RandomRegionsGiveTheBitsOfScalarEvaluation) {
  const int programs = effort(1200);
  for (int seed = 0; seed < programs; ++seed) {
    check_elementwise(static_cast<std::uint32_t>(seed));
    if (HasFatalFailure()) return;
  }
}

void check_reduction(std::uint32_t seed) {
  Maker maker(seed * 7919 + 13);
  Program program = random_program(maker, maker.pick(4));
  Region& region = program.region;
  if (maker.pick(6) == 0 && region.shape.rank() == 2) {
    // Long enough for chunks; the inputs have to fit again.
    const std::int64_t rows = 200 + maker.pick(200);
    region.shape = maker.pick(2) == 0 ? Shape{rows, 100 + maker.pick(200)}
                                      : Shape{rows * 80, 1 + maker.pick(4)};
    for (std::size_t i = 0; i < program.inputs.size(); ++i) {
      program.inputs[i] =
          make_input(maker, region.shape, program.inputs[i].dtype, maker.pick(2) == 0);
      region.inputs[i].strides = program.inputs[i].strides;
    }
  }
  const int values = region.first_result() + static_cast<int>(region.instructions.size());
  RegionReduction& reduction = region.reduction;
  reduction.value = maker.pick(3) == 0 ? maker.pick(values) : values - 1;
  const DType dtype = region.value_dtype(reduction.value);
  const OpDef* const ops[] = {&sum_def, &prod_def, &max_def, &min_def, &any_def, &all_def};
  reduction.op = dtype == DType::bool_ ? ops[4 + maker.pick(2)] : ops[maker.pick(6)];
  const std::string op = reduction.op->name.text;
  const bool truth = op == "any" || op == "all";
  reduction.dtype = truth ? DType::bool_ : dtype;
  const int rank = region.shape.rank();
  Shape kept;
  for (int i = 0; i < rank; ++i) {
    if (maker.pick(2) == 0) reduction.axes |= 1u << i;
    kept.push_back((reduction.axes >> i & 1u) != 0 ? 1 : region.shape[i]);
  }
  reduction.strides = contiguous_strides(kept);
  for (int i = 0; i < rank; ++i) {
    if ((reduction.axes >> i & 1u) != 0) reduction.strides[i] = 0;
  }
  if (maker.pick(4) == 0) {
    const int value = maker.pick(values);
    region.outputs.push_back({region.value_dtype(value), value, contiguous_strides(region.shape)});
  }

  const std::int64_t results = element_count(kept);
  struct Total {
    long double sum = 0, size = 0, product = 1;
    Scalar value;
    bool any = false;
    int count = 0;
  };
  std::vector<Total> totals(static_cast<std::size_t>(results));
  std::vector<Scalar> written;
  for_elements(region.shape, [&](const std::vector<std::int64_t>& index) {
    const std::vector<Scalar> at = evaluate_at(program, index);
    const Scalar x = at[static_cast<std::size_t>(reduction.value)];
    Total& total = totals[static_cast<std::size_t>(offset_of(index, reduction.strides))];
    if (!region.outputs.empty()) {
      written.push_back(at[static_cast<std::size_t>(region.outputs[0].value)]);
    }
    const bool real = is_float(dtype);
    if (truth) {
      const bool b = real ? x.f != 0 : x.i != 0;
      total.any = total.count == 0 ? b : op == "any" ? total.any || b : total.any && b;
    } else if (op == "sum") {
      total.sum += x.f;
      total.size += std::abs(x.f);
      total.value =
          wrapped(static_cast<std::int64_t>(unsigned_of(total.value) + unsigned_of(x)), dtype);
    } else if (op == "prod") {
      total.product *= x.f;
      if (total.count == 0) total.value.i = 1;
      total.value =
          wrapped(static_cast<std::int64_t>(unsigned_of(total.value) * unsigned_of(x)), dtype);
    } else if (total.count == 0) {
      total.value = x;
    } else {
      const Scalar pair[2] = {total.value, x};
      total.value = evaluate(op == "max" ? "maximum" : "minimum", dtype, dtype, true, pair);
    }
    ++total.count;
  });

  std::vector<Guarded> memory;
  memory.emplace_back(element_count(region.shape) * 8);
  memory.emplace_back(results * size_of(reduction.dtype));
  std::vector<std::byte*> operands;
  for (Input& input : program.inputs) operands.push_back(input.at);
  if (!region.outputs.empty()) operands.push_back(memory[0].data());
  operands.push_back(memory[1].data());
  run_region(region, operands, program.dynamics);
  ASSERT_TRUE(memory[1].intact()) << seed;
  std::vector<std::byte> before(memory[1].data(),
                                memory[1].data() + results * size_of(reduction.dtype));
  {
    const ThreadLimit one(1);
    run_region(region, operands, program.dynamics);
  }
  ASSERT_TRUE(std::equal(before.begin(), before.end(), memory[1].data()))
      << "seed " << seed << ": depends on the number of threads";

  for (std::size_t i = 0; i < written.size(); ++i) {
    const DType out = region.outputs[0].dtype;
    std::byte buffer[8];
    store(buffer, out, written[i]);
    ASSERT_TRUE(same(load(memory[0].data() + static_cast<std::int64_t>(i) * size_of(out), out),
                     load(buffer, out), out))
        << seed;
  }
  for (std::int64_t i = 0; i < results; ++i) {
    const Total& total = totals[static_cast<std::size_t>(i)];
    const Scalar got = load(memory[1].data() + i * size_of(reduction.dtype), reduction.dtype);
    const auto where = [&] {
      return "seed " + std::to_string(seed) + " " + op + " result " + std::to_string(i) + " axes " +
             std::to_string(reduction.axes) + " value " + std::to_string(reduction.value) +
             " got " + std::to_string(got.f) + " " + std::to_string(got.i) + "\n" +
             describe(program);
    };
    if (truth) {
      ASSERT_EQ(got.i != 0, total.count == 0 ? op == "all" : total.any) << where();
    } else if (op == "max" || op == "min") {
      if (total.count == 0) continue;
      ASSERT_TRUE(is_float(dtype)
                      ? (std::isnan(got.f) ? std::isnan(total.value.f) : got.f == total.value.f)
                      : got.i == total.value.i)
          << where() << total.value.f;
    } else if (!is_float(dtype)) {
      const std::int64_t want = total.count == 0 ? (op == "prod" ? 1 : 0) : total.value.i;
      ASSERT_EQ(got.i, want) << where();
    } else if (op == "sum") {
      const double want = static_cast<double>(total.sum);
      if (!std::isfinite(want)) {
        ASSERT_TRUE(std::isnan(want) ? std::isnan(got.f) : got.f == want) << where() << want;
        continue;
      }
      const double unit = dtype == DType::f64   ? 0x1p-52
                          : dtype == DType::f32 ? 0x1p-23
                          : dtype == DType::f16 ? 0x1p-10
                                                : 0x1p-7;
      if (std::abs(want) > 60000 && dtype == DType::f16) continue;
      const double tolerance =
          40 * (dtype == DType::f64 ? 0x1p-52 : 0x1p-23) * static_cast<double>(total.size) +
          unit * std::abs(want) + 1e-7;
      ASSERT_NEAR(got.f, want, tolerance) << where();
    } else if (std::isfinite(static_cast<double>(total.product)) &&
               std::abs(static_cast<double>(total.product)) < 1e4 &&
               std::abs(static_cast<double>(total.product)) > 1e-3 && total.count < 200) {
      // A partial product may leave the range of the dtype on the way.
      if (!std::isfinite(got.f) || got.f == 0) continue;
      ASSERT_NEAR(got.f, static_cast<double>(total.product),
                  std::abs(static_cast<double>(total.product)) * 0.01)
          << where();
    }
  }
}

TEST(TileRegion, RandomReductions) {
  const int programs = effort(800);
  for (int seed = 0; seed < programs; ++seed) {
    check_reduction(static_cast<std::uint32_t>(seed));
    if (HasFatalFailure()) return;
  }
}

TEST(TileRegion, EmptyReductionsGiveTheIdentity) {
  struct Case {
    const OpDef* op;
    float want;
  };
  const Case cases[] = {{&sum_def, 0}, {&prod_def, 1}, {&max_def, -INFINITY}, {&min_def, INFINITY}};
  for (const Case& one : cases) {
    Region region;
    region.shape = {3, 0};
    region.inputs.push_back({DType::f32, {0, 1}});
    region.reduction = {one.op, 0, 2, DType::f32, {1, 0}};
    std::vector<float> out(3, 7);
    float none = 0;
    run_region(region,
               {reinterpret_cast<std::byte*>(&none), reinterpret_cast<std::byte*>(out.data())});
    EXPECT_EQ(out, (std::vector<float>(3, one.want))) << one.op->name.text;
  }
}

TEST(TileRegion, SumOfManyIsFarBetterThanOneAfterTheOther) {
  const std::int64_t n = 1 << 22;
  std::vector<float> x(static_cast<std::size_t>(n), 0.1f);
  for (const bool rows : {true, false}) {
    Region region;
    region.shape = rows ? Shape{n} : Shape{n / 2, 2};
    region.inputs.push_back({DType::f32, rows ? Strides{1} : Strides{2, 1}});
    region.reduction = {&sum_def, 0, 1, DType::f32, rows ? Strides{0} : Strides{0, 1}};
    std::vector<float> out(2);
    run_region(region,
               {reinterpret_cast<std::byte*>(x.data()), reinterpret_cast<std::byte*>(out.data())});
    const double want = static_cast<double>(0.1f) * static_cast<double>(rows ? n : n / 2);
    EXPECT_NEAR(out[0], want, want * 1e-6);
  }
}

// The rule: a product used once by an addition or subtraction joins it, the first one where both
// are.
TEST(TileRegion, ProductsJoinAdditions) {
  const float a = 1.0f + 0x1p-12f;
  std::vector<float> x(40, a);
  std::vector<float> y(40, -(1.0f + 0x1p-11f));
  const auto run = [&](const OpDef& op, bool product_first, bool exact) {
    Region region;
    region.shape = {40};
    region.inputs = {{DType::f32, {1}}, {DType::f32, {1}}};
    region.exact = exact;
    region.instructions.push_back({&mul_def, DType::f32, {0, 0, -1, -1}});
    if (product_first) {
      region.instructions.push_back({&op, DType::f32, {2, 1, -1, -1}});
    } else {
      region.instructions.push_back({&op, DType::f32, {1, 2, -1, -1}});
    }
    region.outputs.push_back({DType::f32, 3, {1}});
    std::vector<float> out(40);
    run_region(region,
               {reinterpret_cast<std::byte*>(x.data()), reinterpret_cast<std::byte*>(y.data()),
                reinterpret_cast<std::byte*>(out.data())});
    return out[39];
  };
  const float low = 0x1p-24f;
  EXPECT_EQ(run(add_def, true, false), low);
  EXPECT_EQ(run(add_def, false, false), low);
  EXPECT_EQ(run(add_def, true, true), 0.0f);
  y.assign(40, 1.0f + 0x1p-11f);
  EXPECT_EQ(run(sub_def, true, false), low);
  EXPECT_EQ(run(sub_def, false, false), -low);
  EXPECT_EQ(run(sub_def, false, true), 0.0f);
}

TEST(TileRegion, CopiesOfEverySizeAndLayout) {
  Maker maker(5);
  for (int seed = 0; seed < 200; ++seed) {
    const DType dtypes[] = {DType::u8, DType::bf16, DType::f32, DType::i64};
    const DType dtype = maker.one_of(dtypes);
    Shape shape = maker.shape();
    if (seed % 4 == 0) shape = {1 + maker.pick(3), 65 + maker.pick(200), 65 + maker.pick(300)};
    Input input = make_input(maker, shape, dtype, false);
    if (seed % 4 == 0) {
      input = make_input(maker, {shape[0], shape[2], shape[1]}, dtype, true);
      std::swap(input.strides[1], input.strides[2]);
    }
    Region region;
    region.shape = shape;
    region.inputs.push_back({dtype, input.strides});
    region.outputs.push_back({dtype, 0, contiguous_strides(shape)});
    const std::int64_t size = size_of(dtype);
    Guarded out(element_count(shape) * size);
    run_region(region, {input.at, out.data()});
    ASSERT_TRUE(out.intact());
    std::int64_t i = 0;
    for_elements(shape, [&](const std::vector<std::int64_t>& index) {
      const std::byte* want = input.at + offset_of(index, input.strides) * size;
      ASSERT_EQ(std::memcmp(out.data() + i++ * size, want, static_cast<std::size_t>(size)), 0)
          << "seed " << seed << " " << to_string(shape) << " " << to_string(input.strides);
    });
    if (HasFatalFailure()) return;
  }
}

TEST(TileRegion, LargeResultsAreWrittenPastTheCache) {
  const std::int64_t n = (std::int64_t{9} << 20) + 7;
  std::vector<float> x(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i)
    x[static_cast<std::size_t>(i)] = static_cast<float>(i % 1000);
  Guarded out(n * 4);
  Region region = one_op(neg_def, n, DType::f32, 1, DType::f32);
  run_region(region, {reinterpret_cast<std::byte*>(x.data()), out.data()});
  ASSERT_TRUE(out.intact());
  const auto* y = reinterpret_cast<const float*>(out.data());
  for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(y[i], -x[static_cast<std::size_t>(i)]);
}

}  // namespace
}  // namespace hearth::region_test
