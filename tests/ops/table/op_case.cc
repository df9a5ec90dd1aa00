#include "ops/table/op_case.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "core/hashing.h"
#include "graph/record/grad_record.h"
#include "hearth/ops.h"

namespace hearth::testing {
namespace {

std::uint64_t next(std::uint64_t& state) {
  const std::uint64_t drawn = splitmix64(state);
  state += kSplitMix64Step;
  return drawn;
}

double element(const SampleInput& input, DType dtype, std::uint64_t& state) {
  const double unit = static_cast<double>(next(state) >> 11) * 0x1p-53;
  if (is_bool(dtype)) return unit < 0.5 ? 0 : 1;
  if (is_int(dtype)) {
    const double low = std::ceil(info(dtype).is_signed ? input.lo : std::max(input.lo, 0.0));
    const double high = std::max(low, std::floor(input.hi));
    return low + std::floor(unit * (high - low + 1));
  }
  return rounded(input.lo + unit * (input.hi - input.lo), dtype);
}

HostArray make_elements(const SampleInput& input, DType dtype, bool repeats, std::uint64_t seed) {
  HostArray out{input.shape, {}};
  std::uint64_t state = seed;
  const auto count = static_cast<std::size_t>(element_count(input.shape));
  out.values.resize(count);
  for (double& value : out.values) value = element(input, dtype, state);
  if (input.distinct) {
    // Evenly spaced, in random order.
    const double low = is_int(dtype) && !info(dtype).is_signed ? 0 : input.lo;
    for (std::size_t i = 0; i < count; ++i) {
      out.values[i] = is_float(dtype) ? low + (input.hi - low) * static_cast<double>(i) /
                                                  static_cast<double>(count)
                                      : std::ceil(low) + static_cast<double>(i);
      out.values[i] = rounded(out.values[i], dtype);
      std::swap(out.values[i], out.values[next(state) % (i + 1)]);
    }
  }
  if (input.diagonal != 0) {
    const int rank = input.shape.rank();
    for (Indices at(input.shape); !at.done(); at.advance()) {
      if ((*at)[rank - 2] != (*at)[rank - 1]) continue;
      double& value = out.values[offset_of(input.shape, *at)];
      value = rounded(value + input.diagonal, dtype);
    }
  }
  if (!repeats) return out;
  int axis = 0;
  while (axis < input.shape.rank() && input.shape[axis] <= 1) ++axis;
  if (axis == input.shape.rank()) return out;
  for (Indices at(input.shape); !at.done(); at.advance()) {
    Dims first = *at;
    first[axis] = 0;
    out.values[offset_of(input.shape, *at)] = out.values[offset_of(input.shape, first)];
  }
  return out;
}

Array dense(const HostArray& elements, DType dtype, Device device) {
  const Array wide = Array::from_data(elements.values, elements.shape, Device::cpu());
  // Through the host, so that every device starts from memory that was copied to it.
  const Array exact = cast(wide, dtype).eval();
  std::vector<std::byte> bytes(static_cast<std::size_t>(exact.size() * size_of(dtype)));
  exact.read(bytes.data(), static_cast<std::int64_t>(bytes.size()), dtype);
  return Array::from_bytes(bytes, dtype, elements.shape, device);
}

// `elements` moved to the places that `place` gives, in an array of `shape`; the rest is filled
// with what no result must depend on.
template <class Place>
HostArray scattered(const HostArray& elements, const Shape& shape, Place place) {
  HostArray out{shape, std::vector<double>(static_cast<std::size_t>(element_count(shape)), 99)};
  for (Indices at(elements.shape); !at.done(); at.advance()) {
    out.values[offset_of(shape, place(*at))] = elements.values[offset_of(elements.shape, *at)];
  }
  return out;
}

}  // namespace

const char* name(MemoryLayout layout) {
  switch (layout) {
    case MemoryLayout::contiguous:
      return "contiguous";
    case MemoryLayout::transposed:
      return "transposed";
    case MemoryLayout::sliced:
      return "sliced";
    case MemoryLayout::flipped:
      return "flipped";
    case MemoryLayout::broadcast:
      return "broadcast";
    case MemoryLayout::channels_last:
      return "channels_last";
  }
  return "";
}

std::string OpCase::text() const {
  std::string text = std::string(op->name.text) + " " + std::string(hearth::name(dtype)) + " (";
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::string(hearth::name(input_dtype(i))) +
            to_string(inputs[i].shape);
  }
  text += ") statics";
  for (const std::uint64_t word : sample.params.statics().span()) {
    text += " " + std::to_string(static_cast<std::int64_t>(word));
  }
  return text;
}

OpCase make_case(const OpDef& op, std::size_t sample, DType dtype, bool repeats) {
  OpCase one;
  one.op = &op;
  one.sample = op.samples()[sample];
  one.dtype = dtype;
  for (std::size_t i = 0; i < one.sample.inputs.size(); ++i) {
    const std::uint64_t seed = op.name.hash + 1000 * sample + 10 * i;
    one.inputs.push_back(make_elements(one.sample.inputs[i], one.input_dtype(i), repeats, seed));
  }
  return one;
}

