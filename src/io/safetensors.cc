#include "io/safetensors.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

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
  std::string text = nlohmann::json(std::string(name.substr(0, kShown)))
                         .dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
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

// As much of an input iterator over a header as the parser uses; counts the bytes it has read.
class CountedBytes {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  CountedBytes(const char* at, std::size_t& count) : at_(at), count_(&count) {}
  char operator*() const { return *at_; }
  CountedBytes& operator++() {
    ++at_;
    ++*count_;
    return *this;
  }
  bool operator==(const CountedBytes& other) const { return at_ == other.at_; }

 private:
  const char* at_;
  std::size_t* count_;
};

// Accepts the events of a JSON parser as long as they follow the grammar of a header. The grammar
// knows what value comes next, so a value that nests deeper than it allows is refused at its
// opening bracket, and neither stack nor heap grows with the nesting of hostile input. Events
// return false to stop the parser, after failure_ has been set.
class HeaderEvents {
 public:
  HeaderEvents(std::string_view text, std::uint64_t data_bytes, const Blame& blame)
      : text_(text), data_bytes_(data_bytes), blame_(blame) {}

  // Parses all of the text. Throws Error{corrupt_file} or Error{unsupported}.
  void read() {
    check_bytes();
    const CountedBytes first(text_.data(), read_);
    const CountedBytes last(text_.data() + text_.size(), read_);
    if (!nlohmann::json::sax_parse(first, last, this)) throw *failure_;
  }

  std::vector<HeaderTensor> take_tensors() { return std::move(tensors_); }
  SafetensorsMetadata take_metadata() { return std::move(metadata_); }

  // The events, named and typed by the parser.
  bool null() { return unexpected("null"); }
  bool boolean(bool) { return unexpected("true or false"); }
  bool number_integer(std::int64_t) { return unexpected("a negative number"); }
  bool number_float(double, const std::string&) {
    return unexpected("a number with a fraction, an exponent or more than 64 bits");
  }
  bool binary(nlohmann::json::binary_t&) { return unexpected("binary data"); }

  bool number_unsigned(std::uint64_t value) {
    if (next_ != Next::extent && next_ != Next::offset) return unexpected("a number");
    next_token();
    end_ = read_ - 1;  // the parser has looked at the byte after the number
    return next_ == Next::extent ? add_extent(value) : add_offset(value);
  }

  bool string(std::string& value) {
    if (next_ != Next::metadata_text && next_ != Next::dtype) return unexpected("a string");
    next_token();
    if (next_ == Next::dtype) return set_dtype(value);
    *metadata_text_ = std::move(value);
    return true;
  }

  bool start_array(std::size_t) {
    if (next_ != Next::shape && next_ != Next::offsets) return unexpected("'['");
    next_token();
    next_ = next_ == Next::shape ? Next::extent : Next::offset;
    return true;
  }

  bool end_array() {
    next_token();
    return next_ == Next::extent || offsets_ == 2 || refuse_offsets();
  }

  bool start_object(std::size_t) {
    if (next_ == Next::header) {
      object_ = Object::header;
    } else if (next_ == Next::tensor) {
      object_ = Object::tensor;
    } else if (next_ == Next::metadata) {
      object_ = Object::metadata;
    } else {
      return unexpected("'{'");
    }
    next_token();
    return true;
  }

  bool key(std::string& key) {
    next_token();
    if (object_ == Object::tensor) return start_field(key);
    if (object_ == Object::metadata) {
      const auto [at, is_new] = metadata_.try_emplace(std::move(key));
      metadata_text_ = &at->second;
      next_ = Next::metadata_text;
      return is_new || corrupt("a key of the metadata twice; got " + printable(at->first));
    }
    if (key == kMetadataKey) {
      next_ = Next::metadata;
      return !std::exchange(has_metadata_, true) || corrupt("\"__metadata__\" twice");
    }
    next_ = Next::tensor;
    tensors_.emplace_back();
    tensors_.back().name = std::move(key);
    tensors_.back().position = kLengthBytes + token_;
    has_dtype_ = has_shape_ = has_offsets_ = false;
    offsets_ = 0;
    return true;
  }

