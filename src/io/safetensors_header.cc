#include "io/safetensors_header.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

namespace hearth::io {
namespace {

// Element types of the format that Hearth has no dtype for.
constexpr std::string_view kForeignDTypes[] = {"F4",      "F6_E2M3", "F6_E3M2", "F8_E5M2",
                                               "F8_E4M3", "F8_E8M0", "C64"};

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
  HeaderEvents(std::string_view text, std::uint64_t data_bytes, const FileErrors& errors,
               Float8Tensors float8)
      : text_(text), data_bytes_(data_bytes), errors_(errors), float8_(float8) {}

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
      errors_.corrupt(kLengthBytes, "a header that does not begin with '{'");
    }
    std::size_t breaks = 0;
    for (std::size_t i = 0; i < text_.size(); ++i) {
      const auto byte = static_cast<unsigned char>(text_[i]);
      breaks = byte > ' ' ? 0 : breaks + (byte < ' ');
      if (breaks > kMaxBreaks) {
        errors_.corrupt(kLengthBytes + i, "too much white space; expected at most " +
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
    failure_ = errors_.error(code, kLengthBytes + token_, what);
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
    for (const Float8 type : {Float8::e4m3, Float8::e5m2, Float8::e8m0}) {
      if (float8_ == Float8Tensors::refuse || value != safetensors_name(type)) continue;
      tensor().dtype = DType::u8;
      tensor().float8 = type;
      return true;
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
    const auto& [name, dtype, shape, begin, end, position, float8] = tensor();
    if (begin > end || end > data_bytes_) {
      return corrupt(who() + " lies outside the data; got [" + std::to_string(begin) + ", " +
                     std::to_string(end) + "), expected offsets within " +
                     std::to_string(data_bytes_) +
                     " bytes: the file is cut off, as by an incomplete download, or wrong");
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
  const FileErrors& errors_;
  Float8Tensors float8_;
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

}  // namespace

std::string printable(std::string_view name) {
  constexpr std::size_t kShown = 64;
  std::string text = nlohmann::json(std::string(name.substr(0, kShown)))
                         .dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  if (name.size() > kShown) text.insert(text.size() - 1, "...");
  return text;
}

SafetensorsHeader read_header(std::string_view text, std::uint64_t data_bytes,
                              const FileErrors& errors, Float8Tensors float8) {
  HeaderEvents events(text, data_bytes, errors, float8);
  events.read();
  return {events.take_tensors(), events.take_metadata()};
}

}  // namespace hearth::io
