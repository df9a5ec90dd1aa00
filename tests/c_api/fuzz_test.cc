// Every function with wrong handles, shapes, dtypes and parameters: an error or a result, never a
// crash.
//
// HEARTH_TEST_SEED makes the calls of one seed; HEARTH_TEST_EFFORT says how many seeds there are.
#include <algorithm>
#include <cstdlib>
#include <deque>
#include <random>

#include "c_api/c_arrays.h"
#include "graph/effort.h"

namespace hearth::c_api::testing {
namespace {

class Fuzz {
 public:
  explicit Fuzz(std::uint64_t seed) : random_(seed) {
    for (const hearth_dtype dtype :
         {HEARTH_F32, HEARTH_F64, HEARTH_BF16, HEARTH_I64, HEARTH_I32, HEARTH_U8, HEARTH_BOOL}) {
      for (const std::vector<std::int64_t>& shape :
           std::vector<std::vector<std::int64_t>>{{}, {0}, {3}, {2, 3}, {3, 3}, {1, 2, 4, 4}}) {
        std::size_t bytes = hearth_dtype_size(dtype);
        for (const std::int64_t extent : shape) bytes *= static_cast<std::size_t>(extent);
        const std::vector<unsigned char> zeros_and_ones(bytes, dtype == HEARTH_BOOL ? 1 : 0);
        hearth_array array = {0};
        EXPECT_EQ(hearth_array_from_bytes(zeros_and_ones.data(), bytes, dtype, shape.data(),
                                          shape.size(), HEARTH_DEFAULT_DEVICE, &array),
                  HEARTH_OK)
            << hearth_error_message();
        arrays_.emplace_back(array);
        hearth_scheme scheme = {};
        scheme.block_scale = HEARTH_SCALE_NONE;
        if (hearth_quantize(array, &scheme, {0}, {0}, &array) == HEARTH_OK)
          arrays_.emplace_back(array);
      }
    }
  }

  // One call; whether it succeeded. What it gives is computed and released.
  bool call(hearth_function function) {
    names_.clear();
    // Often of one shape and dtype, so that more is accepted.
    std::vector<hearth_value> inputs(below(4) == 0 ? below(4) : inputs_of(function), array());
    const bool is_mixed = below(2) == 0;
    for (hearth_value& input : inputs) {
      if (is_mixed) input = below(8) == 0 ? value() : array();
    }
    std::vector<hearth_parameter> parameters;
    for (const std::string& name : parameters_of(function)) {
      if (below(4) != 0) parameters.push_back({names_.emplace_back(name).c_str(), value()});
    }
    if (below(20) == 0) parameters.push_back({"nonsense", value()});
    hearth_array results[4] = {};
    std::size_t count = 0;
    const hearth_status status =
        hearth_apply(function, inputs.data(), inputs.size(), parameters.data(), parameters.size(),
                     results, nullptr, below(10) == 0 ? 0 : 4, &count);
    EXPECT_NE(status, HEARTH_ERROR_INTERNAL) << hearth_error_message();
    if (status != HEARTH_OK) {
      EXPECT_STRNE(hearth_error_message(), "");
      EXPECT_EQ(results[0].id, 0u);
      return false;
    }
    const hearth_status computed = hearth_eval(results, count);
    EXPECT_NE(computed, HEARTH_ERROR_INTERNAL) << hearth_error_message();
    EXPECT_NE(computed, HEARTH_ERROR_INVALID_HANDLE) << hearth_error_message();
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(hearth_array_release(results[i]), HEARTH_OK);
    return true;
  }

 private:
  std::size_t below(std::size_t limit) { return random_() % limit; }

  hearth_value array() { return hearth_of_array(arrays_[below(arrays_.size())].handle); }

  hearth_value value() {
    static constexpr std::int64_t kIntegers[] = {0,         1,         2, -1, 3, 7,
                                                 INT64_MAX, INT64_MIN, 1, 1,  0, 2};
    static constexpr double kNumbers[] = {0.5, 0, 1, -1, 1e300, 2, 3};
    static constexpr const char* kWords[] = {"f32",  "cpu", "constant", "linear",
                                             "mean", "",    "ij,jk"};
    switch (below(9)) {
      case 0:
        return hearth_of_flag(static_cast<int>(below(2)));
      case 1:
      case 2:
        return hearth_of_int(kIntegers[below(6)]);
      case 3:
        return hearth_of_float(kNumbers[below(std::size(kNumbers))]);
      case 4:
      case 5:
        return hearth_of_ints(kIntegers + below(9), static_cast<std::uint32_t>(below(4)));
      case 6:
        return hearth_of_string(kWords[below(std::size(kWords))]);
      case 7: {
        hearth_value wrong = hearth_of_array({below(3) == 0 ? 0 : random_()});
        if (below(3) == 0) wrong.type = static_cast<std::int32_t>(below(20)) - 5;
        if (wrong.type > HEARTH_FLOAT) wrong.type = HEARTH_NONE;  // a pointer that is none
        return wrong;
      }
      default:
        return array();
    }
  }

  // How many stand before the semicolon: "add(a, b) -> 1".
  static std::size_t inputs_of(hearth_function function) {
    const std::string signature = hearth_function_signature(function);
    const std::string names = signature.substr(0, signature.find_first_of(";)"));
    if (names.back() == '(') return 0;
    return 1 + static_cast<std::size_t>(std::count(names.begin(), names.end(), ','));
  }

  // Those behind it: "sum(x; axes: i64_list = none, keepdim: bool = false) -> 1".
  static std::vector<std::string> parameters_of(hearth_function function) {
    const std::string signature = hearth_function_signature(function);
    std::size_t at = signature.find("; ");
    if (at == std::string::npos) return {};
    std::vector<std::string> names;
    for (at += 2; at < signature.size();) {
      const std::size_t end = signature.find_first_of(",)", at);
      names.push_back(signature.substr(at, signature.find(':', at) - at));
      if (signature[end] == ')') break;
      at = end + 2;
    }
    return names;
  }

  std::mt19937_64 random_;
  std::vector<Held> arrays_;
  std::deque<std::string> names_;
};

constexpr std::size_t kRounds = 20;  // of a seed: calls of each function

TEST(CFuzz, EveryFunctionSurvivesAnything) {
  std::uint64_t seed = 20261125;
  auto end = seed + static_cast<std::uint64_t>(hearth::testing::scaled(20));
  if (const char* one = std::getenv("HEARTH_TEST_SEED")) {  // NOLINT(concurrency-mt-unsafe)
    seed = std::strtoull(one, nullptr, 10);
    end = seed + 1;
  }
  const std::uint64_t seeds = end - seed;
  std::vector<bool> succeeded(hearth_function_count());
  for (; seed < end; ++seed) {
    Fuzz fuzz(seed);
    for (std::size_t round = 0; round < kRounds; ++round) {
      for (hearth_function i = 1; i <= hearth_function_count(); ++i) {
        SCOPED_TRACE("seed " + std::to_string(seed) + ", " + hearth_function_name(i));
        if (fuzz.call(i)) succeeded[i - 1] = true;
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
  // The calls are not all refused at the door.
  const auto successes = std::count(succeeded.begin(), succeeded.end(), true);
  if (seeds >= 20) {
    EXPECT_GT(successes, hearth_function_count() / 2);
  }
}

}  // namespace
}  // namespace hearth::c_api::testing
