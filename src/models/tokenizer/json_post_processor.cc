#include "models/tokenizer/json_post_processor.h"

#include <string_view>

#include "core/json_fields.h"
#include "core/python_json.h"
#include "core/quoted.h"

namespace hearth::models::tokens {
namespace {

void add_around(const JsonFields& fields, const JsonValue& id, bool is_before, Parts& parts) {
  const auto* index = std::get_if<std::int64_t>(&id);
  const auto size = static_cast<std::int64_t>(parts.vocabulary.size());
  if (index == nullptr || *index < 0 || *index >= size) {
    fields.fail("no such token; got " + json_text(id) + ", expected 0 to " + std::to_string(size) +
                " - 1");
  }
  auto& list = is_before ? parts.before : parts.after;
  list.push_back(static_cast<std::int32_t>(*index));
}

void read_template(const JsonFields& fields, Parts& parts) {
  bool is_before = true;
  for (const JsonValue& each : fields.array("single")) {
    const JsonFields piece(each, fields.name() + ".single");
    if (piece.find("Sequence") != nullptr) {
      if (!is_before)
        piece.unsupported("a text that stands twice; got two Sequences, expected one");
      is_before = false;
      continue;
    }
    const std::string id = piece.object("SpecialToken").text("id");
    const JsonFields token = fields.object("special_tokens").object(id);
    for (const JsonValue& number : token.array("ids")) add_around(token, number, is_before, parts);
  }
}

}  // namespace

void read_post_processor(const JsonValue& value, const std::string& name, Parts& parts) {
  const JsonFields fields(value, name);
  const std::string& type = fields.text("type");
  if (type == "Sequence") {
    for (const JsonValue& each : fields.array("processors")) {
      read_post_processor(each, name + ".processors", parts);
    }
  } else if (type == "TemplateProcessing") {
    read_template(fields, parts);
  } else if (type == "BertProcessing" || type == "RobertaProcessing") {
    for (const std::string_view key : {"cls", "sep"}) {
      const JsonArray& pair = fields.array(key);
      if (pair.size() != 2) {
        fields.fail(std::string(key) + " is no pair; got " + std::to_string(pair.size()) +
                    " values, expected a token and its id");
      }
      add_around(fields, pair[1], key == "cls", parts);
    }
  } else if (type != "ByteLevel") {
    fields.unsupported("the post-processor is not known; got " + hearth::quoted(type) +
                       ", expected one of Sequence, TemplateProcessing, BertProcessing, "
                       "RobertaProcessing, ByteLevel");
  }
}

}  // namespace hearth::models::tokens
