// What must hold of every tokenizer, whatever file it came from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "models/tokenizer/from_gguf.h"
#include "models/tokenizer/tokenizer.h"
#include "models/tokenizer/unicode.h"
#include "require.h"

namespace hearth::testing {

// Words, digits, spaces, lines, accents, bytes that are no UTF-8, control tokens.
inline constexpr std::string_view kMixedText = "a ab\n\n1234 It's \xc3\xa9\xe4\xb8\x80\xff<s>";

// Ids are those of tokens, and streamed text is that which is decoded at once; where `is_exact`,
// decoding gives the text back.
inline void check_tokenizer(const models::Tokenizer& tokenizer, std::string_view text,
                            bool is_exact) {
  for (const bool is_trusted : {false, true}) {
    const auto ids =
        tokenizer.encode(text, {.add_special = is_trusted, .parse_special = is_trusted});
    for (const std::int32_t id : ids) {
      require(id >= 0 && static_cast<std::size_t>(id) < tokenizer.size());
    }
    const std::string decoded = tokenizer.decode(ids, {.show_special = true});
    if (is_exact && !is_trusted) require(decoded == text);
    models::TokenStream stream(tokenizer, {.show_special = true});
    std::string streamed;
    for (const std::int32_t id : ids) streamed += stream.push(id);
    streamed += stream.finish();
    // What is cut off at the end is one U+FFFD there, and here one for each byte.
    const std::size_t cut = models::tokens::incomplete_suffix(decoded);
    std::string expected = models::tokens::valid_utf8(decoded.substr(0, decoded.size() - cut));
    if (cut > 0) expected += models::tokens::kReplacementText;
    require(streamed == expected);
  }
}

}  // namespace hearth::testing
