#include "models/grammar/schema_formats.h"

#include "models/grammar/schema_merge.h"

namespace hearth::models::grammar {
namespace {

// RFC 3339. Years begin with 1000; leap seconds, which few moments have, are left out.
std::string date() {
  const std::string leap_year =
      "([1-9][0-9](0[48]|[2468][048]|[13579][26])|([2468][048]|[13579][26])00)";
  return "([1-9][0-9]{3}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|"
         "30)|02-(0[1-9]|1[0-9]|2[0-8]))|" +
         leap_year + "-02-29)";
}

std::string time() {
  const std::string clock = "([01][0-9]|2[0-3]):[0-5][0-9]";
  return clock + ":[0-5][0-9](\\.[0-9]{1,6})?(Z|[+-]" + clock + ")";
}

// RFC 3339, appendix A: units from the largest on, none between two of them left out.
std::string duration() {
  const std::string n = "[0-9]{1,9}";
  const std::string time =
      "T(" + n + "H(" + n + "M(" + n + "S)?)?|" + n + "M(" + n + "S)?|" + n + "S)";
  const std::string date =
      "(" + n + "Y(" + n + "M(" + n + "D)?)?|" + n + "M(" + n + "D)?|" + n + "D)";
  return "P(" + n + "W|" + date + "(" + time + ")?|" + time + ")";
}

// RFC 1123, of at most five labels of which each is at most 49 characters, so that the whole is
// less than 254; hyphens only one at a time, since two have a meaning of their own. The last label
// begins with a letter: all digits would be the end of an address.
std::string hostname() {
  const std::string rest = "(-?[A-Za-z0-9]){0,24}";
  return "([A-Za-z0-9]" + rest + "\\.){0,4}[A-Za-z]" + rest;
}

// RFC 5321, without quotes and addresses in brackets; at most 64 characters before the sign, and
// 248 in all, which is less than its limits.
std::string email() {
  const std::string atom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]";
  const std::string rest = "(-?[A-Za-z0-9]){0,22}";
  return atom + "{1,30}(\\." + atom + "{1,16}){0,2}@([A-Za-z0-9]" + rest + "\\.){0,3}[A-Za-z]" +
         rest;
}

std::string ipv4() {
  const std::string byte = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";
  return "(" + byte + "\\.){3}" + byte;
}

// RFC 4291, without zones.
std::string ipv6() {
  const std::string h = "[0-9a-fA-F]{1,4}";
  std::string out = "((" + h + ":){7}" + h + "|(" + h + ":){1,7}:";
  for (int before = 6; before >= 1; --before) {
    out += "|(" + h + ":){1," + std::to_string(before) + "}(:" + h + "){1," +
           std::to_string(7 - before) + "}";
  }
  return out + "|:((:" + h + "){1,7}|:)|(" + h + ":){6}" + ipv4() + "|::([fF]{4}:)?" + ipv4() + ")";
}

// RFC 3986, without addresses in brackets.
struct Uri {
  const std::string escape = "%[0-9A-Fa-f]{2}";
  const std::string character = "([A-Za-z0-9._~!$&'()*+,;=:@-]|" + escape + ")";
  const std::string rest = "(/" + character + "*)*";
  const std::string host = "([A-Za-z0-9._~!$&'()*+,;=-]|" + escape + ")*";
  const std::string user = "([A-Za-z0-9._~!$&'()*+,;=:-]|" + escape + ")*";
  const std::string authority = "//(" + user + "@)?" + host + "(:[0-9]{0,5})?" + rest;
  const std::string absolute = "/(" + character + "+" + rest + ")?";
  const std::string behind = "([A-Za-z0-9._~!$&'()*+,;=:@/?-]|" + escape + ")*";
  const std::string ends = "(\\?" + behind + ")?(#" + behind + ")?";

  std::string whole() const {
    return "[A-Za-z][A-Za-z0-9+.-]*:(" + authority + "|" + absolute + "|" + character + "+" + rest +
           ")?" + ends;
  }
  std::string reference() const {
    const std::string first = "([A-Za-z0-9._~!$&'()*+,;=@-]|" + escape + ")";
    return "(" + whole() + "|(" + authority + "|" + absolute + "|" + first + "+" + rest + ")?" +
           ends + ")";
  }
};

// RFC 6570, expressions of one variable.
std::string uri_template() {
  return "([A-Za-z0-9._~!$&()*+,;=:@/?#-]|%[0-9A-Fa-f]{2}|\\{[+#./;?&]?[A-Za-z0-9_]{1,30}\\})*";
}

// RFC 6901.
std::string json_pointer() { return "(/([^~/]|~[01])*)*"; }

std::string pattern_of(std::string_view format) {
  if (format == "date") return date();
  if (format == "time") return time();
  if (format == "date-time") return date() + "T" + time();
  if (format == "duration") return duration();
  if (format == "uuid") return "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}";
  if (format == "hostname" || format == "idn-hostname") return hostname();
  if (format == "email" || format == "idn-email") return email();
  if (format == "ipv4") return ipv4();
  if (format == "ipv6") return ipv6();
  if (format == "uri" || format == "iri") return Uri().whole();
  if (format == "uri-reference" || format == "iri-reference") return Uri().reference();
  if (format == "uri-template") return uri_template();
  if (format == "json-pointer") return json_pointer();
  if (format == "relative-json-pointer") return "(0|[1-9][0-9]?)(#|" + json_pointer() + ")";
  return "";
}

}  // namespace

std::optional<std::string> format_pattern(std::string_view format) {
  if (format == "regex") {
    fail_unsupported("format not supported; got `regex`, expected one that is a pattern");
  }
  const std::string pattern = pattern_of(format);
  if (pattern.empty()) return std::nullopt;
  return "^" + pattern + "$";
}

}  // namespace hearth::models::grammar