Array build_array(const HostArray& elements, DType dtype, MemoryLayout layout, Device device) {
  const Shape& shape = elements.shape;
  const int rank = shape.rank();
  if (rank == 0) return dense(elements, dtype, device);
  switch (layout) {
    case MemoryLayout::contiguous:
      return dense(elements, dtype, device);
    case MemoryLayout::transposed: {
      Shape reversed;
      Dims axes;
      for (int i = rank - 1; i >= 0; --i) {
        reversed.push_back(shape[i]);
        axes.push_back(i);
      }
      const HostArray moved = scattered(elements, reversed, [&](const Dims& at) {
        Dims place;
        for (int i = rank - 1; i >= 0; --i) place.push_back(at[i]);
        return place;
      });
      return permute(dense(moved, dtype, device), axes);
    }
    case MemoryLayout::sliced: {
      Shape larger = shape;
      std::vector<Slice> slices;
      for (int i = 0; i < rank; ++i) {
        larger[i] = 2 * shape[i] + 1;
        slices.push_back({1, 2 * shape[i] + 1, 2});
      }
      const HostArray moved = scattered(elements, larger, [&](const Dims& at) {
        Dims place = at;
        for (int i = 0; i < rank; ++i) place[i] = 2 * at[i] + 1;
        return place;
      });
      return slice(dense(moved, dtype, device), slices);
    }
    case MemoryLayout::flipped: {
      Dims axes;
      for (int i = 0; i < rank; ++i) axes.push_back(i);
      const HostArray moved = scattered(elements, shape, [&](const Dims& at) {
        Dims place = at;
        for (int i = 0; i < rank; ++i) place[i] = shape[i] - 1 - at[i];
        return place;
      });
      return flip(dense(moved, dtype, device), axes);
    }
    case MemoryLayout::broadcast: {
      int axis = 0;
      while (axis < rank && shape[axis] <= 1) ++axis;
      if (axis == rank) return dense(elements, dtype, device);
      HostArray narrow{shape, {}};
      narrow.shape[axis] = 1;
      for (Indices at(narrow.shape); !at.done(); at.advance()) {
        narrow.values.push_back(elements.values[offset_of(shape, *at)]);
      }
      return expand(dense(narrow, dtype, device), shape);
    }
    case MemoryLayout::channels_last: {
      if (rank < 3) return dense(elements, dtype, device);
      Shape moved = shape;
      Dims axes = {0, rank - 1};
      for (int i = 1; i < rank - 1; ++i) {
        moved[i] = shape[i + 1];
        axes.push_back(i);
      }
      moved[rank - 1] = shape[1];
      const HostArray last = scattered(elements, moved, [&](const Dims& at) {
        Dims place = at;
        for (int i = 1; i < rank - 1; ++i) place[i] = at[i + 1];
        place[rank - 1] = at[1];
        return place;
      });
      return permute(dense(last, dtype, device), axes);
    }
  }
  return Array();
}

std::vector<Array> build_inputs(const OpCase& one, MemoryLayout layout, Device device) {
  std::vector<Array> arrays;
  for (std::size_t i = 0; i < one.inputs.size(); ++i) {
    arrays.push_back(build_array(one.inputs[i], one.input_dtype(i), layout, device));
  }
  return arrays;
}

std::vector<Array> record_case(const OpCase& one, const std::vector<Array>& inputs, Device device) {
  std::vector<const Array*> pointers;
  for (const Array& input : inputs) pointers.push_back(&input);
  return record_outputs(*one.op, pointers, one.sample.params, &device);
}

std::vector<HostArray> expected_results(const OpCase& one) {
  std::vector<HostArray> expected;
  for (int i = 0; i < one.op->outputs; ++i) {
    auto reference = host_reference(one.op->name.text, one.inputs, one.sample.params, one.dtype, i);
    if (!reference) break;
    expected.push_back(*reference);
  }
  if (!expected.empty()) return expected;
  if (one.op->composite == nullptr && one.op->composite_outputs == nullptr) {
    throw std::logic_error(one.text() + " has neither host_reference() nor a composite: the op " +
                           "would be compared with itself");
  }
  // The same elements in f64.
  OpCase wide = one;
  if (is_float(one.dtype)) wide.dtype = DType::f64;
  const std::vector<Array> arrays = build_inputs(wide, MemoryLayout::contiguous, Device::cpu());
  std::vector<const Array*> pointers;
  for (const Array& array : arrays) pointers.push_back(&array);
  const Composite arguments{pointers, one.sample.params, Device::cpu()};
  const std::vector<Array> results = one.op->composite_outputs != nullptr
                                         ? one.op->composite_outputs(arguments)
                                         : std::vector<Array>{one.op->composite(arguments)};
  for (const Array& result : results) expected.push_back({result.shape(), result.to_doubles()});
  return expected;
}

double tolerance_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 4e-14;
    case DType::f32:
      return 4e-6;
    case DType::f16:
      return 3e-3;
    case DType::bf16:
      return 2e-2;
    default:
      return 0;
  }
}

double coding_tolerance(const OpCase& one) {
  const std::string_view op = one.op->name.text;
  if (op == "half_linear") return tolerance_of(one.input_dtype(1));
  return op.starts_with("packed_") ? 2e-2 : 0;
}

double term_magnitude(const OpCase& one, std::size_t output) {
  // Centred rows are in units of their deviation. Where all elements are equal, nothing but the
  // rounding of their mean is left, in these units. Of frequencies that a line lacks, Fourier
  // transforms leave the rounding of its elements. Means of channels may count from an element.
  const std::string_view op = one.op->name.text;
  const bool is_mean =
      (op == "channel_moments" && output == 0) || (op == "batch_norm_train" && output == 1);
  return op == "layer_norm" || op.ends_with("fft") || is_mean ? 1 : 1e-3;
}

}  // namespace hearth::testing
