// `hearth tokenize`: texts to tokens and back. Bytes of a file or of standard input are taken as
// they are, a line break at the end with them.
#include <algorithm>
#include <charconv>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/quoted.h"
#include "io/text_file.h"
#include "models/tokenizer/tokenizer.h"
#include "tools/commands.h"
#include "tools/lm/escapes.h"
#include "tools/lm/model_name.h"
#include "tools/output.h"

namespace hearth::tools {
namespace {

constexpr std::uint64_t kMaxInput = std::uint64_t{1} << 30;

struct TokenizeArguments {
  std::string file, text, text_file;
  EscapeOption escapes;
  bool as_json = false, decode = false, lines = false, plain = false, parse_special = false;
};

std::vector<std::int32_t> ids_of(std::string_view text) {
  std::vector<std::int32_t> ids;
  const char* at = text.data();
  const char* end = at + text.size();
  while (true) {
    while (at < end && (*at == ' ' || *at == ',' || *at == '[' || *at == ']' || *at == '\n')) ++at;
    if (at == end) return ids;
    std::int32_t id = 0;
    const auto [next, status] = std::from_chars(at, end, id);
    if (status != std::errc() || next == at) {
      throw Error(ErrorCode::invalid_argument,
                  "tokenize: not a list of ids; got " +
                      hearth::quoted(std::string_view(at, static_cast<std::size_t>(end - at)), 20));
    }
    ids.push_back(id);
    at = next;
  }
}

// One line of output.
std::string converted(const models::Tokenizer& tokenizer, const TokenizeArguments& arguments,
                      const std::string& text) {
  if (arguments.decode) {
    const std::string out =
        tokenizer.decode(ids_of(text), {.show_special = arguments.parse_special});
    return arguments.as_json ? json_text(out) : out;
  }
  const auto ids = tokenizer.encode(
      text, {.add_special = !arguments.plain, .parse_special = arguments.parse_special});
  std::string out;
  if (!arguments.as_json) {
    for (const std::int32_t id : ids) out += (out.empty() ? "" : " ") + std::to_string(id);
    return out;
  }
  JsonArray numbers, texts;
  for (const std::int32_t id : ids) {
    numbers.emplace_back(std::int64_t{id});
    texts.emplace_back(std::string(tokenizer.text(id)));
  }
  return json_text(JsonObject{{"ids", std::move(numbers)}, {"tokens", std::move(texts)}});
}

// With --lines a text is written as JSON, so that it may hold line breaks.
std::string text_of_line(const std::string& line, bool decode) {
  if (decode) return line;
  const auto value = parse_json(line);
  const auto* text = value ? std::get_if<std::string>(&*value) : nullptr;
  if (text == nullptr) {
    throw Error(ErrorCode::invalid_argument, "tokenize: the line is no text in JSON; got " +
                                                 hearth::quoted(line, 40) +
                                                 ", expected one such as \"two\\nlines\"");
  }
  return *text;
}

// Errors begin with the number of the line.
std::string converted_lines(const models::Tokenizer& tokenizer, const TokenizeArguments& arguments,
                            const std::string& input) {
  std::string out;
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < input.size();) {
    const std::size_t end = std::min(input.find('\n', begin), input.size());
    const std::string line = input.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    try {
      out += converted(tokenizer, arguments, text_of_line(line, arguments.decode)) + "\n";
    } catch (const Error& error) {
      throw Error(error.code(), "line " + std::to_string(number) + ": " + error.what());
    }
  }
  return out;
}

}  // namespace

void add_tokenize(CommandLine& line) {
  const auto arguments = std::make_shared<TokenizeArguments>();
  Command command = line.add_command("tokenize", "Turn texts into tokens, or tokens into texts");
  command.option("-m,--model,file", arguments->file, "A GGUF file, a tokenizer.json or its folder")
      .check(model_name_fault)
      .value_name("FILE")
      .required();
  const Option text =
      command.option("-p,--text,--prompt", arguments->text, "The text [standard input]")
          .may_be_empty();
  add_escape_option(command, arguments->escapes);
  command
      .option("-f,--text-file,--prompt-file", arguments->text_file,
              "A file with the text, which is taken whole")
      .value_name("FILE");
  command.flag("--decode", arguments->decode,
               "The text is ids of tokens: print what they stand for");
  command.flag("--json", arguments->as_json, "Print JSON, with the tokens' texts");
  command.flag("--lines", arguments->lines,
               "Take each line alone: a text written as a JSON string, or a list of ids");
  command.flag("--plain", arguments->plain, "Add no tokens for the beginning and the end");
  command.flag("--special", arguments->parse_special,
               "Read texts such as <s> as control tokens; with --decode, show control tokens");
  command.action([arguments, text] {
    const models::Tokenizer tokenizer = models::read_tokenizer(arguments->file);
    std::string input = arguments->escapes.read(arguments->text);
    if (text.given() && !arguments->text_file.empty()) {
      throw Error(ErrorCode::invalid_argument,
                  "tokenize: two texts; got --text and --text-file, expected one of them");
    }
    if (!text.given()) {
      input = arguments->text_file.empty() ? io::read_input_text(kMaxInput)
                                           : io::read_text(arguments->text_file, kMaxInput);
    }
    write_out(arguments->lines ? converted_lines(tokenizer, *arguments, input)
                               : converted(tokenizer, *arguments, input) + "\n");
  });
}

}  // namespace hearth::tools
