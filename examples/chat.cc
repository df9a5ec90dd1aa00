// A conversation with a language model: `example_chat MODEL LINE...`.
#include <iostream>

#include "hearth/models.h"

int main(int argc, char** argv) try {
  if (argc < 3) {
    std::cout << "usage: example_chat MODEL LINE...; MODEL is a GGUF file or a folder\n";
    return 0;
  }
  const hearth::TextModel model = hearth::TextModel::load(argv[1]);
  hearth::ChatSession chat(
      model, {.system = "Be brief.", .tokens = 100, .sampling = model.recommended_sampling()});
  for (int i = 2; i < argc; ++i) {
    std::cout << "> " << argv[i] << "\n";
    const hearth::ChatAnswer answer = chat.say(argv[i], [](const hearth::ChatPart& part) {
      return bool(std::cout << part.content << std::flush);
    });
    std::cout << "\n" << answer.cached_tokens << " of " << answer.prompt_tokens << " known\n";
  }
} catch (const hearth::Error& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
