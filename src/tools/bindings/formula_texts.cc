#include "tools/bindings/formula_texts.h"

#include <algorithm>
#include <map>
#include <regex>
#include <sstream>

#include "codegen/kernel_text.h"

namespace hearth::tools {
namespace {

constexpr const char* kFormulas = "formulas/scalar_ops.h";

struct Named {
  std::string op;
  FormulaText formula;
};

// What the template parameter of a function stands for.
std::string elements_of(const std::string& line) {
  static const std::map<std::string, std::string> words = {{"ANY", "any"},
                                                           {"REAL", "floats"},
                                                           {"REAL32", "f32"},
                                                           {"REAL64", "f64"},
                                                           {"INT", "integers"}};
  static const std::regex parameter("template <HEARTH_([A-Z0-9]+)\\(T\\)>");
  std::smatch found;
  if (!std::regex_match(line, found, parameter)) return "masks";
  return words.at(found[1]);
}

// Appends the functions of a text, those of what it includes at their place.
void read(const std::string& path, std::vector<Named>& all) {
  static const std::regex include("#include \"kernels/(formulas/[a-z0-9_]+\\.h)\"");
  static const std::regex head("HEARTH_FN \\w+ (\\w+)\\(.*\\) \\{");
  std::istringstream lines{std::string(gpu::embedded_text(path))};
  std::string before;
  std::smatch found;
  for (std::string line; std::getline(lines, line); before = line) {
    if (std::regex_match(line, found, include)) {
      read(found[1], all);
    } else if (std::regex_match(line, found, head)) {
      Named one{found[1], {elements_of(before), "", "src/kernels/" + path}};
      while (std::getline(lines, line) && line != "}") {
        if (!one.formula.text.empty()) one.formula.text += '\n';
        one.formula.text += line.substr(std::min<std::size_t>(2, line.size()));
      }
      all.push_back(std::move(one));
    }
  }
}

}  // namespace

std::vector<FormulaText> formula_texts(std::string_view op) {
  static const std::vector<Named> all = [] {
    std::vector<Named> found;
    read(kFormulas, found);
    return found;
  }();
  std::vector<FormulaText> own;
  for (const Named& each : all) {
    if (each.op == op) own.push_back(each.formula);
  }
  return own;
}

}  // namespace hearth::tools
