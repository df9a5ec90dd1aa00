// Convolutions against those of the CPU in f64: by Hearth's kernels (tiles of both shapes, shares
// of long sums, groups of few channels, classes of a stride), by a vendor's library, on a simulator
// by plain loops in its place, and by what follows where it takes no call.
#include <functional>
#include <string>
#include <vector>

#include "check.h"
#include "devices/gpu/gpu_device.h"
#include "hearth/device.h"
#include "hearth/grad.h"
#include "hearth/ops.h"
#include "machines/sim/sim_library.h"
#include "ran.h"

namespace hearth {
namespace {

using namespace check;

struct Problem {
  Shape x, weight;
  ConvOptions options;
  std::vector<std::string_view> kernels;  // that must have run for the result and both gradients
};

// The result, and the gradients of its sum, weighted.
std::vector<Values> run(const std::vector<Array>& operands, const ConvOptions& options) {
  const auto convolved = [&](std::span<const Array> in) {
    return conv(in[0], in[1], in[2], options);
  };
  const Array out = convolved(operands);
  const Array weights = to_device(random_array(out.shape(), out.dtype(), -1, 1, 9), out.device());
  const auto gradients =
      grad(FunctionOfMany([&](std::span<const Array> in) { return sum(convolved(in) * weights); }));
  std::vector<Values> all = {out.to_doubles()};
  for (const Array& each : gradients(operands)) all.push_back(each.to_doubles());
  return all;
}

// The same values in memory of another order.
Array turned(const Array& x) {
  Dims back;
  for (int i = x.rank() - 1; i >= 0; --i) back.push_back(i);
  return permute(contiguous(permute(x, back)), back);
}

// The same values one element behind an address that memory is given out at.
Array shifted(const Array& x) {
  const std::int64_t count = element_count(x.shape());
  const Array flat = reshape(x, {count});
  const Array longer = cat({narrow(flat, 0, 0, 1), flat}, 0);
  longer.eval();
  return reshape(narrow(longer, 0, 1, count), x.shape());
}

enum class Order : std::uint8_t { plain, turned, shifted };

enum class Way : std::uint8_t { kernels, library, refused, cards };

std::vector<Device> devices(Way way) {
  if (way == Way::cards) {
    std::vector<Device> found;
    for (const Device& device : Device::all()) {
      if (device.name().starts_with("cuda")) found.push_back(device);
    }
    return found;
  }
  const auto make = [](int index, std::unique_ptr<sim::SimDriver> driver) {
    return Device(new gpu::GpuDevice("sim", index, std::move(driver)));
  };
  // Devices live as long as the process.
  static const Device kernels = make(3, std::make_unique<sim::SimDriver>());
  static const Device library = make(4, std::make_unique<sim::LibraryDriver>());
  static const Device refused = make(5, std::make_unique<sim::LibraryDriver>(true));
  return {way == Way::kernels ? kernels : way == Way::library ? library : refused};
}

class ConvRun : public ::testing::TestWithParam<std::tuple<Way, DType>> {};

TEST_P(ConvRun, IsThatOfTheCpu) {
  const auto [way, dtype] = GetParam();
  const Problem problems[] = {
      {{2, 5, 9, 11}, {70, 5, 3, 3}, {.padding = {1}}, {"conv_tiles"}},
      {{2, 64, 9, 10}, {8, 64, 3, 3}, {.stride = {2, 3}, .padding = {1, 2}}, {"conv_tiles"}},
      {{1, 6, 40},
       {4, 3, 5},
       {.stride = {3}, .padding = {2}, .dilation = {2}, .groups = 2},
       {"conv_direct"}},
      {{2, 7, 12, 13},
       {7, 1, 3, 3},
       {.stride = {2}, .padding = {1}, .groups = 7},
       {"conv_direct", "conv_lines"}},
      {{4, 3, 24, 24}, {8, 3, 3, 3}, {}, {"conv_join"}},
      {{1, 2, 5, 6, 7},
       {5, 2, 2, 3, 3},
       {.stride = {1, 2, 1}, .padding = {0, 1, 1}},
       {"conv_tiles"}},
      {{1, 4, 7, 7}, {4, 4, 2, 2}, {.stride = {4}, .dilation = {2}}, {"conv_direct"}},
      {{2, 4, 6, 5},
       {8, 4, 3, 3},
       {.stride = {2, 1}, .padding = {0, 1}, .padding_end = {1, 0}, .dilation = {2}},
       {"conv_direct"}},
      {{2, 8, 10, 5, 4},
       {2, 4, 2, 2, 3},
       {.stride = {2, 2, 1},
        .padding = {0, 1, 2},
        .padding_end = {1, 2, 0},
        .dilation = {2, 1, 2},
        .groups = 2},
       {"conv_direct"}},
  };
  for (const Device& device : devices(way)) {
    for (const Problem& p : problems) {
      for (const Order order : {Order::plain, Order::turned, Order::shifted}) {
        const bool has_library = way == Way::library || way == Way::cards;
        if (order == Order::shifted && !has_library) continue;
        SCOPED_TRACE(device.name() + " " + to_string(p.x) + " " + to_string(p.weight));
        const std::vector<Array> operands = {random_array(p.x, dtype, -1, 1, 3),
                                             random_array(p.weight, dtype, -1, 1, 4),
                                             random_array({p.weight[0]}, dtype, -1, 1, 5)};
        std::vector<Array> on_device, in_f64;
        for (const Array& each : operands) {
          const Array there = to_device(each, device);
          on_device.push_back(order == Order::turned    ? turned(there)
                              : order == Order::shifted ? shifted(there)
                                                        : there);
          in_f64.push_back(cast(each, DType::f64));
        }
        const std::vector<Values> wanted = run(in_f64, p.options);
        const bool is_called = way == Way::library && dtype != DType::f64;
        std::vector<std::string_view> kernels = p.kernels;
        if (is_called) {
          kernels = {"library_conv", "conv_bias"};
          // Where zeros before and after differ, libraries are not trusted with it.
          if (p.options.padding_end.empty()) kernels.push_back("library_conv_weight_gradient");
        }
        // A library takes no operand that begins anywhere, but its copy with channels last.
        if (is_called && order == Order::shifted) {
          kernels = dtype == DType::f32 ? p.kernels : std::vector<std::string_view>();
        }
        if (way == Way::cards) kernels.clear();
        std::vector<Values> got;
        hearth::testing::expect_ran(kernels, [&] { got = run(on_device, p.options); });
        for (std::size_t i = 0; i < wanted.size(); ++i) {
          // A card's library adds in an order of its own.
          const double share = (way == Way::cards ? 4 : 1) * tolerance(dtype);
          expect_within(got[i], wanted[i], share, "result " + std::to_string(i));
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Floats, ConvRun,
    ::testing::Combine(::testing::Values(Way::kernels, Way::library, Way::refused, Way::cards),
                       ::testing::Values(DType::f32, DType::f64, DType::bf16)));

}  // namespace
}  // namespace hearth
