// Classifying with a two-layer perceptron whose weights come from a file.
#include <filesystem>
#include <iostream>

#include "hearth/hearth.h"

using namespace hearth;

namespace {

struct Classifier {
  nn::Linear hidden{4, 16};
  nn::Linear output{16, 3};

  // x [batch, 4] to probabilities [batch, 3].
  Tensor<2> forward(const Tensor<2>& x) const {
    return activation::softmax(output.forward(activation::relu(hidden.forward(x))), 1);
  }

  static void members(auto& self, auto&& visitor) {
    visitor("hidden", self.hidden);
    visitor("output", self.output);
  }
};

}  // namespace

int main() {
  const std::string path =
      (std::filesystem::temp_directory_path() / "hearth_inference_example.safetensors").string();
  seed(7);
  const Classifier trained;
  save_safetensors(path, state_dict(trained), {{"written_by", "the inference example"}});

  Classifier loaded;
  load_state_dict(loaded, load_safetensors(path));
  freeze(loaded);
  std::filesystem::remove(path);

  const auto x = Tensor<2>::random({5, 4}, Normal(0, 1));
  const Tensor<2> probabilities = loaded.forward(x);
  const Tensor<1, Int> classes = probabilities.argmax(1).squeeze_dim(1);
  std::cout << probabilities << "\nclasses: " << classes << "\n";

  const double difference = (probabilities - trained.forward(x)).abs().max().item();
  const double total = probabilities.sum().item();
  return difference == 0 && total > 4.999 && total < 5.001 ? 0 : 1;
}
