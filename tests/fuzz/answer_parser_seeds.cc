// Writes the seed corpus of answer_parser_fuzz: `answer_parser_seeds FOLDER`. The first byte is the
// format and the size of pieces.

#include <string>
#include <vector>

#include "seeds.h"

namespace {

std::vector<std::string> seeds() {
  using std::string_literals::operator""s;
  return {
      "\x00<|channel|>analysis<|message|>so<|end|><|start|>assistant<|channel|>commentary"
      " to=functions.f <|constrain|>json<|message|>{\"a\": 1}<|call|>"s,
      "\x00<|channel|>final<|message|>text<|return|>"s,
      "\x01<\uff5ctool\u2581calls\u2581begin\uff5c><\uff5ctool\u2581call\u2581begin\uff5c>f"
      "<\uff5ctool\u2581sep\uff5c>{\"a\": [1]}<\uff5ctool\u2581call\u2581end\uff5c>"
      "<\uff5ctool\u2581calls\u2581end\uff5c>"s,
      "\x42<think> a \n</think>\n\n<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>"s,
      "\x0a<tool_call><function=f>\n<parameter=k>\nv\n</parameter>\n</function></tool_call> b"s,
      "\x12<tool_call>f\n<arg_key>k</arg_key>\n<arg_value>[1]</arg_value>\n</tool_call>"s,
      "\x03[TOOL_CALLS][{\"name\": \"f\", \"arguments\": {\"a\": null}}]"s,
      "\x0b[THINK]x[/THINK]y[TOOL_CALLS]f[ARGS]{\"a\": 1}[TOOL_CALLS]g{}"s,
      "\x04<|python_tag|>{\"name\": \"f\", \"parameters\": {\"a\": \"\\u00e9\"}}"s,
      "\x04 {\"name\": \"f\", \"parameters\": {}}"s,
      "\x05 plain {text} \n"s,
  };
}

}  // namespace

int main(int argc, char** argv) { return hearth::testing::write_seeds(argc, argv, seeds()); }
