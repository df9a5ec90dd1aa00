#include "io/safetensors.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <limits>
#include <new>
#include <optional>
#include <utility>

#include "core/json_reader.h"
#include "core/json_writer.h"
#include "core/utf8.h"

namespace hearth::io {
namespace {

constexpr std::size_t kLengthBytes = 8;
constexpr std::string_view kMetadataKey = "__metadata__";

// Element types of the format that Hearth has no dtype for.
constexpr std::string_view kForeignDTypes[] = {"F4",      "F6_E2M3", "F6_E3M2", "F8_E5M2",
                                               "F8_E4M3", "F8_E8M0", "C64"};

// The order in which tensors follow each other in a file: what the reference writer uses.
constexpr DType kFileOrder[] = {DType::u64, DType::i64,  DType::f64,  DType::f32, DType::u32,
                                DType::i32, DType::bf16, DType::f16,  DType::u16, DType::i16,
                                DType::i8,  DType::u8,   DType::bool_};

int file_order(DType dtype) {
  return static_cast<int>(std::find(std::begin(kFileOrder), std::end(kFileOrder), dtype) -
                          std::begin(kFileOrder));
}

// A name from an untrusted file, made fit for a message: short, quoted, ASCII without control
// characters.
std::string printable(std::string_view name) {
  constexpr std::size_t kShown = 64;
  std::string text = json_string(name.substr(0, kShown), true);
  if (name.size() > kShown) text.insert(text.size() - 1, "...");
  return text;
}

// Bytes of `shape` elements of `dtype`, or nothing when that overflows 63 bits.
std::optional<std::uint64_t> checked_bytes(const Shape& shape, DType dtype) {
  std::int64_t bytes = size_of(dtype);
  for (const std::int64_t extent : shape) {
    if (__builtin_mul_overflow(bytes, extent, &bytes)) return std::nullopt;
  }
  return static_cast<std::uint64_t>(bytes);
}

struct HeaderTensor {
  std::string name;
  DType dtype = DType::u8;
  Shape shape;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::size_t position = 0;  // in the file, where its description begins
};

// Where errors of a file are raised; positions are in the file.
class Blame {
 public:
  explicit Blame(const std::string& source) : source_(source) {}

  Error error(ErrorCode code, std::uint64_t position, const std::string& what) const {
    return Error(code,
                 "safetensors: " + source_ + ": " + what + "; at byte " + std::to_string(position));
  }
  [[noreturn]] void corrupt(std::uint64_t position, const std::string& what) const {
    throw error(ErrorCode::corrupt_file, position, what);
  }

 private:
  const std::string& source_;
};

// Reads a header. What the grammar does not allow is refused where it begins, so neither stack nor
// heap grows with the nesting of hostile input.
class HeaderReader {
 public:
  HeaderReader(std::string_view text, std::uint64_t data_bytes, const Blame& blame)
      : text_(text), json_(text), data_bytes_(data_bytes), blame_(blame) {}

  // Reads all of the text. Throws Error{corrupt_file} or Error{unsupported}.
  void read() {
    if (!text_.starts_with('{')) corrupt("a header that does not begin with '{'");
    try {
      read_header();
    } catch (const JsonError& error) {
      blame_.corrupt(kLengthBytes + error.position(), std::string("broken JSON: ") + error.what());
    }
  }

  std::vector<HeaderTensor> take_tensors() { return std::move(tensors_); }
  SafetensorsMetadata take_metadata() { return std::move(metadata_); }

 private:
  static constexpr const char* kExtent = "an integer from 0 to 2^64 - 1: an extent";
  static constexpr const char* kOffset = "an integer from 0 to 2^64 - 1: a data offset";

  [[noreturn]] void fail(ErrorCode code, const std::string& what) const {
    throw blame_.error(code, kLengthBytes + json_.token(), what);
  }
  [[noreturn]] void corrupt(const std::string& what) const { fail(ErrorCode::corrupt_file, what); }

  // Checks what kind of value comes next.
  void expect(JsonKind kind, const char* expected) {
    const JsonKind got = json_.peek();
    if (got == kind) return;
    const std::size_t token = json_.token();
    if (got == JsonKind::none) {
      throw JsonError(token, std::string("value - none begins here; expected ") + expected);
    }
    if (got != JsonKind::object && got != JsonKind::array) json_.skip();  // broken JSON goes first
    wrong_value(token, expected);
  }
  [[noreturn]] void wrong_value(std::size_t token, const char* expected) const {
    blame_.corrupt(kLengthBytes + token, std::string("a wrong value; expected ") + expected);
  }

