// How a generated region kernel reads and writes memory: the part of its text that knows operands,
// strides and vectors. What it defines is listed in kernels/regions/map.metal and
// kernels/reduce/rows.metal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/kernel_constants.h"
#include "hearth/runtime.h"
#include "kernels/regions/region_layout.h"
#include "kernels/regions/region_values.h"

namespace hearth::gpu {

// What a kernel parameter gets at launch.
struct OperandUse {
  int operand = 0;  // of the launch
  std::int64_t offset = 0, bytes = 0;
  int alignment = 1;  // bytes, of the address
};

// A kernel with all that its launch needs but addresses.
struct BuiltKernel {
  runtime::KernelSource source;
  std::vector<OperandUse> operands;  // one for each memory parameter but the dynamic block
  std::vector<std::byte> constants;
  bool dynamics = false;  // the dynamic block follows the constants
  bool has_f64 = false;
  runtime::Size3 groups, threads;
};

class RegionAccess {
 public:
  // `width` elements a vector; 1: elements one by one. `aliased` has a bit for each operand that
  // shares memory with another one. `tiled` is the layout's tiled_axis(), or -1 for a kernel
  // without tiles.
  RegionAccess(const LoweredRegion& lowered, const RegionValues& values, int width,
               std::uint64_t aliased, int tiled = -1);

  int width() const { return width_; }
  // Vectors that a thread has in flight: loads of 96 bytes at most, fewer where the unrolled text
  // would get long.
  int unroll(int at_most) const;
  KernelConstants& constants() { return constants_; }

  // Text. "struct Operands", "struct Inputs", "struct Outputs", "struct Offsets", the functions
  // that load, compute and store; and the types of positions.
  std::string text() const;
  // A function `name`(position i, [Offsets base,] p) that finds the i-th vector of the given axes,
  // indices into layout.axes; `inner` says that vectors lie along the last of them. With `based` it
  // adds to `base`, else it begins at the first element.
  std::string offsets_function(const std::string& name, const std::vector<int>& axes, bool inner,
                               bool based);
  // A function `name`(position i, p) like that for one operand alone.
  std::string position_function(const std::string& name, int operand, const std::vector<int>& axes,
                                bool inner);
  // What kernels/regions/transpose.metal asks for, with tiles of `edge` rows and columns; and the
  // threadgroup arrays of its kernel, as parameters of the entry point.
  std::string tile_functions(int edge);
  std::vector<runtime::KernelParameter> tile_arrays(int edge) const;
  // Bytes of those, and the rows that a thread takes at a time.
  std::int64_t tile_bytes(int edge) const;
  int tile_depth() const;
  // region_at() of a linear region.
  std::string linear_function() const;
  // The function of one element beyond the last whole vector: region_tail(o, [at,] e).
  std::string tail_function(bool reduces) const;

  // "region(x0, x1, ..., p, dynamics, Ctx ctx) {" and what fills `o`. `result` is the operand that
  // a reduction writes, as a parameter, or empty; `arrays` are the threadgroup arrays, each as a
  // parameter with a comma after it.
  std::string entry_begin(const std::string& result, const std::string& arrays) const;
  // The parameters up to and with the dynamic block; `result` goes after the outputs.
  void describe(BuiltKernel* built, const runtime::KernelParameter* result) const;

 private:
  // single: one element for all; repeated: one for a vector; packet: whole vectors; element:
  // vectors are single elements; tiled: vectors along another axis, of one element or more.
  enum class Role : std::uint8_t { unused, single, repeated, packet, element, tiled };

  int operand_count() const { return static_cast<int>(roles_.size()); }
  bool is_input(int k) const { return k < region_.first_scalar(); }
  bool has_role(int k, Role role) const { return roles_[static_cast<std::size_t>(k)] == role; }
  // A tiled operand: elements in a word of a tile, and its place among TileWord<bytes, width>.
  int per_word(int k) const;
  std::string tile_type(int k) const;
  void add_divisor(const std::string& name, std::int64_t extent);
  std::string operand_name(int k) const;
  DType dtype(int k) const { return layout_.operands[static_cast<std::size_t>(k)].dtype; }
  int packet_bytes(int k) const { return static_cast<int>(size_of(dtype(k))) * width_; }
  void add_walk(const std::string& name, const std::vector<int>& axes, bool inner);
  struct Target {
    std::string variable;  // what the coordinates times strides are added to
    std::string strides;   // the constant that holds the strides
  };
  std::string walk(const std::string& name, const std::vector<int>& axes,
                   const std::vector<Target>& targets) const;
  bool is_dense(int operand) const;
  std::vector<std::int64_t> strides_of(int operand, const std::vector<int>& axes, bool inner) const;
  // region_compute's arguments: element `i` of what was loaded for a vector, or element `e` of
  // memory.
  enum class Form : std::uint8_t { vector, element };
  std::string arguments(Form form) const;

  const Region& region_;
  const RegionLayout& layout_;
  const RegionValues& values_;
  int width_;
  std::uint64_t aliased_;
  int tiled_;
  std::vector<Role> roles_;   // of inputs and outputs
  std::vector<int> groups_;   // of each operand: which of the offsets it uses, or -1
  std::vector<int> leaders_;  // of each group: an operand with its strides
  KernelConstants constants_;
};

// Bytes of the widest operand that is no single element: what a vector is sized by.
int widest_operand(const LoweredRegion& lowered, const RegionValues& values);

// "region_add_mul_linear": op names tell kernels apart in timelines.
std::string region_name(const Region& region, const std::string& kind);

}  // namespace hearth::gpu
