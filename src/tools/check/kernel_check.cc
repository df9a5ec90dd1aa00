#include "tools/check/kernel_check.h"

#include "core/counted.h"
#include "hearth/error.h"

#if HEARTH_HAS_SIMULATOR
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "codegen/value_types.h"
#include "devices/sim/sim_driver.h"
#include "tools/check/kernel_values.h"
#endif

namespace hearth::tools {

#if HEARTH_HAS_SIMULATOR
namespace {

using ParameterKind = runtime::KernelParameter::Kind;

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorCode::invalid_argument, "check-kernel: " + what);
}

struct NamedSchedule {
  const char* name;
  sim::Schedule schedule;
};
constexpr std::int64_t kMaxGrid = std::int64_t{1} << 31;  // threads
constexpr NamedSchedule kSchedules[] = {{"forward", {sim::Order::forward, 1}},
                                        {"reverse", {sim::Order::reverse, 1}},
                                        {"greedy", {sim::Order::greedy, 1}},
                                        {"shuffled, seed 1", {sim::Order::shuffled, 1}},
                                        {"shuffled, seed 2", {sim::Order::shuffled, 2}}};

struct Value {
  std::string name;
  ParameterKind kind = ParameterKind::read;
  std::vector<std::byte> bytes;  // before the launch
};

bool is_written(ParameterKind kind) {
  return kind == ParameterKind::write || kind == ParameterKind::read_write;
}

std::vector<Value> values_for(const runtime::KernelSource& source, const CheckedLaunch& launch) {
  std::vector<Value> all;
  const std::map<std::string, std::string> types = gpu::value_types(source);
  for (const runtime::KernelParameter& parameter : source.parameters) {
    if (parameter.kind == ParameterKind::threadgroup) continue;
    const auto found = types.find(parameter.name);
    const std::string type = found == types.end() ? "" : found->second;
    Value& value = all.emplace_back();
    value.name = parameter.name;
    value.kind = parameter.kind;
    const std::string elements = "f32[" + std::to_string(launch.grid.product()) + "]";
    const auto given = launch.values.find(parameter.name);
    if (source.metal && parameter.name == kGridParameter) {
      value.bytes.resize(3 * sizeof(std::uint32_t));
      std::memcpy(value.bytes.data(), &launch.grid, value.bytes.size());
    } else if (given != launch.values.end()) {
      value.bytes = values_of(given->second, parameter.name, type);
    } else if (parameter.kind == ParameterKind::constant) {
      refuse(
          "a constant of " + source.name + " has no value; got none for " + parameter.name +
          ", expected one, such as --value " + parameter.name + "=" +
          std::string(name(gpu::named_numbers(type).value_or(gpu::NumberType{DType::u32}).dtype)) +
          ":" + std::to_string(launch.grid.x));
    } else {
      value.bytes =
          values_of(elements + (is_written(parameter.kind) ? ":poison" : ""), parameter.name);
    }
  }
  return all;
}

runtime::Size3 groups_of(const runtime::KernelSource& source, const CheckedLaunch& launch) {
  // Products stay in 64 bits.
  const auto threads_of = [](runtime::Size3 size) {
    return static_cast<double>(size.x) * size.y * size.z;
  };
  if (threads_of(launch.grid) > kMaxGrid) {
    refuse("--grid is too large; got " + std::to_string(launch.grid.x) + "," +
           std::to_string(launch.grid.y) + "," + std::to_string(launch.grid.z) +
           ", expected at most " + std::to_string(kMaxGrid) + " threads");
  }
  if (threads_of(launch.threads) > source.max_threads) {
    refuse("--threads are too many; got " + std::to_string(launch.threads.x) + "," +
           std::to_string(launch.threads.y) + "," + std::to_string(launch.threads.z) +
           ", expected at most " + std::to_string(source.max_threads) + " in a threadgroup");
  }
  const auto count = [](std::uint32_t grid, std::uint32_t threads) {
    return grid / threads + (grid % threads == 0 ? 0 : 1);
  };
  return {count(launch.grid.x, launch.threads.x), count(launch.grid.y, launch.threads.y),
          count(launch.grid.z, launch.threads.z)};
}