  std::uint64_t unsigned_integer(const char* expected) {
    expect(JsonKind::number, expected);
    const std::string_view written = json_.number();
    std::uint64_t value = 0;
    const char* const end = written.data() + written.size();
    const auto [stop, error] = std::from_chars(written.data(), end, value);
    if (error != std::errc() || stop != end) wrong_value(json_.token(), expected);
    return value;
  }

  void read_header() {
    bool has_metadata = false;
    std::string key;
    for (json_.begin_object(); json_.next_key(key);) {
      if (key == kMetadataKey) {
        if (std::exchange(has_metadata, true)) corrupt("\"__metadata__\" twice");
        read_metadata();
      } else {
        tensors_.emplace_back();
        tensor().name = std::move(key);
        tensor().position = kLengthBytes + json_.token();
        read_tensor();
      }
    }
    try {
      json_.end();
    } catch (const JsonError& error) {
      blame_.corrupt(kLengthBytes + error.position(), "bytes after the JSON object");
    }
  }

  void read_metadata() {
    expect(JsonKind::object, "'{': the metadata");
    std::string key;
    for (json_.begin_object(); json_.next_key(key);) {
      const auto [at, is_new] = metadata_.try_emplace(std::move(key));
      if (!is_new) corrupt("a key of the metadata twice; got " + printable(at->first));
      expect(JsonKind::string, "a string of UTF-8: a value of the metadata");
      at->second = json_.string();
    }
  }

  HeaderTensor& tensor() { return tensors_.back(); }
  std::string who() { return "tensor " + printable(tensor().name); }

  void read_tensor() {
    bool has_dtype = false;
    bool has_shape = false;
    bool has_offsets = false;
    std::string key;
    const auto is = [&](std::string_view name, bool& seen) {
      return key == name && !std::exchange(seen, true);
    };
    expect(JsonKind::object, "'{': a description of a tensor");
    for (json_.begin_object(); json_.next_key(key);) {
      if (is("dtype", has_dtype)) {
        read_dtype();
      } else if (is("shape", has_shape)) {
        read_shape();
      } else if (is("data_offsets", has_offsets)) {
        read_offsets();
      } else {
        corrupt(who() + " has the key " + printable(key) +
                ", expected \"dtype\", \"shape\" and \"data_offsets\" once each");
      }
    }
    if (!has_dtype || !has_shape || !has_offsets) {
      corrupt(who() + " is incomplete, expected \"dtype\", \"shape\" and \"data_offsets\"");
    }
    check_tensor();
  }

  void read_dtype() {
    expect(JsonKind::string, "a string of UTF-8: the name of a dtype");
    const std::string value = json_.string();
    for (int i = 0; i < kDTypeCount; ++i) {
      if (info(static_cast<DType>(i)).safetensors == value) {
        tensor().dtype = static_cast<DType>(i);
        return;
      }
    }
    const std::string what = who() + " has the dtype " + printable(value);
    if (std::find(std::begin(kForeignDTypes), std::end(kForeignDTypes), value) !=
        std::end(kForeignDTypes)) {
      fail(ErrorCode::unsupported, what + ", which has no counterpart here");
    }
    corrupt(what + ", which the format does not know");
  }

  void read_shape() {
    expect(JsonKind::array, "'[': a shape");
    for (json_.begin_array(); json_.next_element();) {
      const std::uint64_t extent = unsigned_integer(kExtent);
      if (extent > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
        corrupt(who() + " has an extent beyond 63 bits");
      }
      if (tensor().shape.rank() == kMaxRank) {
        fail(ErrorCode::unsupported,
             who() + " has too many axes; expected at most " + std::to_string(kMaxRank));
      }
      tensor().shape.push_back(static_cast<std::int64_t>(extent));
    }
  }

  void read_offsets() {
    expect(JsonKind::array, "'[': data offsets");
    std::uint64_t* const offsets[] = {&tensor().begin, &tensor().end};
    std::size_t count = 0;
    for (json_.begin_array(); json_.next_element(); ++count) {
      const std::uint64_t offset = unsigned_integer(kOffset);
      if (count < std::size(offsets)) *offsets[count] = offset;
    }
    if (count != std::size(offsets)) {
      corrupt(who() + " has more or less than two data offsets; expected [begin, end]");
    }
  }

