// Steps that depend on how far the scores of a row are spread.
#pragma once

#include "hearth/array.h"
#include "models/sampling/candidates.h"

namespace hearth::models {

// The largest gap that top-n-sigma keeps: n standard deviations, of what is kept of `gaps` i64
// [rows, any count] in any order, as keep_within() takes it. n f32 [rows, 1]; 0 changes nothing.
Array sigma_limit(const Array& gaps, const Array& n);

// Of candidates ordered by the distance of their surprise from the expected one, as many as it
// takes to have more than this share of the weights; equally distant ones from the likelier. The
// largest word changes nothing.
Candidates keep_typical(const Candidates& candidates, const Array& share);

// The temperature by entropy: numbers of each row, i64 [rows, 1].
struct EntropyTemperature {
  Array lowest;    // with kTemperatureBits binary places
  Array range;     // likewise, above the lowest; below 0: the row stays as it is
  Array exponent;  // with kExponentBits binary places
};
inline constexpr int kTemperatureBits = 20;
inline constexpr int kExponentBits = 16;
inline constexpr double kMostTemperature = 1024;
inline constexpr double kMostExponent = 1024;
Candidates scaled_by_entropy(const Candidates& candidates, const EntropyTemperature& temperature);

}  // namespace hearth::models
