#include "ops/loss/reduction.h"

#include <string>

#include "core/number_text.h"
#include "core/require_listed.h"
#include "hearth/ops.h"
#include "ops/definition/rules.h"

namespace hearth {

void require_beside(const char* op, const Array& x, const char* what, const Array& other,
                    OtherDType dtype) {
  require_float_array(op, x);
  if (!other.defined()) {
    throw Error(ErrorCode::invalid_argument,
                std::string(op) + ": no " + what +
                    "; got an undefined array, expected one of shape " + to_string(x.shape()));
  }
  if (other.shape() != x.shape()) {
    throw Error(ErrorCode::shape, std::string(op) + ": " + what + " of another shape; got " +
                                      to_string(other.shape()) + ", expected " +
                                      to_string(x.shape()));
  }
  const bool fits =
      other.dtype() == x.dtype() || (dtype == OtherDType::or_integers && !is_float(other.dtype()));
  if (fits) return;
  throw Error(ErrorCode::dtype, std::string(op) + ": " + what + " of another dtype; got " +
                                    std::string(name(other.dtype())) + ", expected " +
                                    std::string(name(x.dtype())) +
                                    (dtype == OtherDType::same ? "" : ", integers or bools"));
}

void require_above(const char* op, const char* what, double value, double least, bool or_equal) {
  if (value > least || (or_equal && value == least)) return;
  throw Error(ErrorCode::invalid_argument, std::string(op) + ": " + what + " out of range; got " +
                                               number_text(value) + ", expected " +
                                               (or_equal ? "" : "more than ") + number_text(least) +
                                               (or_equal ? " or more" : ""));
}

Array reduce_losses(const Array& losses, Reduction reduction) {
  require_listed("reduction", "reduction", reduction, Reduction::batch_mean);
  switch (reduction) {
    case Reduction::none:
      break;
    case Reduction::mean:
      return mean(losses);
    case Reduction::sum:
      return sum(losses);
    case Reduction::batch_mean:
      return div(sum(losses), losses.rank() == 0 ? std::int64_t{1} : losses.shape()[0]);
  }
  return losses;
}

Array finished_losses(const Array& losses, Reduction reduction, const Array& x) {
  return cast(reduce_losses(losses, reduction), x.dtype());
}

Array positive_part(const Array& x) { return relu(x); }

}  // namespace hearth
