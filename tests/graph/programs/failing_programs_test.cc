// Random programs with one op that fails: what is made of its result throws, every other value is
// right.
//
// HEARTH_TEST_SEED runs one program of each test, by its seed.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <stdexcept>

#include "graph/effort.h"
#include "graph/programs/program.h"
#include "hearth/custom_op.h"
#include "hearth/ops.h"

namespace hearth::testing {
namespace {

// Otherwise the program runs as it was made.
std::atomic<bool> fails{false};

// `x`, chosen by a number of rank 0.
Array chosen_by(const Array& number, const Array& x) {
  return where(greater(reshape(number, {}), 2.0), x, x);
}

Array throwing(const Array& x, Device device) {
  static const CustomOp op({
      .name = "test.throwing",
      .infer = [](std::span<const Array> in) { return TensorType{DType::f32, in[0].shape()}; },
      .compute = [](std::span<const HostTensor>,
                    HostTensor) { throw Error(ErrorCode::unsupported, "throwing: got a call"); },
  });
  return chosen_by(op({full({1}, 1.0, DType::f32, device)}), x);
}

constexpr std::int64_t kRoom = std::int64_t{16} << 20;

Array exhausting(const Array& x, Device device) {
  const Array huge = random_uniform({kRoom / 2}, 0, 1, DType::f32, device);
  return chosen_by(slice(huge, {{5, 6}}), x);
}

// Throws where the value has another error, or none unless it `may_be_computed`.
void expect_failed(const Array& value, ErrorCode code, bool may_be_computed) {
  try {
    value.eval();
  } catch (const Error& error) {
    if (error.code() == code) return;
    throw;
  }
  if (may_be_computed) return;
  throw std::logic_error("a value that depends on the failure was computed");
}

Statement expectation(const Statement& at, int variable, ErrorCode code, bool may_be_computed) {
  Statement statement = at;
  statement.kind = Statement::Kind::check;  // other lanes may look at the variable too
  statement.in = {variable};
  statement.out = variable;
  statement.text =
      "v" + std::to_string(variable) + (may_be_computed ? ";  // may fail" : ";  // fails");
  statement.run = [variable, code, may_be_computed](const Variables& variables, Device) {
    const Array& value = variables[static_cast<std::size_t>(variable)];
    if (fails) expect_failed(value, code, may_be_computed);
    return value;
  };
  return statement;
}

using Poison = Array (*)(const Array&, Device);

// `program` with the result of op `culprit` passed through `poison`. Reads of what depends on it
// become expectations, and it is dropped at the end. Of an op of several results and several inputs
// not every result needs every input: what is made of them may fail or not.
Program with_failure(const Program& program, std::size_t culprit, Poison poison, ErrorCode code) {
  Program failing = program;
  failing.statements.clear();
  std::map<int, bool> lost;  // whether it may be computed all the same
  const auto add_place = [&](int segment, int lane) {
    for (std::size_t i = 0; i < program.statements.size(); ++i) {
      Statement statement = program.statements[i];
      if (statement.segment != segment || statement.lane != lane) continue;
      if (statement.kind == Statement::Kind::op) {
        bool is_lost = i == culprit, may_be_computed = i != culprit;
        for (const int in : statement.in) {
          if (const auto at = lost.find(in); at != lost.end()) {
            is_lost = true;
            may_be_computed &= at->second;
          }
        }
        if (i != culprit && statement.run_all != nullptr && statement.in.size() > 1) {
          may_be_computed = true;
        }
        if (i == culprit) {
          statement.text = "poisoned(" + statement.text + ")";
          statement.run = [run = statement.run, poison](const Variables& variables, Device device) {
            const Array value = run(variables, device);
            return fails ? poison(value, device) : value;
          };
          if (statement.run_all != nullptr) {
            statement.run_all = [run = statement.run_all, poison](const Variables& variables,
                                                                  Device device) {
              std::vector<Array> values = run(variables, device);
              for (Array& value : values) {
                if (fails) value = poison(value, device);
              }
              return values;
            };
          }
        }
        std::vector<int> results = statement.more_out;
        results.push_back(statement.out);
        for (const int result : results) {
          if (is_lost) {
            lost[result] = may_be_computed;
          } else {
            lost.erase(result);
          }
        }
      } else if (lost.contains(statement.out)) {
        if (statement.kind == Statement::Kind::drop) {
          lost.erase(statement.out);
        } else {
          statement = expectation(statement, statement.out, code, lost[statement.out]);
        }
      }
      failing.statements.push_back(statement);
    }
  };
  for (int segment = 0; segment < program.segments; ++segment) {
    for (int lane = 0; lane < program.lanes; ++lane) add_place(segment, lane);
  }
  Statement end;
  end.segment = program.segments;
  ++failing.segments;
  for (const auto& [variable, may_be_computed] : lost) {
    failing.statements.push_back(expectation(end, variable, code, may_be_computed));
    end.kind = Statement::Kind::drop;
    end.out = variable;
    failing.statements.push_back(end);
  }
  return failing;
}

struct Way {
  const char* name;
  Device device;
  Switches switches;
  Poison poison;
  ErrorCode code;
};

void check(std::uint64_t seed, ProgramOptions options, const Way& way) {
  const bool exact = seed % 2 == 0;
  options.float_dtype = seed % 4 < 2 ? DType::f32 : DType::f64;
  options.jumps = exact;
  const Program program = make_program(seed, options);
  std::vector<std::size_t> ops;
  for (std::size_t i = 0; i < program.statements.size(); ++i) {
    if (program.statements[i].kind == Statement::Kind::op) ops.push_back(i);
  }
  const std::size_t culprit = ops[seed * 7919 % ops.size()];
  const Program failing = with_failure(program, culprit, way.poison, way.code);

  RunMode mode{way.name, false, options.lanes > 1, way.switches};
  mode.switches.exact = exact;
  mode.switches.fuse_reductions &= !exact;
  RunMode eager = mode;
  eager.eager = true;
  eager.threads = false;
  const bool limits = way.code == ErrorCode::out_of_memory;
  std::string wrong;
  try {
    fails = false;
    const std::vector<Reading> expected = run_program(failing, Device::cpu(), eager);
    if (limits) {
      way.device.trim();
      way.device.set_memory_limit(way.device.memory().in_use + kRoom);
    }
    fails = true;
    wrong = compare_readings(expected, run_program(failing, way.device, mode),
                             exact                               ? 0
                             : options.float_dtype == DType::f64 ? 1e-9
                                                                 : 2e-4);
  } catch (const std::exception& error) {
    wrong = error.what();
  }
  fails = false;
  way.device.set_memory_limit(std::int64_t{4} << 30);
  EXPECT_EQ(wrong, "") << way.name << " on " << way.device.name() << ", seed " << seed << "\n"
                       << failing.text();
}

void check_programs(std::int64_t count, std::uint64_t first, const ProgramOptions& options,
                    const std::vector<Way>& ways) {
  std::uint64_t end = first + static_cast<std::uint64_t>(scaled(count));
  if (const char* one = std::getenv("HEARTH_TEST_SEED")) {  // NOLINT(concurrency-mt-unsafe)
    first = std::strtoull(one, nullptr, 10);
    end = first + 1;
  }
  for (std::uint64_t seed = first; seed < end; ++seed) {
    ProgramOptions some = options;
    some.statements += static_cast<int>(seed % 4) * options.statements / 2;
    for (const Way& way : ways) {
      check(seed, some, way);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

// On a device that runs later a throwing op is a fault of the device: only memory runs out there.
std::vector<Way> ways() {
  Switches unfused;
  unfused.fuse_elementwise = unfused.fuse_reductions = false;
  Switches keep;
  keep.donate = false;
  const Device cpu = Device::cpu();
  const Device hostile = Device::named("hostile");
  return {{"an op throws", cpu, {}, throwing, ErrorCode::unsupported},
          {"an op throws, unfused", cpu, unfused, throwing, ErrorCode::unsupported},
          {"an op throws, without donation", cpu, keep, throwing, ErrorCode::unsupported},
          {"no memory", cpu, {}, exhausting, ErrorCode::out_of_memory},
          {"no memory", hostile, {}, exhausting, ErrorCode::out_of_memory}};
}

TEST(FailingPrograms, OnlyWhatDependsOnTheFailureIsLost) {
  ProgramOptions options;
  options.statements = 16;
  check_programs(300, 0, options, ways());
}

TEST(FailingPrograms, TwoThreads) {
  ProgramOptions options;
  options.statements = 32;
  options.lanes = 2;
  check_programs(80, 500000, options, ways());
}

}  // namespace
}  // namespace hearth::testing
