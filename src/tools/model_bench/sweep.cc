#include "tools/model_bench/sweep.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/quoted.h"
#include "hearth/error.h"

namespace hearth::tools {
namespace {

constexpr std::size_t kMostCounts = 256;  // of one option
constexpr std::size_t kMostSteps = 4096;

class CountReader {
 public:
  CountReader(const std::string& option, std::int64_t low, std::int64_t high)
      : option_(option), low_(low), high_(high) {}

  void read(const std::string& list) {
    std::string_view rest = list;
    while (true) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      read_one(rest.substr(0, comma));
      if (comma == rest.size()) return;
      rest.remove_prefix(comma + 1);
    }
  }
  std::vector<std::int64_t> take() { return std::move(counts_); }

 private:
  [[noreturn]] void fail(std::string_view got) const {
    throw Error(ErrorCode::invalid_argument,
                "bench-model: " + option_ + ": no list of numbers; got " + hearth::quoted(got, 40) +
                    ", expected such as 512,1024 or 16-64*2, of " + std::to_string(low_) + " to " +
                    std::to_string(high_));
  }

  std::int64_t take_number(std::string_view& text, std::string_view whole) const {
    std::int64_t number = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (status != std::errc() || end == text.data() || text.front() == '-') fail(whole);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
  }

  void add(std::int64_t count, std::string_view whole) {
    if (count < low_ || count > high_) fail(whole);
    if (counts_.size() == kMostCounts) {
      throw Error(ErrorCode::invalid_argument, "bench-model: " + option_ +
                                                   ": too many numbers; got more than " +
                                                   std::to_string(kMostCounts));
    }
    counts_.push_back(count);
  }

  void read_one(std::string_view text) {
    const std::string_view whole = text;
    const std::int64_t first = take_number(text, whole);
    if (text.empty()) return add(first, whole);
    if (!text.starts_with('-')) fail(whole);
    text.remove_prefix(1);
    const std::int64_t last = take_number(text, whole);
    std::int64_t step = 1;
    bool multiplies = false;
    if (!text.empty()) {
      multiplies = text[0] == '*';
      if (!multiplies && text[0] != '+') fail(whole);
      text.remove_prefix(1);
      step = take_number(text, whole);
    }
    const bool moves = multiplies ? step > 1 && first > 0 : step > 0;
    if (!text.empty() || !moves || first > last || last > high_ || step > high_) fail(whole);
    // No product or sum overflows: options allow far less than 2^31.
    for (std::int64_t at = first; at <= last; at = multiplies ? at * step : at + step) {
      add(at, whole);
    }
  }

  const std::string& option_;
  std::int64_t low_, high_;
  std::vector<std::int64_t> counts_;
};

}  // namespace

std::int64_t ModelBenchSweep::most_rows() const {
  std::int64_t most =
      std::max(*std::ranges::max_element(prompts), *std::ranges::max_element(tokens));
  for (const auto& [prompt, written] : pairs) most = std::max(most, prompt + written);
  return *std::ranges::max_element(depths) + most;
}

std::vector<std::int64_t> counts_of_lists(const std::string& option,
                                          const std::vector<std::string>& lists, std::int64_t low,
                                          std::int64_t high) {
  CountReader reader(option, low, high);
  for (const std::string& list : lists) reader.read(list);
  return reader.take();
}

std::vector<std::pair<std::int64_t, std::int64_t>> pairs_of_lists(
    const std::string& option, const std::vector<std::string>& lists, std::int64_t high) {
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
  for (const std::string& list : lists) {
    const std::vector<std::int64_t> counts = counts_of_lists(option, {list}, 1, high);
    if (counts.size() != 2) {
      throw Error(ErrorCode::invalid_argument, "bench-model: " + option + ": no pair; got " +
                                                   hearth::quoted(list, 40) +
                                                   ", expected such as 512,128");
    }
    pairs.emplace_back(counts.front(), counts.back());
  }
  return pairs;
}

std::vector<ModelBenchStep> steps_of(const ModelBenchSweep& sweep, const ModelBenchOptions& options,
                                     bool writes_texts) {
  const std::size_t count = (sweep.prompts.size() + sweep.tokens.size() + sweep.pairs.size()) *
                            sweep.depths.size() * sweep.parallel.size() * sweep.prefills.size() *
                            sweep.threads.size();
  if (count > kMostSteps) {
    throw Error(ErrorCode::invalid_argument, "bench-model: too many combinations; got " +
                                                 std::to_string(count) + ", expected at most " +
                                                 std::to_string(kMostSteps));
  }
  if (!writes_texts && !sweep.pairs.empty()) {
    throw Error(ErrorCode::invalid_argument,
                "bench-model: --prompt-tokens of a model that writes no texts; expected --prompt");
  }
  std::vector<ModelBenchStep> steps;
  ModelBenchOptions one = options;
  const auto add = [&](std::int64_t prompt, std::int64_t tokens, std::int64_t threads) {
    if (prompt == 0 && tokens == 0) return;
    one.prompt = prompt;
    one.tokens = tokens;
    steps.push_back({one, threads});
  };
  for (const std::int64_t threads : sweep.threads) {
    for (const std::int64_t prefill : sweep.prefills) {
      for (const std::int64_t parallel : sweep.parallel) {
        for (const std::int64_t depth : sweep.depths) {
          one.prefill = prefill;
          one.parallel = parallel;
          one.depth = depth;
          const bool reads = !writes_texts || parallel == sweep.parallel.front();
          for (const std::int64_t prompt : sweep.prompts) {
            if (reads) add(prompt, 0, threads);
          }
          for (const std::int64_t tokens : sweep.tokens) add(0, tokens, threads);
          one.together = true;
          for (const auto& [prompt, tokens] : sweep.pairs) add(prompt, tokens, threads);
          one.together = false;
        }
      }
    }
  }
  return steps;
}

}  // namespace hearth::tools
