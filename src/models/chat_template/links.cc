#include "models/chat_template/links.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "models/chat_template/unicode.h"

namespace hearth::models::chat_template {
namespace {

constexpr std::array<std::string_view, 8> kPlainDomains = {"com", "net", "int",  "edu",
                                                           "gov", "org", "info", "mil"};

char small(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

bool begins_with(std::string_view text, std::string_view small_letters) {
  return text.size() >= small_letters.size() &&
         std::equal(small_letters.begin(), small_letters.end(), text.begin(),
                    [](char wanted, char c) { return wanted == small(c); });
}

// The characters at the beginning that `holds`: bytes, and how many.
struct Run {
  std::size_t bytes = 0, characters = 0;
};
template <class Holds>
Run leading_run(std::string_view text, Holds holds) {
  Run run;
  while (run.bytes < text.size()) {
    const Character each = character_at(text, run.bytes);
    if (!holds(each.code)) break;
    run.bytes += each.size;
    ++run.characters;
  }
  return run;
}
bool is_ascii_letter(char32_t code) { return (code | 32) >= 'a' && (code | 32) <= 'z'; }
bool is_part_of_label(char32_t code) { return is_word_part(code) || code == '%' || code == '-'; }

// Whether all of it is so, and its characters are [least, most].
template <class Holds>
bool is_run(std::string_view text, std::size_t least, std::size_t most, Holds holds) {
  const Run run = leading_run(text, holds);
  return run.bytes == text.size() && run.characters >= least && run.characters <= most;
}

// Labels with points behind them, each of so many characters.
bool are_labels(std::string_view text, std::size_t least, std::size_t most) {
  while (!text.empty()) {
    const std::size_t point = text.find('.');
    if (point == std::string_view::npos) return false;
    if (!is_run(text.substr(0, point), least, most, is_part_of_label)) return false;
    text.remove_prefix(point + 1);
  }
  return true;
}

constexpr std::size_t kAnyLength = static_cast<std::size_t>(-1);

// What stands behind http:// or www. : labels and a domain.
bool is_host(std::string_view text) {
  const std::size_t last = text.rfind('.') == std::string_view::npos ? 0 : text.rfind('.') + 1;
  const std::string_view domain = text.substr(last);
  const bool is_domain =
      is_run(domain, 2, 63, is_ascii_letter) ||
      (begins_with(domain, "xn--") && is_run(domain.substr(4), 2, 59, [](char32_t code) {
         return is_word_part(code) || code == '%';
       }));
  return is_domain && are_labels(text.substr(0, last), 1, kAnyLength);
}

// A host of a well-known domain, without anything before it.
bool is_plain_host(std::string_view text) {
  const std::size_t point = text.rfind('.');
  if (point == std::string_view::npos) return false;
  const std::string_view domain = text.substr(point + 1);
  return std::ranges::any_of(kPlainDomains,
                             [&](std::string_view known) {
                               return domain.size() == known.size() && begins_with(domain, known);
                             }) &&
         are_labels(text.substr(0, point + 1), 2, 63);
}

bool is_address_of_four(std::string_view text) {
  for (int i = 0; i < 4; ++i) {
    const std::size_t point = i < 3 ? text.find('.') : text.size();
    if (point == std::string_view::npos) return false;
    if (!is_run(text.substr(0, point), 1, 3, is_decimal)) return false;
    text.remove_prefix(std::min(point + 1, text.size()));
  }
  return true;
}

// Up to four digits of base 16, and a colon where there is one.
bool takes_group(std::string_view& text, bool needs_colon) {
  for (int i = 0; i < 4 && !text.empty(); ++i) {
    const Character each = character_at(text, 0);
    const bool is_digit =
        is_decimal(each.code) || ((each.code | 32) >= 'a' && (each.code | 32) <= 'f');
    if (!is_digit) break;
    text.remove_prefix(each.size);
  }
  if (!text.starts_with(':')) return !needs_colon;
  text.remove_prefix(1);
  return true;
}

// [1:2::3] at the beginning: its bytes, 0 where there is none.
std::size_t bracketed_size(std::string_view text) {
  const std::size_t end = text.find(']');
  if (!text.starts_with('[') || end == std::string_view::npos) return 0;
  std::string_view groups = text.substr(1, end - 1);
  if (!takes_group(groups, true) || !takes_group(groups, true)) return 0;
  for (int i = 0; i < 6 && !groups.empty(); ++i) takes_group(groups, false);
  return groups.empty() ? end + 1 : 0;
}

// Nothing, a port, a path.
bool may_follow_host(std::string_view text) {
  if (text.starts_with(':')) {
    const Run port = leading_run(text.substr(1), is_decimal);
    if (port.characters < 1 || port.characters > 5) return false;
    text.remove_prefix(1 + port.bytes);
  }
  return text.empty() || text[0] == '/' || text[0] == '?' || text[0] == '#';
}

bool is_web_address(std::string_view text) {
  const auto split_host = [](std::string_view rest) {
    return std::min(rest.find_first_of(":/?#"), rest.size());
  };
  const bool has_scheme = begins_with(text, "http://") || begins_with(text, "https://");
  const bool has_www = begins_with(text, "www.");
  if (has_scheme || has_www) {
    const std::string_view rest = text.substr(has_www ? 4 : text.find('/') + 2);
    const std::size_t host = split_host(rest);
    if (is_host(rest.substr(0, host)) && may_follow_host(rest.substr(host))) return true;
    if (has_scheme) {
      if (is_address_of_four(rest.substr(0, host)) && may_follow_host(rest.substr(host))) {
        return true;
      }
      const std::size_t size = bracketed_size(rest);
      if (size > 0 && may_follow_host(rest.substr(size))) return true;
    }
  }
  const std::size_t host = split_host(text);
  return is_plain_host(text.substr(0, host)) && may_follow_host(text.substr(host));
}

bool is_mail_address(std::string_view text) {
  const std::size_t at = text.rfind('@');
  if (at == std::string_view::npos || at == 0) return false;
  const std::string_view domain = text.substr(at + 1);
  const std::size_t point = domain.rfind('.');
  if (domain.empty() || point == std::string_view::npos || point == 0) return false;
  const Character first = character_at(domain, 0);
  const std::string_view middle = domain.substr(0, point);
  const auto is_part = [](char32_t code) {
    return is_word_part(code) || code == '.' || code == '-';
  };
  return is_word_part(first.code) && is_run(middle, 1, kAnyLength, is_part) &&
         is_run(domain.substr(point + 1), 1, kAnyLength, is_word_part);
}

std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string_view::npos; ++count) {
    at += part.size();
  }
  return count;
}

// What may be an address within a word: without the brackets around it and the marks behind it.
struct Middle {
  std::size_t begin = 0, end = 0;
};
Middle middle_of(std::string_view word) {
  Middle middle{0, word.size()};
  while (true) {
    const std::string_view rest = word.substr(middle.begin);
    if (rest.starts_with('(') || rest.starts_with('<')) {
      ++middle.begin;
    } else if (rest.starts_with("&lt;")) {
      middle.begin += 4;
    } else {
      break;
    }
  }
  while (middle.end > middle.begin) {
    const std::string_view rest = word.substr(middle.begin, middle.end - middle.begin);
    if (rest.ends_with("&gt;")) {
      middle.end -= 4;
    } else if (std::string_view(")>.,\n").find(rest.back()) != std::string_view::npos) {
      --middle.end;
    } else {
      break;
    }
  }
  // Brackets that were opened within it are closed within it.
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kBrackets = {
      {{"(", ")"}, {"<", ">"}, {"&lt;", "&gt;"}}};
  for (const auto& [open, close] : kBrackets) {
    const std::string_view inner = word.substr(middle.begin, middle.end - middle.begin);
    const std::size_t opened = count_of(inner, open);
    if (opened <= count_of(inner, close)) continue;
    const std::size_t moved = std::min(opened, count_of(word.substr(middle.end), close));
    for (std::size_t i = 0; i < moved; ++i) {
      middle.end = word.find(close, middle.end) + close.size();
    }
  }
  return middle;
}

MarkedText shown_address(const MarkedText& address, const LinkOptions& options) {
  if (!options.shown) return address;
  const auto size = static_cast<std::int64_t>(count_characters(address.view()));
  if (size <= *options.shown) return address;
  // As Python takes [:n]: from the end where that is negative.
  const std::int64_t left =
      std::max<std::int64_t>(0, *options.shown < 0 ? size + *options.shown : *options.shown);
  MarkedText out =
      address.part(0, byte_of_character(address.view(), static_cast<std::size_t>(left)));
  out.append("...", false);
  return out;
}

// <a href="PREFIX ADDRESS" ...>SHOWN</a>
MarkedText link(std::string_view prefix, const MarkedText& address, const MarkedText* attributes,
                const MarkedText& shown) {
  MarkedText out("<a href=\"", false);
  out.append(prefix, false);
  out.append(address);
  out.append("\"", false);
  if (attributes != nullptr) out.append(*attributes);
  out.append(">", false);
  out.append(shown);
  out.append("</a>", false);
  return out;
}

MarkedText linked(const MarkedText& middle, const LinkOptions& options) {
  const std::string_view view = middle.view();
  constexpr std::string_view kMail = "mailto:";
  if (is_web_address(view)) {
    const bool has_scheme = view.starts_with("https://") || view.starts_with("http://");
    return link(has_scheme ? "" : "https://", middle, &options.attributes,
                shown_address(middle, options));
  }
  if (view.starts_with(kMail) && is_mail_address(view.substr(kMail.size()))) {
    return link("", middle, nullptr, middle.part(kMail.size(), view.size() - kMail.size()));
  }
  const bool may_be_mail = !view.starts_with("www.") && !view.starts_with("@") &&
                           view.find(':') == std::string_view::npos && is_mail_address(view);
  if (may_be_mail) return link(kMail, middle, nullptr, middle);
  for (const std::string& scheme : options.schemes) {
    if (view != scheme && view.starts_with(scheme)) {
      return link("", middle, &options.attributes, middle);
    }
  }
  return middle;
}

}  // namespace

bool is_scheme(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view slashes = text.substr(colon + 1);
  return is_run(text.substr(0, colon), 2, kAnyLength,
                [](char32_t code) {
                  return is_word_part(code) || code == '.' || code == '+' || code == '-';
                }) &&
         (slashes.empty() || slashes == "/" || slashes == "//");
}

MarkedText with_links(Context& context, const MarkedText& text, const LinkOptions& options) {
  context.charge_steps(text.size() / 8);
  MarkedText out;
  const std::string_view view = text.view();
  for (std::size_t at = 0; at < view.size();) {
    const std::size_t space = leading_space(view.substr(at));
    out.append_part(text, at, space);
    at += space;
    const Run word = leading_run(view.substr(at), [](char32_t code) { return !is_space(code); });
    context.charge_steps(2);
    const Middle middle = middle_of(view.substr(at, word.bytes));
    const MarkedText made =
        linked(text.part(at + middle.begin, middle.end - middle.begin), options);
    context.charge_bytes(made.weight());
    out.append_part(text, at, middle.begin);
    out.append(made);
    out.append_part(text, at + middle.end, word.bytes - middle.end);
    at += word.bytes;
  }
  return out;
}

}  // namespace hearth::models::chat_template
