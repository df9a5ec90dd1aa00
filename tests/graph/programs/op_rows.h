// Ops of random programs as rows of a table: what a row takes, what else it reads and what it does.
//
// A row is a function of its operands and of what was drawn for the statement, so every run of a
// program does the same. Rows of several results give them all.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hearth/array.h"

namespace hearth::testing {

// The random part of a statement.
struct Draw {
  int axis = 0;                 // of the first operand; 0 for rank 0
  std::array<int, 4> number{};  // each from 0 to 59

  // Number i, reduced to one of `count`; fair where `count` divides 60.
  int below(std::size_t i, std::int64_t count) const { return static_cast<int>(number[i] % count); }
  bool yes(std::size_t i) const { return number[i] % 2 == 1; }
  std::string text() const;
};

// What a row reads beside its first operand.
struct Operand {
  enum class Kind {
    like,     // of the dtype of the first operand
    indices,  // i64 or i32, from 0 to `limit` - 1
    mask,     // bool
  };
  Shape shape;
  Kind kind = Kind::like;
  std::int64_t limit = 0;
};

enum class Takes { any, numbers, floats };

struct OpRow {
  using Arrays = std::vector<Array>;

  const char* name;
  Takes takes = Takes::floats;
  // Ranks of the first operand. Where a program has none of at least rank 4, an image is made.
  int least_rank = 0;
  int most_rank = 5;
  std::int64_t least_size = 1;
  // See ProgramOptions: whether results jump or leave the range, and whether sums of floats may
  // become part of a fused region.
  bool jumps = false;
  bool sums = false;
  std::vector<Operand> (*others)(const Array& x, const Draw& d) = nullptr;
  Arrays (*run)(const Arrays& in, const Draw& d);
};

std::span<const OpRow> order_rows();
std::span<const OpRow> image_rows();
std::span<const OpRow> contraction_rows();
std::span<const OpRow> loss_rows();

// All of them.
std::vector<const OpRow*> op_rows();

}  // namespace hearth::testing
