// Parameter structs of the kernels in this folder: see kernels/blocks/params.h.
#pragma once

#include "kernels/blocks/params.h"

template <int kRank>
struct RopeParams {
  long outer;  // rows of one position that share their positions
  long sequence, pairs;
  long columns;  // of a row, of which 2 * pairs turn
  long packets;  // of pairs of a row
  long threads;  // for a row: those, and packets of columns that stay
  long inverse;
  long dynamic;    // the word of the offset
  long turn;       // 1 / 2 pi
  long power[16];  // base^(-2^k / pairs)
  long magnitude;  // the bits of an f64
  // Of positions, in elements.
  long position_base, position_section, position_item, position_row;
  long sections;        // that positions have, or 1
  long mixed;           // pairs take turns
  long section_end[4];  // the pair behind a section, or if mixed the pair where its turns end
  // Of frequencies; parts are 1, or 2 that are added up.
  long frequency_base, frequency_part, frequency_step, parts;
  long sequence_step;  // of x
  Axes<kRank> x;       // of the outer axes
};
