// Kernels, buffers and launches on a simulator of one's own.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hearth/error.h"
#include "machines/sim/sim_driver.h"

namespace hearth::sim {

using runtime::KernelParameter;
using runtime::KernelSource;
using Kind = KernelParameter::Kind;

inline KernelSource kernel(const std::string& name, const std::string& text,
                           std::vector<KernelParameter> parameters) {
  KernelSource source;
  source.name = name;
  source.text = text;
  source.function = name;
  source.parameters = std::move(parameters);
  return source;
}

// `text` without the only place where it says `part`: how faults are planted.
inline std::string without(std::string text, const std::string& part,
                           const std::string& instead = "") {
  const std::size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  EXPECT_EQ(text.find(part, at + 1), std::string::npos) << part;
  return at == std::string::npos ? text : text.replace(at, part.size(), instead);
}

class Simulator {
 public:
  explicit Simulator(const SimOptions& options = {}) : driver_(options), check_(options.check) {}

  SimDriver& driver() noexcept { return driver_; }

  // Compiled once in a process for all simulators.
  const runtime::Function& load(const KernelSource& source) {
    static std::map<std::pair<std::string, bool>, std::vector<std::byte>> images;
    std::vector<std::byte>& image = images[{source.name + source.text, check_}];
    if (image.empty()) image = driver_.compile(source);
    functions_.push_back(driver_.load(source, image));
    return *functions_.back();
  }

  Address allocate(std::size_t floats) {
    return driver_.allocate(static_cast<std::int64_t>(floats * sizeof(float)));
  }
  template <class T>
  Address upload(const std::vector<T>& values) {
    const auto bytes = static_cast<std::int64_t>(values.size() * sizeof(T));
    const Address address = driver_.allocate(bytes);
    driver_.copy_to_device(address, values.data(), bytes);
    return address;
  }
  template <class T = float>
  std::vector<T> download(Address address, std::size_t count) {
    std::vector<T> values(count);
    driver_.copy_to_host(values.data(), address, static_cast<std::int64_t>(count * sizeof(T)));
    return values;
  }

  void run(const KernelSource& source, std::uint32_t groups, std::uint32_t threads,
           const std::vector<runtime::Argument>& arguments) {
    runtime::Command command;
    command.function = &load(source);
    command.groups.x = groups;
    command.threads.x = threads;
    command.arguments = arguments;
    driver_.submit({&command, 1});
  }

  // What the queued work did wrong; empty if nothing.
  std::string fault() {
    try {
      driver_.wait();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::device);
      return error.what();
    }
    return {};
  }

 private:
  SimDriver driver_;
  bool check_;
  std::vector<std::unique_ptr<runtime::Function>> functions_;
};

inline runtime::Argument floats(Address address, std::size_t count) {
  return {address, static_cast<std::int64_t>(count * sizeof(float)), nullptr};
}

template <class T>
runtime::Argument constant(const T& value) {
  return {nullptr, static_cast<std::int64_t>(sizeof(T)), &value};
}

inline std::vector<float> counting(std::size_t count, float first = 0) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = first + static_cast<float>(i);
  return values;
}

inline SimOptions with(Order order, bool check, std::uint64_t seed = 1) {
  SimOptions options;
  options.schedule = {order, seed};
  options.check = check;
  return options;
}

// Every schedule with and without the checker.
inline std::vector<SimOptions> all_options() {
  std::vector<SimOptions> all;
  for (const bool check : {true, false}) {
    for (const Order order : {Order::forward, Order::reverse, Order::greedy}) {
      all.push_back(with(order, check));
    }
    for (const std::uint64_t seed : {1u, 2u}) all.push_back(with(Order::shuffled, check, seed));
  }
  return all;
}

#define EXPECT_SAYS(text, part) \
  EXPECT_NE((text).find(part), std::string::npos) << "said: " << (text)

}  // namespace hearth::sim
