#include "models/language/read_text_vectors.h"

#include <string>

#include "core/quoted.h"
#include "hearth/error.h"

namespace hearth::models {
namespace {

constexpr std::int64_t kRankPooling = 4;  // of rerankers, in GGUF

constexpr std::string_view kPoolingNames[] = {
    "none", "mean", "cls", "lasttoken", "max", "weightedmean", "mean_sqrt_len_tokens",
};

Pooling read_pooling(const Keys& keys, const Family& family) {
  const std::string name = keys.text(kPoolingKey, "");
  if (!name.empty()) return pooling_by_name(name, keys.full(kPoolingKey));
  const std::int64_t absent =
      static_cast<std::int64_t>(family.is_encoder ? Pooling::mean : Pooling::none);
  const std::int64_t number = keys.size("pooling_type", absent);
  if (number == kRankPooling) {
    throw Error(
        ErrorCode::unsupported,
        keys.full("pooling_type") + ": a model that ranks pairs of texts; got 4, expected 0 to 3");
  }
  if (number > static_cast<std::int64_t>(Pooling::last)) {
    throw Error(ErrorCode::unsupported, keys.full("pooling_type") + ": unknown pooling; got " +
                                            std::to_string(number) + ", expected 0 to 3");
  }
  return static_cast<Pooling>(number);
}

}  // namespace

std::string_view pooling_name(Pooling pooling) {
  return kPoolingNames[static_cast<std::size_t>(pooling)];
}

Pooling pooling_by_name(std::string_view name, const std::string& key) {
  std::string known;
  for (std::size_t i = 0; i < std::size(kPoolingNames); ++i) {
    if (kPoolingNames[i] == name) return static_cast<Pooling>(i);
    known += (known.empty() ? "" : ", ") + std::string(kPoolingNames[i]);
  }
  throw Error(ErrorCode::unsupported, key + ": unknown pooling; got " + hearth::quoted(name) +
                                          ", expected one of " + known);
}

TextVectorConfig read_text_vectors(const Keys& keys, const Family& family) {
  TextVectorConfig vectors;
  vectors.pooling = read_pooling(keys, family);
  vectors.is_normalised = keys.flag(kNormalisedKey, true);
  vectors.longest = keys.size(kLongestKey, 0);
  vectors.prompt = keys.text(kPromptKey, "");
  return vectors;
}

}  // namespace hearth::models
