// Discrete Fourier transforms along an axis. Those of real lines of even length are done by one of
// half the length: even elements are its real part and odd ones its imaginary part.
#include <utility>

#include "devices/cpu/ops/fft_plan.h"
#include "graph/implementation.h"
#include "ops/definition/defs.h"

namespace hearth::cpu {
namespace {

// Lines that are transformed at once, side by side, and elements of all of them.
constexpr std::int64_t kLanes = 8;
constexpr std::int64_t kLaneElements = 1 << 16;

// The lines of an operand along an axis.
template <class T>
class FftLines {
 public:
  FftLines(const Operand& operand, int axis)
      : operand_(operand),
        outer_(operand.shape(), operand.strides(), 0, axis),
        inner_(operand.shape(), operand.strides(), axis + 1, operand.shape().rank()),
        length_(operand.shape()[axis]),
        step_(operand.stride(axis)) {}

  bool absent() const { return operand_.absent(); }
  std::int64_t count() const { return outer_.count() * inner_.count(); }
  std::int64_t length() const { return length_; }
  std::int64_t step() const { return step_; }
  T* line(std::int64_t i) const {
    const std::int64_t inner = inner_.count();
    return reinterpret_cast<T*>(
        operand_.at(outer_.at(i / inner) + inner_.at(i - i / inner * inner)));
  }

