// Functions of several ops over channels and sequences, with their gradients, on every device.
#include "check.h"
#include "devices_under_test.h"

namespace hearth {
namespace {

using namespace check;
using In = std::span<const Array>;

struct DeviceCase {
  const char* name;
  Many call;
  std::vector<Array> inputs;
};

std::vector<DeviceCase> device_cases() {
  const Array x = random_array({2, 4, 5, 4}, DType::f32),
              four = random_array({4}, DType::f32, 1, 2, 3);
  const Array rows = random_array({6, 5}, DType::f32),
              others = random_array({6, 5}, DType::f32, 0.1, 1, 4);
  const Array symbols = ints({1, 2, 2, 0, 3, 3, 1, 1}, {2, 4});
  const Array steps = ints({19, 12}, {2}), lengths = ints({3, 4}, {2});
  return {
      {"batch_norm_train",
       [](In in) { return std::get<0>(batch_norm_train(in[0], in[1], in[1])); },
       {x, four}},
      {"batch_norm",
       [](In in) { return batch_norm(in[0], in[1], in[1], in[1], in[1]); },
       {x, four}},
      {"group_norm", [](In in) { return group_norm(in[0], 2, in[1], in[1]); }, {x, four}},
      {"local_response_norm", [](In in) { return local_response_norm(in[0], 3, 0.5); }, {x}},
      {"huber_loss", [](In in) { return huber_loss(in[0], in[1], 0.4); }, {rows, others}},
      {"binary_cross_entropy",
       [](In in) { return binary_cross_entropy(in[1], sigmoid(in[0])); },
       {rows, others}},
      {"gaussian_nll_loss",
       [](In in) { return gaussian_nll_loss(in[0], in[0], in[1], true); },
       {rows, others}},
      {"multi_margin_loss",
       [](In in) { return multi_margin_loss(in[0], in[1], 1, 2); },
       {rows, ints({0, 4, 2, 1, 1, 3}, {6})}},
      {"triplet_margin_loss",
       [](In in) { return triplet_margin_loss(in[0], in[1], square(in[0]), 1, 2, true); },
       {rows, others}},
      {"ctc_loss",
       [](In in) { return ctc_loss(log_softmax(in[0], 2), in[1], in[2], in[3]); },
       {random_array({19, 2, 4}, DType::f32), symbols, steps, lengths}},
      {"rnnt_loss",
       [](In in) { return rnnt_loss(log_softmax(in[0], 3), in[1], in[2], in[3]); },
       {random_array({2, 19, 5, 4}, DType::f32), symbols, steps, lengths}},
      {"deform_conv2d",
       [](In in) {
         return deform_conv2d(in[0], in[1], in[2], in[3], in[4],
                              {.padding = {1}, .offset_groups = 2});
       },
       {x, random_array({2, 24, 5, 5}, DType::f32, -1.2, 1.2, 5),
        random_array({3, 4, 3, 2}, DType::f32, -1, 1, 6),
        random_array({2, 12, 5, 5}, DType::f32, 0, 1, 7), random_array({3}, DType::f32, 0, 1, 8)}},
  };
}

// The result and the gradients, one after the other.
Values all_of(const DeviceCase& of, Device device) {
  std::vector<Array> leaves;
  for (const Array& input : of.inputs) {
    const Array there = to_device(input, device);
    leaves.push_back(is_float(there.dtype()) ? there.require_grad() : there);
  }
  const Array out = of.call(leaves);
  Values values = out.to_doubles();
  const Gradients gradients = backward(sum(mul(out, out)));
  for (const Array& leaf : leaves) {
    if (!is_float(leaf.dtype())) continue;
    for (const double value : gradients.at(leaf).to_doubles()) values.push_back(value);
  }
  return values;
}

TEST(ChannelDevices, GiveWhatTheCpuGives) {
  for (const DeviceCase& each : device_cases()) {
    const Values expected = all_of(each, Device());
    for (const Device device : testing::devices_under_test()) {
      expect_close(all_of(each, device), expected, 2e-4, each.name + (" on " + device.name()));
    }
  }
}

}  // namespace
}  // namespace hearth
