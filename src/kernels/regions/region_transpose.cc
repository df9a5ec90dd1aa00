// The parts of RegionAccess that kernels/regions/transpose.metal asks for.
#include <algorithm>
#include <numeric>

#include "codegen/dialect_types.h"
#include "codegen/text/text_builder.h"
#include "core/integer_math.h"
#include "kernels/launch/divisor.h"
#include "kernels/regions/region_access.h"

namespace hearth::gpu {

using runtime::KernelParameter;

int RegionAccess::per_word(int k) const {
  const auto size = static_cast<int>(size_of(dtype(k)));
  return width_ > 1 && size < 4 ? 4 / size : 1;
}

std::string RegionAccess::tile_type(int k) const {
  return size_of(dtype(k)) == 8 ? "ulong" : "uint";
}

int RegionAccess::tile_depth() const {
  int depth = 1;
  for (int k = 0; k < operand_count(); ++k) {
    if (has_role(k, Role::tiled)) depth = std::max(depth, per_word(k));
  }
  return depth;
}

std::vector<KernelParameter> RegionAccess::tile_arrays(int edge) const {
  std::vector<KernelParameter> arrays;
  for (int k = 0; k < operand_count(); ++k) {
    if (!has_role(k, Role::tiled)) continue;
    const std::int64_t pitch = edge / per_word(k) + 1;
    arrays.push_back(
        {KernelParameter::Kind::threadgroup, tile_type(k), joined("tile", k), edge * pitch});
  }
  return arrays;
}

std::int64_t RegionAccess::tile_bytes(int edge) const {
  std::int64_t bytes = 0;
  for (const KernelParameter& array : tile_arrays(edge)) {
    bytes += array.count * (array.type == "ulong" ? 8 : 4);
  }
  return bytes;
}

std::string RegionAccess::tile_functions(int edge) {
  const RegionAxis& rows = layout_.axes[static_cast<std::size_t>(tiled_)];
  const RegionAxis& columns = layout_.axes.back();
  std::vector<int> others;
  for (int axis = 0; axis + 1 < static_cast<int>(layout_.axes.size()); ++axis) {
    if (axis != tiled_) others.push_back(axis);
  }
  constants_.add_positions("rows", {rows.extent});
  constants_.add_positions("columns", {columns.extent});
  add_divisor("row_tiles", ceil_div(rows.extent, edge));
  add_divisor("column_tiles", ceil_div(columns.extent, edge));
  std::string text = offsets_function("tile_group", others, false, false);

  std::string at;
  for (std::size_t g = 0; g < leaders_.size(); ++g) {
    const auto k = static_cast<std::size_t>(leaders_[g]);
    constants_.add_offsets(joined("row_stride", g), {rows.strides[k]});
    constants_.add_offsets(joined("column_stride", g), {columns.strides[k]});
    line(at, "  at.g", g, " += offset_t(row) * p.row_stride", g,
         " + offset_t(column) * p.column_stride", g, ";");
  }
  std::string tiles;
  std::string fill;
  std::string take;
  for (int k = 0; k < operand_count(); ++k) {
    if (!has_role(k, Role::tiled)) continue;
    const int group = groups_[static_cast<std::size_t>(k)];
    const std::string type =
        joined(dtype_struct(dtype(k)), ", ", size_of(dtype(k)), ", ", width_, ", ", edge);
    line(tiles, "  threadgroup ", tile_type(k), "* tile", k, ";");
    line(fill, "  tile_fill<", type, ">(o.x", k, " + at.g", group, ", p.column_stride", group,
         ", rows, columns, tiles.tile", k, ", thread_index);");
    line(take, "  Packet<", packet_bytes(k), "> taken", k, "[", tile_depth(), "];");
    line(take, "  tile_take<", type, ", ", tile_depth(), ">(taken", k, ", row, column, tiles.tile",
         k, ");");
    line(take, "#pragma unroll");
    line(take, "  for (int q = 0; q < ", tile_depth(), "; ++q) in[q].x", k, " = taken", k, "[q];");
  }
  return joined(
      text,
      "HEARTH_INLINE Offsets tile_at(Offsets at, position row, position column, "
      "constant RegionParams& p) {\n",
      at, "  return at;\n}\nstruct Tiles {\n", tiles, "};\n",
      "HEARTH_INLINE void region_fill(thread const Operands& o, Offsets at, position rows, "
      "position columns, constant RegionParams& p, Tiles tiles, uint thread_index) {\n",
      fill,
      "}\nHEARTH_INLINE void region_take(thread Inputs* in, uint row, uint column, Tiles tiles) "
      "{\n",
      take, "}\n");
}

}  // namespace hearth::gpu
