// The statements that look at arrays differently, join them or address parts of them.
#include "graph/programs/program_maker.h"
#include "graph/programs/program_text.h"
#include "hearth/ops.h"

namespace hearth::testing {
namespace {

const Array& at(const Variables& v, int i) { return v[static_cast<std::size_t>(i)]; }

std::string slices_text(const std::vector<Slice>& slices) {
  std::string text = "{";
  for (const Slice& slice : slices) {
    if (text.size() > 1) text += ", ";
    text += "{" + std::to_string(slice.start) + ", " +
            (slice.end ? std::to_string(*slice.end) : std::string("nullopt")) + ", " +
            std::to_string(slice.step) + "}";
  }
  return text + "}";
}

}  // namespace

bool ProgramMaker::reshape_view() {
  const int a = pick([](const Array&) { return true; });
  if (a < 0) return false;
  const Array& x = shadow(a);
  Shape shape;
  std::int64_t left = x.size();
  if (left == 0) {
    shape = {0, 3};
  } else {
    for (const std::int64_t factor :
         {std::int64_t{2}, std::int64_t{3}, std::int64_t{4}, std::int64_t{7}}) {
      if (left % factor == 0 && one_in(2)) {
        shape.push_back(factor);
        left /= factor;
      }
    }
    shape.insert(below(shape.rank() + 1), left);
    if (one_in(4)) shape.insert(below(shape.rank() + 1), 1);
  }
  return emit({a}, call_text("reshape", {var(a), braces(shape)}),
              [=](const Variables& v, Device) { return reshape(at(v, a), shape); });
}

bool ProgramMaker::permute_view() {
  const int a = pick([](const Array& x) { return x.rank() >= 2; });
  if (a < 0) return false;
  Dims axes;
  for (int i = 0; i < shadow(a).rank(); ++i) axes.insert(below(i + 1), i);
  return emit({a}, call_text("permute", {var(a), braces(axes)}),
              [=](const Variables& v, Device) { return permute(at(v, a), axes); });
}

bool ProgramMaker::expand_view() {
  const int a = pick([](const Array& x) { return x.rank() <= 3 && x.size() <= 1000; });
  if (a < 0) return false;
  Shape shape = shadow(a).shape();
  bool changed = false;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] != 1 || one_in(3)) continue;
    shape[i] = 1 + below(6);
    changed = true;
  }
  if (!changed) shape.insert(0, 1 + below(4));
  return emit({a}, call_text("expand", {var(a), braces(shape)}),
              [=](const Variables& v, Device) { return expand(at(v, a), shape); });
}

bool ProgramMaker::slice_view() {
  const int a = pick([](const Array& x) { return x.rank() >= 1; });
  if (a < 0) return false;
  std::vector<Slice> slices;
  for (int i = 0; i < shadow(a).rank(); ++i) {
    const auto extent = static_cast<int>(shadow(a).shape(i));
    Slice slice;
    if (!one_in(3)) {
      slice.start = below(extent + 1);
      if (one_in(2)) slice.end = slice.start + below(extent + 1);
      constexpr std::int64_t kSteps[] = {1, 1, 2, 3, -1, -1, -2};
      slice.step = kSteps[below(7)];
      if (!one_in(10) && slice.start == extent) slice.start = 0;
    }
    slices.push_back(slice);
  }
  return emit({a}, call_text("slice", {var(a), slices_text(slices)}),
              [=](const Variables& v, Device) { return slice(at(v, a), slices); });
}

bool ProgramMaker::dynamic_view() {
  const int a = pick([](const Array& x) { return x.rank() >= 1 && x.size() > 0; });
  if (a < 0) return false;
  Dims starts;
  Shape sizes;
  for (const std::int64_t extent : shadow(a).shape()) {
    const std::int64_t size = 1 + below(static_cast<int>(extent));
    sizes.push_back(size);
    starts.push_back(below(static_cast<int>(extent - size + 1)));
  }
  return emit({a}, call_text("dynamic_slice", {var(a), braces(starts), braces(sizes)}),
              [=](const Variables& v, Device) { return dynamic_slice(at(v, a), starts, sizes); });
}

bool ProgramMaker::flip_view() {
  const int a = pick([](const Array& x) { return x.rank() >= 1; });
  if (a < 0) return false;
  Dims axes;
  for (int i = 0; i < shadow(a).rank(); ++i) {
    if (one_in(2)) axes.push_back(i);
  }
  return emit({a}, call_text("flip", {var(a), braces(axes)}),
              [=](const Variables& v, Device) { return flip(at(v, a), axes); });
}

bool ProgramMaker::unfold_view() {
  const int a =
      pick([](const Array& x) { return x.rank() >= 1 && x.rank() <= 4 && x.size() <= 300; });
  if (a < 0) return false;
  const int axis = below(shadow(a).rank());
  const std::int64_t size = below(static_cast<int>(shadow(a).shape(axis)) + 2);
  const std::int64_t step = 1 + below(4);
  return emit({a},
              call_text("unfold",
                        {var(a), std::to_string(axis), std::to_string(size), std::to_string(step)}),
              [=](const Variables& v, Device) { return unfold(at(v, a), axis, size, step); });
}

bool ProgramMaker::diagonal_view() {
  const int a = pick([](const Array& x) { return x.rank() >= 2; });
  if (a < 0) return false;
  const int rank = shadow(a).rank();
  const int first = below(rank);
  const int second = (first + 1 + below(rank - 1)) % rank;
  const std::int64_t offset = below(5) - 2;
  return emit(
      {a},
      call_text("diagonal",
                {var(a), std::to_string(offset), std::to_string(first), std::to_string(second)}),
      [=](const Variables& v, Device) { return diagonal(at(v, a), offset, first, second); });
}

