#include "models/chat_template/text_edits.h"

#include <algorithm>
#include <limits>
#include <set>

#include "models/chat_template/unicode.h"

namespace hearth::models::chat_template {
namespace {

// Bytes at the ends that are among `characters`.
std::size_t leading_among(std::string_view text, const std::set<char32_t>& characters) {
  std::size_t at = 0;
  while (at < text.size()) {
    const Character each = character_at(text, at);
    if (!characters.contains(each.code)) break;
    at += each.size;
  }
  return at;
}

std::size_t trailing_among(std::string_view text, const std::set<char32_t>& characters) {
  std::size_t end = text.size();
  while (end > 0) {
    const std::size_t size = last_character_size(text.substr(0, end));
    if (!characters.contains(character_at(text, end - size).code)) break;
    end -= size;
  }
  return text.size() - end;
}

// The functions below call visit(begin, size) for the parts of a text, `most` + 1 of them at most.

template <class Visit>
void each_word(std::string_view view, std::size_t most, Visit visit) {
  std::size_t at = leading_space(view);
  for (std::size_t count = 0; at < view.size(); ++count) {
    if (count == most) return visit(at, view.size() - at);
    std::size_t end = at;
    while (end < view.size() && !is_space(character_at(view, end).code)) {
      end += character_at(view, end).size;
    }
    visit(at, end - at);
    at = end + leading_space(view.substr(end));
    if (at == end && at < view.size()) at += character_at(view, at).size;
  }
}

template <class Visit>
void each_word_from_right(std::string_view view, std::size_t most, Visit visit) {
  std::size_t end = view.size() - trailing_space(view);
  for (std::size_t count = 0; end > 0; ++count) {
    if (count == most) return visit(std::size_t{0}, end);
    std::size_t begin = end;
    while (begin > 0) {
      const std::size_t size = last_character_size(view.substr(0, begin));
      if (is_space(character_at(view, begin - size).code)) break;
      begin -= size;
    }
    visit(begin, end - begin);
    const std::size_t space = trailing_space(view.substr(0, begin));
    end = begin - (space == 0 && begin == end ? 1 : space);
  }
}

template <class Visit>
void each_between(std::string_view view, std::string_view mark, std::size_t most, Visit visit) {
  std::size_t begin = 0;
  for (std::size_t count = 0; count < most; ++count) {
    const std::size_t at = view.find(mark, begin);
    if (at == std::string_view::npos) break;
    visit(begin, at - begin);
    begin = at + mark.size();
  }
  visit(begin, view.size() - begin);
}

template <class Visit>
void each_between_from_right(std::string_view view, std::string_view mark, std::size_t most,
                             Visit visit) {
  std::size_t end = view.size();
  for (std::size_t count = 0; count < most && end >= mark.size(); ++count) {
    const std::size_t at = view.rfind(mark, end - mark.size());
    if (at == std::string_view::npos) break;
    visit(at + mark.size(), end - at - mark.size());
    end = at;
  }
  visit(std::size_t{0}, end);
}

bool ends_line(char32_t code) {
  return code == '\n' || code == '\r' || code == '\v' || code == '\f' ||
         (code >= 0x1c && code <= 0x1e) || code == 0x85 || code == 0x2028 || code == 0x2029;
}

template <class Visit>
void each_line_of(std::string_view view, bool keeps_ends, Visit visit) {
  std::size_t begin = 0;
  for (std::size_t at = 0; at < view.size();) {
    const Character each = character_at(view, at);
    const std::size_t end = at;
    at += each.size;
    if (!ends_line(each.code) || (each.size == 1 && each.code >= 0x80)) continue;
    if (each.code == '\r' && at < view.size() && view[at] == '\n') ++at;
    visit(begin, (keeps_ends ? at : end) - begin);
    begin = at;
  }
  if (begin < view.size()) visit(begin, view.size() - begin);
}

// The parts that each(visit) names, all of which are counted before any is made.
template <class Each>
Values parts_of(Context& context, const MarkedText& text, Each each) {
  std::size_t count = 0, filled = 0;
  each([&](std::size_t, std::size_t size) {
    ++count;
    filled += size == 0 ? 0 : 1;
  });
  context.expect_bytes(count * sizeof(Value) + filled * kTextBytes);
  Values out = reserved_values(context, count);
  each([&](std::size_t begin, std::size_t size) {
    out.push_back(make_text(context, text.part(begin, size)));
  });
  return out;
}

// Calls visit(byte) for the places of `from` that replacing it meets, at most `limit` of them
// unless that is negative. Nothing is found before each character and at the end.
template <class Visit>
void each_place(std::string_view view, std::string_view from, std::int64_t limit, Visit visit) {
  for (std::size_t at = 0; limit != 0; limit -= limit > 0 ? 1 : 0) {
    const std::size_t found = from.empty() ? at : view.find(from, at);
    if (found == std::string_view::npos) return;
    visit(found);
    at = found + from.size();
    if (!from.empty()) continue;
    if (at == view.size()) return;
    at += character_at(view, at).size;
  }
}

}  // namespace

MarkedText stripped(const MarkedText& text, const std::optional<MarkedText>& characters,
                    Side side) {
  std::set<char32_t> among;
  if (characters) {
    for (std::size_t at = 0; at < characters->size();) {
      const Character each = character_at(characters->view(), at);
      among.insert(each.code);
      at += each.size;
    }
  }
  const std::string_view view = text.view();
  std::size_t begin = 0;
  if (side != Side::right) begin = characters ? leading_among(view, among) : leading_space(view);
  const std::string_view rest = view.substr(begin);
  std::size_t behind = 0;
  if (side != Side::left) behind = characters ? trailing_among(rest, among) : trailing_space(rest);
  return text.part(begin, rest.size() - behind);
}

Values split(Context& context, const MarkedText& text, const std::optional<MarkedText>& separator,
             std::int64_t limit, bool from_right) {
  context.charge_steps(text.size() / 8);
  const std::size_t most =
      limit < 0 ? std::numeric_limits<std::size_t>::max() : static_cast<std::size_t>(limit);
  const std::string_view view = text.view();
  if (separator && separator->empty()) {
    context.fail("split: the separator is empty; expected a text, or none for spaces");
  }
  const std::string_view mark = separator ? separator->view() : std::string_view();
  if (separator) context.charge_search(2 * view.size(), mark.size());
  Values out = parts_of(context, text, [&](auto visit) {
    if (!separator) {
      from_right ? each_word_from_right(view, most, visit) : each_word(view, most, visit);
    } else {
      from_right ? each_between_from_right(view, mark, most, visit)
                 : each_between(view, mark, most, visit);
    }
  });
  if (from_right) std::reverse(out.begin(), out.end());
  return out;
}

Values split_lines(Context& context, const MarkedText& text, bool keeps_ends) {
  context.charge_steps(text.size() / 8);
  return parts_of(context, text, [&](auto visit) { each_line_of(text.view(), keeps_ends, visit); });
}

void each_line(Context& context, const MarkedText& text, bool keeps_ends,
               const std::function<void(MarkedText line)>& visit) {
  context.charge_steps(text.size() / 16);
  each_line_of(text.view(), keeps_ends, [&](std::size_t begin, std::size_t size) {
    context.charge_steps(1);
    visit(text.part(begin, size));
  });
}

MarkedText replaced(Context& context, const MarkedText& text, std::string_view from,
                    const MarkedText& to, std::int64_t limit) {
  const std::string_view view = text.view();
  context.charge_bytes(text.weight());
  context.charge_steps(text.size() / 32);
  context.charge_search(text.size(), from.size());
  // All are counted before any is copied.
  std::size_t places = 0;
  each_place(view, from, limit, [&](std::size_t) {
    context.charge_steps(1);
    context.charge_bytes(to.weight());
    ++places;
  });
  MarkedText out;
  out.reserve(text.size() - places * from.size() + places * to.size());
  std::size_t at = 0;
  each_place(view, from, limit, [&](std::size_t found) {
    out.append_part(text, at, found - at);
    out.append(to);
    at = found + from.size();
  });
  out.append_part(text, at, view.size() - at);
  return out;
}

MarkedText padded(Context& context, const MarkedText& text, std::int64_t width,
                  const MarkedText& fill, Side side) {
  if (count_characters(fill.view()) != 1) {
    context.fail("a fill is no single character; got " +
                 std::to_string(count_characters(fill.view())) + " of them, expected 1");
  }
  const auto size = static_cast<std::int64_t>(count_characters(text.view()));
  const std::int64_t missing = std::max<std::int64_t>(0, width - size);
  context.charge_bytes(
      static_cast<std::size_t>(std::min<std::int64_t>(missing, std::int64_t{1} << 48) * 4));
  // As str.center() shares an odd one.
  std::int64_t before = side == Side::left ? missing : 0;
  if (side == Side::both) before = missing / 2 + (missing & width & 1);
  context.charge_steps(static_cast<std::size_t>(missing / 16));
  MarkedText out;
  out.reserve(text.size() + static_cast<std::size_t>(missing) * fill.size());
  for (std::int64_t i = 0; i < before; ++i) out.append(fill);
  out.append(text);
  for (std::int64_t i = before; i < missing; ++i) out.append(fill);
  return out;
}

}  // namespace hearth::models::chat_template