  bool end_object() {
    next_token();
    const Object closed = std::exchange(object_, Object::header);
    if (closed == Object::tensor) return check_tensor();
    if (closed == Object::metadata) return true;
    // The parser takes a zero byte for the end of its input, so what follows is looked at here.
    const std::size_t more = text_.find_first_not_of(kBlank, end_);
    if (more == std::string_view::npos) return true;
    token_ = more;
    return corrupt("bytes after the JSON object");
  }

  bool parse_error(std::size_t bytes_read, const std::string&,
                   const nlohmann::json::exception& error) {
    constexpr int kNumberBeyondDouble = 406;
    if (error.id == kNumberBeyondDouble) return number_float(0, {});
    // "[ids] parse error at ...: syntax error while parsing CONTEXT - REASON; expected ...", where
    // "; last read: " stands before untrusted bytes.
    constexpr std::string_view kContext = "while parsing ";
    std::string_view reason = error.what();
    reason = reason.substr(0, reason.find("; last read: "));
    if (const std::size_t at = reason.find(kContext); at != std::string_view::npos) {
      reason.remove_prefix(at + kContext.size());
    }
    std::string what = "broken JSON: ";
    if (reason.starts_with("value")) {
      what.append(reason.substr(0, reason.find(';'))).append("; expected ").append(expected());
    } else {
      what.append(reason);
    }
    token_ = bytes_read - 1;
    return corrupt(what);
  }

 private:
  enum class Next {
    header,
    tensor,
    metadata,
    metadata_text,
    dtype,
    shape,
    extent,
    offsets,
    offset
  };
  enum class Object { header, metadata, tensor };

  static constexpr std::string_view kBlank = " \t\n\r";
  // White space other than spaces in one run. The parser's messages quote it, each byte as eight.
  static constexpr std::size_t kMaxBreaks = 65536;

  // Refuses what is cheaper to refuse before parsing.
  void check_bytes() const {
    if (!text_.starts_with('{')) {
      blame_.corrupt(kLengthBytes, "a header that does not begin with '{'");
    }
    std::size_t breaks = 0;
    for (std::size_t i = 0; i < text_.size(); ++i) {
      const auto byte = static_cast<unsigned char>(text_[i]);
      breaks = byte > ' ' ? 0 : breaks + (byte < ' ');
      if (breaks > kMaxBreaks) {
        blame_.corrupt(kLengthBytes + i, "too much white space; expected at most " +
                                             std::to_string(kMaxBreaks) + " line breaks in a row");
      }
    }
  }

  // Moves on to the token that the parser has just read.
  void next_token() {
    token_ = std::min(text_.find_first_not_of(" \t\n\r:,", end_), text_.size());
    end_ = read_;
  }

  bool fail(ErrorCode code, const std::string& what) {
    failure_ = blame_.error(code, kLengthBytes + token_, what);
    return false;
  }
  bool corrupt(const std::string& what) { return fail(ErrorCode::corrupt_file, what); }
  bool unexpected(const char* got) {
    next_token();
    return corrupt(std::string("a wrong value; got ") + got + ", expected " + expected());
  }

  const char* expected() const {
    switch (next_) {
      case Next::header:
        return "'{'";
      case Next::tensor:
        return "'{': a description of a tensor";
      case Next::metadata:
        return "'{': the metadata";
      case Next::metadata_text:
        return "a string of UTF-8: a value of the metadata";
      case Next::dtype:
        return "a string of UTF-8: the name of a dtype";
      case Next::shape:
        return "'[': a shape";
      case Next::extent:
        return "an integer from 0 to 2^64 - 1: an extent";
      case Next::offsets:
        return "'[': data offsets";
      case Next::offset:
        return "an integer from 0 to 2^64 - 1: a data offset";
    }
    return "nothing";
  }

  HeaderTensor& tensor() { return tensors_.back(); }
  std::string who() { return "tensor " + printable(tensor().name); }

