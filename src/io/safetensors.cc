#include "io/safetensors.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>
#include <optional>
#include <utility>

#include "io/json_text.h"

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

// A name from an untrusted file, made fit for a message.
std::string printable(std::string_view name) {
  constexpr std::size_t kShown = 64;
  std::string text = "\"";
  for (const char c : name.substr(0, kShown)) {
    const auto byte = static_cast<unsigned char>(c);
    text += byte < 0x20 || byte == 0x7f ? '?' : c;
  }
  return text + (name.size() > kShown ? "...\"" : "\"");
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

// Reads exactly the grammar of a header; anything else is Error{corrupt_file}.
class HeaderReader {
 public:
  HeaderReader(std::span<const std::byte> header, std::uint64_t data_bytes,
               const std::string& source)
      : text_(reinterpret_cast<const char*>(header.data()), header.size()),
        scanner_(text_),
        data_bytes_(data_bytes),
        source_(source) {}

  void read() {
    if (!text_.starts_with('{')) corrupt("a header that does not begin with '{'");
    scanner_.take('{');
    read_members([&](std::string name) {
      if (name != kMetadataKey) {
        tensors_.push_back(read_tensor(std::move(name)));
      } else if (std::exchange(has_metadata_, true)) {
        corrupt("\"__metadata__\" twice");
      } else {
        read_metadata();
      }
    });
    if (!scanner_.at_end()) corrupt("bytes after the JSON object");
  }

  std::vector<HeaderTensor> take_tensors() { return std::move(tensors_); }
  SafetensorsMetadata take_metadata() { return std::move(metadata_); }

  [[noreturn]] void corrupt(const std::string& what) const { corrupt_at(position(), what); }
  [[noreturn]] void corrupt_at(std::uint64_t position, const std::string& what) const {
    raise(ErrorCode::corrupt_file, position, what);
  }

 private:
  [[noreturn]] void raise(ErrorCode code, std::uint64_t position, const std::string& what) const {
    throw Error(code,
                "safetensors: " + source_ + ": " + what + "; at byte " + std::to_string(position));
  }

  std::size_t position() const { return kLengthBytes + scanner_.position(); }

  void expect(char punctuation) {
    if (!scanner_.take(punctuation)) corrupt(std::string("expected '") + punctuation + "'");
  }

  std::string expect_string(const char* what) {
    std::optional<std::string> value = scanner_.take_string();
    if (!value) corrupt(std::string("expected a string of UTF-8: ") + what);
    return std::move(*value);
  }

  std::uint64_t expect_unsigned(const char* what) {
    const std::optional<std::uint64_t> value = scanner_.take_unsigned();
    if (!value) corrupt(std::string("expected an integer from 0 to 2^64 - 1: ") + what);
    return *value;
  }

  // The members of an object whose brace has been read; `read_value(key)` reads each value.
  template <class ReadValue>
  void read_members(ReadValue&& read_value) {
    if (scanner_.take('}')) return;
    do {
      std::string key = expect_string("a key");
      expect(':');
      read_value(std::move(key));
    } while (scanner_.take(','));
    expect('}');
  }

  void read_metadata() {
    expect('{');
    read_members([&](std::string key) {
      if (!metadata_.emplace(std::move(key), expect_string("a value of the metadata")).second) {
        corrupt("a key of the metadata twice");
      }
    });
  }

  HeaderTensor read_tensor(std::string name) {
    HeaderTensor tensor;
    tensor.name = std::move(name);
    tensor.position = position();
    bool has_dtype = false;
    bool has_shape = false;
    bool has_offsets = false;
    expect('{');
    read_members([&](const std::string& key) {
      if (key == "dtype" && !std::exchange(has_dtype, true)) {
        tensor.dtype = read_dtype(tensor.name);
      } else if (key == "shape" && !std::exchange(has_shape, true)) {
        tensor.shape = read_shape(tensor.name);
      } else if (key == "data_offsets" && !std::exchange(has_offsets, true)) {
        expect('[');
        tensor.begin = expect_unsigned("a data offset");
        expect(',');
        tensor.end = expect_unsigned("a data offset");
        expect(']');
      } else {
        corrupt("tensor " + printable(tensor.name) + " has the key " + printable(key) +
                ", expected \"dtype\", \"shape\" and \"data_offsets\" once each");
      }
    });
    if (!has_dtype || !has_shape || !has_offsets) {
      corrupt("tensor " + printable(tensor.name) +
              " is incomplete, expected \"dtype\", \"shape\" and \"data_offsets\"");
    }
    check_extent(tensor);
    return tensor;
  }

  DType read_dtype(const std::string& name) {
    const std::string value = expect_string("the name of a dtype");
    for (int i = 0; i < kDTypeCount; ++i) {
      if (info(static_cast<DType>(i)).safetensors == value) return static_cast<DType>(i);
    }
    const std::string what = "tensor " + printable(name) + " has the dtype " + printable(value);
    for (const std::string_view foreign : kForeignDTypes) {
      if (foreign == value) {
        raise(ErrorCode::unsupported, position(), what + ", which has no counterpart here");
      }
    }
    corrupt(what + ", which the format does not know");
  }

  Shape read_shape(const std::string& name) {
    Shape shape;
    expect('[');
    if (scanner_.take(']')) return shape;
    do {
      const std::uint64_t extent = expect_unsigned("an extent");
      if (extent > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
        corrupt("tensor " + printable(name) + " has an extent beyond 63 bits");
      }
      if (shape.rank() == kMaxRank) {
        raise(ErrorCode::unsupported, position(),
              "tensor " + printable(name) + " has too many axes; expected at most " +
                  std::to_string(kMaxRank));
      }
      shape.push_back(static_cast<std::int64_t>(extent));
    } while (scanner_.take(','));
    expect(']');
    return shape;
  }

  // Checks shape, dtype and offsets of one tensor against each other and against the data.
  void check_extent(const HeaderTensor& tensor) const {
    const std::string who = "tensor " + printable(tensor.name);
    if (tensor.begin > tensor.end || tensor.end > data_bytes_) {
      corrupt(who + " lies outside the data; got [" + std::to_string(tensor.begin) + ", " +
              std::to_string(tensor.end) + "), expected offsets within " +
              std::to_string(data_bytes_) + " bytes");
    }
    const std::optional<std::uint64_t> bytes = checked_bytes(tensor.shape, tensor.dtype);
    if (!bytes) corrupt(who + " has a shape that overflows; got " + to_string(tensor.shape));
    if (*bytes != tensor.end - tensor.begin) {
      corrupt(who + " has offsets that do not fit its shape; got " +
              std::to_string(tensor.end - tensor.begin) + " bytes, expected " +
              std::to_string(*bytes) + " for " + std::string(hearth::name(tensor.dtype)) + " " +
              to_string(tensor.shape));
    }
  }

  std::string_view text_;
  JsonScanner scanner_;
  std::uint64_t data_bytes_;
  const std::string& source_;
  bool has_metadata_ = false;
  std::vector<HeaderTensor> tensors_;
  SafetensorsMetadata metadata_;
};

// Checks that the tensors cover the data exactly once.
void check_coverage(std::vector<HeaderTensor>& tensors, std::uint64_t data_bytes,
                    const HeaderReader& reader) {
  std::sort(tensors.begin(), tensors.end(), [](const HeaderTensor& a, const HeaderTensor& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t covered = 0;
  for (const HeaderTensor& tensor : tensors) {
    if (tensor.begin != covered) {
      reader.corrupt_at(tensor.position,
                        "tensor " + printable(tensor.name) +
                            (tensor.begin < covered ? " overlaps another" : " follows a hole") +
                            "; got data offset " + std::to_string(tensor.begin) + ", expected " +
                            std::to_string(covered));
    }
    covered = tensor.end;
  }
  if (covered != data_bytes) {
    reader.corrupt("data that belongs to no tensor; got " + std::to_string(data_bytes) +
                   " bytes, expected " + std::to_string(covered));
  }
}

void check_names(std::vector<HeaderTensor>& tensors, const HeaderReader& reader) {
  std::sort(tensors.begin(), tensors.end(),
            [](const HeaderTensor& a, const HeaderTensor& b) { return a.name < b.name; });
  for (std::size_t i = 1; i < tensors.size(); ++i) {
    if (tensors[i].name == tensors[i - 1].name) {
      reader.corrupt_at(std::max(tensors[i].position, tensors[i - 1].position),
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
  const auto corrupt = [&](const std::string& what, std::size_t position) {
    throw Error(ErrorCode::corrupt_file,
                "safetensors: " + source + ": " + what + "; at byte " + std::to_string(position));
  };
  if (bytes.size() < kLengthBytes) {
    corrupt("too short; got " + std::to_string(bytes.size()) + " bytes, expected at least 8",
            bytes.size());
  }
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    length |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  }
  if (length > kMaxSafetensorsHeader) {
    corrupt("header too long; got " + std::to_string(length) + " bytes, expected at most " +
                std::to_string(kMaxSafetensorsHeader),
            0);
  }
  if (length > bytes.size() - kLengthBytes) {
    corrupt("header cut off; got " + std::to_string(bytes.size() - kLengthBytes) +
                " bytes, expected " + std::to_string(length),
            bytes.size());
  }
  const auto header = bytes.subspan(kLengthBytes, static_cast<std::size_t>(length));
  const auto data = bytes.subspan(kLengthBytes + header.size());
  try {
    HeaderReader reader(header, data.size(), source);
    reader.read();
    std::vector<HeaderTensor> tensors = reader.take_tensors();
    check_coverage(tensors, data.size(), reader);
    check_names(tensors, reader);
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
  const auto encoded = [&](const std::string& text) {
    std::optional<std::string> json = json_string(text);
    if (!json) invalid("a name or metadata that is not UTF-8; got " + printable(text));
    return std::move(*json);
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

  std::string json = "{";
  if (!metadata.empty()) {
    json += "\"__metadata__\":{";
    for (const auto& [key, value] : metadata) {
      if (json.back() != '{') json += ',';
      json += encoded(key) + ":" + encoded(value);
    }
    json += '}';
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
    if (json.size() > 1) json += ',';
    json += encoded(tensor.name) + ":{\"dtype\":\"";
    json += info(tensor.dtype).safetensors;
    json += "\",\"shape\":[";
    for (int axis = 0; axis < tensor.shape.rank(); ++axis) {
      if (axis > 0) json += ',';
      json += std::to_string(tensor.shape[axis]);
    }
    json += "],\"data_offsets\":[" + std::to_string(offset) + ",";
    offset += *bytes;
    json += std::to_string(offset) + "]}";
  }
  json += '}';
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
