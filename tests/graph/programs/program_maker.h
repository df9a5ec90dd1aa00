// Writes the statements of random programs. Shapes and dtypes are learned by recording every
// statement on the CPU as it is written.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/programs/op_rows.h"
#include "graph/programs/program.h"

namespace hearth::testing {

class ProgramMaker {
 public:
  ProgramMaker(std::uint64_t seed, const ProgramOptions& options);
  Program make();

 private:
  using Run = std::function<Array(const Variables&, Device)>;
  using RunAll = std::function<std::vector<Array>(const Variables&, Device)>;
  using Condition = std::function<bool(const Array&)>;

  std::uint64_t next();
  int below(int n) { return static_cast<int>(next() % static_cast<std::uint64_t>(n)); }
  bool one_in(int n) { return below(n) == 0; }

  Shape random_shape();
  DType random_dtype();
  int new_variable(Array shadow);
  int add(std::shared_ptr<ProgramInput> input);
  int add_input(DType dtype, const Shape& shape);
  int add_indices(const Shape& shape, std::int64_t extent);
  // A variable that the current lane may read, or -1.
  int pick(const Condition& condition);
  int pick_float();
  int pick_dtype(DType dtype);
  int broadcastable(int variable);  // same dtype, or a fresh input
  // What a row may read, or -1; an image is made where there is none.
  int pick_for(const OpRow& row);
  int operand(const Operand& wanted, DType like);
  Array scalar(DType dtype, std::string& text);
  // Records the statement; false if the result is too large to keep.
  bool emit(std::vector<int> in, std::string text, Run run);
  // The same of an op of several results, of which one may be dropped at once.
  bool emit_several(std::vector<int> in, std::string text, RunAll run);
  void drop(int variable);
  std::int64_t size_limit() const { return options_.large ? 400000 : 6000; }
  const Array& shadow(int variable) const { return shadows_[static_cast<std::size_t>(variable)]; }

  bool unary();
  bool binary();
  bool with_scalar();
  bool with_own_part();
  bool compare();
  bool logic();
  bool choose();
  bool limit();
  bool convert();
  bool reduce();
  bool arg_reduce();
  bool extreme_with_indices();
  bool norm_gradients();
  bool normalize();
  bool reshape_view();
  bool permute_view();
  bool expand_view();
  bool slice_view();
  bool dynamic_view();
  bool flip_view();
  bool unfold_view();
  bool diagonal_view();
  bool join();
  bool repeat_tiles();
  bool assign_slice();
  bool assign_dynamic();
  bool look_up();
  bool multiply_matrices();
  bool layers();
  bool attend();
  bool from_table();
  bool create();
  bool fresh_input();

  ProgramOptions options_;
  std::uint64_t state_;
  Program program_;
  Variables shadows_;
  struct Fact {
    int lane = 0;
    int segment = 0;
    bool shared = false;
    bool alive = true;
  };
  std::vector<Fact> facts_;
  int lane_ = 0;
  int segment_ = 0;
};

}  // namespace hearth::testing
