#include "graph/programs/program.h"

#include <barrier>
#include <cmath>
#include <cstring>
#include <exception>
#include <set>
#include <sstream>
#include <thread>

#include "hearth/ops.h"

namespace hearth::testing {
namespace {

Reading read(const Array& array, int statement, int variable) {
  Reading reading{statement, variable, array.dtype(), array.shape(), array.to_doubles(), {}};
  reading.bytes.resize(static_cast<std::size_t>(array.size() * size_of(array.dtype())));
  array.read(reading.bytes.data(), static_cast<std::int64_t>(reading.bytes.size()), array.dtype());
  return reading;
}

std::string describe(const Reading& reading) {
  return "v" + std::to_string(reading.variable) + " " + std::string(name(reading.dtype)) + " " +
         to_string(reading.shape) +
         (reading.statement < 0 ? " at the end"
                                : " at statement " + std::to_string(reading.statement));
}

// What one lane reads in one segment.
void run_lane(const Program& program, Device device, const RunMode& mode, int lane, int segment,
              Variables& variables, std::vector<Reading>& readings) {
  for (std::size_t i = 0; i < program.statements.size(); ++i) {
    const Statement& statement = program.statements[i];
    if (statement.lane != lane || statement.segment != segment) continue;
    Array& out = variables[static_cast<std::size_t>(statement.out)];
    switch (statement.kind) {
      case Statement::Kind::op:
        if (!statement.more_out.empty()) {
          const std::vector<Array> all = statement.run_all(variables, device);
          out = all[0];
          for (std::size_t k = 1; k < all.size(); ++k) {
            variables[static_cast<std::size_t>(statement.more_out[k - 1])] = all[k];
          }
          if (!mode.eager) break;
          for (const Array& each : all) each.eval();
          break;
        }
        out = statement.run(variables, device);
        if (mode.eager) out.eval();
        break;
      case Statement::Kind::check:
        (void)statement.run(variables, device);
        break;
      case Statement::Kind::drop:
        out = Array();
        break;
      case Statement::Kind::submit:
        out.eval();
        break;
      case Statement::Kind::read:
        readings.push_back(read(out, static_cast<int>(i), statement.out));
        break;
    }
  }
}

}  // namespace

Array ProgramInput::make(Device device) const {
  if (!channels_last) return Array::from_bytes(bytes, dtype, shape, device);
  Shape memory = shape;
  memory.erase(1);
  memory.push_back(shape[1]);
  return movedim(Array::from_bytes(bytes, dtype, memory, device), {-1}, {1}).eval();
}

std::string Program::text() const {
  std::ostringstream out;
  out << "// seed " << seed << "\n";
  std::set<int> used;
  for (const Statement& statement : statements)
    used.insert(statement.in.begin(), statement.in.end());
  for (const auto& input : inputs) {
    if (!used.contains(input->variable)) continue;
    out << "v" << input->variable << " = from_data(" << name(input->dtype) << " "
        << to_string(input->shape) << (input->channels_last ? ", channels last)" : ")");
    if (input->bytes.size() <= 256) out << ";  // " << input->make(Device::cpu());
    out << "\n";
  }
  int segment = 0;
  for (const Statement& statement : statements) {
    if (statement.segment != segment) out << "// segment " << (segment = statement.segment) << "\n";
    if (lanes > 1) out << "[" << statement.lane << "] ";
    switch (statement.kind) {
      case Statement::Kind::op:
        out << "v" << statement.out;
        for (const int more : statement.more_out) out << ", v" << more;
        out << " = " << statement.text;
        break;
      case Statement::Kind::check:
        out << statement.text;
        break;
      case Statement::Kind::drop:
        out << "v" << statement.out << " = Array()";
        break;
      case Statement::Kind::submit:
        out << "v" << statement.out << ".eval()";
        break;
      case Statement::Kind::read:
        out << "read(v" << statement.out << ")";
        break;
    }
    out << ";\n";
  }
  return out.str();
}

std::vector<Reading> run_program(const Program& program, Device device, const RunMode& mode) {
  const Switches before = switches();
  switches() = mode.switches;
  Variables variables(static_cast<std::size_t>(program.variable_count));
  std::vector<Reading> readings;
  try {
    for (const auto& input : program.inputs) {
      variables[static_cast<std::size_t>(input->variable)] = input->make(device);
    }
    const auto lanes = static_cast<std::size_t>(program.lanes);
    const auto segments = static_cast<std::size_t>(program.segments);
    std::vector<std::vector<Reading>> by_place(lanes * segments);
    if (mode.threads) {
      std::barrier meeting(program.lanes);
      std::vector<std::exception_ptr> errors(lanes);
      std::vector<std::thread> threads;
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        threads.emplace_back([&, lane] {
          switches() = mode.switches;
          for (std::size_t segment = 0; segment < segments; ++segment) {
            try {
              if (errors[lane] == nullptr) {
                run_lane(program, device, mode, static_cast<int>(lane), static_cast<int>(segment),
                         variables, by_place[segment * lanes + lane]);
              }
            } catch (...) {
              errors[lane] = std::current_exception();
            }
            meeting.arrive_and_wait();
          }
        });
      }
      for (std::thread& thread : threads) thread.join();
      for (const std::exception_ptr& error : errors) {
        if (error != nullptr) std::rethrow_exception(error);
      }
    } else {
      for (std::size_t place = 0; place < by_place.size(); ++place) {
        run_lane(program, device, mode, static_cast<int>(place % lanes),
                 static_cast<int>(place / lanes), variables, by_place[place]);
      }
    }
    for (std::vector<Reading>& some : by_place) {
      for (Reading& reading : some) readings.push_back(std::move(reading));
    }
    for (std::size_t i = 0; i < variables.size(); ++i) {
      if (variables[i].defined()) readings.push_back(read(variables[i], -1, static_cast<int>(i)));
    }
  } catch (...) {
    switches() = before;
    throw;
  }
  switches() = before;
  return readings;
}

