#include "models/tokenizer/json_parts.h"

#include <array>

#include "core/quoted.h"
#include "hearth/error.h"
#include "models/tokenizer/pre_tokenizer_patterns.h"

namespace hearth::models::tokens {
namespace {

using Behavior = SplitStep::Behavior;

std::shared_ptr<const Pattern> pattern_of(std::string_view text, const std::string& name) {
  return std::make_shared<const Pattern>(text, name);
}

Behavior read_behavior(const JsonFields& fields, std::string_view fallback) {
  const std::string text = fields.text("behavior", fallback);
  if (text == "Isolated") return Behavior::isolated;
  if (text == "Removed") return Behavior::removed;
  if (text == "MergedWithPrevious") return Behavior::merged_with_previous;
  if (text == "MergedWithNext") return Behavior::merged_with_next;
  if (text == "Contiguous") return Behavior::contiguous;
  fields.unsupported("behavior is not known; got " + hearth::quoted(text) +
                     ", expected one of Isolated, Removed, MergedWithPrevious, MergedWithNext, "
                     "Contiguous");
}

// What \w is for the pre-tokenizer Whitespace, whose regular expressions are Rust's: alphabetic
// symbols and joiners belong to words, numbers that are no digits do not.
const std::string kRustWord = R"(\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\u200c\u200d\u24b6-\u24e9)"
                              R"(\x{1f130}-\x{1f149}\x{1f150}-\x{1f169}\x{1f170}-\x{1f189})";

}  // namespace

std::string base64_bytes(const JsonFields& fields, std::string_view key) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::array<int, 256> values;
  values.fill(-1);
  for (std::size_t i = 0; i < kDigits.size(); ++i) {
    values[static_cast<std::uint8_t>(kDigits[i])] = static_cast<int>(i);
  }
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : fields.text(key)) {
    if (c == '=') break;
    const int value = values[static_cast<std::uint8_t>(c)];
    if (value < 0) {
      fields.fail(std::string(key) + " is no base64; got " + hearth::quoted({&c, 1}) +
                  ", expected its 64 digits and =");
    }
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    count += 6;
    if (count >= 8) {
      count -= 8;
      out += static_cast<char>(bits >> count & 0xff);
    }
  }
  return out;
}

std::shared_ptr<const Pattern> read_pattern(const JsonFields& fields) {
  const JsonFields pattern = fields.object("pattern");
  if (pattern.find("Regex") != nullptr) return pattern_of(pattern.text("Regex"), pattern.name());
  const std::string& text = pattern.text("String");
  if (text.empty())
    pattern.unsupported("a text to split at; got \"\", expected one that is not empty");
  return std::make_shared<const Pattern>(Pattern::literal(text));
}

void add_normalizer(const JsonValue* value, const std::string& name,
                    std::vector<NormalizerStep>& steps) {
  if (value == nullptr) return;
  const JsonFields fields(*value, name);
  const std::string& type = fields.text("type");
  if (type == "Sequence") {
    each_part(fields, "normalizers", [&](const JsonValue& part, const std::string& part_name) {
      add_normalizer(&part, part_name, steps);
    });
  } else if (type == "NFC") {
    steps.emplace_back(NormalForm::nfc);
  } else if (type == "NFD") {
    steps.emplace_back(NormalForm::nfd);
  } else if (type == "NFKC") {
    steps.emplace_back(NormalForm::nfkc);
  } else if (type == "NFKD") {
    steps.emplace_back(NormalForm::nfkd);
  } else if (type == "Lowercase") {
    steps.emplace_back(LowerCase{});
  } else if (type == "StripAccents") {
    steps.emplace_back(StripMarks{});
  } else if (type == "Strip") {
    steps.emplace_back(
        StripSpaces{fields.flag("strip_left", true), fields.flag("strip_right", true)});
  } else if (type == "Prepend") {
    steps.emplace_back(Prepend{fields.text("prepend"), false});
  } else if (type == "Replace") {
    steps.emplace_back(Replace{read_pattern(fields), "", fields.text("content")});
  } else if (type == "BertNormalizer") {
    BertText bert;
    bert.clean = fields.flag("clean_text", true);
    bert.split_chinese = fields.flag("handle_chinese_chars", true);
    bert.lower = fields.flag("lowercase", true);
    bert.strip_accents = fields.flag("strip_accents", bert.lower);
    steps.emplace_back(bert);
  } else if (type == "Precompiled") {
    steps.emplace_back(Charsmap(base64_bytes(fields, "precompiled_charsmap"), name));
  } else {
    fields.unsupported("the normalizer is not known; got " + hearth::quoted(type) +
                       ", expected one of Sequence, NFC, NFD, NFKC, NFKD, Lowercase, "
                       "StripAccents, Strip, Prepend, Replace, BertNormalizer, Precompiled");
  }
}

