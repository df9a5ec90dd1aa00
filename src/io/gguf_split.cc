#include "io/gguf_split.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "core/quoted.h"
#include "io/gguf.h"
#include "io/gguf_reader.h"

namespace hearth::io {
namespace {

constexpr std::size_t kDigits = 5;
constexpr std::string_view kOf = "-of-";
constexpr std::string_view kEnding = ".gguf";

std::string five_digits(int number) {
  std::string text = std::to_string(number);
  return text.insert(0, kDigits - std::min(kDigits, text.size()), '0');
}

// Takes "-00001" off the end of the text; nothing, and no change, where that does not stand there.
std::optional<int> take_number(std::string_view& text) {
  if (text.size() < kDigits) return std::nullopt;
  int number = 0;
  for (const char digit : text.substr(text.size() - kDigits)) {
    if (digit < '0' || digit > '9') return std::nullopt;
    number = 10 * number + (digit - '0');
  }
  text.remove_suffix(kDigits);
  return number;
}

bool take_ending(std::string_view& text, std::string_view ending) {
  if (!text.ends_with(ending)) return false;
  text.remove_suffix(ending.size());
  return true;
}

// A file of a model.
struct OpenPart {
  MappedFile file;
  std::string source;
  GgufPart contents;

  FileErrors errors() const { return {"gguf", source}; }
};

OpenPart open_part(const std::string& path) {
  OpenPart part{MappedFile::open(path), "\"" + path + "\"", {}};
  part.contents = read_gguf(part.file.bytes(), part.errors());
  return part;
}

OpenPart open_part(const GgufPartName& name) {
  try {
    return open_part(gguf_part_path(name));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::io) throw;
    throw Error(ErrorCode::io, "gguf: part " + std::to_string(name.number) + " of " +
                                   std::to_string(name.count) + ": " + error.what());
  }
}

struct FoundInteger {
  std::int64_t value = 0;
  std::uint64_t position = 0;  // of the entry, in the file
};

// Nothing where the part has no such key.
std::optional<FoundInteger> find_integer(const OpenPart& part, std::string_view key,
                                         std::int64_t last) {
  const GgufMetadata& metadata = part.contents.metadata;
  const auto entry = std::find_if(metadata.begin(), metadata.end(),
                                  [&](const GgufEntry& each) { return each.key == key; });
  if (entry == metadata.end()) return std::nullopt;
  const auto place = static_cast<std::size_t>(entry - metadata.begin());
  FoundInteger found{-1, part.contents.entry_positions[place]};
  std::string got = "no integer of 64 bits";
  try {
    found.value = entry->value.as_int(key);
    got = std::to_string(found.value);
  } catch (const Error&) {
  }
  if (found.value < 0 || found.value > last) {
    part.errors().corrupt(found.position, "a wrong value of " + hearth::quoted(key) + "; got " +
                                              got + ", expected 0 to " + std::to_string(last));
  }
  return found;
}

// Of how many files the model is; those that were split and joined again say 0.
int part_count_of(const OpenPart& part) {
  const auto found = find_integer(part, kGgufSplitCount, kMaxGgufParts);
  return found ? std::max(1, static_cast<int>(found->value)) : 1;
}

// Checks what a part says of itself against its name.
void check_part(const OpenPart& part, const GgufPartName& name) {
  const auto count = find_integer(part, kGgufSplitCount, kMaxGgufParts);
  const auto number = find_integer(part, kGgufSplitNumber, kMaxGgufParts);
  const auto check = [&](const auto& found, std::string_view key, int expected) {
    if (!found) part.errors().corrupt(0, "a part of a model without " + hearth::quoted(key));
    if (found->value == expected) return;
    part.errors().corrupt(found->position, "another part than the name of the file says; got " +
                                               std::string(key) + " " +
                                               std::to_string(found->value) + ", expected " +
                                               std::to_string(expected));
  };
  check(count, kGgufSplitCount, name.count);
  check(number, kGgufSplitNumber, name.number - 1);
}

// All parts of the model, of which `given` is one, in order.
std::vector<OpenPart> open_parts(OpenPart given, const std::string& path, int count) {
  const std::optional<GgufPartName> name = gguf_part_name(path);
  if (!name) {
    throw Error(ErrorCode::io, "gguf: cannot find the other files of a model of " +
                                   std::to_string(count) + "; got the name " +
                                   hearth::quoted(path) + ", expected one such as x-00001-of-" +
                                   five_digits(count) + ".gguf");
  }
  check_part(given, *name);
  std::vector<OpenPart> parts;
  for (int number = 1; number <= count; ++number) {
    if (number == name->number) {
      parts.push_back(std::move(given));
    } else {
      const GgufPartName other{name->stem, number, count};
      parts.push_back(open_part(other));
      check_part(parts.back(), other);
    }
  }
  return parts;
}

// Checks that all parts together have the tensors that the model has, each once.
void check_tensors(const std::vector<OpenPart>& parts) {
  struct Place {
    std::string_view name;
    std::size_t part;
    std::size_t tensor;
    auto operator<=>(const Place&) const = default;
  };
  std::vector<Place> places;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const std::vector<GgufView>& tensors = parts[part].contents.tensors;
    for (std::size_t i = 0; i < tensors.size(); ++i) places.push_back({tensors[i].name, part, i});
  }
  std::sort(places.begin(), places.end());
  for (std::size_t i = 1; i < places.size(); ++i) {
    const auto& [name, part, tensor] = places[i];
    if (name != places[i - 1].name) continue;
    parts[part].errors().corrupt(
        parts[part].contents.tensor_positions[tensor],
        "tensor " + hearth::quoted(name) + " is in " + parts[places[i - 1].part].source + ", too");
  }
  constexpr auto kAny = std::numeric_limits<std::int64_t>::max();
  for (const OpenPart& part : parts) {
    const auto total = find_integer(part, kGgufSplitTensors, kAny);
    if (!total || static_cast<std::uint64_t>(total->value) == places.size()) continue;
    part.errors().corrupt(total->position, "the parts have another number of tensors; got " +
                                               std::to_string(places.size()) + ", expected " +
                                               std::to_string(total->value));
  }
}

}  // namespace

