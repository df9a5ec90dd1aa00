#include "tools/dtype_option.h"

namespace hearth::tools {

std::vector<std::pair<std::string, std::string>> dtype_words() {
  return {{"float32", "f32"}, {"float", "f32"},   {"fp32", "f32"},     {"float16", "f16"},
          {"half", "f16"},    {"fp16", "f16"},    {"float64", "f64"},  {"double", "f64"},
          {"fp64", "f64"},    {"bfloat", "bf16"}, {"bfloat16", "bf16"}};
}

Option add_dtype_option(Command& command, std::string& dtype, const std::vector<std::string>& names,
                        const std::string& summary) {
  Option option = command.option("--dtype", dtype, summary);
  option.one_of(names).show_default().other_words(dtype_words());
  // vLLM's word for the dtype that the files have, by which nothing is chosen here.
  option.refuse_word("auto", dtype + ", which it is for all models without --dtype, or another");
  option.lower_case();
  return option;
}

}  // namespace hearth::tools
