// Parameter structs of the kernels in this folder: see kernels/blocks/params.h.
#pragma once

#include "kernels/blocks/params.h"

// Complex points that a thread holds, at most, and a threadgroup's memory has a word of padding
// after kFftBanks words.
enum { kFftThreadPoints = 8, kFftBanks = 32 };

// Transforms of lines. Line g is part g % split of line g / split of the operands: its element i is
// element (g % split) * part + i * scale there.
template <int kRank>
struct FftParams {
  long lines, length;              // that are transformed
  long group_lines, line_threads;  // of a threadgroup, and of a line there
  long factors;                    // of the length: four bits each, the first stage's lowest
  long split, in_part, in_scale, out_part, out_scale;
  Divisor by_lines, by_length, by_pairs, by_split;  // pairs of bins of real lines
  long whole;                                       // elements of the operands' lines
  long lines_together;               // 1: threads read neighbouring lines; 2: write them
  long re_step, im_step, out_step;   // between elements of the operands' lines
  long out_re, out_im;               // where results begin after their pointers
  long re_count, im_count;           // elements of a line that are written
  Axes<kRank> from_re, from_im, to;  // the operands' lines
};

// Of lines of `points` complex elements, [lines, points], the bins of real ones twice as long.
template <int kRank>
struct FftBinsParams {
  long lines, points;
  long out_step;
  long re_count, im_count;
  Axes<kRank> to;
};
