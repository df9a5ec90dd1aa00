#include "tools/serve/request_body.h"

#include <cstddef>
#include <string_view>
#include <utility>
#include <variant>

#include "tools/chat_json/fields.h"

namespace hearth::tools::serve {
namespace {

// A value takes some 40 bytes and its text may be 2: a document of this many stays below 40 MB.
constexpr std::size_t kMostValues = std::size_t{1} << 20;

bool has_many_values(std::string_view text) {
  std::size_t values = 1;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') in_string = !in_string;
    if (in_string) {
      if (c == '\\') ++i;
    } else if (c == ',' || c == '[' || c == '{') {
      ++values;
    }
  }
  return values > kMostValues;
}

// Names are shown as far as people read them.
FieldError bad_body(const JsonFault& fault) {
  constexpr std::size_t kMostShown = 100;
  const std::string place = fault.place.substr(0, kMostShown);
  switch (fault.kind) {
    case JsonFault::Kind::depth:
      return bad_field("", "the body nests too deeply; expected fewer values within another");
    case JsonFault::Kind::surrogate:
      return bad_field(place,
                       "a string has half of a surrogate pair, which is no character; "
                       "expected \\ud800 to \\udbff before \\udc00 to \\udfff, or none of these");
    case JsonFault::Kind::utf8:
      return bad_field(place, "a string has bytes that are no UTF-8; expected UTF-8");
    case JsonFault::Kind::number: {
      constexpr std::size_t kMostDigits = 40;
      return bad_field(place, "a number is beyond those of a double; got " +
                                  fault.number.substr(0, kMostDigits) +
                                  (fault.number.size() > kMostDigits ? "..." : "") +
                                  ", expected less than 1.8e308, and more than -1.8e308");
    }
    case JsonFault::Kind::syntax:
      break;
  }
  return bad_field("", "the body is no JSON, as byte " + std::to_string(fault.byte) +
                           " shows; expected an object");
}

}  // namespace

JsonObject parse_body(const std::string& body) {
  if (has_many_values(body)) {
    throw bad_field(
        "", "the body has too many values; expected at most " + std::to_string(kMostValues));
  }
  JsonFault fault;
  auto document = parse_json(body, &fault);
  if (!document) throw bad_body(fault);
  auto* object = std::get_if<JsonObject>(&*document);
  if (object == nullptr)
    throw bad_field("",
                    "the body is no JSON object; got " + shown(*document) + ", expected an object");
  return std::move(*object);
}

}  // namespace hearth::tools::serve
