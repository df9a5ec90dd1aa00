#include "models/chat_template/value_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <type_traits>

#include "models/chat_template/stable_order.h"
#include "models/chat_template/unicode.h"

namespace hearth::models::chat_template {
namespace {

constexpr char kHexDigits[] = "0123456789abcdef";

void append_hex(std::string& out, std::uint32_t code, int digits) {
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) out += kHexDigits[code >> shift & 15];
}

// Adds each character of `text` as `write` has it, with the character's mark.
template <class Write>
void append_each(MarkedText& out, const MarkedText& text, Write write) {
  std::size_t at = 0;
  std::string written;
  for (const MarkedText::Run& run : text.runs()) {
    written.clear();
    while (at < run.end) {
      const Character each = character_at(text.view(), at);
      write(written, each, text.view().substr(at, each.size));
      at += each.size;
    }
    out.append(written, run.is_input);
  }
}

void append_quoted(MarkedText& out, const MarkedText& text) {
  const bool has_single = text.view().find('\'') != std::string_view::npos;
  const bool has_double = text.view().find('"') != std::string_view::npos;
  const char quote = has_single && !has_double ? '"' : '\'';
  out.append(std::string_view(&quote, 1), false);
  append_each(out, text, [quote](std::string& to, Character each, std::string_view bytes) {
    const char32_t code = each.code;
    if (code == '\\' || code == static_cast<char32_t>(quote)) {
      to += '\\';
      to += bytes;
    } else if (code == '\n') {
      to += "\\n";
    } else if (code == '\r') {
      to += "\\r";
    } else if (code == '\t') {
      to += "\\t";
    } else if (is_printable(code) && (each.size > 1 || code < 0x80)) {
      to += bytes;
    } else if (code < 0x100) {
      to += "\\x";
      append_hex(to, code, 2);
    } else if (code < 0x10000) {
      to += "\\u";
      append_hex(to, code, 4);
    } else {
      to += "\\U";
      append_hex(to, code, 8);
    }
  });
  out.append(std::string_view(&quote, 1), false);
}

void append_json_text(MarkedText& out, const MarkedText& text, bool ensure_ascii) {
  out.append("\"", false);
  append_each(out, text, [ensure_ascii](std::string& to, Character each, std::string_view bytes) {
    const char32_t code = each.code;
    constexpr std::string_view kNamed = "\b\t\n\f\r\"\\", kNames = "btnfr\"\\";
    if (const auto at = kNamed.find(static_cast<char>(code));
        code < 0x80 && at != std::string_view::npos) {
      to += {'\\', kNames[at]};
    } else if (code >= 0x20 && (code < 0x7f || !ensure_ascii)) {
      to += bytes;
    } else if (code >= 0x10000) {
      to += "\\u";
      append_hex(to, 0xd800 + ((code - 0x10000) >> 10), 4);
      to += "\\u";
      append_hex(to, 0xdc00 + (code & 0x3ff), 4);
    } else {
      to += "\\u";
      append_hex(to, code, 4);
    }
  });
  out.append("\"", false);
}

// Counts what was added since `before`, so that no text grows far past the limit.
void charge_growth(Context& context, const MarkedText& out, std::size_t before) {
  context.charge_bytes(out.size() - before);
}

void append_represented(Context& context, MarkedText& out, const Value& value);

void append_items(Context& context, MarkedText& out, const Values& items) {
  bool is_first = true;
  for (const Value& item : items) {
    if (!is_first) out.append(", ", false);
    is_first = false;
    append_represented(context, out, item);
  }
}

void append_list(Context& context, MarkedText& out, const List& list) {
  const char *open = "[", *close = "]";
  switch (list.kind) {
    case ListKind::list:
      break;
    case ListKind::tuple:
      open = "(";
      close = list.items.size() == 1 ? ",)" : ")";
      break;
    case ListKind::range:
      out.append("range(" + std::to_string(list.items.empty() ? 0 : list.items[0].integer()) +
                     ", " +
                     std::to_string(list.items.empty() ? 0 : list.items.back().integer() + 1) + ")",
                 false);
      return;
    case ListKind::generator:
      out.append("<generator object>", false);
      return;
    case ListKind::keys_view:
      open = "dict_keys([", close = "])";
      break;
    case ListKind::values_view:
      open = "dict_values([", close = "])";
      break;
    case ListKind::items_view:
      open = "dict_items([", close = "])";
      break;
  }
  out.append(open, false);
  append_items(context, out, list.items);
  out.append(close, false);
}

// All but texts, lists, dicts and namespaces.
std::string plain_text(const Value& value) {
  if (value.is_undefined()) return "Undefined";
  if (value.is_none()) return "None";
  if (const bool* truth = value.boolean()) return *truth ? "True" : "False";
  if (value.is_integer()) return std::to_string(value.integer());
  if (const LargeInteger* large = value.large_integer()) return std::to_string(large->value);
  if (const double* number = value.floating()) return float_text(*number);
  if (const Callable* callable = value.callable()) {
    return "<" + std::string(callable->is_macro ? "Macro '" : "function '") + callable->name + "'>";
  }
  const Loop& loop = *value.loop();
  return "<LoopContext " + std::to_string(loop.index + 1) + "/" +
         std::to_string(loop.items->items.size()) + ">";
}

void append_represented(Context& context, MarkedText& out, const Value& value) {
  const Context::Level level(context);
  context.charge_steps(1);
  const std::size_t before = out.size();
  if (const MarkedText* text = value.text()) {
    context.charge_steps(text->size() / 32);
    if (text->is_markup) out.append("Markup(", false);
    append_quoted(out, *text);
    if (text->is_markup) out.append(")", false);
    return charge_growth(context, out, before);
  }
  if (const List* list = value.list()) return append_list(context, out, *list);
  if (const Dict* dict = value.dict()) {
    out.append("{", false);
    bool is_first = true;
    for (const auto& [key, member] : dict->entries()) {
      if (!is_first) out.append(", ", false);
      is_first = false;
      append_represented(context, out, key);
      out.append(": ", false);
      append_represented(context, out, member);
    }
    return out.append("}", false);
  }
  if (const Namespace* space = value.name_space()) {
    if (space->is_cycler) return out.append("<Cycler>", false);
    out.append("<Namespace {", false);
    bool is_first = true;
    for (const auto& [name, member] : space->members) {
      if (!is_first) out.append(", ", false);
      is_first = false;
      const std::size_t size = out.size();
      append_quoted(out, MarkedText(name, false));
      charge_growth(context, out, size);
      out.append(": ", false);
      append_represented(context, out, member);
    }
    return out.append("}>", false);
  }
  out.append(plain_text(value), false);
  charge_growth(context, out, before);
}

// ---- JSON

class JsonWriter {
 public:
  JsonWriter(Context& context, const JsonLayout& layout)
      : context_(context),
        layout_(layout),
        item_separator_(layout.item_separator.value_or(layout.indent ? "," : ", ")),
        key_separator_(layout.key_separator.value_or(": ")) {}

