// Writing text with a language model: `example_text_model MODEL [PROMPT]`.
#include <iostream>

#include "hearth/models.h"

int main(int argc, char** argv) try {
  if (argc < 2) {
    std::cout << "usage: example_text_model MODEL [PROMPT]; MODEL is a GGUF file or a folder\n";
    return 0;
  }
  const hearth::TextModel model = hearth::TextModel::load(argv[1]);
  const std::string prompt = argc > 2 ? argv[2] : "The capital of France is";
  std::cout << prompt;
  const hearth::GeneratedText made =
      model.generate(prompt, {.tokens = 40, .sampling = {.temperature = 0.7, .top_k = 40}},
                     [](std::string_view text) { return bool(std::cout << text << std::flush); });
  std::cout << "\n" << made.tokens.size() << " tokens\n";
} catch (const hearth::Error& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