std::optional<GgufPartName> gguf_part_name(const std::string& path) {
  std::string_view rest = path;
  if (!take_ending(rest, kEnding)) return std::nullopt;
  const std::optional<int> count = take_number(rest);
  if (!count || !take_ending(rest, kOf)) return std::nullopt;
  const std::optional<int> number = take_number(rest);
  if (!number || !take_ending(rest, "-")) return std::nullopt;
  if (*number < 1 || *number > *count) return std::nullopt;
  return GgufPartName{std::string(rest), *number, *count};
}

std::string gguf_part_path(const GgufPartName& name) {
  return (name.stem + "-" + five_digits(name.number)).append(kOf) + five_digits(name.count) +
         std::string(kEnding);
}

GgufFile GgufFile::open(const std::string& path) {
  std::vector<OpenPart> parts;
  parts.push_back(open_part(path));
  if (const int count = part_count_of(parts.front()); count > 1) {
    parts = open_parts(std::move(parts.front()), path, count);
    check_tensors(parts);
  }
  GgufFile file;
  file.version_ = parts.front().contents.version;
  file.alignment_ = parts.front().contents.alignment;
  file.metadata_ = std::move(parts.front().contents.metadata);
  for (const std::string_view key : {kGgufSplitNumber, kGgufSplitCount, kGgufSplitTensors}) {
    file.metadata_.erase(key);
  }
  for (OpenPart& part : parts) {
    for (GgufView& view : part.contents.tensors) view.part = file.part_count();
    std::move(part.contents.tensors.begin(), part.contents.tensors.end(),
              std::back_inserter(file.tensors_));
    file.files_.push_back(std::move(part.file));
  }
  file.index();
  return file;
}

}  // namespace hearth::io
