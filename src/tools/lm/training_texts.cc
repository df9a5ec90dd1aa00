#include "tools/lm/training_texts.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/hashing.h"
#include "hearth/error.h"
#include "io/file.h"
#include "models/language/model/text_loss.h"
#include "tools/lm/training_lines.h"
#include "tools/training/draw.h"

namespace hearth::tools {
namespace {

using Text = TrainingTexts::Text;

constexpr std::uint64_t kMostTextBytes = std::uint64_t{1} << 32;
constexpr std::size_t kOneHeldOut = 20;  // in so many
constexpr std::size_t kEvaluationWindows = 64;

// Whether a token that counts follows another one.
bool teaches(const Text& text) {
  const auto first = text.counts.begin() + std::min<std::ptrdiff_t>(1, std::ssize(text.counts));
  return std::find(first, text.counts.end(), true) != text.counts.end();
}

std::vector<Text> texts_of_lines(std::string_view bytes, const models::LoadedModel& loaded,
                                 std::int64_t context, TrainingTexts::Cuts& cuts) {
  TrainingLines lines(loaded);
  std::vector<Text> texts;
  std::size_t line = 0;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t end = std::min(bytes.find('\n', at), bytes.size());
    const std::string text(bytes.substr(at, end - at));
    at = end + 1;
    ++line;
    if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
    auto [made, has_windows] = lines.read(text, line);
    if (has_windows) {
      const std::size_t least = made.first < 0 ? 2 : 1;
      if (made.tokens.size() >= least) texts.push_back(std::move(made));
      continue;
    }
    ++cuts.lines;
    const auto most = std::min(made.tokens.size(), static_cast<std::size_t>(context) + 1);
    const auto lost = std::count(made.counts.begin() + static_cast<std::ptrdiff_t>(most),
                                 made.counts.end(), true);
    made.tokens.resize(most);
    made.counts.resize(most);
    if (!teaches(made)) {
      ++cuts.left_out;
      continue;
    }
    if (lost > 0) ++cuts.shortened;
    texts.push_back(std::move(made));
  }
  return texts;
}

Text plain_text(std::vector<std::int32_t> tokens, std::int32_t first) {
  const std::size_t count = tokens.size();
  return {std::move(tokens), std::vector<bool>(count, true), first};
}

}  // namespace

TrainingTexts TrainingTexts::open(const std::string& path, const models::LoadedModel& loaded,
                                  std::int64_t context) {
  const std::vector<std::byte> read = io::read_file(path, kMostTextBytes);
  const std::string_view bytes(reinterpret_cast<const char*>(read.data()), read.size());
  std::vector<Text> train, held_out;
  Cuts cuts;
  if (path.ends_with(".jsonl")) {
    train = texts_of_lines(bytes, loaded, context, cuts);
    const std::size_t kept = train.size() - train.size() / kOneHeldOut;
    held_out.assign(std::make_move_iterator(train.begin() + static_cast<std::ptrdiff_t>(kept)),
                    std::make_move_iterator(train.end()));
    train.resize(kept);
  } else {
    const models::Tokenizer& tokenizer = loaded.tokenizer;
    const std::int32_t bos = tokenizer.adds_bos() ? tokenizer.special().bos : -1;
    std::vector<std::int32_t> tokens = tokenizer.encode(bytes, {.add_special = false});
    const std::size_t last = tokens.size() / kOneHeldOut;
    if (last > static_cast<std::size_t>(context)) {
      const auto cut = tokens.end() - static_cast<std::ptrdiff_t>(last);
      held_out.push_back(plain_text({cut, tokens.end()}, bos));
      tokens.erase(cut, tokens.end());
    }
    if (tokens.size() > 1) train.push_back(plain_text(std::move(tokens), bos));
  }
  if (train.empty()) {
    throw Error(ErrorCode::invalid_argument,
                path + ": finetune: nothing to learn from; got no token that counts within " +
                    std::to_string(context) + ", expected at least one");
  }
  TrainingTexts texts(std::move(train), std::move(held_out), context);
  texts.cuts_ = cuts;
  return texts;
}

TrainingTexts::TrainingTexts(std::vector<Text> train, std::vector<Text> held_out,
                             std::int64_t context)
    : train_(std::move(train)), held_out_(std::move(held_out)), context_(context) {}

std::uint64_t TrainingTexts::fingerprint() const {
  std::uint64_t hash = kFnvBasis;
  for (const auto& part : {std::cref(train_), std::cref(held_out_)}) {
    for (const Text& text : part.get()) hash = fnv1a(std::as_bytes(std::span(text.tokens)), hash);
  }
  return hash;
}

std::int64_t TrainingTexts::window_of(const Text& text) const {
  const std::int64_t own = context_ + (text.first >= 0 ? 0 : 1);
  return std::min(own, static_cast<std::int64_t>(text.tokens.size()));
}

void TrainingTexts::append(const Text& text, std::int64_t start, TokenRows& rows) const {
  std::vector<std::int32_t> tokens, targets;
  if (text.first >= 0) tokens.push_back(text.first);
  const std::int64_t count = window_of(text);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(start + i);
    if (i > 0 || text.first >= 0) {
      targets.push_back(text.counts[at] ? text.tokens[at] : models::kNoTarget);
    }
    tokens.push_back(text.tokens[at]);
  }
  tokens.resize(static_cast<std::size_t>(context_), 0);
  targets.resize(static_cast<std::size_t>(context_), models::kNoTarget);
  rows.counted +=
      std::ssize(targets) - std::count(targets.begin(), targets.end(), models::kNoTarget);
  rows.tokens.insert(rows.tokens.end(), tokens.begin(), tokens.end());
  rows.targets.insert(rows.targets.end(), targets.begin(), targets.end());
  ++rows.texts;
}

TokenRows TrainingTexts::train_batch(std::uint64_t seed, std::int64_t step,
                                     std::int64_t batch) const {
  TokenRows rows;
  rows.width = context_;
  for (std::int64_t row = 0; row < batch; ++row) {
    const std::uint64_t which =
        draw(seed, static_cast<std::uint64_t>(step), 2 * static_cast<std::uint64_t>(row));
    const std::uint64_t where =
        draw(seed, static_cast<std::uint64_t>(step), 2 * static_cast<std::uint64_t>(row) + 1);
    const Text& text = train_[which % train_.size()];
    const std::uint64_t starts =
        text.tokens.size() - static_cast<std::uint64_t>(window_of(text)) + 1;
    append(text, static_cast<std::int64_t>(where % starts), rows);
  }
  return rows;
}

std::vector<TokenRows> TrainingTexts::evaluation_batches(std::int64_t batch) const {
  std::vector<std::pair<const Text*, std::int64_t>> all;
  for (const Text& text : held_out_.empty() ? train_ : held_out_) {
    const std::int64_t window = window_of(text);
    const auto size = static_cast<std::int64_t>(text.tokens.size());
    for (std::int64_t start = 0; start + window <= size; start += window) {
      all.emplace_back(&text, start);
    }
  }
  const std::size_t count = std::min(all.size(), kEvaluationWindows);
  std::vector<TokenRows> batches;
  for (std::size_t i = 0; i < count; ++i) {
    if (batches.empty() || batches.back().texts == batch) batches.emplace_back().width = context_;
    const auto& [text, start] = all[i * all.size() / count];
    append(*text, start, batches.back());
  }
  return batches;
}

}  // namespace hearth::tools
