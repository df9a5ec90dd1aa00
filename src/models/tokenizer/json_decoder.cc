#include "models/tokenizer/json_decoder.h"

#include <algorithm>
#include <utility>

#include "core/quoted.h"
#include "hearth/error.h"
#include "models/tokenizer/byte_level.h"
#include "models/tokenizer/json_parts.h"
#include "models/tokenizer/unicode.h"
#include "models/tokenizer/vocabulary.h"

namespace hearth::models::tokens {
namespace {

// Those that BERT's decoder leaves out spaces before, with what stands in their place.
constexpr std::pair<std::string_view, std::string_view> kCleanedUp[] = {
    {" .", "."},   {" ?", "?"},     {" !", "!"},     {" ,", ","},
    {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},   {" do not", " don't"},
    {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
};

std::string with_all_replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  std::size_t at = 0;
  for (std::size_t found = text.find(from); found != std::string::npos;
       found = text.find(from, at)) {
    out.append(text, at, found - at);
    out += to;
    at = found + from.size();
  }
  out.append(text, at);
  return out;
}

bool is_one_code_point(std::string_view text) {
  return !text.empty() && decode_one(text, 0).size == text.size();
}

}  // namespace

JsonDecoder::JsonDecoder(const JsonValue* value, const std::string& name) {
  if (value == nullptr) {
    steps_.emplace_back(JoinWords{});
  } else {
    add(*value, name);
  }
}

void JsonDecoder::add(const JsonValue& value, const std::string& name) {
  const JsonFields fields(value, name);
  const std::string& type = fields.text("type");
  const bool of_tokens =
      type == "ByteLevel" || type == "ByteFallback" || type == "Metaspace" || type == "WordPiece";
  if (of_tokens && is_fused_) {
    fields.unsupported("a decoder of tokens where these are one text already; got " +
                       hearth::quoted(type) + ", expected it before Fuse and ByteLevel");
  }
  if (type == "Sequence") {
    each_part(fields, "decoders",
              [&](const JsonValue& part, const std::string& part_name) { add(part, part_name); });
  } else if (type == "Fuse") {
    is_fused_ = true;
  } else if (type == "ByteLevel") {
    if (knows_bytes_) {
      fields.unsupported("two decoders of bytes; got ByteLevel behind ByteFallback, expected one");
    }
    steps_.emplace_back(DecodeBytes{});
    is_fused_ = true;
  } else if (type == "ByteFallback") {
    steps_.emplace_back(DecodeByteTokens{});
    knows_bytes_ = true;
  } else if (type == "Replace") {
    add_replace(fields);
  } else if (type == "Metaspace") {
    const bool prefix = fields.flag("add_prefix_space", true);
    const std::string scheme = fields.text("prepend_scheme", prefix ? "always" : "never");
    MarksToSpaces step{fields.text("replacement", kSpaceMark), scheme != "never"};
    if (step.mark.empty()) fields.fail("replacement is empty; got \"\", expected a text");
    steps_.emplace_back(std::move(step));
  } else if (type == "WordPiece") {
    if (knows_bytes_) {
      fields.unsupported(
          "pieces of bytes; got WordPiece behind ByteFallback, expected one of them");
    }
    steps_.emplace_back(JoinPieces{fields.text("prefix", "##"), fields.flag("cleanup", true)});
  } else if (type == "Strip") {
    add_strip(fields);
  } else {
    fields.unsupported("the decoder is not known; got " + hearth::quoted(type) +
                       ", expected one of Sequence, Fuse, ByteLevel, ByteFallback, Replace, "
                       "Metaspace, WordPiece, Strip");
  }
}

void JsonDecoder::add_replace(const JsonFields& fields) {
  if (is_fused_) {
    const JsonFields pattern = fields.object("pattern");
    if (pattern.find("Regex") != nullptr || !is_one_code_point(pattern.text("String"))) {
      fields.unsupported("a text to replace that may begin in one token and end in another; got " +
                         hearth::quoted(json_text(fields.at("pattern"))) +
                         ", expected one code point");
    }
  }
  steps_.emplace_back(ReplaceAll{read_pattern(fields), fields.text("content")});
}

void JsonDecoder::add_strip(const JsonFields& fields) {
  StripEnds step{fields.text("content", " "), fields.integer("start", 0), fields.integer("stop", 0),
                 is_fused_};
  const std::string counts =
      "start " + std::to_string(step.start) + " and stop " + std::to_string(step.stop);
  if (!is_one_code_point(step.content)) {
    fields.fail("content is no code point; got " + hearth::quoted(step.content) + ", expected one");
  }
  if (step.start < 0 || step.stop < 0) {
    fields.fail("counts below 0; got " + counts + ", expected 0 or more");
  }
  if (is_fused_ && (step.start > 1 || step.stop > 0)) {
    fields.unsupported(
        "a decoder that strips more than one code point at the start of a text; got " + counts +
        ", expected 0 or 1 and 0");
  }
  if (!is_fused_ && knows_bytes_) {
    fields.unsupported(
        "Strip of tokens that are bytes; got it behind ByteFallback, expected Fuse "
        "between them");
  }
  steps_.emplace_back(std::move(step));
}

bool JsonDecoder::drops_first_space() const {
  return std::any_of(steps_.begin(), steps_.end(), [](const Step& step) {
    if (const auto* marks = std::get_if<MarksToSpaces>(&step)) return marks->drops_at_start;
    if (const auto* strip = std::get_if<StripEnds>(&step)) {
      return strip->of_text && strip->start > 0 && strip->content == " ";
    }
    return std::holds_alternative<JoinWords>(step) || std::holds_alternative<JoinPieces>(step);
  });
}

struct JsonDecoder::Apply {
  std::string operator()(JoinWords) const { return is_first ? text : " " + text; }
  std::string operator()(DecodeBytes) const { return bytes_of_text(text).value_or(text); }
  std::string operator()(DecodeByteTokens) const {
    const int byte = byte_of_text(text);
    return byte < 0 ? text : std::string(1, static_cast<char>(byte));
  }
  std::string operator()(const ReplaceAll& step) const {
    std::string out;
    step.pattern->split(text, [&](std::size_t begin, std::size_t end, bool matched) {
      if (out.size() > most) return;
      out += matched ? step.content : text.substr(begin, end - begin);
    });
    return out;
  }
  std::string operator()(const MarksToSpaces& step) const {
    return with_all_replaced(text, step.mark, is_first && step.drops_at_start ? "" : " ");
  }
  std::string operator()(const JoinPieces& step) const {
    std::string out = text;
    if (!is_first) {
      out = text.starts_with(step.prefix) ? text.substr(step.prefix.size()) : " " + text;
    }
    if (step.cleans_up) {
      for (const auto& [from, to] : kCleanedUp) out = with_all_replaced(out, from, to);
    }
    return out;
  }
  std::string operator()(const StripEnds& step) const {
    if (step.of_text && !is_first) return text;
    std::string_view left = text;
    for (std::int64_t i = 0; i < step.start && left.starts_with(step.content); ++i) {
      left.remove_prefix(step.content.size());
    }
    for (std::int64_t i = 0; i < step.stop && left.ends_with(step.content); ++i) {
      left.remove_suffix(step.content.size());
    }
    return std::string(left);
  }

  const std::string& text;
  bool is_first;
  std::size_t most;
};

std::string JsonDecoder::bytes(std::string_view token, bool is_first, std::size_t most) const {
  std::string out(token);
  for (const Step& step : steps_) {
    if (out.size() > most) break;
    out = std::visit(Apply{out, is_first, most}, step);
  }
  return out;
}

}  // namespace hearth::models::tokens
