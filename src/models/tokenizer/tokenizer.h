// Texts to tokens and back, for the tokenizers of language models: byte-pair encoding over bytes or
// code points, SentencePiece's merges by score and its unigram model, BERT's word pieces.
//
// read_tokenizer() makes one from a file (from_gguf.h, from_json.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hearth/error.h"
#include "models/tokenizer/encode_limits.h"

namespace hearth::models {

struct EncodedText;

namespace tokens {
class ControlPlaces;
class EncodeBudget;
struct Parts;
}  // namespace tokens

// With the numbers that GGUF gives them.
enum class TokenType : std::uint8_t { normal = 1, unknown, control, user_defined, unused, byte };

// Tokens with a role, as ids; -1 where the vocabulary has none.
struct SpecialTokens {
  std::int32_t bos = -1, eos = -1, eot = -1, eom = -1, unknown = -1, padding = -1;
  std::int32_t separator = -1, cls = -1, mask = -1;
  std::int32_t fim_prefix = -1, fim_suffix = -1, fim_middle = -1;
  std::int32_t fim_pad = -1, fim_repository = -1, fim_separator = -1;

  bool operator==(const SpecialTokens&) const = default;
};

struct EncodeOptions {
  // Puts the tokens that the model wants around a text, for instance that of its beginning.
  bool add_special = true;
  // Takes texts of control tokens, like <|im_end|>, for these tokens. Off for untrusted text, which
  // could otherwise pose as another speaker.
  bool parse_special = false;
};

// A part of a text.
struct TextPart {
  std::string_view text;
  bool parse_special = false;  // as EncodeOptions has it
};

struct DecodeOptions {
  bool show_special = false;  // the texts of control and unknown tokens, too
};

// Immutable; copies share one vocabulary. Calls from several threads at once are fine.
class Tokenizer {
 public:
  explicit Tokenizer(tokens::Parts parts);

  // Any bytes are a text. What a vocabulary over bytes encodes is decoded to the same bytes; others
  // may have normal forms for texts, and one token for all that they do not know.
  // Throws TooManyTokens as `limits` say, and what their watch throws.
  std::vector<std::int32_t> encode(std::string_view text, const EncodeOptions& options = {},
                                   const EncodeLimits& limits = {}) const;
  // The same of parts that are one text: what is no control token is encoded across their borders,
  // control tokens are found where they lie wholly in parts that may have them.
  std::vector<std::int32_t> encode(std::span<const TextPart> text, bool add_special,
                                   const EncodeLimits& limits = {}) const;
  // The same without special tokens around it and limits, given another text: what both begin with
  // is not encoded again.
  std::vector<std::int32_t> encode(std::span<const TextPart> text, const EncodedText& like) const;
  // The other text, for that.
  EncodedText encoded(std::span<const TextPart> text) const;

  // The tokens of a prompt, as encode() gives them, but that a prompt that begins_itself() takes
  // add_special off where control tokens are parsed; where these are none and add_special is there
  // special().bos, the token that texts begin with, if the vocabulary has one.
  std::vector<std::int32_t> encode_prompt(std::string_view text, const EncodeOptions& options = {},
                                          const EncodeLimits& limits = {}) const;
  // Whether the text, with control tokens parsed, begins with the first token that add_special puts
  // before a text, as what chat templates write does.
  bool begins_itself(std::string_view text) const;

  // Bytes, which are UTF-8 where no token is cut off. Throws Error{invalid_argument} for ids
  // outside of the vocabulary, as all that take ids do.
  std::string decode(std::span<const std::int32_t> ids, const DecodeOptions& options = {}) const;

  // What decode() has of the token behind others. `at_start`: those added nothing; false once this
  // one did.
  std::string_view shown(std::int32_t id, const DecodeOptions& options, bool& at_start) const;

  std::size_t size() const noexcept;  // ids are below it
  // As the file has it, for instance with U+2581 for a space.
  std::string_view text(std::int32_t id) const;
  // What the token adds to a decoded text. Where decode() drops the space that a text begins with,
  // this has it.
  std::string_view bytes(std::int32_t id) const;
  TokenType type(std::int32_t id) const;
  bool is_control(std::int32_t id) const;  // what decode() hides

  // The id of the token with this text, as the file has it; -1 where there is none.
  std::int32_t find(std::string_view text) const noexcept;

  const SpecialTokens& special() const noexcept;
  // Whether a text that is being generated ends with this token.
  bool is_end_of_generation(std::int32_t id) const;
  // Whether encode() with add_special puts special().bos (or cls) before a text: a prompt that
  // already begins with it takes add_special off.
  bool adds_bos() const noexcept;
  // Whether decode() drops the space that the text begins with.
  bool drops_first_space() const noexcept;

 private:
  std::vector<std::int32_t> encode(std::string_view text, const tokens::ControlPlaces& controls,
                                   bool add_special, const EncodeLimits& limits) const;
  // Appends the tokens of the text itself, as many as the budget takes. `from`: 0, or behind a
  // token that is found in the raw text. `made`: is told of those.
  void append(std::string_view text, const tokens::ControlPlaces& controls,
              tokens::EncodeBudget& budget, std::vector<std::int32_t>& out, std::size_t from = 0,
              EncodedText* made = nullptr) const;

  std::shared_ptr<const tokens::Parts> parts_;
};

// Decodes tokens as they come, and gives out whole code points only. Not for several threads at
// once.
class TokenStream {
 public:
  // `before`: tokens that the text goes on behind, of which it has nothing; it is what they and its
  // own decode to together, without what they decode to alone. Ids outside of the vocabulary are no
  // text there.
  explicit TokenStream(Tokenizer tokenizer, const DecodeOptions& options = {},
                       std::span<const std::int32_t> before = {});

  // The text that is known now, perhaps none: at most three bytes of a code point are held back.
  std::string push(std::int32_t id);
  // The rest: U+FFFD for what was held back. The stream is then as one without tokens before it.
  std::string finish();

 private:
  Tokenizer tokenizer_;
  DecodeOptions options_;
  std::string held_;
  bool at_start_ = true;
};

// From a GGUF file (of a split model, its first part), a tokenizer.json, told by how it begins, or
// the folder of one. `rows` as tokenizer_from_json() has them. Throws Error{io},
// Error{corrupt_file} or Error{unsupported} with the key or the token.
Tokenizer read_tokenizer(const std::string& path, std::size_t rows = 0);

}  // namespace hearth::models
