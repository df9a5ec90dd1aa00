// What adapters add to the products of a model whose own weights stay as they are (LoRA, Hu et al.
// 2021).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hearth/array.h"

namespace hearth::models {

// scale * b (a x) beside a product W x.
struct LowRank {
  // x [..., in] to [..., out], in x's dtype: rows [first, first + count) of b alone.
  Array forward(const Array& x, std::int64_t first, std::int64_t count) const;
  std::int64_t rank() const { return a.shape(0); }

  Array a;  // [rank, in], a float
  Array b;  // [out, rank]
  double scale = 1;
};

// The pairs of a projection, by the name of its weights without ".weight" and their shape [out,
// in]. Called once for each projection of a model that is being made; null: there are none. Who
// gives a pair may change its values later: the model sees them.
using FindLowRank = std::function<std::vector<std::shared_ptr<const LowRank>>(
    const std::string& name, std::int64_t out, std::int64_t in)>;

}  // namespace hearth::models
