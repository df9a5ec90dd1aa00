// Random programs: every way of running one must read the same values. Exact programs, where every
// result is rounded to its dtype, agree bit for bit; others within rounding of their dtype. A fused
// sum may add in another order than one that reads memory: exact programs have either sums or fused
// reductions.
//
// HEARTH_TEST_SEED runs one program of each test, by its seed.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <set>

#include "graph/effort.h"
#include "graph/programs/op_rows.h"
#include "graph/programs/program.h"

namespace hearth::testing {
namespace {

constexpr Switches kLazy{};
constexpr Switches kLazySums{.fuse_reductions = false};
constexpr Switches kUnfused{.fuse_elementwise = false, .fuse_reductions = false};

RunMode mode(const char* name, Switches switches, bool exact, bool eager = false,
             bool threads = false) {
  switches.exact = exact;
  return {name, eager, threads, switches};
}

struct Way {
  Device device;
  RunMode mode;
};

// What goes wrong when `program` runs the `way`, or nothing.
std::string failure(const Program& program, const Way& way, bool exact, double tolerance) {
  std::vector<Reading> expected;
  try {
    expected = run_program(program, Device::cpu(), mode("eager", kUnfused, exact, true));
  } catch (const std::exception& error) {
    return std::string("eager throws: ") + error.what();
  }
  try {
    return compare_readings(expected, run_program(program, way.device, way.mode), tolerance);
  } catch (const std::exception& error) {
    return std::string("throws: ") + error.what();
  }
}

// Runs `program` every way and reports the first difference, shrunk.
void check(const Program& program, const std::vector<Way>& ways, bool exact, double tolerance) {
  for (const Way& way : ways) {
    const std::string wrong = failure(program, way, exact, tolerance);
    if (wrong.empty()) continue;
    const bool invalid = wrong.starts_with("eager");
    const Program small = shrink_program(program, [&](const Program& candidate) {
      const std::string again = failure(candidate, way, exact, tolerance);
      return !again.empty() && again.starts_with("eager") == invalid;
    });
    ADD_FAILURE() << way.mode.name << " on " << way.device.name() << ": " << wrong
                  << "\nshrunk: " << failure(small, way, exact, tolerance) << "\n"
                  << small.text();
    return;
  }
}

struct Case {
  DType dtype;
  bool exact;
  double tolerance;
  Switches lazy = kLazy;