  bool start_field(const std::string& key) {
    const auto is = [&](std::string_view name, bool& seen) {
      return key == name && !std::exchange(seen, true);
    };
    if (is("dtype", has_dtype_)) {
      next_ = Next::dtype;
    } else if (is("shape", has_shape_)) {
      next_ = Next::shape;
    } else if (is("data_offsets", has_offsets_)) {
      next_ = Next::offsets;
    } else {
      return corrupt(who() + " has the key " + printable(key) +
                     ", expected \"dtype\", \"shape\" and \"data_offsets\" once each");
    }
    return true;
  }

  bool set_dtype(const std::string& value) {
    for (int i = 0; i < kDTypeCount; ++i) {
      if (info(static_cast<DType>(i)).safetensors == value) {
        tensor().dtype = static_cast<DType>(i);
        return true;
      }
    }
    const std::string what = who() + " has the dtype " + printable(value);
    if (std::find(std::begin(kForeignDTypes), std::end(kForeignDTypes), value) !=
        std::end(kForeignDTypes)) {
      return fail(ErrorCode::unsupported, what + ", which has no counterpart here");
    }
    return corrupt(what + ", which the format does not know");
  }

  bool add_extent(std::uint64_t extent) {
    if (extent > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return corrupt(who() + " has an extent beyond 63 bits");
    }
    if (tensor().shape.rank() == kMaxRank) {
      return fail(ErrorCode::unsupported,
                  who() + " has too many axes; expected at most " + std::to_string(kMaxRank));
    }
    tensor().shape.push_back(static_cast<std::int64_t>(extent));
    return true;
  }

  bool add_offset(std::uint64_t offset) {
    if (offsets_ == 2) return refuse_offsets();
    (offsets_++ == 0 ? tensor().begin : tensor().end) = offset;
    return true;
  }

  bool refuse_offsets() {
    return corrupt(who() + " has more or less than two data offsets; expected [begin, end]");
  }

  // Checks that the tensor is complete, and its shape, dtype and offsets against each other and
  // against the data.
  bool check_tensor() {
    if (!has_dtype_ || !has_shape_ || !has_offsets_) {
      return corrupt(who() + " is incomplete, expected \"dtype\", \"shape\" and \"data_offsets\"");
    }
    const auto& [name, dtype, shape, begin, end, position] = tensor();
    if (begin > end || end > data_bytes_) {
      return corrupt(who() + " lies outside the data; got [" + std::to_string(begin) + ", " +
                     std::to_string(end) + "), expected offsets within " +
                     std::to_string(data_bytes_) + " bytes");
    }
    const std::optional<std::uint64_t> bytes = checked_bytes(shape, dtype);
    if (!bytes) return corrupt(who() + " has a shape that overflows; got " + to_string(shape));
    if (*bytes != end - begin) {
      return corrupt(who() + " has offsets that do not fit its shape; got " +
                     std::to_string(end - begin) + " bytes, expected " + std::to_string(*bytes) +
                     " for " + std::string(hearth::name(dtype)) + " " + to_string(shape));
    }
    return true;
  }

  std::string_view text_;
  std::uint64_t data_bytes_;
  const Blame& blame_;
  std::optional<Error> failure_;

  // Positions in text_: how much the parser has read, and where the last token begins and ends.
  std::size_t read_ = 0;
  std::size_t token_ = 0;
  std::size_t end_ = 0;

  Next next_ = Next::header;        // the value that the grammar wants next
  Object object_ = Object::header;  // the innermost open object
  std::string* metadata_text_ = nullptr;
  bool has_metadata_ = false;
  bool has_dtype_ = false;
  bool has_shape_ = false;
  bool has_offsets_ = false;
  int offsets_ = 0;
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
    HeaderEvents events({reinterpret_cast<const char*>(header.data()), header.size()}, data.size(),
                        blame);
    events.read();
    std::vector<HeaderTensor> tensors = events.take_tensors();
    check_coverage(tensors, data.size(), kLengthBytes + header.size(), blame);
    check_names(tensors, blame);
    SafetensorsFile file;
    file.metadata_ = events.take_metadata();
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
    std::string json;
    try {
      json = nlohmann::json(text).dump();
    } catch (const nlohmann::json::type_error&) {
      invalid("a name or metadata that is not UTF-8; got " + printable(text));
    }
    return json;
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
