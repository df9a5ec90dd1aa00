// Windows on the CPU and on the device that runs kernels, in caches of floats and of codes: a model
// whose layers let go of what they do not see any more has the bits that it has with all pages, and
// what lies in their places is never looked at.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "devices_under_test.h"
#include "hearth/numerics.h"
#include "hearth/ops.h"
#include "models/language/cache.h"
#include "models/language/windows.h"
#include "models/own_bits.h"
#include "models/random_language_model.h"
#include "models/rows_of_texts.h"

namespace hearth::models {
namespace {

using testing::random_tokens;
using testing::RowsOfTexts;

constexpr std::int64_t kCachePages = 30, kCachePage = 4, kMostPiece = 9, kCachedTexts = 3;

struct WindowCase {
  const char* model;
  const char* type;  // of caches
  bool is_kernel_device;
};

std::string name_of(const WindowCase& each) {
  return std::string(each.model) + "_" + each.type + (each.is_kernel_device ? "_kernels" : "_cpu");
}

void PrintTo(const WindowCase& each, std::ostream* out) { *out << name_of(each); }

testing::RandomModel weights_of(const char* model, DType compute) {
  return {.golden = model,
          .seed = 31,
          .compute = compute,
          .head_dim = 32,
          .window = 11,
          .has_poison = true};
}

// The layers have their windows, and all pages of their texts.
LanguageModel with_all_pages(LanguageModel model) {
  for (LayerConfig& layer : model.config.layers) layer.attention.window = 0;
  return model;
}

class WindowDevices : public ::testing::TestWithParam<WindowCase> {
 protected:
  WindowDevices()
      : device_(GetParam().is_kernel_device ? testing::kernel_device_under_test() : Device::cpu()),
        type_(cache_type_from_name(GetParam().type)),
        windows_(random_language_model(weights_of(GetParam().model, DType::f32),
                                       kCachePages * kCachePage, device_)),
        all_(with_all_pages(windows_)),
        exact_(with_all_pages(random_language_model(weights_of(GetParam().model, DType::f64),
                                                    kCachePages * kCachePage))) {}

  std::int64_t vocabulary() const { return windows_.vocabulary() - 1; }  // without the poison

  CacheOptions options(bool has_windows) const {
    CacheOptions made{.pages = kCachePages, .page_size = kCachePage, .states = 4};
    if (has_windows) {
      made.window_pages =
          kCachedTexts * window_pages_of_text(windows_.config, kMostPiece, kCachePage);
    }
    made.keys = made.values = type_;
    return made;
  }

  // Leaves NaNs in all pages of both kinds, by the text with number 0.
  void poison(RowsOfTexts& texts) const {
    const RowsOfTexts::Tokens tokens(static_cast<std::size_t>(kCachePages * kCachePage),
                                     static_cast<std::int32_t>(vocabulary()));
    const std::size_t text = texts.begin(tokens);
    texts.run(text, 32);
    texts.end(text);
  }

  // How far the scores of a text's last rows are from those in f64 of all its rows at once: the
  // squared error over the mean square.
  double error_of(const RowsOfTexts& texts, std::size_t text) const {
    RowsOfTexts whole(
        exact_,
        {.pages = kCachePages, .page_size = kCachePage, .keys = DType::f64, .values = DType::f64});
    const auto length = static_cast<std::size_t>(texts.length(text));
    whole.begin({texts.tokens(text).begin(),
                 texts.tokens(text).begin() + static_cast<std::ptrdiff_t>(length)});
    whole.run(0, kCachePages * kCachePage);
    const std::vector<float>& got = texts.scores(text);
    const std::vector<float>& expected = whole.scores(0);
    const std::size_t first = expected.size() - got.size();
    double error = 0, square = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      // Where the tables are one, nobody has a score of the token that is NaN.
      if ((first + i) % static_cast<std::size_t>(windows_.vocabulary()) ==
          static_cast<std::size_t>(vocabulary())) {
        continue;
      }
      const double wanted = expected[first + i], difference = got[i] - wanted;
      error += difference * difference;
      square += wanted * wanted;
    }
    return error / square;
  }

  // What caches of each type may lose.
  double most_error() const {
    const std::string type = GetParam().type;
    if (type == "f32") return 1e-9;
    if (type == "f16") return 1e-5;
    if (type == "q8_0") return 1e-2;
    return 1;
  }

  void expect_alike(const RowsOfTexts& windows, const RowsOfTexts& all, std::size_t text,
                    const std::string& what) const {
    EXPECT_EQ(windows.length(text), all.length(text)) << what;
    EXPECT_EQ(testing::different(windows.scores(text), all.scores(text)), 0u) << what;
    EXPECT_LE(error_of(windows, text), most_error()) << what;
  }

