// Which tokens have a role in a model, by their texts.
#include <algorithm>
#include <iterator>

#include "models/tokenizer/parts.h"

namespace hearth::models::tokens {
namespace {

// Special tokens by their texts, where no key names them; of one kind the first that is there.
struct KnownText {
  std::int32_t SpecialTokens::* role;
  std::string_view text;
};
constexpr KnownText kKnownTexts[] = {
    {&SpecialTokens::eot, "<|eot_id|>"},
    {&SpecialTokens::eot, "<|im_end|>"},
    {&SpecialTokens::eot, "<|end|>"},
    {&SpecialTokens::eot, "<end_of_turn>"},
    {&SpecialTokens::eot, "<turn|>"},
    {&SpecialTokens::eot, "<|endoftext|>"},
    {&SpecialTokens::eot, "<EOT>"},
    {&SpecialTokens::eom, "<|eom_id|>"},
    {&SpecialTokens::fim_prefix, "<|fim_prefix|>"},
    {&SpecialTokens::fim_prefix, "<fim_prefix>"},
    {&SpecialTokens::fim_prefix, "<fim-prefix>"},
    {&SpecialTokens::fim_prefix, "<PRE>"},
    {&SpecialTokens::fim_prefix, "\xe2\x96\x81<PRE>"},
    {&SpecialTokens::fim_suffix, "<|fim_suffix|>"},
    {&SpecialTokens::fim_suffix, "<fim_suffix>"},
    {&SpecialTokens::fim_suffix, "<fim-suffix>"},
    {&SpecialTokens::fim_suffix, "<SUF>"},
    {&SpecialTokens::fim_suffix, "\xe2\x96\x81<SUF>"},
    {&SpecialTokens::fim_middle, "<|fim_middle|>"},
    {&SpecialTokens::fim_middle, "<fim_middle>"},
    {&SpecialTokens::fim_middle, "<fim-middle>"},
    {&SpecialTokens::fim_middle, "<MID>"},
    {&SpecialTokens::fim_middle, "\xe2\x96\x81<MID>"},
    {&SpecialTokens::fim_pad, "<|fim_pad|>"},
    {&SpecialTokens::fim_pad, "<fim_pad>"},
    {&SpecialTokens::fim_pad, "<fim-pad>"},
    {&SpecialTokens::fim_pad, "<PAD>"},
    {&SpecialTokens::fim_repository, "<|repo_name|>"},
    {&SpecialTokens::fim_repository, "<|fim_repo|>"},
    {&SpecialTokens::fim_repository, "<fim_repo>"},
    {&SpecialTokens::fim_repository, "<reponame>"},
    {&SpecialTokens::fim_separator, "<|file_sep|>"},
};

// What ends a generated text, whatever the file says of it.
constexpr std::string_view kEndTexts[] = {
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<end_of_turn>",
    "<turn|>",
    "<|endoftext|>",
    "</s>",
    "<|eom_id|>",
    "<|end_of_text|>",
    "<EOT>",
    "[EOS]",
    "<|end_of_turn|>",
    "<eos>",
    "_<EOT>",
    "<|EOT|>",
    "<\xef\xbd\x9c"
    "end\xe2\x96\x81of\xe2\x96\x81sentence\xef\xbd\x9c>",
};

}  // namespace

void find_roles(Parts& parts, std::span<const std::int64_t> ends) {
  const Vocabulary& vocabulary = parts.vocabulary;
  SpecialTokens& special = parts.special;
  // Where answers are written in channels, <|end|> ends a message, and the next one follows.
  const bool speaks_in_channels =
      vocabulary.texts.find("<|return|>") >= 0 || vocabulary.texts.find("<|call|>") >= 0;
  const auto ends_message = [&](std::string_view text) {
    return speaks_in_channels && text == "<|end|>";
  };
  for (const auto& [role, text] : kKnownTexts) {
    if (special.*role < 0 && !ends_message(text)) special.*role = vocabulary.texts.find(text);
  }
  parts.ends_generation.assign(vocabulary.size(), false);
  for (std::size_t id = 0; id < vocabulary.size(); ++id) {
    const TokenType type = vocabulary.types[id];
    if (type != TokenType::control && type != TokenType::user_defined) continue;
    const std::string_view text = vocabulary.texts[static_cast<std::int32_t>(id)];
    const bool is_end =
        std::find(std::begin(kEndTexts), std::end(kEndTexts), text) != std::end(kEndTexts);
    parts.ends_generation[id] = is_end && !ends_message(text);
  }
  for (const std::int32_t id : {special.eos, special.eot, special.eom, special.fim_pad,
                                special.fim_repository, special.fim_separator}) {
    if (id >= 0) parts.ends_generation[static_cast<std::size_t>(id)] = true;
  }
  for (const std::int64_t end : ends) {
    if (end < 0 || end >= static_cast<std::int64_t>(vocabulary.size())) continue;
    const auto id = static_cast<std::int32_t>(end);
    const auto at = static_cast<std::size_t>(end);
    if (special.eos < 0) {
      special.eos = id;
    } else if (!parts.ends_generation[at]) {
      if (special.eot < 0 || special.eot == special.eos) {
        special.eot = id;
      } else if (special.eom < 0) {
        special.eom = id;
      }
    }
    parts.ends_generation[at] = true;
  }
}

}  // namespace hearth::models::tokens
