// Weights of random blocks and coded rows, for tests of products with packed weights.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "core/packed/decode.h"
#include "devices/cpu/packed/products.h"

namespace hearth::cpu {

inline std::vector<DType> formats() {
  std::vector<DType> all;
  for (int i = 0; i < kPackedDTypeCount; ++i) all.push_back(static_cast<DType>(kDTypeCount + i));
  return all;
}

// Those that this processor runs.
inline std::vector<const PackedMachine*> machines() {
  std::vector<const PackedMachine*> all = {packed_plain()};
  for (const PackedMachine* machine : {packed_avx2(), packed_vnni(), packed_neon()}) {
    if (machine != nullptr) all.push_back(machine);
  }
  return all;
}

inline std::vector<float> random_floats(std::int64_t count, std::uint32_t seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> values;
  std::vector<float> x(static_cast<std::size_t>(count));
  for (float& value : x) value = values(engine);
  return x;
}

// Blocks of random bytes whose elements are finite, of a size to compare.
inline std::vector<std::byte> random_block(DType format, std::mt19937& engine) {
  std::vector<std::byte> block(static_cast<std::size_t>(size_of(format)));
  std::vector<float> elements(static_cast<std::size_t>(block_of(format)));
  while (true) {
    for (std::byte& byte : block) byte = static_cast<std::byte>(engine());
    decode(format, block.data(), block_of(format), elements.data());
    float most = 0;
    bool is_fine = true;
    for (const float x : elements) {
      is_fine &= std::abs(x) < 64;
      most = std::max(most, std::abs(x));
    }
    if (is_fine && most > 1e-2f) return block;
  }
}

// Weights [count, in] in rows that begin at odd places.
struct Weights {
  DType format;
  std::int64_t count, in, stride;
  std::vector<std::byte> bytes;

  Weights(DType dtype, std::int64_t count_, std::int64_t blocks, std::uint32_t seed = 1)
      : format(dtype),
        count(count_),
        in(blocks * block_of(dtype)),
        stride(blocks * size_of(dtype) + 5),
        bytes(static_cast<std::size_t>(count_ * stride)) {
    std::mt19937 engine(seed);
    std::vector<std::vector<std::byte>> pool;
    for (int i = 0; i < 23; ++i) pool.push_back(random_block(format, engine));
    for (std::int64_t i = 0; i < count * blocks; ++i) {
      const std::vector<std::byte>& block = pool[engine() % pool.size()];
      std::copy(block.begin(), block.end(), row(i / blocks) + i % blocks * size_of(format));
    }
  }
  std::byte* row(std::int64_t i) { return bytes.data() + i * stride; }
  const std::uint8_t* data() const { return reinterpret_cast<const std::uint8_t*>(bytes.data()); }
  std::vector<float> decoded(std::int64_t i) {
    std::vector<float> elements(static_cast<std::size_t>(in));
    decode(format, row(i), in, elements.data());
    return elements;
  }
};

// Rows of x, coded by a machine.
class Coded {
 public:
  Coded(const PackedMachine& machine, DType format, const std::vector<float>& x, std::int64_t in)
      : products_(packed_products(machine, format)),
        groups_(in / products_.traits.group),
        rows_(static_cast<std::int64_t>(x.size()) / in),
        shape_{products_.traits.group, PackedGroups{groups_}.stretches()},
        lines_(static_cast<std::size_t>(rows_ * shape_.bytes()), std::byte{0x55}) {
    for (std::int64_t i = 0; i < rows_; ++i) {
      machine.code(x.data() + i * in, groups_, products_.traits, line(i));
    }
  }

  std::int64_t rows() const { return rows_; }
  const std::vector<std::byte>& bytes() const { return lines_; }
  // What the code of element e of row i stands for.
  double value(std::int64_t i, std::int64_t e) {
    const auto code = static_cast<std::int8_t>(line(i)[shape_.code_at(e)]);
    float scale;
    std::memcpy(&scale, line(i) + shape_.scales_at() + e / shape_.group * 4, sizeof(scale));
    return static_cast<double>(scale) * code;
  }

  // [rows, weights], so many rows at a time.
  std::vector<float> by_lines(const Weights& weights, std::int64_t together) {
    std::vector<float> out(static_cast<std::size_t>(rows_ * weights.count)), rest(out.size());
    for (std::int64_t first = 0; first < rows_; first += together) {
      LineProduct p{weights.data(), weights.stride, weights.count, groups_, {}, {}};
      for (std::int64_t i = 0; i < together; ++i) {
        const bool is_there = first + i < rows_;
        p.lines[i] = line(std::min(first + i, rows_ - 1));
        p.out[i] = is_there ? out.data() + (first + i) * weights.count : rest.data();
      }
      products_.multiply_lines[together / 2](p);
    }
    return out;
  }
  std::vector<float> by_panels(const Weights& weights, int together) {
    std::vector<float> out(static_cast<std::size_t>(rows_ * weights.count));
    std::vector<std::uint32_t> panel(
        static_cast<std::size_t>(groups_ * panel_words(shape_.group, products_.has_least)));
    std::vector<std::uint32_t> bundle(
        static_cast<std::size_t>(groups_ * bundle_words(together, shape_.group)));
    alignas(64) float sums[kSumLevels * tile_size(kMostBundleRows)];
    for (std::int64_t at = 0; at < weights.count; at += kPanelWeights) {
      const std::int64_t count = std::min<std::int64_t>(kPanelWeights, weights.count - at);
      products_.pack({weights.data() + at * weights.stride, weights.stride, count, groups_},
                     panel.data());
      for (std::int64_t first = 0; first < rows_; first += together) {
        const std::int64_t some = std::min<std::int64_t>(together, rows_ - first);
        weave_bundle(line(first), shape_, groups_, some, together, bundle.data());
        for (int n = 0; n < kPackedClasses; ++n) {
          const PackedGroups groups{groups_};
          const std::int64_t begin = groups.begin(class_at(n));
          products_.multiply_class[together == 8 ? 0 : 1](
              {panel.data() + begin * panel_words(shape_.group, products_.has_least),
               bundle.data() + begin * bundle_words(together, shape_.group),
               groups.begin(class_at(n) + 1) - begin, sums, merged_at(n)});
        }
        const float* const tile = sums + (kSumLevels - 1) * tile_size(together);
        for (std::int64_t i = 0; i < some; ++i) {
          std::copy_n(tile + i * kPanelWeights, count,
                      out.data() + (first + i) * weights.count + at);
        }
      }
    }
    return out;
  }
  bool has_panels() const { return products_.pack != nullptr; }

 private:
  std::byte* line(std::int64_t i) { return lines_.data() + i * shape_.bytes(); }

  const PackedProducts& products_;
  std::int64_t groups_, rows_;
  LineShape shape_;
  std::vector<std::byte> lines_;
};

// Bits, where NaNs are all the same.
inline std::vector<std::uint32_t> bits(const std::vector<float>& values) {
  std::vector<std::uint32_t> out;
  for (const float x : values) out.push_back(std::isnan(x) ? 1 : std::bit_cast<std::uint32_t>(x));
  return out;
}

}  // namespace hearth::cpu