  void write(const Value& value) {
    const Context::Level level(context_);
    context_.charge_steps(1);
    const std::size_t before = out_.size();
    if (const MarkedText* text = value.text()) {
      context_.charge_steps(text->size() / 32);
      append_json_text(out_, *text, layout_.ensure_ascii);
      return charge_growth(context_, out_, before);
    }
    if (const List* list = value.list(); list != nullptr && list->kind <= ListKind::tuple) {
      return write_list(*list);
    }
    if (const Dict* dict = value.dict()) return write_dict(*dict);
    put(scalar(value, "a value is no JSON", ", a list, a tuple or a dict"));
  }

  MarkedText take() { return std::move(out_); }

 private:
  void put(std::string_view text) {
    context_.charge_bytes(text.size());
    out_.append(text, false);
  }

  std::string scalar(const Value& value, const char* complaint, const char* others) {
    if (value.is_none()) return "null";
    if (const bool* truth = value.boolean()) return *truth ? "true" : "false";
    if (value.is_integer()) return std::to_string(value.integer());
    if (const LargeInteger* large = value.large_integer()) return std::to_string(large->value);
    if (const double* number = value.floating()) {
      if (std::isnan(*number)) return "NaN";
      if (std::isinf(*number)) return *number < 0 ? "-Infinity" : "Infinity";
      return float_text(*number);
    }
    context_.fail(std::string("tojson: ") + complaint + "; got " + type_name(value) +
                  ", expected a text, a number, a bool or none" + others);
  }

  void new_line() {
    if (!layout_.indent) return;
    std::string line = "\n";
    for (int i = 0; i < depth_; ++i) line += *layout_.indent;
    put(line);
  }