// What the kernel left in the buffers that it may write.
std::vector<std::vector<std::byte>> run(sim::SimDriver& driver, const runtime::Function& function,
                                        const std::vector<Value>& values, runtime::Size3 groups,
                                        runtime::Size3 threads) {
  std::vector<runtime::Argument> arguments;
  for (const Value& value : values) {
    runtime::Argument& argument = arguments.emplace_back();
    argument.bytes = static_cast<std::int64_t>(value.bytes.size());
    if (value.kind == ParameterKind::constant) {
      argument.constant = value.bytes.data();
      continue;
    }
    argument.address = driver.allocate(argument.bytes);
    driver.copy_to_device(argument.address, value.bytes.data(), argument.bytes);
  }
  runtime::Command command;
  command.function = &function;
  command.groups = groups;
  command.threads = threads;
  command.arguments = arguments;
  driver.submit({&command, 1});
  driver.wait();
  std::vector<std::vector<std::byte>> written;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!is_written(values[i].kind)) continue;
    written.emplace_back(values[i].bytes.size());
    driver.copy_to_host(written.back().data(), arguments[i].address, arguments[i].bytes);
  }
  return written;
}

// "1 byte of y", of the first that differs between two runs; empty where none does.
std::string difference(const std::vector<Value>& values,
                       const std::vector<std::vector<std::byte>>& first,
                       const std::vector<std::vector<std::byte>>& second) {
  std::size_t next = 0;
  for (const Value& value : values) {
    if (!is_written(value.kind)) continue;
    const std::vector<std::byte>& a = first[next];
    const std::vector<std::byte>& b = second[next++];
    const auto at = std::mismatch(a.begin(), a.end(), b.begin()).first;
    if (at == a.end()) continue;
    return "byte " + std::to_string(at - a.begin()) + " of " + value.name;
  }
  return {};
}

std::string changes(const std::vector<Value>& values,
                    const std::vector<std::vector<std::byte>>& written) {
  std::string all;
  std::size_t next = 0;
  for (const Value& value : values) {
    if (!is_written(value.kind)) continue;
    const std::vector<std::byte>& bytes = written[next++];
    std::int64_t changed = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) changed += bytes[i] != value.bytes[i] ? 1 : 0;
    all += "  " + value.name + ": " + std::to_string(changed) + " of " +
           counted(bytes.size(), "byte") + " changed\n";
  }
  return all;
}

}  // namespace

KernelCheck check_kernel(const runtime::KernelSource& source, const CheckedLaunch& launch) {
  const runtime::Size3 groups = groups_of(source, launch);
  const std::vector<Value> values = values_for(source, launch);
  KernelCheck check;
  std::vector<std::byte> image;
  std::vector<std::vector<std::byte>> before;
  const char* schedule = "";
  try {
    for (const NamedSchedule& each : kSchedules) {
      sim::SimOptions options;
      options.schedule = each.schedule;
      options.debug = true;
      options.time_limit = launch.time_limit;
      sim::SimDriver driver(options);
      schedule = "compiling";
      if (image.empty()) image = driver.compile(source);
      schedule = each.name;
      const std::unique_ptr<runtime::Function> function = driver.load(source, image);
      std::vector<std::vector<std::byte>> now =
          run(driver, *function, values, groups, launch.threads);
      if (!before.empty()) {
        const std::string differs = difference(values, before, now);
        if (!differs.empty()) {
          check.report = "results depend on the order of threads: " + differs + " differs (" +
                         kSchedules[0].name + " and " + schedule + ")\n";
          return check;
        }
      } else {
        before = std::move(now);
      }
    }
  } catch (const Error& error) {
    const bool is_kernels = error.code() == ErrorCode::device && *schedule != '\0';
    if (!is_kernels) throw;
    check.report = std::string(error.what()) + " (" + schedule + ")\n";
    return check;
  }
  check.passed = true;
  check.report = "no fault in " + std::to_string(std::size(kSchedules)) + " schedules\n" +
                 changes(values, before);
  return check;
}
#else
KernelCheck check_kernel(const runtime::KernelSource&, const CheckedLaunch&) {
  throw Error(
      ErrorCode::unsupported,
      "check-kernel: this build has no simulator; got a system other than Linux on x86-64 or "
      "arm64, expected one of these");
}
#endif

}  // namespace hearth::tools
