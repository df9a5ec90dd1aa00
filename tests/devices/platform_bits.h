// The ops whose last bits are the platform's where their operands are far from zero.
#pragma once

#include <cmath>
#include <string>

#include "devices/region_fixture.h"

namespace hearth::region_test {

struct PlatformBits {
  const OpDef* op;
  // Of one f32 beyond kFar, where CPU and kernels go different ways: the value, and how many ulp
  // each may be from it. Null where both have the same bits in f32.
  long double (*truth)(long double) = nullptr;
  double ulps = 0;
};

inline constexpr float kFar = 1e5f;

inline const PlatformBits kPlatformBits[] = {
    {&sin_def, [](long double x) { return std::sin(x); }, 2},
    {&cos_def, [](long double x) { return std::cos(x); }, 2},
    {&tan_def, [](long double x) { return std::tan(x); }, 5},  // a quotient of the others
    {&pow_def},
    {&remainder_def},
    {&fmod_def},
    {&floor_divide_def},
};

// Null for the others.
inline const PlatformBits* platform_bits(const std::string& op) {
  for (const PlatformBits& one : kPlatformBits) {
    if (op == one.op->name.text) return &one;
  }
  return nullptr;
}

}  // namespace hearth::region_test
