// weighted_gather: a plane of results at a time. Indices and weights of an item are converted once
// for all its channels that a task makes.
#include <algorithm>
#include <cstdint>
#include <limits>

#include "core/integer_math.h"
#include "devices/cpu/ops/elements.h"
#include "devices/cpu/rows/row_taps.h"
#include "devices/cpu/rows/rows.h"
#include "graph/implementation.h"
#include "ops/definition/defs.h"

namespace hearth::cpu {
namespace {

// Points whose sums stay in a cache between taps.
constexpr std::int64_t kBlockPoints = 1024;
constexpr std::int64_t kGroupPlanes = 16;

// The taps of an item, [taps][points].
template <class T>
class ItemTaps {
 public:
  ItemTaps(const Operand& indices, const Operand& weights, std::int64_t extent)
      : indices_(indices), weights_(weights), extent_(extent) {}

  std::int64_t taps() const { return indices_.shape()[1]; }
  std::int64_t points() const { return indices_.shape()[2]; }
  const TapIndex<T>* index(std::int64_t tap) const { return index_ + tap * points(); }
  const T* weight(std::int64_t tap) const { return weight_ + tap * points(); }

  void read(std::int64_t item) {
    if (item == item_) return;
    item_ = item;
    index_ = scratch<TapIndex<T>>(0, taps() * points());
    weight_ = scratch<T>(1, taps() * points());
    for (std::int64_t tap = 0; tap < taps(); ++tap) {
      const std::int64_t first = item * indices_.stride(0) + tap * indices_.stride(1);
      if (indices_.dtype() == DType::i32) {
        read_indices(reinterpret_cast<const std::int32_t*>(indices_.at(first)), tap);
      } else {
        read_indices(reinterpret_cast<const std::int64_t*>(indices_.at(first)), tap);
      }
      load_row(weights_.dtype(), weights_.at(item * weights_.stride(0) + tap * weights_.stride(1)),
               weights_.stride(2), points(), weight_ + tap * points());
    }
  }

 private:
  template <class Index>
  void read_indices(const Index* from, std::int64_t tap) {
    TapIndex<T>* const to = index_ + tap * points();
    const std::int64_t step = indices_.stride(2);
    for (std::int64_t i = 0; i < points(); ++i) {
      const std::int64_t at = from[i * step];
      to[i] = static_cast<TapIndex<T>>(inside(at, extent_) ? at : -1);
    }
  }

  const Operand& indices_;
  const Operand& weights_;
  std::int64_t extent_, item_ = -1;
  TapIndex<T>* index_ = nullptr;
  T* weight_ = nullptr;
};

template <class T>
void launch_typed(const Launch& launch) {
  const Operand x = input_of(launch, 0), indices = input_of(launch, 1),
                weights = input_of(launch, 2), output = output_of(launch);
  const std::int64_t channels = x.shape()[1], extent = x.shape()[2], points = indices.shape()[2];
  const RowTaps<T>& rows = row_taps<T>();
  // Planes of an item that share what is read of its taps; fewer where there are few.
  const std::int64_t group = std::clamp<std::int64_t>(x.shape()[0] * channels / 8, 1, kGroupPlanes);
  const std::int64_t groups = ceil_div(channels, group);
  const auto make_plane = [&](const ItemTaps<T>& taps, std::int64_t item, std::int64_t channel) {
    const std::int64_t plane = item * channels + channel;
    const T* const from = read_row(x, item * x.stride(0) + channel * x.stride(1), x.stride(2),
                                   extent, scratch<T>(2, extent));
    T* const to = row_to_write(output, plane * points, scratch<T>(3, points));
    std::fill(to, to + points, T(0));
    for (std::int64_t first = 0; first < points && extent > 0; first += kBlockPoints) {
      const std::int64_t count = std::min(kBlockPoints, points - first);
      for (std::int64_t tap = 0; tap < taps.taps(); ++tap) {
        rows.add(to + first, from, taps.index(tap) + first, taps.weight(tap) + first, count);
      }
    }
    write_row(output, plane * points, to, points);
  };
  for_chunks(x.shape()[0] * groups, group * (indices.shape()[1] + 1) * points,
             [&](std::int64_t begin, std::int64_t end) {
               ItemTaps<T> taps(indices, weights, extent);
               for (std::int64_t task = begin; task < end; ++task) {
                 const std::int64_t item = task / groups, first = task % groups * group;
                 taps.read(item);
                 for (std::int64_t channel = first; channel < std::min(first + group, channels);
                      ++channel) {
                   make_plane(taps, item, channel);
                 }
               }
             });
}

void launch_weighted_gather(const Launch& launch) {
  with_compute_type(output_of(launch).dtype(), [&]<class T>() { launch_typed<T>(launch); });
}

bool accepts_weighted_gather(const Signature& signature) {
  const TensorSpec &x = signature.inputs[0], &indices = signature.inputs[1];
  if (indices.dtype != DType::i32 && indices.dtype != DType::i64) return false;
  return x.dtype == DType::f64 || x.shape[2] <= std::numeric_limits<std::int32_t>::max();
}

constexpr Implementation kWeightedGatherFamily[] = {
    {.name = "planes",
     .op = &defs::weighted_gather_op,
     .accepts = accepts_weighted_gather,
     .launch = launch_weighted_gather},
};

}  // namespace

Family weighted_gather_family() { return kWeightedGatherFamily; }

}  // namespace hearth::cpu
