#include "models/tokenizer/normalizer.h"

#include "core/counted.h"
#include "hearth/error.h"

namespace hearth::models::tokens {
namespace {

bool is_ideograph(std::uint32_t code) {
  return (code >= 0x4e00 && code <= 0x9fff) || (code >= 0x3400 && code <= 0x4dbf) ||
         (code >= 0x20000 && code <= 0x2a6df) || (code >= 0x2a700 && code <= 0x2b73f) ||
         (code >= 0x2b740 && code <= 0x2b81f) || (code >= 0x2b920 && code <= 0x2ceaf) ||
         (code >= 0xf900 && code <= 0xfaff) || (code >= 0x2f800 && code <= 0x2fa1f);
}

// Those that are white space for BERT are none, nor is what Unicode has not assigned. Formats that
// are newer than Unicode 8 stay, as in Hugging Face's tokenizers.
bool is_bert_control(std::uint32_t code) {
  if (code == '\t' || code == '\n' || code == '\r') return false;
  const Category kind = category(code);
  if (kind != Category::Cf) return kind == Category::Cc || kind == Category::Co;
  return code != 0x890 && code != 0x891 && code != 0x8e2 && code != 0x110cd &&
         !(code >= 0x13430 && code <= 0x1343f);
}

std::string bert_text(const BertText& step, std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Decoded one = decode_one(text, at);
    const std::string_view bytes = text.substr(at, one.size);
    at += one.size;
    if (step.clean) {
      if (!one.valid || one.code == 0 || one.code == kReplacement || is_bert_control(one.code)) {
        continue;
      }
      if (is_space(one.code)) {
        out += ' ';
        continue;
      }
    }
    const bool stands_alone = step.split_chinese && is_ideograph(one.code);
    if (stands_alone) out += ' ';
    out += bytes;
    if (stands_alone) out += ' ';
  }
  if (step.strip_accents) out = without_marks(normalized(out, NormalForm::nfd));
  if (step.lower) out = lower_case(out);
  return out;
}

std::string mark_spaces(const MarkSpaces& step, std::string_view text) {
  std::string out;
  bool in_word = false, any = false;
  for (const char c : text) {
    if (c == ' ') {
      in_word = false;
      if (!step.merge) out += kSpaceMark;
      continue;
    }
    if (!in_word) {
      if (step.merge ? any || step.prefix : !any && step.prefix) out += kSpaceMark;
      in_word = any = true;
    }
    out += c;
  }
  return out;
}

// Files may say any contents, which would multiply from step to step.
void require_room(std::size_t size, std::size_t most) {
  if (size <= most) return;
  throw Error(ErrorCode::invalid_argument,
              "tokenizer: normalizers make too much of a text; got over " + counted(most, "byte") +
                  ", expected at most as many");
}

std::string replaced(const Replace& step, std::string_view text, std::size_t most) {
  std::string out;
  const auto add = [&](std::string_view part) {
    require_room(out.size() + part.size(), most);
    out += part;
  };
  if (step.pattern != nullptr) {
    step.pattern->split(text, [&](std::size_t begin, std::size_t end, bool matched) {
      add(matched ? std::string_view(step.content) : text.substr(begin, end - begin));
    });
    return out;
  }
  std::size_t at = 0;
  while (!step.text.empty()) {
    const std::size_t found = text.find(step.text, at);
    if (found == std::string_view::npos) break;
    add(text.substr(at, found - at));
    add(step.content);
    at = found + step.text.size();
  }
  add(text.substr(at));
  return out;
}

std::string_view stripped(const StripSpaces& step, std::string_view text) {
  std::size_t end = 0, begin = text.size();
  for (std::size_t at = 0; at < text.size();) {
    const Decoded one = decode_one(text, at);
    if (!one.valid || !is_space(one.code)) {
      begin = std::min(begin, at);
      end = at + one.size;
    }
    at += one.size;
  }
  if (!step.left) begin = 0;
  if (!step.right) end = text.size();
  return end <= begin ? std::string_view() : text.substr(begin, end - begin);
}

struct Normalize {
  std::string operator()(NormalForm form) const { return normalized(text, form); }
  std::string operator()(LowerCase) const { return lower_case(text); }
  std::string operator()(StripMarks) const { return without_marks(text, true); }
  std::string operator()(const Replace& step) const { return replaced(step, text, most); }
  std::string operator()(const Prepend& step) const {
    const bool wanted = !text.empty() && (at_start || !step.first_only);
    return wanted ? step.content + text : text;
  }
  std::string operator()(const StripSpaces& step) const {
    return std::string(stripped(step, text));
  }
  std::string operator()(const BertText& step) const { return bert_text(step, text); }
  std::string operator()(const MarkSpaces& step) const { return mark_spaces(step, text); }
  std::string operator()(const Charsmap& map) const { return map.normalized(text); }

  const std::string& text;
  bool at_start;
  std::size_t most;  // bytes
};

}  // namespace

std::string normalize(const std::vector<NormalizerStep>& steps, std::string_view text,
                      bool at_start) {
  constexpr std::size_t kGrowth = 64, kAlways = std::size_t{1} << 16;
  const std::size_t most = kAlways + kGrowth * text.size();
  std::string out(text);
  for (const NormalizerStep& step : steps) {
    out = std::visit(Normalize{out, at_start, most}, step);
    require_room(out.size(), most);
  }
  return out;
}

bool drops_start(const std::vector<NormalizerStep>& steps, std::string_view text) {
  if (steps.empty() || text.empty()) return false;
  // What comes behind it is no space and no mark.
  const std::string start(text.substr(0, decode_one(text, 0).size));
  try {
    return normalize(steps, start + "a", true) == normalize(steps, "a", true);
  } catch (const Error&) {
    return false;  // much becomes of it
  }
}

bool keeps_bytes(const NormalizerStep& step) {
  if (const auto* replace = std::get_if<Replace>(&step)) {
    return replace->pattern == nullptr && replace->content.size() >= replace->text.size();
  }
  if (const auto* spaces = std::get_if<MarkSpaces>(&step)) return !spaces->merge;
  return std::holds_alternative<Prepend>(step);
}

}  // namespace hearth::models::tokens
