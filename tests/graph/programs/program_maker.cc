#include "graph/programs/program_maker.h"

#include <algorithm>

#include "core/hashing.h"
#include "graph/record/tape.h"

namespace hearth::testing {
ProgramMaker::ProgramMaker(std::uint64_t seed, const ProgramOptions& options)
    : options_(options), state_(seed * kSplitMix64Step + 1) {
  program_.seed = seed;
  program_.lanes = options.lanes;
  // References to shadows stay valid while inputs are added.
  shadows_.reserve(static_cast<std::size_t>(16 * options.statements + 64));
}

std::uint64_t ProgramMaker::next() {
  const std::uint64_t drawn = splitmix64(state_);
  state_ += kSplitMix64Step;
  return drawn >> 8;
}

int ProgramMaker::new_variable(Array value) {
  shadows_.push_back(std::move(value));
  facts_.push_back({lane_, segment_, options_.lanes > 1 && one_in(3), true});
  return program_.variable_count++;
}

int ProgramMaker::pick(const Condition& condition) {
  for (int attempt = 0; attempt < 24; ++attempt) {
    // Recent variables are likelier, so that long chains grow.
    const int count = program_.variable_count;
    if (count == 0) return -1;
    const int variable =
        one_in(2) ? below(count) : std::max(0, count - 1 - below(std::min(count, 8)));
    const Fact& fact = facts_[static_cast<std::size_t>(variable)];
    if (!fact.alive) continue;
    const bool mine = fact.lane == lane_ && fact.segment >= 0;
    if (options_.lanes > 1 && !mine && !(fact.shared && fact.segment < segment_)) continue;
    if (condition(shadow(variable))) return variable;
  }
  return -1;
}

int ProgramMaker::pick_float() {
  return pick([](const Array& x) { return is_float(x.dtype()); });
}
int ProgramMaker::pick_dtype(DType dtype) {
  return pick([dtype](const Array& x) { return x.dtype() == dtype; });
}

int ProgramMaker::broadcastable(int variable) {
  const Array& x = shadow(variable);
  const int found = pick([&](const Array& y) {
    if (y.dtype() != x.dtype()) return false;
    for (int i = 1; i <= std::min(x.rank(), y.rank()); ++i) {
      const std::int64_t a = x.shape(-i);
      const std::int64_t b = y.shape(-i);
      if (a != b && a != 1 && b != 1) return false;
    }
    return true;
  });
  if (found >= 0) return found;
  Shape shape = x.shape();
  for (int i = 0; i < shape.rank(); ++i) {
    if (one_in(4)) shape[i] = 1;
  }
  if (shape.rank() > 0 && one_in(4)) shape.erase(0);
  return add_input(x.dtype(), shape);
}

bool ProgramMaker::emit(std::vector<int> in, std::string text, Run run) {
  Array result = run(shadows_, Device::cpu());
  if (result.size() > size_limit() || result.rank() > 6) return false;
  Statement statement;
  statement.lane = lane_;
  statement.segment = segment_;
  statement.text = std::move(text);
  statement.run = std::move(run);
  // x = f(x) where the lane owns x.
  const Fact* first = in.empty() ? nullptr : &facts_[static_cast<std::size_t>(in[0])];
  if (first != nullptr && !first->shared && first->lane == lane_ && one_in(3)) {
    statement.out = in[0];
    shadows_[static_cast<std::size_t>(in[0])] = std::move(result);
  } else {
    statement.out = new_variable(std::move(result));
  }
  statement.in = std::move(in);
  program_.statements.push_back(std::move(statement));
  return true;
}

void ProgramMaker::drop(int variable) {
  Statement statement;
  statement.kind = Statement::Kind::drop;
  statement.lane = lane_;
  statement.segment = segment_;
  statement.out = variable;
  program_.statements.push_back(std::move(statement));
  facts_[static_cast<std::size_t>(variable)].alive = false;
}

bool ProgramMaker::emit_several(std::vector<int> in, std::string text, RunAll run) {
  std::vector<Array> results = run(shadows_, Device::cpu());
  for (const Array& result : results) {
    if (result.size() > size_limit()) return false;
  }
  Statement statement;
  statement.lane = lane_;
  statement.segment = segment_;
  statement.text = std::move(text);
  statement.run_all = std::move(run);
  statement.in = std::move(in);
  statement.out = new_variable(std::move(results[0]));
  for (std::size_t i = 1; i < results.size(); ++i) {
    statement.more_out.push_back(new_variable(std::move(results[i])));
  }
  const int first = statement.out, count = static_cast<int>(results.size());
  program_.statements.push_back(std::move(statement));
  const int dropped = first + below(count);
  if (one_in(2) && !facts_[static_cast<std::size_t>(dropped)].shared) drop(dropped);
  return true;
}

Program ProgramMaker::make() {
  using Maker = bool (ProgramMaker::*)();
  struct Choice {
    int weight;
    Maker make;
    bool jumps;
  };
  static constexpr Choice kChoices[] = {
      {12, &ProgramMaker::unary, false},         {14, &ProgramMaker::binary, false},
      {8, &ProgramMaker::with_scalar, false},    {5, &ProgramMaker::with_own_part, false},
      {3, &ProgramMaker::compare, true},         {2, &ProgramMaker::logic, false},
      {3, &ProgramMaker::choose, false},         {2, &ProgramMaker::limit, false},
      {4, &ProgramMaker::convert, true},         {9, &ProgramMaker::reduce, false},
      {2, &ProgramMaker::arg_reduce, true},      {3, &ProgramMaker::extreme_with_indices, true},
      {2, &ProgramMaker::norm_gradients, false}, {3, &ProgramMaker::normalize, false},
      {4, &ProgramMaker::reshape_view, false},   {5, &ProgramMaker::permute_view, false},
      {3, &ProgramMaker::expand_view, false},    {6, &ProgramMaker::slice_view, false},
      {2, &ProgramMaker::dynamic_view, false},   {2, &ProgramMaker::flip_view, false},
      {3, &ProgramMaker::unfold_view, false},    {2, &ProgramMaker::diagonal_view, false},
      {2, &ProgramMaker::join, false},           {1, &ProgramMaker::repeat_tiles, false},
      {4, &ProgramMaker::assign_slice, false},   {3, &ProgramMaker::assign_dynamic, false},
      {1, &ProgramMaker::look_up, false},        {5, &ProgramMaker::multiply_matrices, false},
      {3, &ProgramMaker::layers, false},         {1, &ProgramMaker::attend, false},
      {42, &ProgramMaker::from_table, false},    {2, &ProgramMaker::create, false},
      {2, &ProgramMaker::fresh_input, false}};
  int total = 0;
  for (const Choice& choice : kChoices) total += choice.weight;

  segment_ = 0;
  for (int i = 0; i < 3; ++i) {
    const DType dtype = i == 0 ? options_.float_dtype : random_dtype();
    add_input(dtype, random_shape());
  }
  program_.segments = options_.lanes > 1 ? 4 : 1;
  const int per_place = std::max(1, options_.statements / program_.segments / options_.lanes);
  for (segment_ = 0; segment_ < program_.segments; ++segment_) {
    for (lane_ = 0; lane_ < options_.lanes; ++lane_) {
      const std::size_t first = program_.statements.size();
      for (int attempt = 0;
           attempt < 20 * per_place &&
           program_.statements.size() < first + static_cast<std::size_t>(per_place);
           ++attempt) {
        int roll = below(total);
        const Choice* choice = kChoices;
        for (; roll >= choice->weight; ++choice) roll -= choice->weight;
        if (choice->jumps && !options_.jumps) continue;
        if (!(this->*choice->make)()) continue;
        const int roll_more = below(12);
        if (roll_more > 3) continue;
        const int variable = pick([](const Array&) { return true; });
        if (variable < 0) continue;
        Statement extra;
        extra.lane = lane_;
        extra.segment = segment_;
        extra.out = variable;
        Fact& fact = facts_[static_cast<std::size_t>(variable)];
        const bool own = fact.lane == lane_ && !fact.shared;
        if (roll_more <= 1 && own && fact.segment >= 0) {
          extra.kind = Statement::Kind::drop;
          fact.alive = false;
        } else {
          extra.kind = roll_more == 2 ? Statement::Kind::submit : Statement::Kind::read;
        }
        program_.statements.push_back(std::move(extra));
      }
    }
  }
  // What was recorded to learn shapes never runs.
  shadows_.clear();
  Tape::of(Device::cpu().impl()).submit();
  return std::move(program_);
}

Program make_program(std::uint64_t seed, const ProgramOptions& options) {
  return ProgramMaker(seed, options).make();
}

}  // namespace hearth::testing
