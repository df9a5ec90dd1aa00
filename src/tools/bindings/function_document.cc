#include "tools/bindings/function_document.h"

#include <algorithm>
#include <utility>

#include "hearth/error.h"
#include "hearth/ops.h"
#include "ops/definition/defs.h"
#include "tools/bindings/function_calls.h"
#include "tools/bindings/op_document.h"
#include "tools/bindings/recorded_ops.h"
#include "tools/bindings/type_words.h"

namespace hearth::tools {
namespace {

[[noreturn]] void fail(const std::string& text) {
  throw Error(ErrorCode::invalid_argument, "ops: " + text);
}

// Whether what is passed as `own` can be passed as `other`: a number is a list of one.
bool stands_for(const std::string& own, const std::string& other) {
  return own == other || own + "_list" == other;
}

// All declarations of one name.
struct Overloads {
  std::vector<const Function*> all;

  // The one that takes most, and of such the first.
  const Function& whole() const {
    return **std::max_element(all.begin(), all.end(), [](const Function* a, const Function* b) {
      return a->parameters.size() < b->parameters.size();
    });
  }
  // How many parameters all of them take; throws unless those are the first of each.
  std::size_t common() const {
    std::size_t count = whole().parameters.size();
    for (const Function* one : all) {
      count = std::min(count, one->parameters.size());
      for (std::size_t i = 0; i < one->parameters.size(); ++i) {
        const Parameter& own = one->parameters[i];
        const Parameter& other = whole().parameters[i];
        if (own.name != other.name || !stands_for(type_word(own.type), type_word(other.type))) {
          fail("an overload that is no case of the other; got " + one->text + ", expected " +
               whole().text + " without its last parameters, or with a list");
        }
      }
    }
    return count;
  }
};

std::vector<Overloads> by_name(const std::vector<Function>& functions) {
  std::vector<Overloads> grouped;
  for (const Function& function : functions) {
    const auto known = std::find_if(grouped.begin(), grouped.end(), [&](const Overloads& group) {
      return group.all[0]->name == function.name;
    });
    if (known == grouped.end()) {
      grouped.push_back({{&function}});
    } else {
      known->all.push_back(&function);
    }
  }
  return grouped;
}

bool has_dtype(const Function& function) {
  return std::any_of(
      function.parameters.begin(), function.parameters.end(),
      [](const Parameter& parameter) { return type_word(parameter.type) == "dtype"; });
}

DTypeRules rules_of(const Function& function) {
  const FunctionCall* const call = find_call(function.name);
  if (call == nullptr) {
    if (const OpDef* const op = find_op(function.name)) return dtype_rules(*op);
    if (function.result.find("Array") == std::string::npos) return {};
    fail("a function of several ops that cannot be asked; got " + function.name +
         ", expected a line in a list of calls");
  }
  return dtype_rules(DTypeQuestion{call->inputs, has_dtype(function),
                                   [call](const std::vector<DType>& inputs, DType dtype) {
                                     std::vector<Array> arrays;
                                     for (std::size_t i = 0; i < inputs.size(); ++i) {
                                       arrays.push_back(zeros(call->inputs[i].shape, inputs[i]));
                                     }
                                     std::vector<DType> results;
                                     for (const Array& result : call->call(arrays, dtype))
                                       results.push_back(result.dtype());
                                     return results;
                                   }});
}

// f32 where it is one of them.
DType one_of(const std::vector<DType>& dtypes) {
  const bool has_f32 = std::find(dtypes.begin(), dtypes.end(), DType::f32) != dtypes.end();
  return has_f32 ? DType::f32 : dtypes.front();
}

DType dtype_in(const SampleInput& input, const DTypeRules& rules) {
  if (input.dtype >= 0) return static_cast<DType>(input.dtype);
  for (const std::optional<InputRule>& each : rules.inputs) {
    if (each && each->shared) return one_of(each->dtypes);
  }
  return DType::f32;
}

// The ops that a call records, of the first of its dtypes; null where it waits for values.
JsonValue made_of(const FunctionCall& call, const DTypeRules& rules) {
  std::vector<Array> arrays;
  for (const SampleInput& input : call.inputs) {
    arrays.push_back(contiguous(zeros(input.shape, dtype_in(input, rules), Device::cpu())));
    arrays.back().eval();
  }
  const DType parameter = rules.parameter.empty() ? DType::f32 : one_of(rules.parameter);
  const auto names = recorded_ops([&] { return call.call(arrays, parameter); });
  if (!names) return nullptr;
  return JsonArray(names->begin(), names->end());
}

// `is_left_out`: by an overload.
JsonObject described(const Parameter& parameter, bool is_left_out = false) {
  const std::string type = type_word(parameter.type);
  JsonObject entry = {{"name", parameter.name},
                      {"type", type},
                      {"cpp", parameter.type},
                      {"optional", is_left_out || parameter.default_value.has_value()}};
  if (parameter.default_value) {
    entry.emplace_back("default", default_value(*parameter.default_value, type));
    entry.emplace_back("cpp_default", *parameter.default_value);
  }
  if (!parameter.doc.empty()) entry.emplace_back("doc", parameter.doc);
  return entry;
}

// What an overload leaves out is optional, and needed by what follows it.
JsonArray parameters_of(const Overloads& overloads, const DTypeRules& rules) {
  const std::vector<Parameter>& declared = overloads.whole().parameters;
  const std::size_t common = overloads.common();
  JsonArray parameters;
  std::size_t arrays = 0;
  for (std::size_t i = 0; i < declared.size(); ++i) {
    const bool is_left_out = i == common && !declared[i].default_value;
    JsonObject entry = described(declared[i], is_left_out);
    if (is_left_out) entry.emplace_back("default", nullptr);
    if (i > common) entry.emplace_back("needs", declared[common].name);
    const std::string type = type_word(declared[i].type);
    if (is_array_word(type)) {
      append_rule(entry, arrays < rules.inputs.size() ? rules.inputs[arrays] : std::nullopt);
      ++arrays;
    }
    if (type == "dtype") entry.emplace_back("dtypes", dtype_names(rules.parameter));
    parameters.emplace_back(std::move(entry));
  }
  return parameters;
}

JsonArray results_of(const std::string& type, const DTypeRules& rules) {
  if (type == "void") return {};
  // Several arrays at once are a pair, a tuple or an array of them.
  const bool is_counted = type.starts_with("std::array<Array");
  const bool is_several =
      is_counted || type.starts_with("std::pair<Array") || type.starts_with("std::tuple<Array");
  const std::size_t count =
      is_counted   ? std::stoul(type.substr(type.find(',') + 1))
      : is_several ? static_cast<std::size_t>(std::count(type.begin(), type.end(), ',')) + 1
                   : 1;
  const std::string word = is_several ? "array" : type_word(type);
  JsonArray results;
  for (std::size_t i = 0; i < count; ++i) {
    JsonObject result = {{"type", word}};
    if (is_array_word(word)) result.emplace_back("dtype", rules.results.at(i));
    results.emplace_back(std::move(result));
  }
  return results;
}

// Comments that say the same stand once.
std::string doc_of(const Overloads& overloads) {
  std::vector<std::string> docs;
  for (const Function* one : overloads.all) {
    if (one->doc.empty() || std::find(docs.begin(), docs.end(), one->doc) != docs.end()) continue;
    docs.push_back(one->doc);
  }
  std::string all;
  for (const std::string& doc : docs) all += (all.empty() ? "" : " ") + doc;
  return all;
}

JsonObject described(const Overloads& overloads) {
  const Function& function = overloads.whole();
  const OpDef* const op = find_op(function.name);
  const FunctionCall* const call = find_call(function.name);
  const DTypeRules rules = rules_of(function);
  JsonArray declarations;
  for (const Function* one : overloads.all) declarations.emplace_back(one->text);
  JsonValue shapes = nullptr;
  if (call != nullptr) {
    shapes = call->shapes;
  } else if (op != nullptr) {
    shapes = shape_rule(*op);
  }
  return {{"name", function.name},
          {"op", op != nullptr ? JsonValue(function.name) : JsonValue(nullptr)},
          {"parameters", parameters_of(overloads, rules)},
          {"results", results_of(function.result, rules)},
          {"shapes", std::move(shapes)},
          {"summary", op != nullptr ? JsonValue(op->summary) : JsonValue(nullptr)},
          {"doc", doc_of(overloads)},
          {"section", function.section},
          {"header", function.header},
          {"made_of", call != nullptr ? made_of(*call, rules) : JsonValue(nullptr)},
          {"refused", refusals(rules)},
          {"cpp", std::move(declarations)}};
}

// The function that has a parameter of the type; null where there is none.
const Function* function_with(const Declarations& declared, const std::string& type) {
  for (const Function& function : declared.functions) {
    for (const Parameter& parameter : function.parameters) {
      if (type_word(parameter.type) == type) return &function;
    }
  }
  return nullptr;
}

// The names of the arrays that its rules are of.
std::vector<std::string> names_of_arrays(const Function* function) {
  if (function == nullptr) return {};
  if (const FunctionCall* const call = find_call(function->name)) return input_names(call->shapes);
  const OpDef* const op = find_op(function->name);
  return op == nullptr ? std::vector<std::string>() : input_names(shape_rule(*op));
}

JsonObject described(const Type& type, const Function* function) {
  const std::vector<std::string> inputs = names_of_arrays(function);
  JsonArray fields;
  for (const Parameter& field : type.fields) {
    if (type.is_enum) {
      fields.emplace_back(field.name);
      continue;
    }
    JsonObject entry = described(field);
    if (is_array_word(type_word(field.type))) {
      const auto at = static_cast<std::size_t>(std::find(inputs.begin(), inputs.end(), field.name) -
                                               inputs.begin());
      append_rule(entry, at < inputs.size() ? rules_of(*function).inputs.at(at) : std::nullopt);
    }
    fields.emplace_back(std::move(entry));
  }
  return {{"name", type.name},
          {"kind", type.is_enum ? "enum" : "struct"},
          {type.is_enum ? "values" : "fields", std::move(fields)},
          {"doc", type.doc}};
}

}  // namespace

JsonArray dtype_names(const std::vector<DType>& dtypes) {
  JsonArray names;
  for (const DType dtype : dtypes) names.emplace_back(std::string(name(dtype)));
  return names;
}

JsonArray refusals(const DTypeRules& rules) {
  JsonArray all;
  for (const auto& [dtype, text] : rules.refused) {
    all.emplace_back(JsonObject{{"dtype", std::string(name(dtype))}, {"reason", text}});
  }
  return all;
}

void append_rule(JsonObject& entry, const std::optional<InputRule>& rule) {
  entry.emplace_back("dtypes", rule ? JsonValue(dtype_names(rule->dtypes)) : JsonValue(nullptr));
  entry.emplace_back("shared", rule && rule->shared);
}

JsonArray function_entries(const Declarations& declared) {
  JsonArray entries;
  for (const Overloads& group : by_name(declared.functions)) entries.emplace_back(described(group));
  return entries;
}

JsonArray type_entries(const Declarations& declared) {
  JsonArray entries;
  for (const Type& type : declared.types) {
    if (type_words().contains(type.name)) continue;
    entries.emplace_back(described(type, function_with(declared, type.name)));
  }
  return entries;
}

}  // namespace hearth::tools
