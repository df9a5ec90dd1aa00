#include "models/adapters/pair_reader.h"

#include "core/quoted.h"
#include "hearth/ops.h"
#include "hearth/quantization/packed.h"

namespace hearth::models {

void refuse_adapter(ErrorCode code, const std::string& path, const std::string& what) {
  throw Error(code, path + ": adapter: " + what);
}

bool take_ending(std::string_view& name, std::string_view ending) {
  if (!name.ends_with(ending)) return false;
  name.remove_suffix(ending.size());
  return true;
}

void PairReader::add(std::string_view name, const Array& matrix, bool is_a) {
  const DType dtype = matrix.dtype();
  if (matrix.rank() != 2 || matrix.size() == 0) {
    refuse(std::string(name), "is no matrix; got " + to_string(matrix.shape()) +
                                  ", expected [rank, in] or [out, rank]");
  }
  if (!is_float(dtype) && !is_packed(dtype)) {
    refuse(std::string(name),
           "holds no floats; got " + std::string(hearth::name(dtype)) + ", expected a float");
  }
  StoredAdapter::Pair& pair = adapter_.pairs[std::string(name)];
  (is_a ? pair.a : pair.b) = is_packed(dtype) ? dequantize(matrix) : matrix;
}

void PairReader::finish() const {
  if (adapter_.pairs.empty()) {
    refuse_adapter(ErrorCode::corrupt_file, adapter_.path,
                   "nothing in it; got no pairs of matrices, expected at least one");
  }
  for (const auto& [name, pair] : adapter_.pairs) {
    if (!pair.a.defined() || !pair.b.defined()) {
      refuse(name, std::string("is no pair; got its matrix ") + (pair.a.defined() ? "A" : "B") +
                       " alone, expected both");
    }
    if (pair.a.shape(0) != pair.b.shape(1)) {
      refuse(name, "does not fit together; got A " + to_string(pair.a.shape()) + " and B " +
                       to_string(pair.b.shape()) + ", expected [rank, in] and [out, rank]");
    }
  }
}

void PairReader::refuse(const std::string& name, const std::string& what) const {
  refuse_adapter(ErrorCode::corrupt_file, adapter_.path, hearth::quoted(name) + " " + what);
}

}  // namespace hearth::models
