#include "models/tokenizer/same_tokenizer.h"

#include <cstdint>
#include <string_view>

#include "core/quoted.h"
#include "hearth/error.h"

namespace hearth::models::tokens {
namespace {

// Spaces, digits, case, accents, scripts, lines.
constexpr std::string_view kProbes[] = {
    "Hello, world!",
    " The year 2025 had 365 days; pi = 3.14159",
    "don't we'll IT'S   three   spaces\tand\ttabs \n\n two lines\r\n",
    "na\xC3\xAFve \xC3\x89"
    "COLE \xD0\x9F\xD1\x80\xD0\xB8\xD0\xB2\xD0\xB5\xD1\x82 \xE4\xB8\xAD\xE6\x96\x87\xE5\xAD\x97 "
    "\xE3\x81\x82",
    "x_1 += (a[0] << 2) / 7; // \xE2\x82\xAC \xF0\x9F\x99\x82",
};

}  // namespace

void require_same(const Tokenizer& given, const Tokenizer& written, const std::string& source) {
  for (const std::string_view text : kProbes) {
    for (const bool adds : {false, true}) {
      const EncodeOptions options{.add_special = adds};
      if (given.encode(text, options) == written.encode(text, options)) continue;
      throw Error(ErrorCode::unsupported,
                  source + ": GGUF cannot say how this tokenizer works; got other tokens for " +
                      hearth::quoted(text) + ", expected the same");
    }
  }
}

void require_merges_to_all(const Tokenizer& given, const Tokenizer& written,
                           const std::string& source) {
  const EncodeOptions plain{.add_special = false};
  for (std::int32_t id = 0; id < static_cast<std::int32_t>(given.size()); ++id) {
    if (given.type(id) != TokenType::normal) continue;
    const std::string_view text = given.bytes(id);
    if (given.encode(text, plain) == written.encode(text, plain)) continue;
    throw Error(ErrorCode::unsupported, source +
                                            ": no merges lead to a token that stands for a "
                                            "whole piece; got " +
                                            hearth::quoted(given.text(id)) +
                                            ", expected that its parts merge to it");
  }
}

}  // namespace hearth::models::tokens
