#include "models/chat_template/pretty_text.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "models/chat_template/stable_order.h"
#include "models/chat_template/text_edits.h"
#include "models/chat_template/unicode.h"
#include "models/chat_template/value_text.h"

namespace hearth::models::chat_template {
namespace {

constexpr std::int64_t kColumns = 80;

// Keys of different kinds are in the order of their types' names.
int rank_of_key(const Value& key) {
  return key.is_none() ? 0 : key.is_number() ? 1 : key.text() != nullptr ? 2 : 3;
}

std::vector<Dict::Entry> sorted_entries(Context& context, const Dict& dict) {
  const std::vector<Dict::Entry>& entries = dict.entries();
  const auto order = stable_order(entries.size(), [&](std::size_t a, std::size_t b) {
    const Value &left = entries[a].first, &right = entries[b].first;
    const int ranks = rank_of_key(left) - rank_of_key(right);
    return ranks != 0 ? ranks < 0 : compare(context, left, right) < 0;
  });
  context.charge_bytes(entries.size() * sizeof(Dict::Entry));
  std::vector<Dict::Entry> sorted;
  sorted.reserve(entries.size());
  for (const std::size_t index : order) sorted.push_back(entries[index]);
  return sorted;
}

// Those that are laid out in lines: others, such as what items() gives, are objects to pprint.
const List* laid_out_list(const Value& value) {
  const List* list = value.list();
  return list != nullptr && list->kind <= ListKind::tuple ? list : nullptr;
}

std::int64_t width_of(const MarkedText& text) {
  return static_cast<std::int64_t>(count_characters(text.view()));
}

class PrettyText {
 public:
  explicit PrettyText(Context& context) : context_(context) {}

  MarkedText run(const Value& value) {
    write(value, 0, 0, 0);
    return std::move(out_);
  }

 private:
  // In one line.
  MarkedText line_of(const Value& value) {
    const Context::Level level(context_);
    context_.charge_steps(1);
    MarkedText line;
    if (const List* list = laid_out_list(value)) {
      const bool is_tuple = list->kind == ListKind::tuple;
      line.append(is_tuple ? "(" : "[", false);
      for (std::size_t i = 0; i < list->items.size(); ++i) {
        if (i > 0) line.append(", ", false);
        line.append(line_of(list->items[i]));
      }
      line.append(!is_tuple ? "]" : list->items.size() == 1 ? ",)" : ")", false);
    } else if (const Dict* dict = value.dict()) {
      line.append("{", false);
      bool is_first = true;
      for (const auto& [key, member] : sorted_entries(context_, *dict)) {
        if (!is_first) line.append(", ", false);
        is_first = false;
        line.append(line_of(key));
        line.append(": ", false);
        line.append(line_of(member));
      }
      line.append("}", false);
    } else {
      line = represented(context_, value);
    }
    context_.charge_bytes(line.weight());
    return line;
  }

  MarkedText quoted_part(const MarkedText& text) {
    return represented(context_, make_text(context_, text));
  }

  // `indent`: columns before it; `allowance`: columns to leave behind it; `level`: how deep.
  void write(const Value& value, std::int64_t indent, std::int64_t allowance, int level) {
    const Context::Level depth(context_);
    MarkedText line = line_of(value);
    const bool fits = width_of(line) <= kColumns - indent - allowance;
    if (!fits && value.text() != nullptr && !value.text()->is_markup) {
      return write_text(*value.text(), indent, allowance, level + 1);
    }
    if (!fits && laid_out_list(value) != nullptr) {
      return write_list(*value.list(), indent, allowance, level + 1);
    }
    if (!fits && value.dict() != nullptr) {
      return write_dict(*value.dict(), indent, allowance, level + 1);
    }
    out_.append(line);
  }

  void new_line(std::int64_t indent) {
    context_.charge_bytes(static_cast<std::size_t>(indent));
    out_.append("\n" + std::string(static_cast<std::size_t>(indent), ' '), false);
  }

  void write_list(const List& list, std::int64_t indent, std::int64_t allowance, int level) {
    const bool is_tuple = list.kind == ListKind::tuple;
    const std::string close = !is_tuple ? "]" : list.items.size() == 1 ? ",)" : ")";
    out_.append(is_tuple ? "(" : "[", false);
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      const bool is_last = i + 1 == list.items.size();
      const auto behind = allowance + static_cast<std::int64_t>(close.size());
      write(list.items[i], indent + 1, is_last ? behind : 1, level);
      if (is_last) break;
      out_.append(",", false);
      new_line(indent + 1);
    }
    out_.append(close, false);
  }

  void write_dict(const Dict& dict, std::int64_t indent, std::int64_t allowance, int level) {
    out_.append("{", false);
    const auto entries = sorted_entries(context_, dict);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const bool is_last = i + 1 == entries.size();
      const MarkedText key = line_of(entries[i].first);
      out_.append(key);
      out_.append(": ", false);
      write(entries[i].second, indent + 1 + width_of(key) + 2, is_last ? allowance + 1 : 1, level);
      if (is_last) break;
      out_.append(",", false);
      new_line(indent + 1);
    }
    out_.append("}", false);
  }

  // Several literals, one below the other, which end at line breaks and white space.
  void write_text(const MarkedText& text, std::int64_t indent, std::int64_t allowance, int level) {
    const bool is_outermost = level == 1;
    if (is_outermost) {
      ++indent;
      ++allowance;
    }
    const std::int64_t width = kColumns - indent;
    const Values lines = split_lines(context_, text, true);
    std::vector<MarkedText> literals;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const bool is_last = i + 1 == lines.size();
      MarkedText literal = quoted_part(*lines[i].text());
      if (width_of(literal) <= width - (is_last ? allowance : 0)) {
        literals.push_back(std::move(literal));
      } else {
        add_parts(*lines[i].text(), width, is_last ? allowance : 0, &literals);
      }
    }
    if (literals.empty()) literals.push_back(quoted_part(text));
    const bool has_several = literals.size() > 1;
    if (has_several && is_outermost) out_.append("(", false);
    for (std::size_t i = 0; i < literals.size(); ++i) {
      if (i > 0) new_line(indent);
      out_.append(literals[i]);
    }
    if (has_several && is_outermost) out_.append(")", false);
  }

  // A line in literals of at most `width`, of which the last leaves `allowance`.
  void add_parts(const MarkedText& line, std::int64_t width, std::int64_t allowance,
                 std::vector<MarkedText>* literals) {
    const std::string_view view = line.view();
    std::size_t begin = 0, end = 0;  // of the literal so far
    while (end < view.size()) {
      std::size_t next = end;
      while (next < view.size() && !is_space(character_at(view, next).code)) {
        next += character_at(view, next).size;
      }
      next += leading_space(view.substr(next));
      const std::int64_t room = width - (next == view.size() ? allowance : 0);
      context_.charge_bytes(next - begin);
      if (end > begin && width_of(quoted_part(line.part(begin, next - begin))) > room) {
        literals->push_back(quoted_part(line.part(begin, end - begin)));
        begin = end;
      }
      end = next;
    }
    if (end > begin) literals->push_back(quoted_part(line.part(begin, end - begin)));
  }

  Context& context_;
  MarkedText out_;
};

}  // namespace

MarkedText pretty_text(Context& context, const Value& value) {
  return PrettyText(context).run(value);
}

}  // namespace hearth::models::chat_template
