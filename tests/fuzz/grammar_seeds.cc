// Writes the seed corpus of grammar_fuzz: `grammar_seeds FOLDER`.

#include <string>
#include <vector>

#include "seeds.h"

namespace {

std::vector<std::string> seeds() {
  using std::string_literals::operator""s;
  return {
      "root ::= \"a\" | [b-d^\\]]+ x{2,3} # c\nx ::= (\"y\"? . )* <[7]> !<t>",
      "root ::= [^\\x00-\\x1f\\u00e9]* | \"\\U0001F600\" root\n",
      "root ::= \"a\" root \"b\" | \"\"\0aaaabbbb"s,
      "root ::= \"ab\" (\"c\" | <t>){0,5} end\nend ::= \"}\"?\1\0xaabc"s,
      "root ::= v\nv ::= \"[\" (v (\",\" v)*)? \"]\" | [0-9]{1,3}\0[[1,2],[]]"s,
  };
}

}  // namespace

int main(int argc, char** argv) { return hearth::testing::write_seeds(argc, argv, seeds()); }
