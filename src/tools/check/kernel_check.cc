#include "tools/check/kernel_check.h"

#include "hearth/error.h"

#if HEARTH_HAS_SIMULATOR
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

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

std::vector<Value> values_for(const runtime::KernelSource& source, const KernelLaunch& launch) {
  std::vector<Value> all;
  for (const runtime::KernelParameter& parameter : source.parameters) {
    if (parameter.kind == ParameterKind::threadgroup) continue;
    Value& value = all.emplace_back();
    value.name = parameter.name;
    value.kind = parameter.kind;
    const std::string elements = "f32[" + std::to_string(launch.grid.product()) + "]";
    const auto given = launch.values.find(parameter.name);
    if (source.metal && parameter.name == kGridParameter) {
      value.bytes.resize(3 * sizeof(std::uint32_t));
      std::memcpy(value.bytes.data(), &launch.grid, value.bytes.size());
    } else if (given != launch.values.end()) {
      value.bytes = values_of(given->second, parameter.name);
    } else if (parameter.kind == ParameterKind::constant) {
      refuse("a constant of " + source.name + " has no value; got none for " + parameter.name +
             ", expected one, such as --value " + parameter.name +
             "=u32:" + std::to_string(launch.grid.x));
    } else {
      value.bytes =
          values_of(elements + (is_written(parameter.kind) ? ":poison" : ""), parameter.name);
    }
  }
  return all;
}

runtime::Size3 groups_of(const runtime::KernelSource& source, const KernelLaunch& launch) {
  const auto count = [](std::uint32_t grid, std::uint32_t threads) {
    return (grid + threads - 1) / threads;
  };
  const runtime::Size3 groups = {count(launch.grid.x, launch.threads.x),
                                 count(launch.grid.y, launch.threads.y),
                                 count(launch.grid.z, launch.threads.z)};
  if (launch.threads.product() > source.max_threads) {
    refuse("--threads are too many; got " + std::to_string(launch.threads.product()) +
           " in a threadgroup, expected at most " + std::to_string(source.max_threads));
  }
  return groups;
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
           std::to_string(bytes.size()) + " bytes changed\n";
  }
  return all;
}

}  // namespace

KernelCheck check_kernel(const runtime::KernelSource& source, const KernelLaunch& launch) {
  const std::vector<Value> values = values_for(source, launch);
  const runtime::Size3 groups = groups_of(source, launch);
  KernelCheck check;
  std::vector<std::byte> image;
  std::vector<std::vector<std::byte>> before;
  const char* schedule = "";
  try {
    for (const NamedSchedule& each : kSchedules) {
      sim::SimOptions options;
      options.schedule = each.schedule;
      options.debug = true;
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
    if (error.code() != ErrorCode::device) throw;
    check.report = std::string(error.what()) + " (" + schedule + ")\n";
    return check;
  }
  check.passed = true;
  check.report = "no fault in " + std::to_string(std::size(kSchedules)) + " schedules\n" +
                 changes(values, before);
  return check;
}
#else
KernelCheck check_kernel(const runtime::KernelSource&, const KernelLaunch&) {
  throw Error(
      ErrorCode::unsupported,
      "check-kernel: this build has no simulator; got a system other than Linux on x86-64 or "
      "arm64, expected one of those");
}
#endif

}  // namespace hearth::tools
