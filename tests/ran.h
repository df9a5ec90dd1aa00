// Which kernels did the work: a result alone does not say that the implementation under test made
// it.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "hearth/runtime.h"

namespace hearth::testing {

// Whether `kernel` is `name` or a specialisation of it: the name, then its template arguments, with
// _ before each. Of a name that begins another one, some arguments tell them apart.
inline bool is_of(std::string_view kernel, std::string_view name) {
  if (!kernel.starts_with(name)) return false;
  return kernel.size() == name.size() || kernel[name.size()] == '_';
}

// Calls `work`, which reads its results, and expects that a kernel of each name ran meanwhile.
template <class Work>
void expect_ran(std::span<const std::string_view> names, Work work) {
  const runtime::Profile profile;
  work();
  std::string ran;
  for (const std::string_view name : names) {
    bool found = false;
    ran.clear();
    for (const runtime::KernelTime& kernel : profile.kernels()) {
      found = found || is_of(kernel.name, name);
      ran += " " + kernel.name;
    }
    EXPECT_TRUE(found) << name << " did not run, but" << ran;
  }
}
template <class Work>
void expect_ran(std::initializer_list<std::string_view> names, Work work) {
  expect_ran(std::span(names.begin(), names.size()), work);
}
template <class Work>
void expect_ran(std::string_view name, Work work) {
  expect_ran({name}, work);
}

}  // namespace hearth::testing