  void write_list(const List& list) {
    if (list.items.empty()) return put("[]");
    put("[");
    ++depth_;
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      if (i != 0) put(item_separator_);
      new_line();
      write(list.items[i]);
    }
    --depth_;
    new_line();
    put("]");
  }

  void write_dict(const Dict& dict) {
    if (dict.size() == 0) return put("{}");
    const auto& entries = dict.entries();
    const auto order = stable_order(entries.size(), [&](std::size_t a, std::size_t b) {
      return layout_.sort_keys && compare(context_, entries[a].first, entries[b].first) < 0;
    });
    put("{");
    ++depth_;
    bool is_first = true;
    for (const std::size_t index : order) {
      const Dict::Entry& entry = entries[index];
      if (!is_first) put(item_separator_);
      is_first = false;
      new_line();
      if (const MarkedText* text = entry.first.text()) {
        const std::size_t before = out_.size();
        append_json_text(out_, *text, layout_.ensure_ascii);
        charge_growth(context_, out_, before);
      } else {
        put("\"" + scalar(entry.first, "a key is none of JSON", "") + "\"");
      }
      put(key_separator_);
      write(entry.second);
    }
    --depth_;
    new_line();
    put("}");
  }

  Context& context_;
  const JsonLayout& layout_;
  std::string item_separator_, key_separator_;
  MarkedText out_;
  int depth_ = 0;
};

}  // namespace

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[64];
  const auto end = std::to_chars(buffer, std::end(buffer), value, std::chars_format::scientific);
  std::string digits(buffer, end.ptr);
  std::string out;
  if (digits[0] == '-') {
    out = "-";
    digits.erase(0, 1);
  }
  const std::size_t mark = digits.find('e');
  const int exponent = std::stoi(digits.substr(mark + 1));
  digits.resize(mark);
  if (digits.size() > 1) digits.erase(1, 1);  // the point
  if (exponent < -4 || exponent >= 16) {
    out += digits[0];
    if (digits.size() > 1) out += "." + digits.substr(1);
    const std::string size = std::to_string(std::abs(exponent));
    return out + (exponent < 0 ? "e-" : "e+") + (size.size() < 2 ? "0" : "") + size;
  }
  if (exponent < 0)
    return out + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  const auto whole = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() <= whole) return out + digits + std::string(whole - digits.size(), '0') + ".0";
  return out + digits.substr(0, whole) + "." + digits.substr(whole);
}

MarkedText represented(Context& context, const Value& value) {
  MarkedText out;
  append_represented(context, out, value);
  return out;
}

MarkedText printed(Context& context, const Value& value) {
  if (value.is_undefined()) return {};
  if (const MarkedText* text = value.text()) return *text;
  return represented(context, value);
}

Text printed_text(Context& context, const Value& value) {
  if (const Text* text = std::get_if<Text>(&value)) return *text;
  return std::make_shared<const MarkedText>(printed(context, value));
}

MarkedText json_of(Context& context, const Value& value, const JsonLayout& layout) {
  JsonWriter writer(context, layout);
  writer.write(value);
  return writer.take();
}

Value value_of_json(Context& context, const JsonValue& json, bool is_input) {
  return std::visit(
      [&](const auto& given) -> Value {
        using T = std::decay_t<decltype(given)>;
        if constexpr (std::is_same_v<T, std::nullptr_t>) {
          return None{};
        } else if constexpr (std::is_same_v<T, std::string>) {
          return make_text(context, MarkedText(given, is_input));
        } else if constexpr (std::is_same_v<T, JsonArray>) {
          Values items = reserved_values(context, given.size());
          for (const JsonValue& item : given) {
            items.push_back(value_of_json(context, item, is_input));
          }
          return make_counted_list(context, std::move(items));
        } else if constexpr (std::is_same_v<T, JsonObject>) {
          Dict dict;
          for (const auto& [key, member] : given) {
            dict.set(context, make_text(context, MarkedText(key, is_input)),
                     value_of_json(context, member, is_input));
          }
          return make_dict(context, std::move(dict));
        } else if constexpr (std::is_same_v<T, std::uint64_t>) {
          if (given >> 63 != 0) return LargeInteger{given};
          return static_cast<std::int64_t>(given);
        } else {
          return given;
        }
      },
      static_cast<const JsonValue::variant&>(json));
}

}  // namespace hearth::models::chat_template
