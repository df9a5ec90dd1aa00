#include "io/gguf_writer.h"

#include <bit>
#include <string_view>
#include <utility>

#include "core/integer_math.h"
#include "core/quoted.h"
#include "io/gguf.h"
#include "io/gguf_split.h"
#include "io/untrusted.h"

namespace hearth::io {
namespace {

constexpr std::string_view kGgufEnding = ".gguf";
constexpr std::int64_t kMaxAlignment = std::int64_t{1} << 30;

[[noreturn]] void invalid_gguf(const std::string& what) {
  throw Error(ErrorCode::invalid_argument, "save_gguf: " + what);
}

std::int64_t alignment_of(const GgufMetadata& metadata, const GgufOptions& options) {
  const std::int64_t alignment = options.alignment != 0
                                     ? options.alignment
                                     : metadata.as_int(kGgufAlignmentKey, kGgufAlignment);
  if (alignment < 8 || alignment > kMaxAlignment ||
      !std::has_single_bit(static_cast<std::uint64_t>(alignment))) {
    invalid_gguf("a wrong alignment; got " + std::to_string(alignment) +
                 ", expected a power of two from 8 to 2^30");
  }
  return alignment;
}

// The tensors with which the parts begin.
std::vector<std::size_t> first_tensors(const std::vector<GgufTensor>& tensors,
                                       std::int64_t max_bytes) {
  if (max_bytes < 0) {
    invalid_gguf("a negative limit for the bytes of a file; got " + std::to_string(max_bytes) +
                 ", expected at least 0");
  }
  std::vector<std::size_t> first = {0};
  std::uint64_t in_part = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::uint64_t bytes = checked_bytes(tensors[i].shape, tensors[i].dtype).value_or(0);
    const bool fits = in_part + bytes <= static_cast<std::uint64_t>(max_bytes);
    if (max_bytes > 0 && i > first.back() && !fits) {
      first.push_back(i);
      in_part = 0;
    }
    in_part += bytes;
  }
  if (first.size() > kMaxGgufParts) {
    invalid_gguf("too many files; got " + std::to_string(first.size()) + ", expected at most " +
                 std::to_string(kMaxGgufParts));
  }
  return first;
}

std::vector<std::string> part_paths(const std::string& path, std::size_t count) {
  if (count == 1) return {path};
  GgufPartName name{path, 1, static_cast<int>(count)};
  if (path.ends_with(kGgufEnding)) name.stem.resize(path.size() - kGgufEnding.size());
  std::vector<std::string> paths;
  for (; name.number <= name.count; ++name.number) paths.push_back(gguf_part_path(name));
  return paths;
}

}  // namespace

GgufWriter::GgufWriter(const std::string& path, std::vector<GgufTensor> tensors,
                       const GgufMetadata& metadata, const GgufOptions& options)
    : tensors_(std::move(tensors)),
      metadata_(metadata),
      alignment_(alignment_of(metadata, options)) {
  // Names and shapes of all parts, before the first of them is there.
  static_cast<void>(gguf_header(tensors_, {}, alignment_));
  for (const std::string_view key : {kGgufSplitNumber, kGgufSplitCount, kGgufSplitTensors}) {
    metadata_.erase(key);
  }
  if (alignment_ != kGgufAlignment || metadata_.contains(kGgufAlignmentKey)) {
    metadata_.set(std::string(kGgufAlignmentKey), static_cast<std::uint32_t>(alignment_));
  }
  first_ = first_tensors(tensors_, options.max_shard_bytes);
  paths_ = part_paths(path, first_.size());
  open_parts();
}

// Opens those parts that are due: up to the one of the next tensor.
void GgufWriter::open_parts() {
  while (files_.size() < first_.size() && first_[files_.size()] <= next_) {
    const std::string header = part_header(files_.size());
    files_.push_back(std::make_unique<AtomicFileWriter>(paths_[files_.size()]));
    files_.back()->write(header);
  }
}

std::string GgufWriter::part_header(std::size_t part) const {
  const std::size_t begin = first_[part];
  const std::size_t end = part + 1 < first_.size() ? first_[part + 1] : tensors_.size();
  const std::span<const GgufTensor> tensors(tensors_.data() + begin, end - begin);
  if (first_.size() == 1) return gguf_header(tensors, metadata_, alignment_);
  GgufMetadata metadata;
  if (part == 0) {
    metadata = metadata_;
  } else if (const GgufValue* alignment = metadata_.find(kGgufAlignmentKey)) {
    metadata.set(std::string(kGgufAlignmentKey), *alignment);
  }
  // In the types that llama.cpp gives them.
  metadata.set(std::string(kGgufSplitNumber), static_cast<std::uint16_t>(part));
  metadata.set(std::string(kGgufSplitCount), static_cast<std::uint16_t>(first_.size()));
  metadata.set(std::string(kGgufSplitTensors), static_cast<std::int32_t>(tensors_.size()));
  return gguf_header(tensors, metadata, alignment_);
}

void GgufWriter::write(std::span<const std::byte> bytes) {
  if (next_ == tensors_.size()) {
    invalid_gguf("more tensors than were announced; expected " + std::to_string(next_));
  }
  const GgufTensor& tensor = tensors_[next_];
  const std::uint64_t expected = *checked_bytes(tensor.shape, tensor.dtype);
  if (bytes.size() != expected) {
    invalid_gguf("tensor " + hearth::quoted(tensor.name) +
                 " has bytes that do not fit its shape; got " + std::to_string(bytes.size()) +
                 ", expected " + std::to_string(expected) + " for " +
                 std::string(hearth::name(tensor.dtype)) + " " + to_string(tensor.shape));
  }
  AtomicFileWriter& file = *files_.back();
  file.write(bytes);
  const std::size_t padded = round_up(bytes.size(), static_cast<std::size_t>(alignment_));
  file.write(std::string(padded - bytes.size(), '\0'));
  ++next_;
  open_parts();
}

void GgufWriter::commit() {
  if (next_ != tensors_.size()) {
    invalid_gguf("tensors are missing; got " + std::to_string(next_) + ", expected " +
                 std::to_string(tensors_.size()));
  }
  // The first last: without it the others are no model.
  for (auto file = files_.rbegin(); file != files_.rend(); ++file) (*file)->commit();
}

}  // namespace hearth::io
