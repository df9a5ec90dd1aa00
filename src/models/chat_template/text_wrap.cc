#include "models/chat_template/text_wrap.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "models/chat_template/unicode.h"

namespace hearth::models::chat_template {
namespace {

// Characters of a text, by their indices.
class Characters {
 public:
  explicit Characters(const MarkedText& text) : text_(text) {
    const std::string_view view = text.view();
    const std::size_t count = count_characters(view);
    codes_.reserve(count);
    starts_.reserve(count + 1);
    for (std::size_t at = 0; at < view.size();) {
      const Character each = character_at(view, at);
      codes_.push_back(each.code);
      starts_.push_back(at);
      at += each.size;
    }
    starts_.push_back(view.size());
  }

  std::size_t size() const { return codes_.size(); }
  MarkedText part(std::size_t begin, std::size_t end) const {
    return text_.part(starts_[begin], starts_[end] - starts_[begin]);
  }
  bool is_blank(std::size_t begin, std::size_t end) const {
    return std::all_of(codes_.begin() + static_cast<std::ptrdiff_t>(begin),
                       codes_.begin() + static_cast<std::ptrdiff_t>(end), is_space);
  }
  bool is_hyphen(std::size_t at) const { return at < size() && codes_[at] == '-'; }
  // White space at which lines may end: that of ASCII.
  bool is_gap(std::size_t at) const {
    return codes_[at] == ' ' || (codes_[at] >= '\t' && codes_[at] <= '\r');
  }
  bool is_word(std::size_t at) const { return at < size() && is_word_part(codes_[at]); }
  bool is_letter_of_word(std::size_t at) const { return is_word(at) && !is_decimal(codes_[at]); }
  // What a dash may follow.
  bool ends_word(std::size_t at) const {
    return is_word(at) ||
           (codes_[at] < 0x80 && std::string_view("!\"'&.,?").find(static_cast<char>(codes_[at])) !=
                                     std::string_view::npos);
  }
  // The end of two hyphens or more that begin here, before a word; `at` where there are none.
  std::size_t dash_end(std::size_t at) const {
    std::size_t end = at;
    while (is_hyphen(end)) ++end;
    return end >= at + 2 && is_word(end) ? end : at;
  }
  // Whether a word may be parted behind the hyphen: after two letters, or one behind a hyphen, and
  // before two.
  bool parts_word(std::size_t hyphen) const {
    if (!is_hyphen(hyphen) || hyphen < 2 || !is_letter_of_word(hyphen - 1)) return false;
    const bool follows = is_letter_of_word(hyphen - 2) ||
                         (hyphen >= 3 && is_hyphen(hyphen - 2) && is_letter_of_word(hyphen - 3));
    const std::size_t second = is_hyphen(hyphen + 2) ? hyphen + 3 : hyphen + 2;
    return follows && is_letter_of_word(hyphen + 1) && is_letter_of_word(second);
  }

  // The end of what stays together from `at` on.
  std::size_t chunk_end(std::size_t at, bool breaks_at_hyphens) const {
    std::size_t end = at;
    if (is_gap(at)) {
      while (end < size() && is_gap(end)) ++end;
      return end;
    }
    if (!breaks_at_hyphens) {
      while (end < size() && !is_gap(end)) ++end;
      return end;
    }
    if (at > 0 && ends_word(at - 1) && dash_end(at) > at) return dash_end(at);
    for (end = at + 1; end < size() && !is_gap(end); ++end) {
      if (parts_word(end)) return end + 1;
      if (ends_word(end - 1) && dash_end(end) > end) return end;
    }
    return end;
  }
  // Where a long chunk is parted so that `room` characters of it, 1 at least, fit.
  std::size_t broken(std::size_t begin, std::size_t room, bool breaks_at_hyphens) const {
    const std::size_t end = begin + room;
    if (!breaks_at_hyphens) return end;
    std::size_t hyphen = end;
    while (hyphen > begin && codes_[hyphen - 1] != '-') --hyphen;
    if (hyphen == begin) return end;
    const bool has_others = std::any_of(codes_.begin() + static_cast<std::ptrdiff_t>(begin),
                                        codes_.begin() + static_cast<std::ptrdiff_t>(hyphen) - 1,
                                        [](char32_t code) { return code != '-'; });
    return has_others ? hyphen : end;
  }

 private:
  const MarkedText& text_;
  std::vector<char32_t> codes_;
  std::vector<std::size_t> starts_;
};

}  // namespace

std::size_t each_wrapped_line(Context& context, const MarkedText& text, const WrapOptions& options,
                              const std::function<void(const MarkedText& line)>& visit) {
  if (options.width <= 0) {
    context.fail("wordwrap: width out of range; got " + std::to_string(options.width) +
                 ", expected at least 1");
  }
  context.charge_bytes(text.weight() * 16);
  context.charge_steps(text.size());
  const auto width = static_cast<std::size_t>(options.width);
  const Characters characters(text);
  // Chunks stand one behind the other: the next one is [next, end).
  std::size_t next = 0, end = 0;
  const auto advance = [&] {
    next = end;
    if (next < characters.size()) end = characters.chunk_end(next, options.breaks_at_hyphens);
  };
  advance();
  std::size_t lines = 0;
  const auto add = [&](std::size_t begin, std::size_t stop) {
    context.charge_steps(1);
    ++lines;
    visit(characters.part(begin, stop));
  };
  while (next < characters.size()) {
    if (lines > 0 && characters.is_blank(next, end)) advance();
    const std::size_t begin = next;
    std::size_t last = next;  // where the last chunk of the line begins
    while (next < characters.size() && end - begin <= width) {
      last = next;
      advance();
    }
    std::size_t stop = next;
    if (next < characters.size() && end - next > width) {
      if (options.breaks_long_words) {
        const std::size_t room = width - (next - begin);
        // Where nothing fits any more an empty part is added, and nothing is dropped for it.
        last = next;
        next = stop = room == 0 ? next : characters.broken(next, room, options.breaks_at_hyphens);
        if (room == 0) {
          add(begin, stop);
          continue;
        }
      } else if (next == begin) {
        last = next;
        advance();
        stop = next;
      }
    }
    if (stop > last && characters.is_blank(last, stop)) stop = last;
    if (stop > begin) add(begin, stop);
  }
  return lines;
}

}  // namespace hearth::models::chat_template
