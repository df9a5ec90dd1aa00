#include "graph/record/grad_record.h"

namespace hearth {
namespace {

std::size_t at(const Vjp& v, int i) {
  if (i < 0 || i >= v.input_count()) {
    throw Error(ErrorCode::internal,
                std::string(v.record.op->name.text) + ": the gradient rule asks for input " +
                    std::to_string(i) + ", expected fewer than " + std::to_string(v.input_count()));
  }
  return static_cast<std::size_t>(i);
}

}  // namespace

int Vjp::input_count() const { return static_cast<int>(record.inputs.size()); }

const Array& Vjp::input(int i) const {
  const std::size_t place = at(*this, i);
  const Array& saved = inputs.empty() ? record.inputs[place].saved : inputs[place];
  if (!saved.defined()) {
    throw Error(ErrorCode::internal, std::string(record.op->name.text) +
                                         ": the gradient rule reads input " + std::to_string(i) +
                                         ", which OpDef::saves does not name");
  }
  return saved;
}

const Array& Vjp::output_grad(int i) const {
  return i == 0 ? grad : more_grads[static_cast<std::size_t>(i) - 1];
}

const Array& Vjp::output(int i) const {
  const Array& saved = i == 0 ? out : more_outs[static_cast<std::size_t>(i) - 1];
  if (!saved.defined()) {
    throw Error(ErrorCode::internal, std::string(record.op->name.text) +
                                         ": the gradient rule reads output " + std::to_string(i) +
                                         ", which OpDef::saves does not name");
  }
  return saved;
}

const Shape& Vjp::shape(int i) const { return record.inputs[at(*this, i)].shape; }
DType Vjp::dtype(int i) const { return record.inputs[at(*this, i)].dtype; }
bool Vjp::has(int i) const { return i < input_count() && record.inputs[at(*this, i)].is_given; }
bool Vjp::needs(int i) const {
  return i < input_count() && record.inputs[at(*this, i)].parent != nullptr;
}
ParamReader Vjp::statics() const { return ParamReader(record.params.statics().span()); }
std::uint64_t Vjp::dynamic(int i) const { return record.params.dynamics()[i]; }

}  // namespace hearth