  // Checks shape, dtype and offsets against each other and against the data.
  void check_tensor() {
    const auto& [name, dtype, shape, begin, end, position] = tensor();
    if (begin > end || end > data_bytes_) {
      corrupt(who() + " lies outside the data; got [" + std::to_string(begin) + ", " +
              std::to_string(end) + "), expected offsets within " + std::to_string(data_bytes_) +
              " bytes");
    }
    const std::optional<std::uint64_t> bytes = checked_bytes(shape, dtype);
    if (!bytes) corrupt(who() + " has a shape that overflows; got " + to_string(shape));
    if (*bytes != end - begin) {
      corrupt(who() + " has offsets that do not fit its shape; got " + std::to_string(end - begin) +
              " bytes, expected " + std::to_string(*bytes) + " for " +
              std::string(hearth::name(dtype)) + " " + to_string(shape));
    }
  }

  std::string_view text_;
  JsonReader json_;
  std::uint64_t data_bytes_;
  const Blame& blame_;
  std::vector<HeaderTensor> tensors_;
  SafetensorsMetadata metadata_;
};

// Checks that the tensors cover the data exactly once.
void check_coverage(std::vector<HeaderTensor>& tensors, std::uint64_t data_bytes,
                    std::uint64_t data_start, const Blame& blame) {
  std::sort(tensors.begin(), tensors.end(), [](const HeaderTensor& a, const HeaderTensor& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t covered = 0;
  for (const HeaderTensor& tensor : tensors) {
    if (tensor.begin != covered) {
      blame.corrupt(tensor.position,
                    "tensor " + printable(tensor.name) +
                        (tensor.begin < covered ? " overlaps another" : " follows a hole") +
                        "; got data offset " + std::to_string(tensor.begin) + ", expected " +
                        std::to_string(covered));
    }
    covered = tensor.end;
  }
  if (covered != data_bytes) {
    blame.corrupt(data_start + covered, "data that belongs to no tensor; got " +
                                            std::to_string(data_bytes) + " bytes, expected " +
                                            std::to_string(covered));
  }
}

void check_names(std::vector<HeaderTensor>& tensors, const Blame& blame) {
  std::sort(tensors.begin(), tensors.end(),
            [](const HeaderTensor& a, const HeaderTensor& b) { return a.name < b.name; });
  for (std::size_t i = 1; i < tensors.size(); ++i) {
    if (tensors[i].name == tensors[i - 1].name) {
      blame.corrupt(std::max(tensors[i].position, tensors[i - 1].position),
                    "two tensors called " + printable(tensors[i].name));
    }
  }
}

}  // namespace

SafetensorsFile SafetensorsFile::open(const std::string& path) {
  MappedFile mapped = MappedFile::open(path);
  SafetensorsFile file = parse(mapped.bytes(), "\"" + path + "\"");
  file.file_ = std::move(mapped);
  return file;
}

SafetensorsFile SafetensorsFile::parse(std::span<const std::byte> bytes,
                                       const std::string& source) {
  const Blame blame(source);
  if (bytes.size() < kLengthBytes) {
    blame.corrupt(bytes.size(),
                  "too short; got " + std::to_string(bytes.size()) + " bytes, expected at least 8");
  }
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    length |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  }
  if (length > kMaxSafetensorsHeader) {
    blame.corrupt(0, "header too long; got " + std::to_string(length) +
                         " bytes, expected at most " + std::to_string(kMaxSafetensorsHeader));
  }
  if (length > bytes.size() - kLengthBytes) {
    blame.corrupt(bytes.size(), "header cut off; got " +
                                    std::to_string(bytes.size() - kLengthBytes) +
                                    " bytes, expected " + std::to_string(length));
  }
  const auto header = bytes.subspan(kLengthBytes, static_cast<std::size_t>(length));
  const auto data = bytes.subspan(kLengthBytes + header.size());
  try {
    HeaderReader reader({reinterpret_cast<const char*>(header.data()), header.size()}, data.size(),
                        blame);
    reader.read();
    std::vector<HeaderTensor> tensors = reader.take_tensors();
    check_coverage(tensors, data.size(), kLengthBytes + header.size(), blame);
    check_names(tensors, blame);
    SafetensorsFile file;
    file.metadata_ = reader.take_metadata();
    file.tensors_.reserve(tensors.size());
    for (HeaderTensor& tensor : tensors) {
      file.tensors_.push_back({std::move(tensor.name), tensor.dtype, tensor.shape,
                               data.subspan(static_cast<std::size_t>(tensor.begin),
                                            static_cast<std::size_t>(tensor.end - tensor.begin))});
    }
    return file;
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::out_of_memory, "safetensors: " + source +
                                              ": no memory for a header of " +
                                              std::to_string(length) + " bytes");
  }
}

const SafetensorsView* SafetensorsFile::find(std::string_view name) const& noexcept {
  const auto at = std::lower_bound(
      tensors_.begin(), tensors_.end(), name,
      [](const SafetensorsView& view, std::string_view wanted) { return view.name < wanted; });
  return at != tensors_.end() && at->name == name ? &*at : nullptr;
}

std::string safetensors_header(std::vector<SafetensorsView>& tensors,
                               const SafetensorsMetadata& metadata) {
  const auto invalid = [](const std::string& what) {
    throw Error(ErrorCode::invalid_argument, "write_safetensors: " + what);
  };
  const auto utf8 = [&](const std::string& text) -> const std::string& {
    if (!is_utf8(text)) {
      invalid("a name or metadata that is not UTF-8; got " + printable(text));
    }
    return text;
  };

  std::sort(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) {
    return std::pair(file_order(a.dtype), std::string_view(a.name)) <
           std::pair(file_order(b.dtype), std::string_view(b.name));
  });
  std::vector<std::string_view> names;
  names.reserve(tensors.size());
  for (const SafetensorsView& tensor : tensors) names.push_back(tensor.name);
  std::sort(names.begin(), names.end());
  if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end()) {
    invalid("two tensors with one name; got " + printable(*twice));
  }
  if (std::binary_search(names.begin(), names.end(), kMetadataKey)) {
    invalid("a tensor called \"__metadata__\", which the format reserves");
  }

  JsonWriter writer;
  writer.begin_object();
  if (!metadata.empty()) {
    writer.key(kMetadataKey).begin_object();
    for (const auto& [key, value] : metadata) writer.member(utf8(key), utf8(value));
    writer.end_object();
  }
  std::uint64_t offset = 0;
  for (const SafetensorsView& tensor : tensors) {
    for (const std::int64_t extent : tensor.shape) {
      if (extent < 0) invalid("a negative extent; got " + to_string(tensor.shape));
    }
    const std::optional<std::uint64_t> bytes = checked_bytes(tensor.shape, tensor.dtype);
    if (!bytes || *bytes != tensor.bytes.size()) {
      invalid("tensor " + printable(tensor.name) + " whose bytes do not fit its shape; got " +
              std::to_string(tensor.bytes.size()) + " bytes for " +
              std::string(hearth::name(tensor.dtype)) + " " + to_string(tensor.shape));
    }
    writer.key(utf8(tensor.name)).begin_object();
    writer.member("dtype", info(tensor.dtype).safetensors).key("shape").begin_array();
    for (const std::int64_t extent : tensor.shape) writer.value(extent);
    writer.end_array().key("data_offsets").begin_array().value(offset);
    offset += *bytes;
    writer.value(offset).end_array().end_object();
  }
  std::string json = writer.end_object().take();
  json.resize((json.size() + 7) / 8 * 8, ' ');
  if (json.size() > kMaxSafetensorsHeader) {
    invalid("names and metadata too long; got a header of " + std::to_string(json.size()) +
            " bytes, expected at most " + std::to_string(kMaxSafetensorsHeader));
  }
  std::string header;
  header.reserve(kLengthBytes + json.size());
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    header += static_cast<char>(static_cast<unsigned char>(json.size() >> (8 * i)));
  }
  return header += json;
}

void write_safetensors(const std::string& path, std::vector<SafetensorsView> tensors,
                       const SafetensorsMetadata& metadata) {
  const std::string header = safetensors_header(tensors, metadata);
  AtomicFileWriter writer(path);
  writer.write(header);
  for (const SafetensorsView& tensor : tensors) writer.write(tensor.bytes);
  writer.commit();
}

}  // namespace hearth::io
