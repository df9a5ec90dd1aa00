#include "tools/lm/text_dataset.h"

#include <algorithm>
#include <utility>

#include "core/counted.h"
#include "core/integer_math.h"
#include "io/file.h"
#include "tools/training/draw.h"

namespace hearth::tools {
namespace {

constexpr std::uint64_t kHeldOutPart = 20;  // one in twenty bytes
constexpr std::uint64_t kTextLimit = std::uint64_t{1} << 40;
constexpr std::int64_t kMaxBatchTokens = std::int64_t{1} << 40;

// A value in [0, bound); bound is far below 2^64, so the bias of the remainder does not show.
std::uint64_t draw_below(std::uint64_t seed, std::int64_t step, std::int64_t row,
                         std::uint64_t bound) noexcept {
  return draw(seed, static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(row)) % bound;
}

}  // namespace

TextDataset TextDataset::open(const std::string& path, std::int64_t context) {
  return TextDataset(io::read_file(path, kTextLimit), context, "\"" + path + "\"");
}

TextDataset::TextDataset(std::vector<std::byte> text, std::int64_t context,
                         const std::string& source)
    : text_(std::move(text)), context_(context) {
  if (context < 1 || context >= kMaxBatchTokens) {
    throw Error(ErrorCode::invalid_argument, "text: context out of range; got " +
                                                 std::to_string(context) + ", expected at least 1");
  }
  const std::size_t held_out_bytes = text_.size() / kHeldOutPart;
  train_bytes_ = text_.size() - held_out_bytes;
  const std::uint64_t window = static_cast<std::uint64_t>(context) + 1;
  if (held_out_bytes < window || train_bytes_ < window) {
    throw Error(ErrorCode::invalid_argument,
                "text: " + source + " is too short for a context of " + std::to_string(context) +
                    "; got " + counted(text_.size(), "byte") + ", expected at least " +
                    std::to_string(kHeldOutPart * window));
  }
}

std::span<const std::uint8_t> TextDataset::train() const noexcept {
  return {reinterpret_cast<const std::uint8_t*>(text_.data()), train_bytes_};
}

std::span<const std::uint8_t> TextDataset::held_out() const noexcept {
  return {reinterpret_cast<const std::uint8_t*>(text_.data()) + train_bytes_,
          text_.size() - train_bytes_};
}

TokenBatch TextDataset::empty_batch(std::int64_t batch) const {
  if (batch < 1 || batch > kMaxBatchTokens / context_) {
    throw Error(ErrorCode::invalid_argument,
                "text: batch out of range; got " + std::to_string(batch) + ", expected at least 1");
  }
  TokenBatch out;
  out.batch = batch;
  out.context = context_;
  out.tokens.reserve(static_cast<std::size_t>(batch * context_));
  out.targets.reserve(static_cast<std::size_t>(batch * context_));
  return out;
}

void TextDataset::append_window(std::span<const std::uint8_t> part, std::uint64_t start,
                                TokenBatch& batch) const {
  const auto length = static_cast<std::size_t>(context_);
  const auto window = part.subspan(static_cast<std::size_t>(start), length + 1);
  const auto tokens = window.first(length);
  const auto targets = window.last(length);
  batch.tokens.insert(batch.tokens.end(), tokens.begin(), tokens.end());
  batch.targets.insert(batch.targets.end(), targets.begin(), targets.end());
}

TokenBatch TextDataset::train_batch(std::uint64_t seed, std::int64_t step,
                                    std::int64_t batch) const {
  TokenBatch out = empty_batch(batch);
  const std::uint64_t starts = train_bytes_ - static_cast<std::uint64_t>(context_);
  for (std::int64_t row = 0; row < batch; ++row) {
    append_window(train(), draw_below(seed, step, row, starts), out);
  }
  return out;
}

std::vector<TokenBatch> TextDataset::held_out_batches(std::int64_t batch,
                                                      std::int64_t bytes) const {
  empty_batch(batch);  // checks the argument
  const auto context = static_cast<std::uint64_t>(context_);
  const auto rows = static_cast<std::uint64_t>(batch);
  const std::uint64_t available = held_out().size() - 1;  // the first byte is no target
  const std::uint64_t wanted =
      std::min(available, static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 1)));
  std::uint64_t windows = ceil_div(wanted, context);
  windows = round_up(windows, rows);
  // Starts from 0 to available - context at equal distances. Where the windows could hold the whole
  // part, the distance is at most a context, so no byte is left out.
  const std::uint64_t last = available - context;
  std::vector<TokenBatch> batches;
  for (std::uint64_t window = 0; window < windows; ++window) {
    if (window % rows == 0) batches.push_back(empty_batch(batch));
    const std::uint64_t start = windows == 1 ? 0 : last * window / (windows - 1);
    append_window(held_out(), start, batches.back());
  }
  return batches;
}

}  // namespace hearth::tools
