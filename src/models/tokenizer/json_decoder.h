// The decoder of a tokenizer.json.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/json_fields.h"
#include "models/tokenizer/pattern.h"

namespace hearth::models::tokens {

// What tokens add to a text. Each adds the same wherever it stands, but the first one of a text.
class JsonDecoder {
 public:
  // Without a value tokens are words, with spaces between. Throws Error{unsupported} with the type
  // of a part that it does not know or that asks for more than one token at once, and
  // Error{corrupt_file} for what does not fit.
  JsonDecoder(const JsonValue* value, const std::string& name);

  // `is_first`: nothing stands before it. Where that is more than `most` bytes, some text of more
  // than so many: what is replaced may multiply from step to step.
  std::string bytes(std::string_view token, bool is_first, std::size_t most) const;
  // Whether a text <0xXX> is a byte.
  bool knows_bytes() const noexcept { return knows_bytes_; }
  // Whether the first token of a text has no space where others begin with one.
  bool drops_first_space() const;

 private:
  struct JoinWords {};  // spaces between
  struct DecodeBytes {};
  struct DecodeByteTokens {};
  struct ReplaceAll {
    std::shared_ptr<const Pattern> pattern;
    std::string content;
  };
  struct MarksToSpaces {
    std::string mark;
    bool drops_at_start = false;  // all of the first token
  };
  struct JoinPieces {  // those that do not begin with `prefix` are words
    std::string prefix;
    bool cleans_up = false;  // no space before punctuation and contractions
  };
  struct StripEnds {
    std::string content;  // a code point
    std::int64_t start = 0, stop = 0;
    bool of_text = false;  // else of each token
  };
  using Step = std::variant<JoinWords, DecodeBytes, DecodeByteTokens, ReplaceAll, MarksToSpaces,
                            JoinPieces, StripEnds>;
  struct Apply;

  void add(const JsonValue& value, const std::string& name);
  void add_replace(const JsonFields& fields);
  void add_strip(const JsonFields& fields);

  std::vector<Step> steps_;
  bool knows_bytes_ = false;
  bool is_fused_ = false;  // what comes now sees one text, no tokens
};

}  // namespace hearth::models::tokens
