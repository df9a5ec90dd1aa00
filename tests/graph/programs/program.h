// Random programs over the public ops, for comparing ways of running them.
//
// A program is a list of statements on numbered variables. It is run with eager, unfused or lazy
// evaluation, on any device, by one thread or two, and every way must read the same values.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "graph/switches.h"
#include "hearth/array.h"

namespace hearth::testing {

using Variables = std::vector<Array>;

struct Statement {
  enum class Kind { op, drop, submit, read, check };  // check: run() for what it throws
  Kind kind = Kind::op;
  int lane = 0;     // the thread that runs it
  int segment = 0;  // lanes meet between segments
  int out = -1;
  std::vector<int> in;
  std::string text;
  std::function<Array(const Variables&, Device)> run;
  // Of an op of several results: the variables of those after the first, and what runs it.
  std::vector<int> more_out = {};
  std::function<std::vector<Array>(const Variables&, Device)> run_all = nullptr;
};

struct ProgramInput {
  int variable = -1;
  DType dtype = DType::f32;
  Shape shape;
  std::vector<std::byte> bytes;
  bool channels_last = false;  // bytes have axis 1 innermost, and so has the array

  Array make(Device device) const;
};

struct Program {
  std::uint64_t seed = 0;
  int variable_count = 0;
  int lanes = 1;
  int segments = 1;
  std::vector<std::shared_ptr<const ProgramInput>> inputs;
  std::vector<Statement> statements;

  // As C++, with the elements of small inputs.
  std::string text() const;
};

struct ProgramOptions {
  DType float_dtype = DType::f32;
  // Ops whose results jump (comparisons, rounding, indices of extremes) or that leave the range
  // where rounding errors stay small.
  bool jumps = true;
  // Float reductions whose result depends on the order of their elements.
  bool float_sums = true;
  int statements = 30;
  int lanes = 1;
  // Arrays large enough to be split over several threads.
  bool large = false;
};

Program make_program(std::uint64_t seed, const ProgramOptions& options);

// One value that a program read.
struct Reading {
  int statement;  // -1: at the end
  int variable;
  DType dtype;
  Shape shape;
  std::vector<double> values;
  std::vector<std::byte> bytes;
};

struct RunMode {
  const char* name;
  bool eager = false;    // evaluates every result at once
  bool threads = false;  // one thread a lane
  Switches switches;
};

// What the program read, in the order of (segment, lane, statement), then all live variables.
std::vector<Reading> run_program(const Program& program, Device device, const RunMode& mode);

// Empty, or what differs first. `tolerance` 0 compares bits (NaN equals NaN); otherwise relative to
// the largest finite magnitude of the reading.
std::string compare_readings(const std::vector<Reading>& expected,
                             const std::vector<Reading>& actual, double tolerance);

// Leaves out what does not matter to `fails`.
Program shrink_program(const Program& program, const std::function<bool(const Program&)>& fails);

}  // namespace hearth::testing
