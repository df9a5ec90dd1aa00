// Reading the values of GGUF metadata.
#include <algorithm>
#include <type_traits>

#include "core/quoted.h"
#include "io/gguf_cursor.h"

namespace hearth::io {
namespace {

// What `call` makes of a value of the C++ type that stands for `type`, which is not an array.
template <class Call>
GgufValue with_type_of(GgufType type, const Call& call) {
  switch (type) {
    case GgufType::u8:
      return call(std::uint8_t{});
    case GgufType::i8:
      return call(std::int8_t{});
    case GgufType::u16:
      return call(std::uint16_t{});
    case GgufType::i16:
      return call(std::int16_t{});
    case GgufType::u32:
      return call(std::uint32_t{});
    case GgufType::i32:
      return call(std::int32_t{});
    case GgufType::f32:
      return call(float{});
    case GgufType::bool_:
      return call(bool{});
    case GgufType::u64:
      return call(std::uint64_t{});
    case GgufType::i64:
      return call(std::int64_t{});
    case GgufType::f64:
      return call(double{});
    default:
      return call(std::string());
  }
}

GgufType known_type(const GgufCursor& cursor, std::uint32_t type, std::uint64_t at,
                    const std::string& key) {
  constexpr auto kLast = static_cast<std::uint32_t>(GgufType::f64);
  if (type > kLast) {
    cursor.errors().corrupt(at, "the value of " + hearth::quoted(key) + " has no known type; got " +
                                    std::to_string(type) + ", expected 0 to " +
                                    std::to_string(kLast));
  }
  return static_cast<GgufType>(type);
}

GgufValue read_scalar(GgufCursor& cursor, GgufType type) {
  constexpr std::string_view kWhat = "a value";
  return with_type_of(type, [&]<class T>(const T&) -> GgufValue {
    if constexpr (std::is_same_v<T, std::string>) {
      return cursor.text(kWhat);
    } else if constexpr (std::is_same_v<T, bool>) {
      return cursor.number<std::uint8_t>(kWhat) != 0;
    } else {
      return cursor.number<T>(kWhat);
    }
  });
}

GgufValue read_elements(GgufCursor& cursor, GgufType type, std::uint64_t count) {
  constexpr std::string_view kWhat = "an array";
  return with_type_of(type, [&]<class T>(const T&) -> GgufValue {
    if constexpr (std::is_same_v<T, std::string>) {
      std::vector<std::string> texts;
      for (std::uint64_t i = 0; i < count; ++i) texts.push_back(cursor.text("a text of an array"));
      return texts;
    } else if constexpr (std::is_same_v<T, bool>) {
      const auto bytes = cursor.numbers<std::uint8_t>(kWhat, count);
      std::vector<bool> bools(bytes.size());
      std::transform(bytes.begin(), bytes.end(), bools.begin(),
                     [](std::uint8_t byte) { return byte != 0; });
      return bools;
    } else {
      return cursor.numbers<T>(kWhat, count);
    }
  });
}

GgufValue read_array(GgufCursor& cursor, const std::string& key) {
  // Of one element; of a text, of its length.
  constexpr std::uint8_t kLeastBytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 8, 0, 8, 8, 8};
  const std::uint64_t type_at = cursor.position();
  const auto number = cursor.number<std::uint32_t>("the type of an array");
  const GgufType type = known_type(cursor, number, type_at, key);
  if (type == GgufType::array) {
    throw cursor.errors().error(ErrorCode::unsupported, type_at,
                                "the value of " + hearth::quoted(key) + " is an array of arrays");
  }
  const std::uint64_t at = cursor.position();
  const auto count = cursor.number<std::uint64_t>("the length of an array");
  const std::uint64_t fitting = cursor.remaining() / kLeastBytes[static_cast<int>(type)];
  if (count > std::min(kMaxGgufLength, fitting)) {
    cursor.errors().corrupt(
        at, "the array " + hearth::quoted(key) + " is too long; got " + std::to_string(count) +
                " elements, expected at most " +
                (fitting < kMaxGgufLength
                     ? std::to_string(fitting) + ", for which the file has bytes: it is cut off, "
                                                 "as by an incomplete download, or wrong"
                     : std::to_string(kMaxGgufLength)));
  }
  return read_elements(cursor, type, count);
}

}  // namespace

GgufValue read_gguf_value(GgufCursor& cursor, std::uint32_t type, std::uint64_t type_at,
                          const std::string& key) {
  const GgufType known = known_type(cursor, type, type_at, key);
  return known == GgufType::array ? read_array(cursor, key) : read_scalar(cursor, known);
}

}  // namespace hearth::io
