#include "graph/grad_record.h"

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

int Vjp::input_count() const { return static_cast<int>(record.parents.size()); }

const Array& Vjp::input(int i) const {
  const Array& saved = record.saved[at(*this, i)];
  if (!saved.defined()) {
    throw Error(ErrorCode::internal, std::string(record.op->name.text) +
                                         ": the gradient rule reads input " + std::to_string(i) +
                                         ", which OpDef::saves does not name");
  }
  return saved;
}

const Array& Vjp::rest() const { return record.rest; }
const Shape& Vjp::shape(int i) const { return record.shapes[at(*this, i)]; }
DType Vjp::dtype(int i) const { return record.dtypes[at(*this, i)]; }
bool Vjp::has(int i) const { return i < input_count() && record.given[at(*this, i)]; }
bool Vjp::needs(int i) const {
  return i < input_count() && record.parents[at(*this, i)] != nullptr;
}
ParamReader Vjp::statics() const { return ParamReader(record.params.statics().span()); }
std::uint64_t Vjp::dynamic(int i) const { return record.params.dynamics()[i]; }

}  // namespace hearth
