// Mirostat (Basu, Ramachandran, Keskar, Varshney: "Mirostat: a neural text decoding algorithm that
// directly controls perplexity", 2021): candidates dropped so that the surprise of draws comes to a
// target.
#pragma once

#include <cstdint>

#include "hearth/array.h"
#include "models/sampling/candidates.h"

namespace hearth::models {

// Both take mu, i64 [rows, 1]: bits with kLogBits binary places, of at least -kMostSurprise bits;
// kMostSurprise changes nothing.
inline constexpr std::int64_t kMostSurprise = 1024;

// The first version: as many as a Zipf law would let surprise by mu on average, whose exponent is
// fitted to the 100 likeliest.
Candidates keep_by_zipf(const Candidates& candidates, const Array& mu, std::int64_t vocabulary);
// The second: what surprises by at most mu bits, and the likeliest always.
Candidates keep_by_surprise(const Candidates& candidates, const Array& mu);

}  // namespace hearth::models
