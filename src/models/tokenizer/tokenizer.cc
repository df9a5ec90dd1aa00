#include "models/tokenizer/tokenizer.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <tuple>
#include <utility>

#include "models/tokenizer/encoded_text.h"
#include "models/tokenizer/parts.h"
#include "models/tokenizer/unicode.h"

namespace hearth::models {
namespace tokens {
namespace {

// Cuts segments of text, in order, into what `splitter` finds.
void find_in_text(const SpecialTexts& splitter, std::string_view text,
                  const ControlPlaces& controls, std::vector<Segment>& out, std::size_t from = 0) {
  if (splitter.empty()) {
    if (text.size() > from) out.push_back({-1, text.substr(from)});
    return;
  }
  splitter.split(text, controls, out, from);
}

// The last cut of `known` that another text has as well, with all that stands before it.
EncodedText::Cut shared_cut(const EncodedText& known, std::string_view text,
                            const ControlPlaces& controls, std::size_t reach) {
  const auto differ = std::ranges::mismatch(known.text, text).in2;
  const std::size_t same = std::min(static_cast<std::size_t>(differ - text.begin()),
                                    known.controls.equal_until(controls));
  const auto behind = std::ranges::upper_bound(
      known.cuts, same, {}, [&](const EncodedText::Cut& cut) { return cut.bytes + reach; });
  return behind == known.cuts.begin() ? EncodedText::Cut{0, 0} : *std::prev(behind);
}

// Parts as one text, and where it may have control tokens.
std::pair<std::string, ControlPlaces> joined(std::span<const TextPart> text) {
  std::string all;
  std::vector<std::pair<std::size_t, std::size_t>> places;
  for (const TextPart& part : text) {
    const std::size_t begin = all.size();
    all += part.text;
    if (!part.parse_special || part.text.empty()) continue;
    if (!places.empty() && places.back().second == begin) {
      places.back().second = all.size();
    } else {
      places.emplace_back(begin, all.size());
    }
  }
  return {std::move(all), ControlPlaces(std::move(places))};
}

// False where the tokens are enough of a text that is cut.
bool encode_text(const Parts& parts, std::string_view text, bool at_start, EncodeBudget& budget,
                 std::vector<std::int32_t>& out) {
  Pieces pieces;
  pieces.text = text;
  pieces.spans = {{0, text.size()}};
  pre_tokenize(parts.pre_tokenizer, pieces, at_start, budget);
  const std::string_view all = pieces.text;
  std::size_t left = 0;
  for (const Span span : pieces.spans) left += span.end - span.begin;
  for (const Span span : pieces.spans) {
    if (budget.is_full(out.size(), left)) return false;
    const std::size_t size = span.end - span.begin;
    parts.model->encode(all.substr(span.begin, size), budget, out);
    left -= size;
  }
  return !budget.is_full(out.size());
}

}  // namespace

}  // namespace tokens

namespace {

std::size_t checked(const tokens::Parts& parts, std::int32_t id) {
  if (id < 0 || static_cast<std::size_t>(id) >= parts.vocabulary.size()) {
    throw Error(ErrorCode::invalid_argument, "tokenizer: no such token; got " + std::to_string(id) +
                                                 ", expected 0 to " +
                                                 std::to_string(parts.vocabulary.size()) + " - 1");
  }
  return static_cast<std::size_t>(id);
}

}  // namespace

Tokenizer::Tokenizer(tokens::Parts parts) {
  tokens::find_widest(parts);
  parts_ = std::make_shared<const tokens::Parts>(std::move(parts));
}

std::vector<std::int32_t> Tokenizer::encode(std::string_view text, const EncodeOptions& options,
                                            const EncodeLimits& limits) const {
  return encode(text, tokens::ControlPlaces(options.parse_special), options.add_special, limits);
}

std::vector<std::int32_t> Tokenizer::encode_prompt(std::string_view text,
                                                   const EncodeOptions& options,
                                                   const EncodeLimits& limits) const {
  EncodeOptions own = options;
  if (options.parse_special && begins_itself(text)) own.add_special = false;
  std::vector<std::int32_t> ids = encode(text, own, limits);
  if (ids.empty() && options.add_special && special().bos >= 0) ids.push_back(special().bos);
  return ids;
}

bool Tokenizer::begins_itself(std::string_view text) const {
  if (parts_->before.empty()) return false;
  const std::int32_t first = parts_->before.front();
  // Of most texts this is known at once.
  if (!text.starts_with(parts_->vocabulary.texts[first])) return false;
  const EncodeLimits one{.most = 0, .cuts = true};  // nothing behind the first token
  tokens::EncodeBudget budget(one, parts_->model->widest(), 0);
  std::vector<std::int32_t> out;
  append(text, tokens::ControlPlaces(true), budget, out);
  return !out.empty() && out.front() == first;
}

std::vector<std::int32_t> Tokenizer::encode(std::span<const TextPart> text, bool add_special,
                                            const EncodeLimits& limits) const {
  const auto [all, controls] = tokens::joined(text);
  return encode(all, controls, add_special, limits);
}

std::vector<std::int32_t> Tokenizer::encode(std::span<const TextPart> text,
                                            const EncodedText& like) const {
  const auto [all, controls] = tokens::joined(text);
  const EncodedText::Cut cut = tokens::shared_cut(like, all, controls, parts_->raw_texts.reach());
  const auto shared = like.tokens.begin() + static_cast<std::ptrdiff_t>(cut.tokens);
  std::vector<std::int32_t> out(like.tokens.begin(), shared);
  const EncodeLimits none;
  tokens::EncodeBudget budget(none, parts_->model->widest(), 0);
  append(all, controls, budget, out, cut.bytes);
  return out;
}

EncodedText Tokenizer::encoded(std::span<const TextPart> text) const {
  EncodedText made;
  std::tie(made.text, made.controls) = tokens::joined(text);
  const EncodeLimits none;
  tokens::EncodeBudget budget(none, parts_->model->widest(), 0);
  append(made.text, made.controls, budget, made.tokens, 0, &made);
  return made;
}

std::vector<std::int32_t> Tokenizer::encode(std::string_view text,
                                            const tokens::ControlPlaces& controls, bool add_special,
                                            const EncodeLimits& limits) const {
  const std::size_t behind = add_special ? parts_->after.size() : 0;
  tokens::EncodeBudget budget(limits, parts_->model->widest(), behind);
  std::vector<std::int32_t> out;
  if (add_special) out = parts_->before;
  // Of most texts this is known at once.
  static_cast<void>(
      tokens::EncodeBudget(limits, parts_->widest, behind).is_full(out.size(), text.size()));
  out.reserve(std::min(text.size() / 4, limits.most) + 4);
  append(text, controls, budget, out);
  if (add_special) out.insert(out.end(), parts_->after.begin(), parts_->after.end());
  if (limits.cuts && out.size() > limits.most) {
    const std::size_t kept = behind < limits.most ? limits.most - behind : limits.most;
    out.erase(out.begin() + static_cast<std::ptrdiff_t>(kept),
              out.end() - static_cast<std::ptrdiff_t>(limits.most - kept));
  }
  return out;
}

void Tokenizer::append(std::string_view text, const tokens::ControlPlaces& controls,
                       tokens::EncodeBudget& budget, std::vector<std::int32_t>& out,
                       std::size_t from, EncodedText* made) const {
  std::vector<tokens::Segment> raw, normal;
  tokens::find_in_text(parts_->raw_texts, text, controls, raw, from);
  bool after_text = false;  // no special token in between
  for (const tokens::Segment& segment : raw) {
    if (budget.is_full(out.size())) return;
    budget.work(segment.text.size());
    if (segment.id >= 0) {
      out.push_back(segment.id);
      if (made != nullptr) {
        const char* const end = segment.text.data() + segment.text.size();
        made->cuts.push_back({static_cast<std::size_t>(end - text.data()), out.size()});
      }
      after_text = false;
      continue;
    }
    std::string changed;
    std::string_view rest = segment.text;
    if (!parts_->normalizer.empty()) {
      changed = tokens::normalize(parts_->normalizer, rest, !after_text);
      rest = changed;
    }
    normal.clear();
    // In normal text places are other ones: control tokens where all of the segment may have some.
    const auto begin = static_cast<std::size_t>(segment.text.data() - text.data());
    const tokens::ControlPlaces here(controls.covers(begin, begin + segment.text.size()));
    tokens::find_in_text(parts_->normal_texts, rest, here, normal);
    for (const tokens::Segment& part : normal) {
      if (part.id >= 0) {
        out.push_back(part.id);
        continue;
      }
      const bool at_start = segment.text.data() == text.data() && part.text.data() == rest.data() &&
                            !(tokens::looks_at_start(parts_->pre_tokenizer) &&
                              tokens::drops_start(parts_->normalizer, text));
      if (!tokens::encode_text(*parts_, part.text, at_start, budget, out)) return;
    }
    after_text = true;
  }
  static_cast<void>(budget.is_full(out.size()));
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids,
                              const DecodeOptions& options) const {
  std::string out;
  bool at_start = true;
  for (const std::int32_t id : ids) out += shown(id, options, at_start);
  return out;
}

std::string_view Tokenizer::shown(std::int32_t id, const DecodeOptions& options,
                                  bool& at_start) const {
  if (is_control(id) && !options.show_special) return {};
  std::string_view bytes = parts_->vocabulary.bytes[id];
  if (at_start) {
    const auto first = parts_->vocabulary.first_bytes.find(id);
    if (first != parts_->vocabulary.first_bytes.end()) {
      bytes = first->second;
    } else if (parts_->drops_first_space && bytes.starts_with(' ')) {
      bytes.remove_prefix(1);
    }
  }
  at_start = false;
  return bytes;
}

std::size_t Tokenizer::size() const noexcept { return parts_->vocabulary.size(); }

std::string_view Tokenizer::text(std::int32_t id) const {
  checked(*parts_, id);
  return parts_->vocabulary.texts[id];
}

std::string_view Tokenizer::bytes(std::int32_t id) const {
  checked(*parts_, id);
  return parts_->vocabulary.bytes[id];
}

TokenType Tokenizer::type(std::int32_t id) const {
  return parts_->vocabulary.types[checked(*parts_, id)];
}

bool Tokenizer::is_control(std::int32_t id) const {
  return type(id) == TokenType::control || type(id) == TokenType::unknown;
}

std::int32_t Tokenizer::find(std::string_view text) const noexcept {
  return parts_->vocabulary.texts.find(text);
}

const SpecialTokens& Tokenizer::special() const noexcept { return parts_->special; }

bool Tokenizer::is_end_of_generation(std::int32_t id) const {
  return parts_->ends_generation[checked(*parts_, id)];
}

bool Tokenizer::adds_bos() const noexcept { return !parts_->before.empty(); }

bool Tokenizer::drops_first_space() const noexcept { return parts_->drops_first_space; }

TokenStream::TokenStream(Tokenizer tokenizer, const DecodeOptions& options,
                         std::span<const std::int32_t> before)
    : tokenizer_(std::move(tokenizer)), options_(options) {
  for (std::size_t i = 0; at_start_ && i < before.size(); ++i) {
    const bool is_known = before[i] >= 0 && static_cast<std::size_t>(before[i]) < tokenizer_.size();
    if (is_known) tokenizer_.shown(before[i], options_, at_start_);
  }
}

std::string TokenStream::push(std::int32_t id) {
  held_ += tokenizer_.shown(id, options_, at_start_);
  const std::size_t held = tokens::incomplete_suffix(held_);
  std::string out = tokens::valid_utf8(std::string_view(held_).substr(0, held_.size() - held));
  held_.erase(0, held_.size() - held);
  return out;
}

std::string TokenStream::finish() {
  std::string out = held_.empty() ? "" : std::string(tokens::kReplacementText);
  held_.clear();
  at_start_ = true;
  return out;
}

}  // namespace hearth::models
