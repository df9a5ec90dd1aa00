// Kernels of a file: a text of Metal's own, or of the dialect (docs/kernels.md).
#pragma once

#include <string>
#include <vector>

#include "hearth/runtime.h"

namespace hearth::tools {

struct KernelFileOptions {
  std::string path;
  std::vector<std::string> folders;      // where included files are looked for, beside the file's
  std::vector<std::string> defines;      // "NAME" or "NAME=VALUE"
  std::vector<std::string> constants;    // "NAME=VALUE": function constants
  std::vector<std::string> threadgroup;  // "INDEX=BYTES": threadgroup parameters
  // "KIND TYPE NAME" or "threadgroup TYPE NAME COUNT", in order: the text is of the dialect.
  std::vector<std::string> parameters;
};

class KernelFile {
 public:
  // Throws Error{io} for a file that cannot be read, Error{invalid_argument} for malformed options.
  explicit KernelFile(const KernelFileOptions& options);

  // The entry points that need no template arguments; empty for a text of the dialect.
  std::vector<std::string> names() const;
  // The functions behind these names, without template arguments, in the same order.
  std::vector<std::string> functions() const;
  // `name`: an entry point, or in the dialect the function to call ("axpy<float>"). Throws Error as
  // runtime::metal_kernel() does.
  runtime::KernelSource source(const std::string& name) const;
  bool is_dialect() const noexcept { return !parameters_.empty(); }

 private:
  void add_includes(const std::string& folder);  // where the text lies

  std::vector<std::string> folders_;
  std::string text_;
  runtime::MetalOptions metal_;
  std::vector<runtime::KernelParameter> parameters_;
};

}  // namespace hearth::tools
