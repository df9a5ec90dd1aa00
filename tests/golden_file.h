// The files of tests/golden, which programs in scripts/golden wrote: a line a thing, named by its
// first words.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "hearth/dtype.h"
#include "hearth/shape.h"
#include "source_dir.h"

namespace hearth::check {

// The file of this name; the test that asks fails where there is none.
inline std::ifstream golden_file(const std::string& name) {
  const auto path = source_dir() / "tests/golden" / (name + ".txt");
  std::ifstream file(path);
  if (!file) throw std::runtime_error("no file " + path.string());
  return file;
}

struct WrittenArray {
  DType dtype = DType::f64;
  Shape shape;
  std::vector<double> values;
};

// What is left of a line: "2x3 : 1 2.5 nan 4 5 6", "-" being the shape of rank 0.
inline WrittenArray written_values(std::istringstream& line) {
  WrittenArray array;
  std::string shape, colon;
  line >> shape >> colon;
  if (shape != "-") {
    std::istringstream extents(shape);
    for (std::string extent; std::getline(extents, extent, 'x');) {
      array.shape.push_back(std::stoll(extent));
    }
  }
  for (std::string word; line >> word;) array.values.push_back(std::strtod(word.c_str(), nullptr));
  return array;
}

// The same behind the name of a dtype: "f32 2x3 : ...".
inline WrittenArray written_array(std::istringstream& line) {
  std::string dtype;
  line >> dtype;
  WrittenArray array = written_values(line);
  array.dtype = dtype_from_name(dtype);
  return array;
}

}  // namespace hearth::check