  ProgramOptions options(int statements) const {
    ProgramOptions options;
    options.float_dtype = dtype;
    options.jumps = exact;
    options.float_sums = !exact || !lazy.fuse_reductions;
    options.statements = statements;
    return options;
  }
};

// Calls `body(seed, case)` for every program.
template <class Body>
void for_programs(std::int64_t count, std::uint64_t first_seed, Body body) {
  static constexpr Case kCases[] = {{DType::f32, true, 0},     {DType::f64, true, 0},
                                    {DType::f16, true, 0},     {DType::bf16, true, 0},
                                    {DType::f64, false, 1e-9}, {DType::f32, false, 2e-4}};
  std::uint64_t begin = first_seed;
  std::uint64_t end = first_seed + static_cast<std::uint64_t>(scaled(count));
  if (const char* one = std::getenv("HEARTH_TEST_SEED")) {  // NOLINT(concurrency-mt-unsafe)
    begin = std::strtoull(one, nullptr, 10);
    end = begin + 1;
  }
  for (std::uint64_t seed = begin; seed < end; ++seed) {
    Case one = kCases[seed % std::size(kCases)];
    if (one.exact && seed / std::size(kCases) % 2 == 0) one.lazy = kLazySums;
    body(seed, one);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(Programs, LazyEqualsEager) {
  const Device cpu = Device::cpu();
  const Device hostile = Device::named("hostile");
  for_programs(2400, 0, [&](std::uint64_t seed, const Case& one) {
    const ProgramOptions options = one.options(10 + static_cast<int>(seed % 5) * 10);
    Switches keep = one.lazy;
    keep.donate = false;
    std::vector<Way> ways = {{cpu, mode("lazy", one.lazy, one.exact)},
                             {cpu, mode("lazy again", one.lazy, one.exact)},
                             {hostile, mode("lazy", one.lazy, one.exact)},
                             {cpu, mode("unfused", kUnfused, one.exact)},
                             {cpu, mode("without donation", keep, one.exact)}};
    Switches composites = one.lazy;
    composites.composites = true;
    if (!one.exact) ways.push_back({cpu, mode("composites", composites, false)});
    check(make_program(seed, options), ways, one.exact, one.tolerance);
  });
}

TEST(Programs, EagerOnHostile) {
  const Device hostile = Device::named("hostile");
  for_programs(300, 100000, [&](std::uint64_t seed, const Case& one) {
    const ProgramOptions options = one.options(30);
    check(make_program(seed, options),
          {{hostile, mode("eager", kUnfused, one.exact, true)},
           {hostile, mode("unfused", kUnfused, one.exact)}},
          one.exact, one.tolerance);
  });
}

TEST(Programs, LargeArrays) {
  const Device cpu = Device::cpu();
  const Device hostile = Device::named("hostile");
  for_programs(60, 200000, [&](std::uint64_t seed, const Case& one) {
    ProgramOptions options = one.options(15);
    options.large = true;
    check(make_program(seed, options),
          {{cpu, mode("lazy", one.lazy, one.exact)}, {hostile, mode("lazy", one.lazy, one.exact)}},
          one.exact, one.tolerance);
  });
}

TEST(Programs, TwoThreads) {
  const Device cpu = Device::cpu();
  const Device hostile = Device::named("hostile");
  for_programs(400, 300000, [&](std::uint64_t seed, const Case& one) {
    ProgramOptions options = one.options(48);
    options.lanes = 2;
    check(make_program(seed, options),
          {{cpu, mode("two threads", one.lazy, one.exact, false, true)},
           {hostile, mode("two threads", one.lazy, one.exact, false, true)}},
          one.exact, one.tolerance);
  });
}

// Sums of kernels are of another order: programs that are compared within rounding.
TEST(Programs, Simulator) {
  const Device sim = Device::named("sim");
  for_programs(72, 600000, [&](std::uint64_t seed, const Case& one) {
    if (one.exact) return;
    check(make_program(seed, one.options(20)), {{sim, mode("lazy", one.lazy, false)}}, false,
          one.tolerance);
  });
}

// Thousands of nodes in one recording: cuts fall inside, regions reach their limits.
TEST(Programs, Long) {
  const Device cpu = Device::cpu();
  for_programs(6, 400000, [&](std::uint64_t seed, const Case& one) {
    const ProgramOptions options = one.options(2500);
    Program program = make_program(seed, options);
    std::erase_if(program.statements, [](const Statement& statement) {
      return statement.kind == Statement::Kind::submit || statement.kind == Statement::Kind::read;
    });
    check(program, {{cpu, mode("lazy", one.lazy, one.exact)}}, one.exact, one.tolerance);
  });
}

// The maker reaches what it is meant to reach.
TEST(Programs, Cover) {
  std::set<std::string> functions;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    for (const Statement& statement : make_program(seed, ProgramOptions{}).statements) {
      functions.insert(statement.text.substr(0, statement.text.find('(')));
    }
  }
  for (const OpRow* row : op_rows()) EXPECT_TRUE(functions.contains(row->name)) << row->name;
  for (const char* name : {"add",
                           "matmul",
                           "sum",
                           "argmax",
                           "softmax",
                           "reshape",
                           "permute",
                           "expand",
                           "slice",
                           "dynamic_slice",
                           "flip",
                           "unfold",
                           "diagonal",
                           "cat",
                           "stack",
                           "slice_assign",
                           "dynamic_slice_assign",
                           "gather",
                           "scatter_add",
                           "select",
                           "select_add",
                           "cast",
                           "where",
                           "clamp",
                           "rms_norm",
                           "layer_norm",
                           "rope",
                           "attention",
                           "max_with_indices",
                           "layer_norm_backward"}) {
    EXPECT_TRUE(functions.contains(name)) << name;
  }
}

}  // namespace
}  // namespace hearth::testing
