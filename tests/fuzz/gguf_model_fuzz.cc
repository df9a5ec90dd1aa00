// Parses arbitrary bytes as the GGUF file of a language model, and reads all that a program asks
// its metadata for: the configuration, the plan of memory, the tokenizer, the template of chats,
// what is recommended of sampling. What is not accepted must be a hearth::Error; what the tokenizer
// encodes must be its tokens.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include "hearth/error.h"
#include "io/gguf.h"
#include "models/chat_template/chat_template.h"
#include "models/language/read_config.h"
#include "models/sampling/recommended_sampling.h"
#include "models/serving/memory_plan.h"
#include "tokenizer_checks.h"

namespace {

using hearth::testing::require;

constexpr std::size_t kMaxFile = 1 << 14;

template <class Call>
void expect_error_or_success(Call call) {
  try {
    call();
  } catch (const hearth::Error& error) {
    require(error.code() == hearth::ErrorCode::corrupt_file ||
            error.code() == hearth::ErrorCode::invalid_argument ||
            error.code() == hearth::ErrorCode::unsupported);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > kMaxFile) return 0;
  expect_error_or_success([&] {
    const auto file = hearth::io::GgufFile::parse(std::as_bytes(std::span(data, size)));
    const hearth::GgufMetadata& metadata = file.metadata();
    expect_error_or_success([&] {
      const auto config = hearth::models::read_config(metadata, hearth::models::FileKind::gguf);
      require(config.context > 0 && config.dim > 0 && !config.layers.empty());
    });
    expect_error_or_success([&] {
      const auto plan = hearth::models::plan_memory(
          {{{}, metadata}, hearth::models::FileKind::gguf, {}}, {.context = 1024});
      require(plan.activations > 0 && plan.caches >= 0 && plan.states >= 0);
    });
    expect_error_or_success([&] { hearth::models::recommended_sampling(metadata); });
    expect_error_or_success([&] {
      const hearth::models::ChatTemplate parsed(metadata.as_text("tokenizer.chat_template", ""));
    });
    expect_error_or_success([&] {
      const auto tokenizer = hearth::models::tokenizer_from_gguf(metadata, "fuzz");
      hearth::testing::check_tokenizer(tokenizer, hearth::testing::kMixedText, false);
    });
  });
  return 0;
}
