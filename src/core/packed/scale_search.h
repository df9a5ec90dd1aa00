// Searches for the scale of a group of values, and for the codes under it, by weighted least
// squares. `codes` has one for each value; weights are not negative, and can_lead(). The order
// of operations is part of the contract: the results decide the bytes of blocks.
#pragma once

#include <cstdint>
#include <span>

namespace hearth::packed {

// The scale for value ~ scale * (code - half), codes in [0, 2 * half): that of 19 trials which
// explains most. The value that is largest in magnitude gets the code 0 in the first, whatever its
// sign, so that scales may be negative; its scale stays where all values that weigh get the code
// `half` in every trial. Groups below 1e-15 in magnitude give 0 and codes of 0.
float fit_symmetric(std::span<const float> values, std::span<const float> weights, int half,
                    std::uint8_t* codes);

// The same with the squares of the values as weights, by moving one code at a time while that
// explains more, in at most 5 passes.
float fit_by_moves(std::span<const float> values, int half, std::uint8_t* codes);

struct Range {
  float scale;
  float below;  // not negative
};

// How fit_range tries scales: the range of the values as top + first, top + first + step, ...
// codes.
struct Trials {
  float first;
  float step;
  int count;
  bool is_absolute;  // compares the sums of absolute differences, not of squares
};

// Scale and offset for value ~ scale * code - below, codes in [0, top].
Range fit_range(std::span<const float> values, std::span<const float> weights, int top,
                const Trials& trials, std::uint8_t* codes);

// The scale for value ~ scale * code, codes in [0, top]; values are not negative, or count as 0.
float fit_positive(std::span<const float> values, std::span<const float> weights, int top,
                   std::uint8_t* codes);

// For each value its weight: importance * sqrt(mean_square + value^2).
void scaled_weights(std::span<const float> values, const float* importance, float mean_square,
                    float* weights);

// Whether weights can lead a search: one is at least 2^-110, below which products with values
// vanish.
bool can_lead(std::span<const float> weights);

// Gives groups of the weight 0 the least weight of the others, so that the scale of all does not
// leave them behind. False where all are 0.
bool weigh_every_group(std::span<float> weights);

// The sum of squares, in order.
float sum_of_squares(std::span<const float> values);

// The value that is largest in magnitude, the first of several; 0 where all are.
float extreme_of(std::span<const float> values);

}  // namespace hearth::packed