 private:
  Operand operand_;
  OffsetMap outer_, inner_;
  std::int64_t length_, step_;
};

// What is transformed: n elements of a line are `half` complex ones, n where there is no trick.
template <class T>
struct FftState {
  FftState(std::int64_t length, bool real)
      : n(length), halved(real && n % 2 == 0), plan(halved ? n / 2 : n) {
    if (!halved) return;
    for (std::int64_t k = 0; k <= n / 2; ++k) {
      const Turning turn = root_of_unity(k, n);
      turns_re.push_back(static_cast<T>(turn.re));
      turns_im.push_back(static_cast<T>(turn.im));
    }
  }
  std::int64_t n;
  bool halved;
  FftPlan<T> plan;
  std::vector<T> turns_re, turns_im;  // e^(-2 pi i k / n)
};

// Lines side by side: element i of lane l is at i * lanes + l.
template <class T>
struct FftBlock {
  T *re, *im, *room_re, *room_im;
  std::int64_t first, lanes;
};

template <class T>
std::int64_t lanes_of(const FftState<T>& state) {
  const std::int64_t n = std::max<std::int64_t>(state.plan.length(), 1);
  return std::clamp<std::int64_t>(kLaneElements / n, 1, kLanes);
}

// Calls body(block) for all lines.
template <class T, class Body>
void for_blocks(const FftState<T>& state, std::int64_t count, Body body) {
  constexpr std::int64_t kCost = 16;  // of an element, in those of a cheap loop
  const std::int64_t most = lanes_of(state), blocks = (count + most - 1) / most;
  const std::int64_t n = state.plan.length();
  for_chunks(blocks, most * n * kCost, [&](std::int64_t begin, std::int64_t end) {
    T* const memory = scratch<T>(0, 4 * n * most);
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t lanes = std::min(most, count - i * most);
      body(FftBlock<T>{memory, memory + n * lanes, memory + 2 * n * lanes, memory + 3 * n * lanes,
                       i * most, lanes});
    }
  });
}

template <class T>
void gather(const FftLines<T>& lines, const FftBlock<T>& block, std::int64_t start,
            std::int64_t step, std::int64_t n, T* to) {
  for (std::int64_t lane = 0; lane < block.lanes; ++lane) {
    const T* const line = lines.line(block.first + lane) + start * lines.step();
    const std::int64_t stride = step * lines.step();
    for (std::int64_t i = 0; i < n; ++i) to[i * block.lanes + lane] = line[i * stride];
  }
}
template <class T>
void scatter(const T* from, const FftBlock<T>& block, std::int64_t start, std::int64_t step,
             std::int64_t n, const FftLines<T>& lines) {
  if (lines.absent()) return;
  for (std::int64_t lane = 0; lane < block.lanes; ++lane) {
    T* const line = lines.line(block.first + lane) + start * lines.step();
    const std::int64_t stride = step * lines.step();
    for (std::int64_t i = 0; i < n; ++i) line[i * stride] = from[i * block.lanes + lane];
  }
}

template <class T>
void run_fft(const Launch& launch) {
  ParamReader statics = statics_of(launch);
  const auto axis = static_cast<int>(statics.i64());
  const bool inverse = statics.boolean();
  const FftLines<T> re(input_of(launch, 0), axis), im(input_of(launch, 1), axis);
  const FftLines<T> out_re(output_of(launch), axis), out_im(output_of(launch, 1), axis);
  const auto& state = *static_cast<const FftState<T>*>(launch.state);
  for_blocks(state, re.count(), [&](FftBlock<T> block) {
    gather(re, block, 0, 1, state.n, block.re);
    gather(im, block, 0, 1, state.n, block.im);
    if (inverse) {
      state.plan.run(block.im, block.re, block.room_im, block.room_re, block.lanes);
    } else {
      state.plan.run(block.re, block.im, block.room_re, block.room_im, block.lanes);
    }
    scatter(block.re, block, 0, 1, state.n, out_re);
    scatter(block.im, block, 0, 1, state.n, out_im);
  });
}

template <class T>
void run_rfft(const Launch& launch) {
  const auto axis = static_cast<int>(statics_of(launch).i64());
  const FftLines<T> x(input_of(launch, 0), axis);
  const FftLines<T> out_re(output_of(launch), axis), out_im(output_of(launch, 1), axis);
  const auto& state = *static_cast<const FftState<T>*>(launch.state);
  const std::int64_t half = state.plan.length(), bins = out_re.length();
  for_blocks(state, x.count(), [&](FftBlock<T> block) {
    const std::int64_t lanes = block.lanes;
    if (!state.halved) {
      gather(x, block, 0, 1, state.n, block.re);
      std::fill_n(block.im, state.n * lanes, T(0));
      state.plan.run(block.re, block.im, block.room_re, block.room_im, lanes);
      scatter(block.re, block, 0, 1, bins, out_re);
      scatter(block.im, block, 0, 1, bins, out_im);
      return;
    }
    gather(x, block, 0, 2, half, block.re);
    gather(x, block, 1, 2, half, block.im);
    state.plan.run(block.re, block.im, block.room_re, block.room_im, lanes);
    T* const re = scratch<T>(1, 2 * bins * lanes);
    T* const im = re + bins * lanes;
    for (std::int64_t k = 0; k < bins; ++k) {
      const T c = state.turns_re[static_cast<std::size_t>(k)];
      const T s = state.turns_im[static_cast<std::size_t>(k)];
      const std::int64_t a = k % half * lanes, b = (half - k) % half * lanes;
      for (std::int64_t l = 0; l < lanes; ++l) {
        const T even_re = (block.re[a + l] + block.re[b + l]) / 2;
        const T even_im = (block.im[a + l] - block.im[b + l]) / 2;
        const T odd_re = (block.im[a + l] + block.im[b + l]) / 2;
        const T odd_im = (block.re[b + l] - block.re[a + l]) / 2;
        re[k * lanes + l] = even_re + (odd_re * c - odd_im * s);
        const bool is_real = k == 0 || k == half;
        im[k * lanes + l] = is_real ? T(0) : even_im + (odd_re * s + odd_im * c);
      }
    }
    scatter(re, block, 0, 1, bins, out_re);
    scatter(im, block, 0, 1, bins, out_im);
  });
}

template <class T>
void run_irfft(const Launch& launch) {
  const auto axis = static_cast<int>(statics_of(launch).i64());
  const FftLines<T> re(input_of(launch, 0), axis), im(input_of(launch, 1), axis);
  const FftLines<T> out(output_of(launch), axis);
  const auto& state = *static_cast<const FftState<T>*>(launch.state);
  const std::int64_t half = state.plan.length(), bins = re.length();
  for_blocks(state, re.count(), [&](FftBlock<T> block) {
    const std::int64_t lanes = block.lanes;
    T* const x = scratch<T>(1, 2 * bins * lanes);
    T* const y = x + bins * lanes;
    gather(re, block, 0, 1, bins, x);
    gather(im, block, 0, 1, bins, y);
    // Elements that a real line cannot have are left out.
    std::fill_n(y, lanes, T(0));
    if (state.n % 2 == 0) std::fill_n(y + (bins - 1) * lanes, lanes, T(0));
    if (!state.halved) {
      for (std::int64_t k = 0; k < state.n; ++k) {
        const bool mirrored = k >= bins;
        const std::int64_t from = (mirrored ? state.n - k : k) * lanes;
        for (std::int64_t l = 0; l < lanes; ++l) {
          block.re[k * lanes + l] = x[from + l];
          block.im[k * lanes + l] = mirrored ? -y[from + l] : y[from + l];
        }
      }
      state.plan.run(block.im, block.re, block.room_im, block.room_re, lanes);
      return scatter(block.re, block, 0, 1, state.n, out);
    }
    for (std::int64_t k = 0; k < half; ++k) {
      const T c = state.turns_re[static_cast<std::size_t>(k)];
      const T s = -state.turns_im[static_cast<std::size_t>(k)];
      const std::int64_t a = k * lanes, b = (half - k) * lanes;
      for (std::int64_t l = 0; l < lanes; ++l) {
        const T even_re = x[a + l] + x[b + l], even_im = y[a + l] - y[b + l];
        const T far_re = x[a + l] - x[b + l], far_im = y[a + l] + y[b + l];
        const T odd_re = far_re * c - far_im * s, odd_im = far_re * s + far_im * c;
        block.re[a + l] = even_re - odd_im;
        block.im[a + l] = even_im + odd_re;
      }
    }
    state.plan.run(block.im, block.re, block.room_im, block.room_re, lanes);
    scatter(block.re, block, 0, 2, half, out);
    scatter(block.im, block, 1, 2, half, out);
  });
}

enum class Transform { complex, real, real_inverse };

template <Transform transform>
Prepared prepare(const Signature& signature) {
  const auto axis = static_cast<int>(ParamReader(signature.statics).i64());
  const TensorSpec& line =
      transform == Transform::real_inverse ? signature.output : signature.inputs[0];
  const std::int64_t n = line.shape[axis];
  Prepared prepared;
  if (n == 0) return prepared;
  with_compute_type(signature.inputs[0].dtype, [&]<class T>() {
    prepared.state = std::make_shared<const FftState<T>>(n, transform != Transform::complex);
  });
  return prepared;
}

template <Transform transform>
void launch_transform(const Launch& launch) {
  if (launch.state == nullptr) return;
  with_compute_type(input_of(launch, 0).dtype(), [&]<class T>() {
    if constexpr (transform == Transform::complex) run_fft<T>(launch);
    if constexpr (transform == Transform::real) run_rfft<T>(launch);
    if constexpr (transform == Transform::real_inverse) run_irfft<T>(launch);
  });
}

template <Transform transform>
constexpr Implementation of_transform(const OpDef& op, std::uint32_t may_omit) {
  return {.name = "mixed_radix",
          .op = &op,
          .prepare = prepare<transform>,
          .launch = launch_transform<transform>,
          .may_omit = may_omit};
}

constexpr Implementation kImplementations[] = {
    of_transform<Transform::complex>(defs::fft_op, 0b11),
    of_transform<Transform::real>(defs::rfft_op, 0b11),
    of_transform<Transform::real_inverse>(defs::irfft_op, 0),
};

}  // namespace

Family fft_family() { return kImplementations; }

}  // namespace hearth::cpu
