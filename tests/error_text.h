// What tests ask of texts: of errors, notes and sources.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "hearth/error.h"

namespace hearth::check {

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The message of the error that `call` throws; fails without one.
template <class Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "expected an error";
  return "";
}

// The same of an error that must be of this kind.
template <class Call>
std::string error_of(ErrorCode code, Call call) {
  return error_of([&] {
    try {
      call();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      throw;
    }
  });
}

// The text of the expression's Error ends in the line of the macro, and says no other.
#define EXPECT_LOCATED(expression)                                                              \
  do {                                                                                          \
    const std::string text = ::hearth::check::error_of([&] { static_cast<void>(expression); }); \
    const std::string site = " at " + std::string(__FILE__) + ":" + std::to_string(__LINE__);   \
    EXPECT_TRUE(text.ends_with(site)) << text;                                                  \
    EXPECT_EQ(text.find(".cc:"), text.rfind(".cc:")) << text;                                   \
  } while (false)

}  // namespace hearth::check
