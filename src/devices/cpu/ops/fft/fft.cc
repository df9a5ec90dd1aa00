// Discrete Fourier transforms along an axis. Those of real lines of even length are done by one of
// half the length: even elements are its real part and odd ones its imaginary part.
#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include "core/integer_math.h"
#include "devices/cpu/ops/fft/plan.h"
#include "graph/implementation.h"
#include "ops/definition/defs.h"

namespace hearth::cpu {
namespace {

// Lines that are transformed at once, side by side, and elements of all of them.
constexpr std::int64_t kLanes = 16;
constexpr std::int64_t kLaneElements = 1 << 16;
// Lines at least as long go alone where they lie in one piece.
constexpr std::int64_t kLongLine = 64;

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
  FftState(std::int64_t length, bool real, bool alone)
      : n(length),
        halved(real && n % 2 == 0),
        plan(halved ? n / 2 : n, alone && (halved ? n / 2 : n) >= kLongLine) {
    if (!halved) return;
    for (std::int64_t k = 0; k <= n / 2; ++k) {
      const RootOfUnity root = root_of_unity(k, n);
      roots_re.push_back(static_cast<T>(root.re));
      roots_im.push_back(static_cast<T>(root.im));
    }
  }
  ComplexRow<const T> roots() const { return {roots_re.data(), roots_im.data()}; }
  std::int64_t n;
  bool halved;
  FftPlan<T> plan;
  std::vector<T> roots_re, roots_im;  // e^(-2 pi i k / n)
};

// A state that is worked out when it is first wanted: once memory for the operands, as long as its
// tables, has been found. Thread-safe.
template <class T>
class LateFftState {
 public:
  LateFftState(std::int64_t length, bool real, bool alone)
      : length_(length), real_(real), alone_(alone) {}

  const FftState<T>& get() const {
    const std::lock_guard lock(mutex_);
    if (state_ == nullptr) state_ = std::make_unique<FftState<T>>(length_, real_, alone_);
    return *state_;
  }