std::string compare_readings(const std::vector<Reading>& expected,
                             const std::vector<Reading>& actual, double tolerance) {
  std::ostringstream out;
  if (expected.size() != actual.size()) {
    out << "read " << actual.size() << " values, expected " << expected.size();
    return out.str();
  }
  for (std::size_t r = 0; r < expected.size(); ++r) {
    const Reading& want = expected[r];
    const Reading& got = actual[r];
    if (want.dtype != got.dtype || want.shape != got.shape || want.variable != got.variable) {
      out << describe(got) << ", expected " << describe(want);
      return out.str();
    }
    const std::size_t item = static_cast<std::size_t>(size_of(want.dtype));
    const bool approximate = tolerance > 0 && is_float(want.dtype);
    double magnitude = 0;
    for (const double value : want.values) {
      if (std::isfinite(value)) magnitude = std::max(magnitude, std::abs(value));
    }
    for (std::size_t i = 0; i < want.values.size(); ++i) {
      const double a = want.values[i];
      const double b = got.values[i];
      if (std::isnan(a) && std::isnan(b)) continue;
      if (std::memcmp(&want.bytes[i * item], &got.bytes[i * item], item) == 0) continue;
      if (approximate && std::abs(a - b) <= tolerance * std::max(1.0, magnitude)) continue;
      out.precision(17);
      out << describe(got) << ": element " << i << " is " << b << ", expected " << a;
      return out.str();
    }
  }
  return "";
}

Program shrink_program(const Program& program, const std::function<bool(const Program&)>& fails) {
  Program best = program;
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (std::size_t i = best.statements.size(); i-- > 0;) {
      if (i >= best.statements.size()) continue;
      Program candidate = best;
      // Without this statement, and without what needs a variable that now does not exist.
      std::set<int> defined;
      for (const auto& input : best.inputs) defined.insert(input->variable);
      candidate.statements.clear();
      for (std::size_t k = 0; k < best.statements.size(); ++k) {
        const Statement& statement = best.statements[k];
        bool possible = k != i;
        for (const int in : statement.in) possible = possible && defined.contains(in);
        if (statement.kind != Statement::Kind::op) {
          possible = possible && defined.contains(statement.out);
        }
        if (!possible) continue;
        if (statement.kind == Statement::Kind::op) {
          defined.insert(statement.out);
          defined.insert(statement.more_out.begin(), statement.more_out.end());
        }
        if (statement.kind == Statement::Kind::drop) defined.erase(statement.out);
        candidate.statements.push_back(statement);
      }
      if (!fails(candidate)) continue;
      best = std::move(candidate);
      smaller = true;
    }
  }
  std::set<int> used;
  for (const Statement& statement : best.statements) {
    used.insert(statement.in.begin(), statement.in.end());
  }
  // Inputs count as used too: what is read beyond an array may depend on them.
  Program tidy = best;
  std::erase_if(tidy.inputs, [&](const auto& input) { return !used.contains(input->variable); });
  return fails(tidy) ? tidy : best;
}

}  // namespace hearth::testing
