// Filters of markup and addresses.
#include <algorithm>
#include <set>
#include <string>

#include "core/quoted.h"
#include "models/chat_template/arguments.h"
#include "models/chat_template/built_ins.h"
#include "models/chat_template/html.h"
#include "models/chat_template/links.h"
#include "models/chat_template/text_edits.h"
#include "models/chat_template/unicode.h"
#include "models/chat_template/value_text.h"

namespace hearth::models::chat_template {
namespace {

Value safe_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {});
  MarkedText out = printed(context, value);
  out.is_markup = true;
  return make_text(context, std::move(out));
}

template <bool is_forced>
Value escape_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {});
  const Text text = printed_text(context, value);
  context.charge_bytes(text->size() * 6);
  MarkedText out = text->is_markup && !is_forced ? *text : html_escaped(*text);
  out.is_markup = true;
  return make_text(context, std::move(out));
}

// Percent signs for all but letters, digits, _.-~ and, in paths, /; in queries + for a space.
MarkedText url_quoted(Context& context, const MarkedText& text, bool is_query) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  context.charge_steps(text.size() / 8);
  context.charge_bytes(text.size() * 3);
  MarkedText out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text.view()[at];
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = (byte < 0x80 && (is_letter(byte) || is_digit(byte))) ||
                          std::string_view("_.-~").find(c) != std::string_view::npos ||
                          (c == '/' && !is_query);
    if (is_plain) {
      out.append(text.view().substr(at, 1), text.is_input_at(at));
    } else if (c == ' ' && is_query) {
      out.append("+", text.is_input_at(at));
    } else {
      const char quoted[] = {'%', kDigits[byte >> 4], kDigits[byte & 15]};
      out.append({quoted, 3}, text.is_input_at(at));
    }
  }
  return out;
}

// A text or a number as a part of a path; a dict or pairs as a query.
Value urlencode_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {});
  if (value.dict() == nullptr && value.list() == nullptr) {
    return make_text(context, url_quoted(context, *printed_text(context, value), false));
  }
  MarkedText out;
  const auto add = [&](const Value& key, const Value& member) {
    context.charge_steps(1);
    if (!out.empty()) out.append("&", false);
    out.append(url_quoted(context, *printed_text(context, key), true));
    out.append("=", false);
    out.append(url_quoted(context, *printed_text(context, member), true));
  };
  if (const Dict* dict = value.dict()) {
    for (const auto& [key, member] : dict->entries()) add(key, member);
  } else {
    const auto pairs = elements(context, value);
    for (const Value& each : pairs->items) {
      const auto pair = elements(context, each);
      if (pair->items.size() != 2) {
        context.fail("urlencode: values that are no pairs; got " +
                     std::to_string(pair->items.size()) + " of them, expected 2");
      }
      add(pair->items[0], pair->items[1]);
    }
  }
  return make_text(context, std::move(out));
}

// A dict as attributes of an element: those that are none or undefined are left out.
Value xmlattr_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {"autospace"});
  const Dict* dict = value.dict();
  if (dict == nullptr) {
    context.fail(std::string("xmlattr: a value is no dict; got ") + type_name(value) +
                 ", expected a dict");
  }
  const auto escaped = [&](const Value& each) {
    const Text text = printed_text(context, each);
    context.charge_bytes(text->size() * 6);
    return text->is_markup ? *text : html_escaped(*text);
  };
  MarkedText out;
  for (const auto& [key, member] : dict->entries()) {
    if (member.is_none() || member.is_undefined()) continue;
    if (key.text() == nullptr) {
      context.fail(std::string("xmlattr: a name is no text; got ") + type_name(key) +
                   ", expected a text");
    }
    const std::string_view name = key.text()->view();
    for (std::size_t at = 0; at < name.size(); at += character_at(name, at).size) {
      const char32_t code = character_at(name, at).code;
      const bool is_plain_space = code < 0x80 && is_space(code) && (code < 0x1c || code == ' ');
      if (is_plain_space || code == '/' || code == '>' || code == '=') {
        context.fail("xmlattr: a name is malformed; got " + hearth::quoted(name, 60) +
                     ", expected it without spaces, /, > and =");
      }
    }
    if (!out.empty() || bound.truth(0, true)) out.append(" ", false);
    out.append(escaped(key));
    out.append("=\"", false);
    out.append(escaped(member));
    out.append("\"", false);
  }
  return make_text(context, std::move(out));
}

Value striptags_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {});
  const MarkedText without = without_tags(context, *printed_text(context, value));
  MarkedText line;
  for (const Value& word : split(context, without, std::nullopt, -1, false)) {
    if (!line.empty()) line.append(" ", false);
    line.append(*word.text());
  }
  return make_text(context, html_unescaped(context, line));
}

// The words of rel="", sorted: those asked for and what jinja2 has always.
std::string rel_words(Context& context, const Bound& bound) {
  std::set<std::string> words = {"noopener"};
  if (const auto given = bound.optional_text(3)) {
    for (const Value& word : split(context, *given, std::nullopt, -1, false)) {
      words.emplace(word.text()->view());
    }
  }
  if (bound.truth(1, false)) words.emplace("nofollow");
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
  return line;
}

Value urlize_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments,
                    {"trim_url_limit", "nofollow", "target", "rel", "extra_schemes"});
  LinkOptions options;
  if (bound.has(0) && !bound.value(0).is_none()) options.shown = bound.integer(0, 0);
  options.attributes.append(" rel=\"", false);
  options.attributes.append(html_escaped(MarkedText(rel_words(context, bound), false)));
  options.attributes.append("\"", false);
  if (const auto target = bound.optional_text(2); target && !target->empty()) {
    options.attributes.append(" target=\"", false);
    options.attributes.append(target->is_markup ? *target : html_escaped(*target));
    options.attributes.append("\"", false);
  }
  if (bound.has(4) && !bound.value(4).is_none()) {
    const auto schemes = elements(context, bound.value(4));
    for (const Value& scheme : schemes->items) {
      if (scheme.text() == nullptr || !is_scheme(scheme.text()->view())) {
        context.fail("urlize: an extra scheme is none; got " +
                     (scheme.text() == nullptr ? std::string(type_name(scheme))
                                               : hearth::quoted(scheme.text()->view(), 40)) +
                     ", expected one such as tel: or ftp://");
      }
      options.schemes.emplace_back(scheme.text()->view());
    }
  }
  const Text text = printed_text(context, value);
  context.charge_bytes(text->size() * 6);
  return make_text(context,
                   with_links(context, text->is_markup ? *text : html_escaped(*text), options));
}

constexpr NamedFilter kMarkupFilters[] = {
    {"safe", safe_filter},           {"escape", escape_filter<false>},
    {"e", escape_filter<false>},     {"forceescape", escape_filter<true>},
    {"striptags", striptags_filter}, {"urlencode", urlencode_filter},
    {"urlize", urlize_filter},       {"xmlattr", xmlattr_filter},
};

}  // namespace

std::span<const NamedFilter> markup_filters() { return kMarkupFilters; }

}  // namespace hearth::models::chat_template
