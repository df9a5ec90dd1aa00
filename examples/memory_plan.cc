// What a language model will take in memory: `example_memory_plan MODEL [CONTEXT]`.
#include <cstdlib>
#include <iostream>

#include "hearth/models.h"

int main(int argc, char** argv) try {
  if (argc < 2) {
    std::cout << "usage: example_memory_plan MODEL [CONTEXT]; MODEL is a GGUF file or a folder\n";
    return 0;
  }
  const std::int64_t context = argc > 2 ? std::atoll(argv[2]) : 0;
  for (const char* type : {"f32", "f16", "q8_0"}) {
    const hearth::MemoryPlan plan =
        hearth::memory_plan(argv[1], {.context = context, .keys = type, .values = type});
    std::cout << type << ": " << plan.context << " tokens, weights " << (plan.weights >> 20)
              << " MiB, caches " << (plan.caches >> 20) << " MiB, all " << (plan.all() >> 20)
              << " MiB\n";
  }
} catch (const hearth::Error& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
