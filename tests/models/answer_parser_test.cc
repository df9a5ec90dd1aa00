// What answers of the formats that models write are made of.
#include "models/chat/answer_parser.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "models/chat/tool_calls.h"

namespace hearth::models {
namespace {

struct Parsed {
  std::string content, reasoning;
  std::vector<ToolCall> calls;
};

void join(Parsed& all, AnswerDelta delta) {
  all.content += delta.content;
  all.reasoning += delta.reasoning;
  for (ToolCall& call : delta.tool_calls) all.calls.push_back(std::move(call));
}

// In pieces of random sizes; they must not matter.
Parsed parse(const std::string& template_text, const std::string& answer,
             AnswerParser::Options options = {.has_tools = true}) {
  const AnswerFormat& format = answer_format_of(template_text);
  const ReasoningMarks& reasoning = reasoning_marks_of(template_text);
  Parsed whole;
  AnswerParser at_once(format, reasoning, options);
  join(whole, at_once.push(answer));
  join(whole, at_once.finish());
  std::mt19937 random(5);
  for (int round = 0; round < 20; ++round) {
    AnswerParser parser(format, reasoning, options);
    Parsed pieces;
    for (std::size_t at = 0; at < answer.size();) {
      const std::size_t size = 1 + random() % (1 + static_cast<unsigned>(round));
      join(pieces, parser.push(std::string_view(answer).substr(at, size)));
      at += size;
    }
    join(pieces, parser.finish());
    EXPECT_EQ(pieces.content, whole.content);
    EXPECT_EQ(pieces.reasoning, whole.reasoning);
    EXPECT_EQ(pieces.calls.size(), whole.calls.size());
    for (std::size_t i = 0; i < std::min(pieces.calls.size(), whole.calls.size()); ++i) {
      EXPECT_EQ(pieces.calls[i].name, whole.calls[i].name);
      EXPECT_EQ(pieces.calls[i].arguments, whole.calls[i].arguments);
      EXPECT_EQ(pieces.calls[i].id, whole.calls[i].id);
    }
  }
  return whole;
}

TEST(AnswerParser, WhatAGrammarHoldsIsTextBehindTheReasoning) {
  const std::string json = R"({"a":"<think>b</think><tool_call>"})";
  Parsed parsed = parse("<think>", json, {.is_constrained = true});
  EXPECT_EQ(parsed.content, json);
  EXPECT_EQ(parsed.reasoning, "");
  parsed = parse("<think>", "Hm.\n</think>" + json,
                 {.begins_in_reasoning = true, .is_constrained = true});
  EXPECT_EQ(parsed.content, json);
  EXPECT_EQ(parsed.reasoning, "Hm.");
  const std::string channels = R"({"a":"<|end|>"})";
  parsed = parse("<|channel|>",
                 "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant"
                 "<|channel|>final<|message|>" +
                     channels,
                 {.is_constrained = true});
  EXPECT_EQ(parsed.content, channels);
  EXPECT_EQ(parsed.reasoning, "Hm.");
}

TEST(AnswerParser, PlainTextStaysWhatItIs) {
  const std::string text = "  An answer.\n\nWith <b>tags</b> and {braces} \n";
  EXPECT_EQ(parse("", text).content, text);
  EXPECT_EQ(parse("", "").content, "");
}

TEST(AnswerParser, Reasoning) {
  Parsed parsed = parse("<think>", "<think>\nHm, so.\n\n</think>\n\nYes.\n");
  EXPECT_EQ(parsed.reasoning, "Hm, so.");
  EXPECT_EQ(parsed.content, "Yes.\n");
  parsed = parse("<think>", "Hm.\n</think>\nYes.", {.begins_in_reasoning = true});
  EXPECT_EQ(parsed.reasoning, "Hm.");
  EXPECT_EQ(parsed.content, "Yes.");
  parsed = parse("[THINK]", "[THINK]a[/THINK]b");
  EXPECT_EQ(parsed.reasoning, "a");
  EXPECT_EQ(parsed.content, "b");
  // Cut off.
  EXPECT_EQ(parse("<think>", "<think>a </th").reasoning, "a </th");
}

TEST(AnswerParser, Hermes) {
  const Parsed parsed =
      parse("<tool_call>",
            "Let me see.\n<tool_call>\n{\"name\": \"look\", \"arguments\": {\"at\": \"a\\\"b\"}}\n"
            "</tool_call>\n<tool_call>\n{\"name\": \"sum\", \"arguments\": {\"of\": [1, 2]}}\n"
            "</tool_call>");
  EXPECT_EQ(parsed.content, "Let me see.");
  ASSERT_EQ(parsed.calls.size(), 2u);
  EXPECT_EQ(parsed.calls[0].name, "look");
  EXPECT_EQ(parsed.calls[0].arguments, "{\"at\":\"a\\\"b\"}");
  EXPECT_EQ(parsed.calls[1].name, "sum");
  EXPECT_EQ(parsed.calls[1].arguments, "{\"of\":[1,2]}");
  EXPECT_NE(parsed.calls[0].id, parsed.calls[1].id);
  EXPECT_EQ(parsed.calls[0].id.size(), 9u);
}

TEST(AnswerParser, WhatIsNoCallIsText) {
  const std::string text = "So <tool_call>{\"name\": 3}</tool_call>.";
  EXPECT_EQ(parse("<tool_call>", text).content, text);
  const std::string open = "So <tool_call>{\"name\": \"a\", \"argu";
  EXPECT_EQ(parse("<tool_call>", open).content, open);
  // Without tools nothing is a call.
  const std::string call = "<tool_call>{\"name\": \"a\", \"arguments\": {}}</tool_call>";
  EXPECT_EQ(parse("<tool_call>", call, {}).content, call);
}

TEST(AnswerParser, QwenCoder) {
  const Parsed parsed =
      parse("<tool_call>",
            "<tool_call>\n<function=write>\n<parameter=path>\na.txt\n</parameter>\n"
            "<parameter=count>\n3\n</parameter>\n</function>\n</tool_call>");
  ASSERT_EQ(parsed.calls.size(), 1u);
  EXPECT_EQ(parsed.calls[0].name, "write");
  EXPECT_EQ(parsed.calls[0].arguments, "{\"path\":\"a.txt\",\"count\":3}");
  EXPECT_EQ(parsed.content, "");
}

TEST(AnswerParser, Glm) {
  const Parsed parsed = parse("<tool_call>",
                              "<tool_call>look\n<arg_key>at</arg_key>\n<arg_value>a b</arg_value>\n"
                              "<arg_key>n</arg_key>\n<arg_value>[1]</arg_value>\n</tool_call>");
  ASSERT_EQ(parsed.calls.size(), 1u);
  EXPECT_EQ(parsed.calls[0].name, "look");
  EXPECT_EQ(parsed.calls[0].arguments, "{\"at\":\"a b\",\"n\":[1]}");
}

TEST(AnswerParser, Llama) {
  const std::string sign = "\"parameters\": dictionary of argument name and its value";
  Parsed parsed = parse(sign, "\n{\"name\": \"look\", \"parameters\": {\"at\": 1}}");
  ASSERT_EQ(parsed.calls.size(), 1u);
  EXPECT_EQ(parsed.calls[0].arguments, "{\"at\":1}");
  parsed = parse(sign, "<|python_tag|>{\"name\": \"look\", \"parameters\": {}}");
  ASSERT_EQ(parsed.calls.size(), 1u);
  EXPECT_EQ(parsed.calls[0].name, "look");
  const std::string text = "{ is a brace";
  EXPECT_EQ(parse(sign, text).content, text);
  EXPECT_EQ(parse(sign, "A {\"name\": 1}").content, "A {\"name\": 1}");
}

TEST(AnswerParser, Mistral) {
  Parsed parsed = parse("[TOOL_CALLS]",
                        "[TOOL_CALLS][{\"name\": \"a\", \"arguments\": {\"x\": 1}}, "
                        "{\"name\": \"b\", \"arguments\": {}}]");
  ASSERT_EQ(parsed.calls.size(), 2u);
  EXPECT_EQ(parsed.calls[1].name, "b");
  parsed = parse("[TOOL_CALLS]", "One.[TOOL_CALLS]a[ARGS]{\"x\": 1}[TOOL_CALLS]b{\"y\": 2}");
  EXPECT_EQ(parsed.content, "One.");
  ASSERT_EQ(parsed.calls.size(), 2u);
  EXPECT_EQ(parsed.calls[0].name, "a");
  EXPECT_EQ(parsed.calls[1].arguments, "{\"y\":2}");
}

TEST(AnswerParser, Channels) {
  const Parsed parsed =
      parse("<|channel|>",
            "<|channel|>analysis<|message|>Think.<|end|><|start|>assistant<|channel|>commentary "
            "to=functions.look <|constrain|>json<|message|>{\"at\": 1}<|call|>");
  EXPECT_EQ(parsed.reasoning, "Think.");
  ASSERT_EQ(parsed.calls.size(), 1u);
  EXPECT_EQ(parsed.calls[0].name, "look");
  EXPECT_EQ(parsed.calls[0].arguments, "{\"at\": 1}");
  // Whether there are tools or not.
  EXPECT_EQ(parse("<|channel|>",
                  "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final"
                  "<|message|>b c",
                  {})
                .content,
            "b c");
}

TEST(AnswerParser, DeepSeek) {
  const std::string begin = "<\uff5ctool\u2581calls\u2581begin\uff5c>";
  const std::string open = "<\uff5ctool\u2581call\u2581begin\uff5c>";
  const std::string separator = "<\uff5ctool\u2581sep\uff5c>";
  const std::string close = "<\uff5ctool\u2581call\u2581end\uff5c>";
  const std::string end = "<\uff5ctool\u2581calls\u2581end\uff5c>";
  const Parsed parsed =
      parse(begin, "Hm." + begin + open + "look" + separator + "{\"at\": 1}" + close + open +
                       "function" + separator + "sum\n```json\n{\"of\": 2}\n```" + close + end);
  EXPECT_EQ(parsed.content, "Hm.");
  ASSERT_EQ(parsed.calls.size(), 2u);
  EXPECT_EQ(parsed.calls[0].name, "look");
  EXPECT_EQ(parsed.calls[0].arguments, "{\"at\":1}");
  EXPECT_EQ(parsed.calls[1].name, "sum");
  EXPECT_EQ(parsed.calls[1].arguments, "{\"of\":2}");
}

// Anything may come from a model.
TEST(AnswerParser, RandomMarksNeverLoseTheirPlace) {
  const std::vector<std::string> bits = {"<tool_call>",
                                         "</tool_call>",
                                         "<think>",
                                         "</think>",
                                         "{\"name\":\"a\",\"arguments\":{}}",
                                         "<function=",
                                         "<parameter=a>",
                                         "</parameter>",
                                         "</function>",
                                         "<arg_key>",
                                         "</arg_key>",
                                         "[TOOL_CALLS]",
                                         "x",
                                         " \n",
                                         "{",
                                         "<|channel|>",
                                         "<|message|>",
                                         "to=functions.",
                                         "<|end|>",
                                         "<"};
  std::mt19937 random(9);
  for (int round = 0; round < 300; ++round) {
    std::string answer;
    for (unsigned i = 0; i < random() % 12; ++i) answer += bits[random() % bits.size()];
    for (const char* sign :
         {"<tool_call>", "[TOOL_CALLS]", "<|channel|>", "dictionary of argument name", ""}) {
      const Parsed parsed = parse(sign, answer);
      EXPECT_LE(parsed.content.size() + parsed.reasoning.size(), answer.size());
    }
  }
}

TEST(ToolCalls, OnlyWholeCallsCount) {
  EXPECT_TRUE(parse_tool_calls("").empty());
  EXPECT_TRUE(parse_tool_calls("[]").empty());
  EXPECT_TRUE(parse_tool_calls("[{\"name\": \"a\", \"arguments\": {}}, 3]").empty());
  EXPECT_TRUE(parse_tool_calls("<function=a><parameter=b>").empty());
  EXPECT_TRUE(parse_tool_calls("<function= ></function>").empty());
  EXPECT_TRUE(parse_tool_calls("<function=a></function><function=></function>").empty());
  EXPECT_TRUE(parse_tool_calls("two words{\"a\": 1}").empty());
  EXPECT_EQ(parse_tool_calls("{\"function\": {\"name\": \"a\", \"arguments\": \"{}\"}}")[0].name,
            "a");
}

}  // namespace
}  // namespace hearth::models
