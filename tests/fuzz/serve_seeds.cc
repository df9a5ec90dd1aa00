// Writes the seed corpus of serve_fuzz: `serve_seeds FOLDER`. The first byte is the endpoint.

#include <string>
#include <vector>

#include "seeds.h"

namespace {

std::vector<std::string> seeds() {
  const std::string chat = std::string(1, '\0') + R"({"messages": [)";
  return {
      chat + R"({"role": "system", "content": "s"}, {"role": "user", "content": [
        {"type": "text", "text": "hi"}]}], "stream": true, "stream_options": {"include_usage": true},
        "n": 2, "seed": -1, "temperature": 0.7, "top_p": 0, "stop": ["a", "b"],
        "logit_bias": {"5": -100, "7": false}})",
      chat + R"({"role": "user", "content": "x"}, {"role": "assistant", "content": null,
        "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f",
        "arguments": "{}"}}]}, {"role": "tool", "tool_call_id": "1", "content": "2"}],
        "logprobs": true, "top_logprobs": 2, "max_tokens": 9, "chat_template_kwargs": {"think": 1}})",
      chat + R"({"role": "user", "content": ""}], "tool_choice": "required", "tools": [
        {"type": "function", "function": {"name": "f", "parameters": {"type": "object",
        "properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"enum": [1]}}}}}]})",
      chat + R"({"role": "user", "content": "x"}], "response_format": {"type": "json_schema",
        "json_schema": {"name": "s", "schema": {"type": "array", "items": {"type": "integer"},
        "maxItems": 3}}}})",
      chat +
          R"({"role": "user", "content": "x"}], "grammar": "root ::= [a-z]{1,3}", "stream": true})",
      "\x01"
      R"({"prompt": ["a"], "echo": true, "logprobs": 1, "mirostat": 2, "stream": true})",
      "\x01"
      R"({"prompt": [5, 6.0, 7], "best_of": 1, "dry_multiplier": 0.8, "xtc_probability": 1})",
      "\x02"
      R"({"input": ["a", [1, 2]], "encoding_format": "base64"})",
      "\x02"
      R"({"input": "b", "dimensions": 5})",
      "\x03"
      R"({"content": "a\u00e9 <|im_end|>", "parse_special": true, "add_special": true})",
      "\x04"
      R"({"tokens": [102, 4], "show_special": false})",
      "\x05"
      R"({"input": [{"role": "user", "content": [{"type": "input_text", "text": "x"}]},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "y"}]},
        {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "1", "output": "2"}], "stream": true,
        "tools": [{"type": "function", "name": "f"}], "max_output_tokens": 9})",
      "\x05"
      R"({"input": "x", "instructions": "y", "tool_choice": {"type": "function", "name": "f"},
        "text": {"format": {"type": "json_object"}}, "reasoning": {"effort": "low"}})",
      "\x07"
      R"({"prompt": "a", "n_predict": 5, "n_probs": 2, "stream": true, "samplers": ["top_k"],
        "logit_bias": [[5, false]], "stop": ["b"], "cache_prompt": true})",
      "\x08"
      R"({"content": "a"})",
      "\x06"
      R"({"messages": [{"role": "user", "content": "x"}], "chat_template_kwargs": {"think": 1}})",
  };
}

}  // namespace

int main(int argc, char** argv) { return hearth::testing::write_seeds(argc, argv, seeds()); }
