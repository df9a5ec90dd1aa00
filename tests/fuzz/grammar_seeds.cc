// Writes the seed corpus of grammar_fuzz: `grammar_seeds FOLDER`.

#include <string>
#include <vector>

#include "seeds.h"

namespace {

std::vector<std::string> seeds() {
  return {
      "root ::= \"a\" | [b-d^\\]]+ x{2,3} # c\nx ::= (\"y\"? . )* <[7]> !<t>",
      "root ::= [^\\x00-\\x1f\\u00e9]* | \"\\U0001F600\" root\n",
      "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\",\"minimum\":-3,\"maximum\":"
      "12}},\"required\":[\"a\"],\"additionalProperties\":{\"$ref\":\"#/$defs/"
      "n\"},\"$defs\":{\"n\":"
      "{\"anyOf\":[{\"type\":\"null\"},{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/n\"}}]}}}",
      "{\"allOf\":[{\"type\":\"string\",\"pattern\":\"^a(b|[c-e]){1,3}\\\\d?$\"},{\"type\":["
      "\"null\","
      "\"string\"]}]}",
      "{\"type\":\"number\",\"exclusiveMinimum\":0.125,\"maximum\":1e3}",
      "{\"enum\":[1,\"x\",{\"k\":[null]}]}",
      "{\"type\":\"array\",\"prefixItems\":[{\"format\":\"date\"}],\"minItems\":2,\"maxItems\":4}",
  };
}

}  // namespace

int main(int argc, char** argv) { return hearth::testing::write_seeds(argc, argv, seeds()); }