// A value beside a part of itself that broadcasts, or beside itself turned around.
bool ProgramMaker::with_own_part() {
  const int a =
      pick([](const Array& x) { return x.rank() >= 1 && x.size() > 0 && !is_bool(x.dtype()); });
  if (a < 0) return false;
  const int axis = below(shadow(a).rank());
  const std::int64_t start = one_in(2) ? 0 : below(static_cast<int>(shadow(a).shape(axis)));
  const bool turned = one_in(3);
  const bool swapped = one_in(2);
  const std::string part =
      turned ? call_text("flip", {var(a), braces({axis})})
             : call_text("narrow", {var(a), std::to_string(axis), std::to_string(start), "1"});
  return emit({a}, swapped ? call_text("sub", {part, var(a)}) : call_text("sub", {var(a), part}),
              [=](const Variables& v, Device) {
                const Array& x = at(v, a);
                const Array other = turned ? flip(x, {axis}) : narrow(x, axis, start, 1);
                return swapped ? sub(other, x) : sub(x, other);
              });
}

bool ProgramMaker::join() {
  const int a = pick([](const Array&) { return true; });
  if (a < 0) return false;
  const int b = pick([&](const Array& y) {
    return y.dtype() == shadow(a).dtype() && y.shape() == shadow(a).shape();
  });
  const int other = b < 0 ? a : b;
  if (shadow(a).rank() == 0 || one_in(3)) {
    const int axis = below(shadow(a).rank() + 1);
    return emit({a, other},
                "stack({" + var(a) + ", " + var(other) + "}, " + std::to_string(axis) + ")",
                [=](const Variables& v, Device) { return stack({at(v, a), at(v, other)}, axis); });
  }
  const int axis = below(shadow(a).rank());
  return emit(
      {a, other},
      "cat({" + var(a) + ", " + var(other) + ", " + var(a) + "}, " + std::to_string(axis) + ")",
      [=](const Variables& v, Device) { return cat({at(v, a), at(v, other), at(v, a)}, axis); });
}

bool ProgramMaker::repeat_tiles() {
  const int a = pick([](const Array& x) { return x.rank() >= 1 && x.size() < 500; });
  if (a < 0) return false;
  Dims times;
  for (int i = 0; i < shadow(a).rank(); ++i) times.push_back(1 + below(2));
  return emit({a}, call_text("repeat", {var(a), braces(times)}),
              [=](const Variables& v, Device) { return repeat(at(v, a), times); });
}

bool ProgramMaker::assign_slice() {
  const int a = pick([](const Array& x) { return x.rank() >= 1; });
  if (a < 0) return false;
  std::vector<Slice> slices;
  Shape part;
  for (const std::int64_t extent : shadow(a).shape()) {
    Slice slice;
    if (extent > 0 && !one_in(3)) {
      slice.start = below(static_cast<int>(extent));
      slice.end = slice.start + 1 + below(static_cast<int>(extent - slice.start));
      slice.step = one_in(3) ? -1 : 1 + below(2);
    }
    slices.push_back(slice);
  }
  part = slice(shadow(a), slices).shape();
  std::string text = "slice_assign(" + var(a) + ", " + slices_text(slices) + ", ";
  if (one_in(4)) {
    std::string number_text;
    const Array number = scalar(shadow(a).dtype(), number_text);
    return emit({a}, text + number_text + ")",
                [=](const Variables& v, Device) { return slice_assign(at(v, a), slices, number); });
  }
  if (one_in(4)) {  // its own elements, moved
    return emit({a}, text + "flip(slice(" + var(a) + ", ...), {0}))",
                [=](const Variables& v, Device) {
                  return slice_assign(at(v, a), slices, flip(slice(at(v, a), slices), {0}));
                });
  }
  int value =
      pick([&](const Array& y) { return y.dtype() == shadow(a).dtype() && y.shape() == part; });
  if (value < 0) value = add_input(shadow(a).dtype(), part);
  return emit({a, value}, text + var(value) + ")", [=](const Variables& v, Device) {
    return slice_assign(at(v, a), slices, at(v, value));
  });
}

bool ProgramMaker::assign_dynamic() {
  const int a = pick([](const Array& x) { return x.rank() >= 1 && x.size() > 0; });
  if (a < 0) return false;
  Dims starts;
  Shape sizes;
  for (const std::int64_t extent : shadow(a).shape()) {
    const std::int64_t size = 1 + below(static_cast<int>(extent));
    sizes.push_back(size);
    starts.push_back(below(static_cast<int>(extent - size + 1)));
  }
  int value =
      pick([&](const Array& y) { return y.dtype() == shadow(a).dtype() && y.shape() == sizes; });
  if (value < 0) value = add_input(shadow(a).dtype(), sizes);
  return emit({a, value}, call_text("dynamic_slice_assign", {var(a), braces(starts), var(value)}),
              [=](const Variables& v, Device) {
                return dynamic_slice_assign(at(v, a), starts, at(v, value));
              });
}

bool ProgramMaker::look_up() {
  const int a = pick([](const Array& x) { return x.rank() == 2 && x.size() > 0; });
  if (a < 0) return false;
  const int indices = add_indices({2, 1 + below(4)}, shadow(a).shape(0));
  if (one_in(3)) {
    return emit({indices},
                call_text("one_hot", {var(indices), "5", dtype_text(options_.float_dtype)}),
                [=, dtype = options_.float_dtype](const Variables& v, Device) {
                  return one_hot(at(v, indices), 5, dtype);
                });
  }
  return emit({a, indices}, call_text("embedding", {var(a), var(indices)}),
              [=](const Variables& v, Device) { return embedding(at(v, a), at(v, indices)); });
}

}  // namespace hearth::testing