void add_pre_tokenizer(const JsonValue* value, const std::string& name,
                       std::vector<PreTokenizerStep>& steps, bool& by_bytes) {
  if (value == nullptr) return;
  const JsonFields fields(*value, name);
  const std::string& type = fields.text("type");
  if (by_bytes && type != "Sequence") {
    fields.unsupported("nothing comes after ByteLevel; got " + hearth::quoted(type) +
                       ", expected it before");
  }
  const auto split = [&](std::string_view pattern, Behavior behavior, bool invert = false) {
    steps.emplace_back(SplitStep{pattern_of(pattern, name), behavior, invert});
  };
  if (type == "Sequence") {
    each_part(fields, "pretokenizers", [&](const JsonValue& part, const std::string& part_name) {
      add_pre_tokenizer(&part, part_name, steps, by_bytes);
    });
  } else if (type == "ByteLevel") {
    if (fields.flag("add_prefix_space", true)) steps.emplace_back(PrefixSpaceStep{});
    if (fields.flag("use_regex", true)) split(kGpt2Pattern, Behavior::isolated);
    by_bytes = true;
  } else if (type == "Split") {
    steps.emplace_back(SplitStep{read_pattern(fields), read_behavior(fields, "Isolated"),
                                 fields.flag("invert", false)});
  } else if (type == "Metaspace") {
    MetaspaceStep step;
    step.replacement = fields.text("replacement", kSpaceMark);
    if (step.replacement.empty()) {
      fields.fail("replacement is empty; got \"\", expected a text");
    }
    const bool prefix = fields.flag("add_prefix_space", true);
    const std::string scheme = fields.text("prepend_scheme", prefix ? "always" : "never");
    if (scheme != "always" && scheme != "first" && scheme != "never") {
      fields.unsupported("prepend_scheme is not known; got " + hearth::quoted(scheme) +
                         ", expected always, first or never");
    }
    step.prepend = scheme == "always"  ? MetaspaceStep::Prepend::always
                   : scheme == "first" ? MetaspaceStep::Prepend::first
                                       : MetaspaceStep::Prepend::never;
    step.split = fields.flag("split", true);
    steps.emplace_back(step);
  } else if (type == "BertPreTokenizer") {
    add_bert_pre_tokenizer(steps);
  } else if (type == "Whitespace") {
    split("[" + kRustWord + "]+|[^" + kRustWord + R"(\s]+)", Behavior::removed, true);
  } else if (type == "WhitespaceSplit") {
    split(R"(\s+)", Behavior::removed);
  } else if (type == "Digits") {
    const bool each = fields.flag("individual_digits", false);
    split(R"(\p{N})", each ? Behavior::isolated : Behavior::contiguous);
  } else if (type == "Punctuation") {
    split(R"([\p{P}$+<=>^`|~])", read_behavior(fields, "Isolated"));
  } else if (type == "CharDelimiterSplit") {
    const std::string& delimiter = fields.text("delimiter");
    if (delimiter.empty()) fields.fail("delimiter is empty; got \"\", expected a text");
    steps.emplace_back(SplitStep{std::make_shared<const Pattern>(Pattern::literal(delimiter)),
                                 Behavior::removed, false});
  } else {
    fields.unsupported("the pre-tokenizer is not known; got " + hearth::quoted(type) +
                       ", expected one of Sequence, ByteLevel, Split, Metaspace, "
                       "BertPreTokenizer, Whitespace, WhitespaceSplit, Digits, Punctuation, "
                       "CharDelimiterSplit");
  }
}

}  // namespace hearth::models::tokens
