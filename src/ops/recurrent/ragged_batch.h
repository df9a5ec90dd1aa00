// What the mixers over ragged batches share: checks of their inputs, and the sequences of a batch
// as composites see them. hearth/ops/recurrent.h says what a batch is.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "graph/op_def.h"
#include "hearth/array.h"

namespace hearth::recurrent {

// Fails with Error{shape} unless input `i` has `shape`.
void require_shape(const Inference& inference, int i, const char* what, const Shape& shape);
// Fails with Error{shape} unless input `i` has this rank; `axes` names them: "[rows, channels]".
void require_axes(const Inference& inference, int i, const char* what, int rank, const char* axes);
// Fails with Error{dtype} unless the inputs that were given, of indices `inputs`, share a dtype
// that is `dtype`, or that it is computed in.
void require_beside(const Inference& inference, std::initializer_list<int> inputs, const char* what,
                    DType dtype);
// Input 0 is an array of floats: sets the dtype of the result, and returns it.
DType infer_rows_dtype(Inference& inference);
// Fails unless input `i` is i32 [sequences + 1].
void require_starts(const Inference& inference, int i, std::int64_t sequences);

// The sequences of a batch of `rows` rows. All arrays are on the device of `starts`.
struct RaggedBatch {
  RaggedBatch(const Array& starts, std::int64_t row_count);

  std::int64_t rows, sequences;
  Array begins, ends;  // i64 [sequences], of [0, rows], ascending
  Array places;        // i64 [rows]: 0, 1, ...
  Array members;       // bool [rows, sequences]: whether the row is one of the sequence
  Array valid;         // bool [rows]: whether it is one of any
};

// x [rows, ...], with 0 in rows of no sequence, whatever they hold.
Array without_padding(const Array& x, const RaggedBatch& batch);

// Rows [first, first + count) of a batch, and what lies between them. Decays are of `logs` [heads,
// count], the logarithms of what a state is multiplied by at each row.
class RowBlock {
 public:
  static constexpr std::int64_t kRows = 64;

  RowBlock(const RaggedBatch& batch, std::int64_t first_row, DType dtype);

  std::int64_t first, count;
  Array members;  // of `dtype` [count, sequences]: 1 where the row is one of the sequence, else 0
  Array before;   // bool [count, count]: whether column u is an earlier row of row t's sequence
  Array up_to;    // the same, or row t itself

  // From the state after row u to that after row t, [heads, count, count]: 0 unless up_to.
  Array decay_between(const Array& logs) const;
  // From the state before the block to that after row t, [heads, count].
  Array decay_from_start(const Array& logs) const;
  // From the state after row u to that after the last row of its sequence in the block, [heads,
  // count].
  Array decay_to_end(const Array& logs) const;
  // Of a sequence's state over the block, [heads, sequences].
  Array decay_of_sequences(const Array& logs) const;
  // x [..., count, n], n columns for each sequence, 0 but for that of the row: [..., count,
  // sequences * n].
  Array by_sequence(const Array& x) const;

 private:
  Array after_;  // bool [count, count]: whether column u is a later row of row t's sequence
};

// x [rows, heads, ...] as [heads, count, ...] of the rows of a block.
Array block_of(const Array& x, const RowBlock& block);

}  // namespace hearth::recurrent