  const Device device_;
  const CacheType type_;
  const LanguageModel windows_, all_, exact_;
};

TEST_P(WindowDevices, LettingGoChangesNoBit) {
  ASSERT_GT(kept_window(windows_.config), 0);
  ASSERT_EQ(kept_window(all_.config), 0);
  RowsOfTexts windows(windows_, options(true)), all(all_, options(false));
  // The same steps of both.
  const auto each = [&](const auto& action) {
    action(windows);
    action(all);
  };
  poison(windows);
  all.begin({});
  all.end(0);
  const std::size_t first = 1, second = 2, third = 3;
  each([&](RowsOfTexts& texts) {
    for (std::uint32_t i = 0; i < kCachedTexts; ++i) {
      texts.begin(random_tokens(13 + 16 * i, vocabulary(), 40 + i));
    }
    texts.run_all(kMostPiece, 7);
  });
  for (const std::size_t text : {first, second, third}) {
    expect_alike(windows, all, text, "text " + std::to_string(text));
  }
  // Back over borders of pages, to within the last step and to before it, and on otherwise.
  each([&](RowsOfTexts& texts) {
    EXPECT_EQ(texts.length(third), 45);
    EXPECT_EQ(texts.go_on(third, 45, random_tokens(8, vocabulary(), 50)), 45);
    texts.run(third, kMostPiece);
    EXPECT_EQ(texts.go_on(third, 47, random_tokens(9, vocabulary(), 51)), 47);
    texts.run(third, kMostPiece);
    EXPECT_EQ(texts.go_on(third, 44, random_tokens(9, vocabulary(), 52)), 44);
    texts.run(third, 5);
  });
  expect_alike(windows, all, third, "behind what was taken back");
  // What begins with a text that ended, whose last page is filled in part.
  const RowsOfTexts::Tokens known = windows.tokens(third);
  each([&](RowsOfTexts& texts) {
    texts.end(third);
    RowsOfTexts::Tokens tokens = known;
    const RowsOfTexts::Tokens more = random_tokens(11, vocabulary(), 53);
    tokens.insert(tokens.end(), more.begin(), more.end());
    const std::size_t next = texts.begin(tokens);
    EXPECT_EQ(texts.length(next), std::ssize(known));
    texts.run(next, 5);
  });
  expect_alike(windows, all, third + 1, "behind a known beginning");
}

// On simulators, which are slow, few types of caches, with a model of few layers.
std::vector<WindowCase> window_cases() {
  std::vector<WindowCase> cases;
  for (const bool is_kernel_device : {false, true}) {
    for (const char* model : {"gpt_oss", "mistral_window"}) {
      cases.push_back({model, "f32", is_kernel_device});
    }
  }
  for (const char* type : {"f16", "q8_0", "tq4"}) cases.push_back({"mistral_window", type, true});
  for (const char* type : {"f16", "q8_0", "q4_0", "tq4", "tq3", "tq2"}) {
    cases.push_back({"gpt_oss", type, false});
  }
  cases.push_back({"gemma3", "f32", false});
  cases.push_back({"gemma2", "tq4", false});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, WindowDevices, ::testing::ValuesIn(window_cases()),
                         [](const auto& each) { return name_of(each.param); });

// Keys of a row are summed up in pieces of 256, of which a window of 300 begins in any.
TEST(WindowCuts, OfManyKeysChangeNoBit) {
  const WithNumerics bits(testing::own_bits());
  constexpr std::int64_t kRows = 700, kPage = 16, kPiece = 150, kPages = 50;
  testing::RandomModel wanted = weights_of("mistral_window", DType::f32);
  wanted.window = 300;
  const LanguageModel model = testing::random_language_model(wanted, kRows);
  const LanguageModel all = with_all_pages(model);
  const auto tokens = random_tokens(kRows, model.vocabulary() - 1, 3);
  for (const char* type : {"f32", "f16", "q8_0", "tq3"}) {
    CacheOptions options{.pages = kPages, .page_size = kPage};
    options.keys = options.values = cache_type_from_name(type);
    RowsOfTexts whole(all, options);
    whole.begin(tokens);
    whole.run(0, kRows);
    options.window_pages = window_pages_of_text(model.config, kPiece, kPage);
    ASSERT_LT(*options.window_pages, pages_of(kRows, kPage));
    RowsOfTexts cut(model, options);
    cut.begin(tokens);
    cut.run_all(kPiece, 4);
    EXPECT_EQ(testing::different(cut.scores(0), whole.scores(0)), 0u) << type;
  }
}

}  // namespace
}  // namespace hearth::models
