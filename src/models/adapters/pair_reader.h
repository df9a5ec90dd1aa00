// Matrices of an adapter's file on their way into pairs.
#pragma once

#include <string>
#include <string_view>

#include "hearth/error.h"
#include "models/adapters/stored_adapter.h"

namespace hearth::models {

// Error{code} with the path of the adapter.
[[noreturn]] void refuse_adapter(ErrorCode code, const std::string& path, const std::string& what);

// Whether the name ends so, which it then loses.
bool take_ending(std::string_view& name, std::string_view ending);

class PairReader {
 public:
  // The adapter, which must outlive this, has its path.
  explicit PairReader(StoredAdapter& adapter) : adapter_(adapter) {}

  // Its matrix A, or B. Throws Error{corrupt_file} for what is no matrix of floats.
  void add(std::string_view name, const Array& matrix, bool is_a);

  // Throws Error{corrupt_file} unless there are pairs, all whole and of matrices that fit together.
  void finish() const;

 private:
  [[noreturn]] void refuse(const std::string& name, const std::string& what) const;

  StoredAdapter& adapter_;
};

}  // namespace hearth::models
