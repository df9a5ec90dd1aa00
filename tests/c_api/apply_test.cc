#include <cmath>
#include <set>

#include "c_api/c_arrays.h"

namespace hearth::c_api::testing {
namespace {

using Floats = std::vector<float>;

TEST(CApply, TakesArraysNumbersAndParametersByName) {
  const Held x = floats({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_EQ(values_of(apply("mul", {hearth_of_array(x.handle), hearth_of_float(2)})),
            (Floats{2, 4, 6, 8, 10, 12}));
  EXPECT_EQ(values_of(apply("sub", {hearth_of_int(1), hearth_of_array(x.handle)})),
            (Floats{0, -1, -2, -3, -4, -5}));
  EXPECT_EQ(values_of(apply("sum", {hearth_of_array(x.handle)})), (Floats{21}));
  const Held rows = apply("sum", {hearth_of_array(x.handle)},
                          {{"keepdim", hearth_of_flag(1)}, {"axes", hearth_of_int(1)}});
  EXPECT_EQ(values_of(rows), (Floats{6, 15}));
  hearth_array_info info;
  ASSERT_EQ(hearth_array_describe(rows.handle, &info), HEARTH_OK);
  EXPECT_EQ(info.rank, 2);
  EXPECT_EQ(info.dtype, HEARTH_F32);
  EXPECT_EQ(info.shape[0], 2);
  EXPECT_EQ(info.shape[1], 1);
}

TEST(CApply, TakesFieldsOfOptionsAsParameters) {
  const Held x = floats({1, 2, 3, 4, 5}, {1, 1, 5});
  const Held weight = floats({1, 1, 1}, {1, 1, 3});
  const std::int64_t two[] = {2}, one[] = {1};
  EXPECT_EQ(
      values_of(apply("conv", {hearth_of_array(x.handle), hearth_of_array(weight.handle)},
                      {{"stride", hearth_of_ints(two, 1)}, {"padding", hearth_of_ints(one, 1)}})),
      (Floats{3, 9, 9}));
}

TEST(CApply, TakesSlicesListsEnumsAndDtypes) {
  const Held x = floats({1, 2, 3, 4, 5}, {5});
  const std::int64_t slices[] = {1, HEARTH_TO_END, 2};
  EXPECT_EQ(values_of(apply("slice", {hearth_of_array(x.handle)},
                            {{"slices", hearth_of_ints(slices, 3)}})),
            (Floats{2, 4}));
  const std::int64_t before[] = {2}, after[] = {0};
  EXPECT_EQ(values_of(apply("pad", {hearth_of_array(x.handle)},
                            {{"before", hearth_of_ints(before, 1)},
                             {"after", hearth_of_ints(after, 1)},
                             {"mode", hearth_of_string("reflect")}})),
            (Floats{3, 2, 1, 2, 3, 4, 5}));
  EXPECT_EQ(values_of(apply("cat", {hearth_of_array(x.handle), hearth_of_array(x.handle)},
                            {{"axis", hearth_of_int(0)}})),
            (Floats{1, 2, 3, 4, 5, 1, 2, 3, 4, 5}));
  const std::int64_t shape[] = {2};
  const std::vector<hearth_value> value = {hearth_of_int(7)};
  EXPECT_EQ(values_of(apply("full", value,
                            {{"shape", hearth_of_ints(shape, 1)},
                             {"dtype", hearth_of_int(HEARTH_F32)},
                             {"device", hearth_of_string("cpu")}})),
            (Floats{7, 7}));
  const Held halves =
      apply("cast", {hearth_of_array(x.handle)}, {{"dtype", hearth_of_string("f16")}});
  hearth_array_info info;
  ASSERT_EQ(hearth_array_describe(halves.handle, &info), HEARTH_OK);
  EXPECT_EQ(info.dtype, HEARTH_F16);
}

TEST(CApply, GivesSeveralResultsAndLists) {
  const Held x = floats({3, 1, 2}, {3});
  const hearth_value inputs[] = {hearth_of_array(x.handle)};
  const hearth_parameter axis[] = {{"axis", hearth_of_int(0)}};
  hearth_array both[2] = {};
  hearth_array_info infos[2] = {};
  std::size_t count = 0;
  ASSERT_EQ(hearth_apply(hearth_function_named("sort_with_indices"), inputs, 1, axis, 1, both,
                         infos, 2, &count),
            HEARTH_OK)
      << hearth_error_message();
  EXPECT_EQ(count, 2u);
  const Held values(both[0]), indices(both[1]);
  EXPECT_EQ(infos[0].dtype, HEARTH_F32);
  EXPECT_EQ(infos[1].dtype, HEARTH_I64);
  EXPECT_EQ(infos[1].rank, 1);
  EXPECT_EQ(infos[1].shape[0], 3);
  EXPECT_EQ(values_of(values), (Floats{1, 2, 3}));

  const std::int64_t sizes[] = {1, 2};
  const hearth_parameter split[] = {{"sizes", hearth_of_ints(sizes, 2)}, axis[0]};
  hearth_array parts[2] = {};
  expect_refused(
      hearth_apply(hearth_function_named("split"), inputs, 1, split, 2, parts, nullptr, 1, &count),
      HEARTH_ERROR_INVALID_ARGUMENT, "no room for the results; got 1, expected 2");
  EXPECT_EQ(count, 2u);
  ASSERT_EQ(
      hearth_apply(hearth_function_named("split"), inputs, 1, split, 2, parts, nullptr, 2, &count),
      HEARTH_OK)
      << hearth_error_message();
  EXPECT_EQ(count, 2u);
  const Held first(parts[0]), second(parts[1]);
  EXPECT_EQ(values_of(second), (Floats{1, 2}));
}

TEST(CApply, RefusesWhatTheFunctionDoesNotTake) {
  const Held x = floats({1, 2, 3}, {3});
  hearth_array result = {0};
  const auto call = [&](const char* name, const std::vector<hearth_value>& inputs,
                        const std::vector<hearth_parameter>& parameters) {
    return hearth_apply(hearth_function_named(name), inputs.data(), inputs.size(),
                        parameters.data(), parameters.size(), &result, nullptr, 1, nullptr);
  };
  const hearth_value a = hearth_of_array(x.handle);
  expect_refused(call("sine", {a}, {}), HEARTH_ERROR_INVALID_ARGUMENT, "no such function");
  expect_refused(call("add", {a}, {}), HEARTH_ERROR_INVALID_ARGUMENT,
                 "add: input 1 (b): missing; got 1 input, expected an array or a number");
  expect_refused(call("add", {a, a, a}, {}), HEARTH_ERROR_INVALID_ARGUMENT,
                 "add: too many inputs; got 3, expected 2 at most");
  expect_refused(call("sum", {a}, {{"axis", hearth_of_int(0)}}), HEARTH_ERROR_INVALID_ARGUMENT,
                 "sum: no such parameter, or given twice; got \"axis\", expected those of "
                 "sum(x; axes: i64_list = none, keepdim: bool = false) -> 1");
  expect_refused(call("sum", {a}, {{"axes", hearth_of_float(0)}}), HEARTH_ERROR_INVALID_ARGUMENT,
                 "sum: axes: wrong type; got a number, expected a list of integers");
  expect_refused(call("argmax", {a}, {}), HEARTH_ERROR_INVALID_ARGUMENT,
                 "argmax: axis: missing; got nothing, expected an integer");
  expect_refused(call("argmax", {a}, {{"axis", hearth_of_int(1)}}), HEARTH_ERROR_INVALID_ARGUMENT,
                 "argmax: ");
  expect_refused(call("cast", {a}, {{"dtype", hearth_of_int(99)}}), HEARTH_ERROR_DTYPE,
                 "cast: no such dtype; got 99");
  const std::int64_t none[] = {0};
  expect_refused(call("pad", {a},
                      {{"before", hearth_of_ints(none, 1)},
                       {"after", hearth_of_ints(none, 1)},
                       {"mode", hearth_of_string("mirror")}}),
                 HEARTH_ERROR_INVALID_ARGUMENT,
                 "pad: mode: no such value; got \"mirror\", expected one of constant, reflect");
  expect_refused(call("add", {a, hearth_of_string("1")}, {}), HEARTH_ERROR_INVALID_ARGUMENT,
                 "add: input 1 (b): wrong type; got a string, expected an array or a number");
  expect_refused(call("add", {a, hearth_of_array({0})}, {}), HEARTH_ERROR_INVALID_ARGUMENT,
                 "add: input 1 (b): missing; got a zero handle, expected an array or a number");
  expect_refused(call("add", {a, hearth_of_nothing()}, {}), HEARTH_ERROR_INVALID_ARGUMENT,
                 "add: input 1 (b): missing; got nothing");
  expect_refused(call("cat", {a, a, hearth_of_array({5})}, {{"axis", hearth_of_int(0)}}),
                 HEARTH_ERROR_INVALID_HANDLE, "cat: input 2 (arrays): no such handle; got 5");
  expect_refused(call("batch_norm", {a, a, a, hearth_of_array({5})}, {}),
                 HEARTH_ERROR_INVALID_HANDLE, "batch_norm: input 3 (weight): no such handle");
  expect_refused(call("rope", {a}, {{"positions", hearth_of_array({5})}}),
                 HEARTH_ERROR_INVALID_HANDLE, "rope: positions: no such handle; got 5");
  EXPECT_EQ(result.id, 0u) << "a call that fails leaves its results alone";
}

TEST(CApply, WhatIsGivenAsNoneIsNotGiven) {
  const Held x = floats({1, 2, 3, 4, 5, 6}, {2, 3});
  const hearth_value a = hearth_of_array(x.handle), none = hearth_of_nothing();
  for (const char* name : {"sum", "mean", "prod", "max", "min", "var", "std"}) {
    EXPECT_EQ(values_of(apply(name, {a}, {{"axes", none}, {"keepdim", none}})),
              values_of(apply(name, {a})))
        << name;
  }
  EXPECT_EQ(values_of(apply("sum", {a}, {{"axes", hearth_of_int(1)}, {"keepdim", none}})),
            (Floats{6, 15}));
  EXPECT_EQ(values_of(apply("var", {a}, {{"correction", none}})), values_of(apply("var", {a})));
  EXPECT_EQ(values_of(apply("celu", {a}, {{"alpha", none}})), values_of(x));
  hearth_array result = {0};
  const auto refused = [&](const char* name, const std::vector<hearth_parameter>& parameters,
                           const char* text) {
    expect_refused(hearth_apply(hearth_function_named(name), &a, 1, parameters.data(),
                                parameters.size(), &result, nullptr, 1, nullptr),
                   HEARTH_ERROR_INVALID_ARGUMENT, text);
  };
  refused("sum", {{"keepdim", hearth_of_flag(1)}, {"axes", none}},
          "sum: keepdim: no meaning without axes; got it alone, expected both or neither");
  refused("sum", {{"axis", none}}, "sum: no such parameter, or given twice; got \"axis\"");
  refused("argmax", {{"axis", none}}, "argmax: axis: missing; got nothing, expected an integer");
  refused("histogram", {{"bins", hearth_of_int(2)}, {"low", hearth_of_float(0)}},
          "histogram: high: missing; got nothing, expected a number");
}

TEST(CApply, EveryFunctionHasANameAndASignature) {
  ASSERT_GT(hearth_function_count(), 300u);
  std::set<std::string> names;
  for (hearth_function i = 1; i <= hearth_function_count(); ++i) {
    const char* const name = hearth_function_name(i);
    ASSERT_NE(name, nullptr);
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_EQ(hearth_function_named(name), i);
    EXPECT_EQ(std::string(hearth_function_signature(i)).rfind(std::string(name) + "(", 0), 0u);
  }
  const auto signature = [](const char* name) {
    return std::string(hearth_function_signature(hearth_function_named(name)));
  };
  EXPECT_EQ(signature("sum"), "sum(x; axes: i64_list = none, keepdim: bool = false) -> 1");
  EXPECT_EQ(signature("batch_norm"),
            "batch_norm(x, mean, variance, weight?, bias?; epsilon: f64 = 1e-05) -> 1");
  EXPECT_EQ(signature("pad"),
            "pad(x, value?; before: i64_list, after: i64_list, mode: constant|reflect|edge|wrap = "
            "constant) -> 1");
  EXPECT_EQ(signature("cat"), "cat(arrays...; axis: i64) -> 1");
  EXPECT_EQ(signature("full"),
            "full(value; shape: i64_list, dtype: dtype = f32, device: device = none) -> 1");
  EXPECT_EQ(hearth_function_name(0), nullptr);
  EXPECT_EQ(hearth_function_signature(hearth_function_count() + 1), nullptr);
}

}  // namespace
}  // namespace hearth::c_api::testing
