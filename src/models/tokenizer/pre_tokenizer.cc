#include "models/tokenizer/pre_tokenizer.h"

#include <algorithm>

namespace hearth::models::tokens {
namespace {

using Behavior = SplitStep::Behavior;

// Adds what a step makes of the piece `span`.
void split_piece(const SplitStep& step, const std::string& text, Span span, EncodeBudget& budget,
                 std::vector<Span>& out) {
  const std::string_view piece = std::string_view(text).substr(span.begin, span.end - span.begin);
  bool was_match = false, is_first = true, any_empty = false;
  const auto first = static_cast<std::ptrdiff_t>(out.size());
  step.pattern->split(piece, [&](std::size_t begin, std::size_t end, bool matched) {
    budget.work(end - begin);
    const bool is_match = matched != step.invert;
    const Span part = {span.begin + begin, span.begin + end};
    switch (step.behavior) {
      case Behavior::isolated:
        out.push_back(part);
        break;
      case Behavior::removed:
        if (!is_match) out.push_back(part);
        break;
      case Behavior::merged_with_previous:
        if (is_match && !was_match && !is_first) {
          out.back().end = part.end;
        } else {
          out.push_back(part);
        }
        break;
      case Behavior::merged_with_next:
        if (!is_match && was_match) {
          out.back().end = part.end;
        } else {
          out.push_back(part);
        }
        break;
      case Behavior::contiguous:
        if (!is_first && is_match == was_match) {
          out.back().end = part.end;
        } else {
          out.push_back(part);
        }
        break;
    }
    was_match = is_match;
    is_first = false;
    any_empty = any_empty || begin == end;
  });
  if (!any_empty) return;
  out.erase(std::remove_if(out.begin() + first, out.end(),
                           [](Span part) { return part.begin == part.end; }),
            out.end());
}

// The pieces with `changed(piece, begin)` in place of each.
template <class Changed>
void rewrite(Pieces& pieces, Changed changed) {
  Pieces out;
  out.text.reserve(pieces.text.size() + pieces.spans.size());
  out.spans.reserve(pieces.spans.size());
  for (const Span span : pieces.spans) {
    const std::size_t begin = out.text.size();
    changed(std::string_view(pieces.text).substr(span.begin, span.end - span.begin), span.begin,
            out.text);
    if (out.text.size() > begin) out.spans.push_back({begin, out.text.size()});
  }
  pieces = std::move(out);
}

// Each mark begins a piece.
void split_at_marks(std::string_view mark, Pieces& pieces) {
  std::vector<Span> out;
  for (const Span span : pieces.spans) {
    const std::string_view text = std::string_view(pieces.text).substr(0, span.end);
    std::size_t begin = span.begin;
    for (std::size_t at = text.find(mark, begin); at != std::string_view::npos;
         at = text.find(mark, at + mark.size())) {
      if (at > begin) out.push_back({begin, at});
      begin = at;
    }
    if (begin < span.end) out.push_back({begin, span.end});
  }
  pieces.spans = std::move(out);
}

struct Apply {
  void operator()(const SplitStep& step) const {
    std::vector<Span> out;
    out.reserve(pieces.spans.size() == 1 ? pieces.text.size() / 4 : pieces.spans.size());
    for (const Span span : pieces.spans) split_piece(step, pieces.text, span, budget, out);
    pieces.spans = std::move(out);
  }

  void operator()(const MetaspaceStep& step) const {
    using Prepend = MetaspaceStep::Prepend;
    rewrite(pieces, [&](std::string_view piece, std::size_t begin, std::string& out) {
      const bool wanted = step.prepend == Prepend::always ||
                          (step.prepend == Prepend::first && at_start && begin == 0);
      if (step.keeps_lines && piece.starts_with('\n')) {
        out += piece;
        return;
      }
      const bool has = piece.starts_with(' ') || piece.starts_with(step.replacement);
      if (wanted && !has) out += step.replacement;
      for (const char c : piece) {
        if (c == ' ') {
          out += step.replacement;
        } else {
          out += c;
        }
      }
    });
    if (step.split) split_at_marks(step.replacement, pieces);
  }

  void operator()(PrefixSpaceStep) const {
    rewrite(pieces, [](std::string_view piece, std::size_t, std::string& out) {
      if (!piece.starts_with(' ')) out += ' ';
      out += piece;
    });
  }

  Pieces& pieces;
  bool at_start;
  EncodeBudget& budget;
};

}  // namespace

void pre_tokenize(const std::vector<PreTokenizerStep>& steps, Pieces& pieces, bool at_start,
                  EncodeBudget& budget) {
  for (const PreTokenizerStep& step : steps) std::visit(Apply{pieces, at_start, budget}, step);
}

void pre_tokenize(const std::vector<PreTokenizerStep>& steps, Pieces& pieces, bool at_start) {
  const EncodeLimits none;
  EncodeBudget budget(none, 0, 0);
  pre_tokenize(steps, pieces, at_start, budget);
}

void add_bert_pre_tokenizer(std::vector<PreTokenizerStep>& steps) {
  const auto pattern = [](const char* text) {
    return std::make_shared<const Pattern>(text, "bert");
  };
  steps.push_back(SplitStep{pattern(R"(\s+)"), SplitStep::Behavior::removed});
  steps.push_back(SplitStep{pattern(R"([\p{P}$+<=>^`|~])")});
}

bool looks_at_start(const std::vector<PreTokenizerStep>& steps) {
  return std::any_of(steps.begin(), steps.end(), [](const PreTokenizerStep& step) {
    const auto* spaces = std::get_if<MetaspaceStep>(&step);
    return spaces != nullptr && spaces->prepend == MetaspaceStep::Prepend::first;
  });
}

bool keeps_bytes(const PreTokenizerStep& step) {
  if (const auto* split = std::get_if<SplitStep>(&step)) {
    return split->behavior != Behavior::removed;
  }
  const auto* spaces = std::get_if<MetaspaceStep>(&step);
  return spaces == nullptr || !spaces->replacement.empty();
}

}  // namespace hearth::models::tokens
