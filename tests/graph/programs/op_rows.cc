// A statement of random programs from a row of the table.
#include "graph/programs/op_rows.h"

#include "graph/programs/program_maker.h"
#include "graph/programs/program_text.h"

namespace hearth::testing {

std::string Draw::text() const {
  std::string text = "{axis " + std::to_string(axis);
  for (const int each : number) text += ", " + std::to_string(each);
  return text + "}";
}

std::vector<const OpRow*> op_rows() {
  std::vector<const OpRow*> all;
  for (const auto rows : {order_rows(), image_rows(), contraction_rows(), loss_rows()}) {
    for (const OpRow& row : rows) all.push_back(&row);
  }
  return all;
}

int ProgramMaker::pick_for(const OpRow& row) {
  const int found = pick([&](const Array& x) {
    const bool dtype = row.takes == Takes::any ||
                       (row.takes == Takes::numbers ? !is_bool(x.dtype()) : is_float(x.dtype()));
    return dtype && x.rank() >= row.least_rank && x.rank() <= row.most_rank &&
           x.size() >= row.least_size && x.size() <= 3000;
  });
  if (found >= 0 || row.least_rank < 4) return found;
  const int rank = row.least_rank + below(row.most_rank - row.least_rank + 1);
  Shape shape = {1 + below(3), 1 + below(6)};
  while (shape.rank() < rank) shape.push_back(2 + below(rank == 4 ? 8 : 4));
  return add_input(options_.float_dtype, shape);
}

int ProgramMaker::operand(const Operand& wanted, DType like) {
  if (wanted.kind == Operand::Kind::indices) return add_indices(wanted.shape, wanted.limit);
  const DType dtype = wanted.kind == Operand::Kind::mask ? DType::bool_ : like;
  const int found =
      pick([&](const Array& y) { return y.dtype() == dtype && y.shape() == wanted.shape; });
  return found >= 0 ? found : add_input(dtype, wanted.shape);
}

bool ProgramMaker::from_table() {
  static const std::vector<const OpRow*> kRows = op_rows();
  const OpRow& row = *kRows[static_cast<std::size_t>(below(static_cast<int>(kRows.size())))];
  if (row.jumps && !options_.jumps) return false;
  if (row.sums && !options_.float_sums) return false;
  const int x = pick_for(row);
  if (x < 0) return false;
  Draw draw;
  if (shadow(x).rank() > 0) draw.axis = below(shadow(x).rank());
  for (int& each : draw.number) each = below(60);

  std::vector<int> in = {x};
  if (row.others != nullptr) {
    for (const Operand& wanted : row.others(shadow(x), draw)) {
      in.push_back(operand(wanted, shadow(x).dtype()));
    }
  }
  std::string text = std::string(row.name) + "(";
  for (const int each : in) text += var(each) + ", ";
  text += draw.text() + ")";
  const auto run = [in, draw, apply = row.run](const Variables& v, Device) {
    OpRow::Arrays operands;
    for (const int each : in) operands.push_back(v[static_cast<std::size_t>(each)]);
    return apply(operands, draw);
  };
  if (run(shadows_, Device::cpu()).size() > 1) return emit_several(in, std::move(text), run);
  return emit(in, std::move(text),
              [run](const Variables& v, Device device) { return run(v, device).front(); });
}

}  // namespace hearth::testing
