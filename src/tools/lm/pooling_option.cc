#include "tools/lm/pooling_option.h"

#include <string_view>

#include "hearth/error.h"
#include "models/language/model/text_encoder.h"

namespace hearth::tools {
namespace {

// Where a model's files have words for them, these are sentence-transformers'; here llama.cpp's.
struct PoolingWord {
  std::string_view word;
  models::Pooling pooling;
};
constexpr PoolingWord kPoolingWords[] = {
    {"mean", models::Pooling::mean},
    {"last", models::Pooling::last},
    {"cls", models::Pooling::first},
};

void refuse_states(const models::LanguageConfig& config, const std::string& command) {
  if (!models::has_states(config)) return;
  throw Error(ErrorCode::unsupported, command + ": vectors of a model with recurrent layers; got " +
                                          config.architecture +
                                          ", expected a model whose layers all attend");
}

}  // namespace

void add_pooling_option(Command& command, std::string& pooling) {
  std::vector<std::string> words;
  for (const PoolingWord& each : kPoolingWords) words.emplace_back(each.word);
  command
      .option("--pooling", pooling,
              "Rows of a text that become its vector: the mean of all, the last, or the first "
              "[as the model's files say]")
      .one_of(std::move(words))
      .lower_case();
}

void set_pooling(models::LanguageConfig& config, const std::string& pooling,
                 const std::string& command) {
  for (const PoolingWord& each : kPoolingWords) {
    if (each.word != pooling) continue;
    refuse_states(config, command);
    config.vectors.pooling = each.pooling;
  }
}

void require_pooling(const models::LanguageConfig& config, const std::string& command) {
  refuse_states(config, command);
  if (models::makes_vectors(config)) return;
  throw Error(ErrorCode::unsupported, command +
                                          ": a model whose files name no pooling; got one of the "
                                          "family " +
                                          config.architecture +
                                          ", expected --pooling mean, last or cls, which says what "
                                          "of a text's rows becomes its vector");
}

}  // namespace hearth::tools
