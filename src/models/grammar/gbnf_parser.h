// Grammars in GBNF: `root ::= "yes" | "no" [0-9]{1,3}`.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "models/grammar/syntax.h"

namespace hearth::models::grammar {

inline constexpr std::uint32_t kMaxTimes = 100'000;  // of a repetition

// The id of the token with this text, -1 where there is none.
using FindToken = std::function<std::int32_t(std::string_view text)>;

// Rules are `name ::= alternatives` and end with the line, but for lines inside of ( ) and those
// behind `|`. Of what rules are made of:
//   "text" [a-z^-] [^"] .          with the escapes \n \r \t \\ \" \[ \] \- \^ \xHH \uHHHH
//   \UHHHHHHHH ( ) | * + ? {n} {m,} {,n} {m,n}
//   <[id]> <text>                  a whole token, or with ! before it any other; `find` looks up
//   the
//                                  text, < and > included
//   # to the end of the line       a comment
// Throws Error{invalid_argument} with the byte offset, also for rules that nothing defines and for
// texts beyond the limits of size and depth.
Syntax parse_gbnf(std::string_view text, std::string_view root, const FindToken& find = {});

}  // namespace hearth::models::grammar