 private:
  const std::int64_t length_;
  const bool real_, alone_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<const FftState<T>> state_;
};

template <class T>
const FftState<T>& state_of(const Launch& launch) {
  return static_cast<const LateFftState<T>*>(launch.state)->get();
}

// Lines side by side: element i of lane l is at i * lanes + l.
template <class T>
struct FftBlock {
  ComplexRow<T> from, to, workspace;
  std::int64_t first, lanes;
};

template <class T>
ComplexRow<const T> read_only(ComplexRow<T> x) {
  return {x.re, x.im};
}

template <class T>
std::int64_t lanes_of(const FftState<T>& state) {
  if (state.plan.alone()) return 1;
  const std::int64_t n = std::max<std::int64_t>(state.plan.length(), 1);
  return std::clamp<std::int64_t>(kLaneElements / n, 1, kLanes);
}

// Calls body(block) for all lines.
template <class T, class Body>
void for_blocks(const FftState<T>& state, std::int64_t count, Body body) {
  constexpr std::int64_t kCost = 16;  // of an element, in those of a cheap loop
  const std::int64_t most = lanes_of(state), blocks = ceil_div(count, most);
  const std::int64_t n = state.plan.length();
  for_chunks(blocks, most * n * kCost, [&](std::int64_t begin, std::int64_t end) {
    T* const memory = scratch<T>(0, 6 * n * most);
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t lanes = std::min(most, count - i * most), size = n * lanes;
      body(FftBlock<T>{{memory, memory + size},
                       {memory + 2 * size, memory + 3 * size},
                       {memory + 4 * size, memory + 5 * size},
                       i * most,
                       lanes});
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

// A block's line where it lies, if it is alone and in one piece, else a copy in `workspace`.
template <class T>
const T* gathered(const FftLines<T>& lines, const FftBlock<T>& block, std::int64_t n,
                  T* workspace) {
  if (block.lanes == 1 && lines.step() == 1) return lines.line(block.first);
  gather(lines, block, 0, 1, n, workspace);
  return workspace;
}
// Where a block's results are to be put: into their line, or into `workspace`, for finish().
template <class T>
T* place_of(const FftLines<T>& lines, const FftBlock<T>& block, T* workspace) {
  const bool direct = block.lanes == 1 && lines.step() == 1 && !lines.absent();
  return direct ? lines.line(block.first) : workspace;
}
template <class T>
void finish(const T* result, const T* workspace, const FftBlock<T>& block, std::int64_t n,
            const FftLines<T>& lines) {
  if (result == workspace) scatter(workspace, block, 0, 1, n, lines);
}

template <class T>
void run_fft(const Launch& launch) {
  ParamReader statics = statics_of(launch);
  const auto axis = static_cast<int>(statics.i64());
  const bool inverse = statics.boolean();
  const FftLines<T> re(input_of(launch, 0), axis), im(input_of(launch, 1), axis);
  const FftLines<T> out_re(output_of(launch), axis), out_im(output_of(launch, 1), axis);
  const FftState<T>& state = state_of<T>(launch);
  for_blocks(state, re.count(), [&](FftBlock<T> block) {
    const ComplexRow<const T> x = {gathered(re, block, state.n, block.from.re),
                                   gathered(im, block, state.n, block.from.im)};
    const ComplexRow<T> y = {place_of(out_re, block, block.to.re),
                             place_of(out_im, block, block.to.im)};
    if (inverse) {
      state.plan.run({x.im, x.re}, {y.im, y.re}, block.workspace, block.lanes);
    } else {
      state.plan.run(x, y, block.workspace, block.lanes);
    }
    finish(y.re, block.to.re, block, state.n, out_re);
    finish(y.im, block.to.im, block, state.n, out_im);
  });
}

// RowFourier::bins() of lines side by side.
template <class T>
void bins_of_lanes(ComplexRow<const T> from, const FftState<T>& state, std::int64_t lanes,
                   ComplexRow<T> to) {
  const std::int64_t half = state.plan.length();
  for (std::int64_t k = 0; k <= half; ++k) {
    const T c = state.roots_re[static_cast<std::size_t>(k)];
    const T s = state.roots_im[static_cast<std::size_t>(k)];
    const std::int64_t a = k % half * lanes, b = (half - k) % half * lanes;
    for (std::int64_t l = 0; l < lanes; ++l) {
      const T even_re = (from.re[a + l] + from.re[b + l]) / 2;
      const T even_im = (from.im[a + l] - from.im[b + l]) / 2;
      const T odd_re = (from.im[a + l] + from.im[b + l]) / 2;
      const T odd_im = (from.re[b + l] - from.re[a + l]) / 2;
      to.re[k * lanes + l] = even_re + (odd_re * c - odd_im * s);
      const bool is_real = k == 0 || k == half;
      to.im[k * lanes + l] = is_real ? T(0) : even_im + (odd_re * s + odd_im * c);
    }
  }
}

template <class T>
void run_rfft(const Launch& launch) {
  const auto axis = static_cast<int>(statics_of(launch).i64());
  const FftLines<T> x(input_of(launch, 0), axis);
  const FftLines<T> out_re(output_of(launch), axis), out_im(output_of(launch, 1), axis);
  const FftState<T>& state = state_of<T>(launch);
  const std::int64_t half = state.plan.length(), bins = out_re.length();
  for_blocks(state, x.count(), [&](FftBlock<T> block) {
    const std::int64_t lanes = block.lanes;
    if (!state.halved) {
      std::fill_n(block.from.im, state.n * lanes, T(0));
      const T* const re = gathered(x, block, state.n, block.from.re);
      state.plan.run({re, block.from.im}, block.to, block.workspace, lanes);
      scatter(block.to.re, block, 0, 1, bins, out_re);
      scatter(block.to.im, block, 0, 1, bins, out_im);
      return;
    }
    if (lanes == 1 && x.step() == 1) {
      row_fourier<T>().split(x.line(block.first), half, block.from);
    } else {
      gather(x, block, 0, 2, half, block.from.re);
      gather(x, block, 1, 2, half, block.from.im);
    }
    state.plan.run(read_only(block.from), block.to, block.workspace, lanes);
    T* const workspace = scratch<T>(1, 2 * bins * lanes);
    T* const room_im = workspace + bins * lanes;
    const ComplexRow<T> y = {place_of(out_re, block, workspace), place_of(out_im, block, room_im)};
    if (lanes == 1) {
      row_fourier<T>().bins(read_only(block.to), half, state.roots(), y);
    } else {
      bins_of_lanes(read_only(block.to), state, lanes, y);
    }
    finish(y.re, workspace, block, bins, out_re);
    finish(y.im, room_im, block, bins, out_im);
  });
}

// RowFourier::from_bins() of lines side by side.
template <class T>
void from_bins_of_lanes(ComplexRow<const T> from, const FftState<T>& state, std::int64_t lanes,
                        ComplexRow<T> to) {
  const std::int64_t half = state.plan.length();
  for (std::int64_t k = 0; k < half; ++k) {
    const T c = state.roots_re[static_cast<std::size_t>(k)];
    const T s = -state.roots_im[static_cast<std::size_t>(k)];
    const std::int64_t a = k * lanes, b = (half - k) * lanes;
    const bool is_real = k == 0;
    for (std::int64_t l = 0; l < lanes; ++l) {
      const T near = is_real ? T(0) : from.im[a + l], far = is_real ? T(0) : from.im[b + l];
      const T even_re = from.re[a + l] + from.re[b + l], even_im = near - far;
      const T far_re = from.re[a + l] - from.re[b + l], far_im = near + far;
      const T odd_re = far_re * c - far_im * s, odd_im = far_re * s + far_im * c;
      to.re[a + l] = even_re - odd_im;
      to.im[a + l] = even_im + odd_re;
    }
  }
}

template <class T>
void run_irfft(const Launch& launch) {
  const auto axis = static_cast<int>(statics_of(launch).i64());
  const FftLines<T> re(input_of(launch, 0), axis), im(input_of(launch, 1), axis);
  const FftLines<T> out(output_of(launch), axis);
  const FftState<T>& state = state_of<T>(launch);
  const std::int64_t half = state.plan.length(), bins = re.length();
  for_blocks(state, re.count(), [&](FftBlock<T> block) {
    const std::int64_t lanes = block.lanes;
    T* const workspace = scratch<T>(1, 2 * bins * lanes);
    const ComplexRow<const T> x = {gathered(re, block, bins, workspace),
                                   gathered(im, block, bins, workspace + bins * lanes)};
    const ComplexRow<const T> from = {block.from.im, block.from.re};  // the other direction
    const ComplexRow<T> to = {block.to.im, block.to.re};
    if (!state.halved) {
      for (std::int64_t k = 0; k < state.n; ++k) {
        const bool mirrored = k >= bins, is_real = k == 0;
        const std::int64_t at = (mirrored ? state.n - k : k) * lanes;
        for (std::int64_t l = 0; l < lanes; ++l) {
          block.from.re[k * lanes + l] = x.re[at + l];
          const T y = mirrored ? -x.im[at + l] : x.im[at + l];
          block.from.im[k * lanes + l] = is_real ? T(0) : y;
        }
      }
      state.plan.run(from, to, block.workspace, lanes);
      return scatter(block.to.re, block, 0, 1, state.n, out);
    }
    if (lanes == 1) {
      row_fourier<T>().from_bins(x, half, state.roots(), block.from);
    } else {
      from_bins_of_lanes(x, state, lanes, block.from);
    }
    state.plan.run(from, to, block.workspace, lanes);
    if (lanes == 1 && out.step() == 1) {
      return row_fourier<T>().interleave(read_only(block.to), half, out.line(block.first));
    }
    scatter(block.to.re, block, 0, 2, half, out);
    scatter(block.to.im, block, 1, 2, half, out);
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
  const bool alone = std::all_of(signature.inputs.begin(), signature.inputs.end(),
                                 [&](const TensorSpec& each) { return each.strides[axis] == 1; });
  with_compute_type(signature.inputs[0].dtype, [&]<class T>() {
    prepared.state =
        std::make_shared<const LateFftState<T>>(n, transform != Transform::complex, alone);
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
