#include "hearth/optim/lbfgs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "core/compute_class.h"
#include "hearth/grad.h"
#include "hearth/ops.h"
#include "optim/require.h"

namespace hearth {
inline namespace v0 {
namespace optim {
namespace {

double dot(const Array& a, const Array& b) { return sum(a * b).item(); }

}  // namespace

// A place on the line that is searched.
struct Lbfgs::Point {
  double length = 0;  // along the direction
  double loss = 0;
  double slope = 0;
  Array gradient;
};

namespace {

// Where a cubic with these values and slopes at two places is least, within bounds (Nocedal and
// Wright 2006, 3.59); their middle where it has no minimum.
template <class Point>
double cubic_minimum(const Point& a, const Point& b, double low, double high) {
  const auto& [left, right] = a.length <= b.length ? std::tie(a, b) : std::tie(b, a);
  const double width = left.length - right.length;
  const double d1 = left.slope + right.slope - 3 * (left.loss - right.loss) / width;
  const double square = d1 * d1 - left.slope * right.slope;
  if (!(square >= 0)) return (low + high) / 2;
  const double d2 = std::sqrt(square);
  const double at =
      right.length - (right.length - left.length) *
                         ((right.slope + d2 - d1) / (right.slope - left.slope + 2 * d2));
  return std::isnan(at) ? (low + high) / 2 : std::min(std::max(at, low), high);
}

}  // namespace

// The parameters as one vector, and the loss there.
class Lbfgs::Problem {
 public:
  Problem(const std::vector<Parameter>& parameters, const std::function<Array()>& loss)
      : loss_(loss) {
    std::vector<std::uint64_t> seen;
    for (const Parameter& each : parameters) {
      if (each.array == nullptr || !each.array->defined() || !each.array->is_require_grad())
        continue;
      const std::uint64_t id = gradient_id(*each.array);
      const auto place = std::find(seen.begin(), seen.end(), id);
      if (place != seen.end()) {
        places_[static_cast<std::size_t>(place - seen.begin())].push_back(each.array);
        continue;
      }
      seen.push_back(id);
      places_.push_back({each.array});
      if (each.array->dtype() == DType::f64) compute_ = DType::f64;
    }
    if (places_.empty()) {
      throw Error(
          ErrorCode::invalid_argument,
          "lbfgs: no parameters; got " + std::to_string(parameters.size()) +
              " arrays, none of which require_grad() made, expected at least one that it made");
    }
    begin_ = joined([](const Array& parameter) { return parameter.detach(); });
  }

  const Array& begin() const { return begin_; }

  // Loss and gradient at `length` along the direction from where the parameters were.
  Point at(double length, const Array& along) const {
    move_to(length, along);
    return here(length, along);
  }
  // Leaves the parameters at `length`, from where all later lengths are.
  void settle(double length, const Array& along) {
    move_to(length, along);
    begin_ = joined([](const Array& parameter) { return parameter.detach(); });
  }
  Point here(double length, const Array& along) const {
    const Array loss = loss_();
    const Gradients gradients = backward(loss);
    const NoGrad no_grad;
    Point point;
    point.length = length;
    point.gradient = joined([&](const Array& parameter) {
      const Array found = gradients.get(parameter);
      return found.defined() ? found.detach() : zeros_like(parameter.detach());
    });
    point.loss = loss.item();
    if (along.defined()) point.slope = dot(point.gradient, along);
    return point;
  }

 private:
  void move_to(double length, const Array& along) const {
    const NoGrad no_grad;
    const Array moved = begin_ + along * length;
    std::int64_t start = 0;
    for (const std::vector<Array*>& tied : places_) {
      const Array& parameter = *tied.front();
      const std::int64_t size = parameter.size();
      const Array value =
          cast(reshape(narrow(moved, 0, start, size), parameter.shape()), parameter.dtype());
      for (Array* const place : tied) place->assign(value);
      start += size;
    }
  }
  template <class Of>
  Array joined(Of of) const {
    const NoGrad no_grad;
    std::vector<Array> parts;
    for (const std::vector<Array*>& tied : places_) {
      const Array part = of(*tied.front());
      parts.push_back(cast(reshape(part, {part.size()}), compute_));
    }
    return cat(parts, 0);
  }

  const std::function<Array()>& loss_;
  std::vector<std::vector<Array*>> places_;  // of each leaf
  DType compute_ = DType::f32;
  Array begin_;
};

Lbfgs::Lbfgs(const Options& options) : options_(options) {
  using namespace optim_detail;
  const auto count = [](const char* what, std::int64_t value, std::int64_t least) {
    require_in_range(value >= least && value <= std::int64_t{1} << 30, "lbfgs", what,
                     static_cast<double>(value), least == 0 ? "0 to 2^30" : "1 to 2^30");
  };
  count("max_iterations", options.max_iterations, 1);
  count("max_evaluations", options.max_evaluations, 0);
  count("history", options.history, 1);
  require_non_negative("lbfgs", "tolerance_gradient", options.tolerance_gradient);
  require_non_negative("lbfgs", "tolerance_change", options.tolerance_change);
  if (options_.max_evaluations == 0) options_.max_evaluations = options.max_iterations * 5 / 4;
}

// Keeps what the last iteration says of the curvature, where it is positive.
void Lbfgs::remember(const Array& gradient) {
  const Array difference = gradient - gradient_;
  const Array move = direction_ * length_;
  const double product = dot(move, difference);
  if (!(product > 1e-10)) return;
  if (static_cast<std::int64_t>(pairs_.size()) >= options_.history) pairs_.erase(pairs_.begin());
  curvature_ = product / dot(difference, difference);
  pairs_.push_back({move, difference, 1 / product});
}

// Minus the gradient times the inverse curvature, in two loops over the pairs.
Array Lbfgs::direction(const Array& gradient) const {
  Array q = -gradient;
  std::vector<Array> factors(pairs_.size());
  for (std::size_t i = pairs_.size(); i-- > 0;) {
    factors[i] = sum(pairs_[i].move * q) * pairs_[i].weight;
    q = q - pairs_[i].difference * factors[i];
  }
  q = q * curvature_;
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    q = q + pairs_[i].move * (factors[i] - sum(pairs_[i].difference * q) * pairs_[i].weight);
  }
  return q;
}

// A place where the loss is less and its slope is flat enough: first a bracket around one, then
// ever smaller brackets (Nocedal and Wright 2006, algorithms 3.5 and 3.6).
Lbfgs::Point Lbfgs::search(const Problem& problem, const Point& from, const Array& along,
                           double slope, double first, std::int64_t* evaluations) const {
  constexpr double kDecrease = 1e-4, kFlatness = 0.9;
  const std::int64_t limit = std::min<std::int64_t>(25, options_.max_evaluations - *evaluations);
  const double widest = max(abs(along)).item();
  const auto is_too_high = [&](const Point& at) {
    return at.loss > from.loss + kDecrease * at.length * slope;
  };
  const auto is_flat = [&](const Point& at) { return std::abs(at.slope) <= -kFlatness * slope; };
  const auto evaluate = [&](double length) {
    ++*evaluations;
    Point there = problem.at(length, along);
    // Worse than any: the search goes back from there.
    if (std::isnan(there.loss)) there.loss = std::numeric_limits<double>::infinity();
    return there;
  };
  Point origin = from;
  origin.length = 0;
  origin.slope = slope;
  Point before = origin;
  Point now = evaluate(first);
  Point bracket[2];
  std::int64_t tries = 0;
  bool is_bracket = false;
  for (; tries < limit; ++tries) {
    if (is_too_high(now) || (tries > 1 && now.loss >= before.loss)) {
      is_bracket = true;
      break;
    }
    if (is_flat(now)) return now;
    if (now.slope >= 0) {
      is_bracket = true;
      break;
    }
    const double next = cubic_minimum(before, now, now.length + 0.01 * (now.length - before.length),
                                      now.length * 10);
    before = std::exchange(now, evaluate(next));
  }
  bracket[0] = is_bracket ? before : origin;
  bracket[1] = now;
  int low = bracket[0].loss <= bracket[1].loss ? 0 : 1;
  bool is_slow = false;
  for (; tries < limit; ++tries) {
    const double least = std::min(bracket[0].length, bracket[1].length);
    const double most = std::max(bracket[0].length, bracket[1].length);
    if (!((most - least) * widest >= options_.tolerance_change)) break;
    double length = cubic_minimum(bracket[0], bracket[1], least, most);
    // Near an end twice in turn: away from it.
    const double margin = 0.1 * (most - least);
    const bool is_near = std::min(most - length, length - least) < margin;
    if (is_near && (is_slow || length >= most || length <= least)) {
      length = most - length < length - least ? most - margin : least + margin;
      is_slow = false;
    } else {
      is_slow = is_near;
    }
    Point next = evaluate(length);
    if (is_too_high(next) || next.loss >= bracket[low].loss) {
      bracket[1 - low] = std::move(next);
      low = bracket[0].loss <= bracket[1].loss ? 0 : 1;
      continue;
    }
    if (is_flat(next)) return next;
    if (next.slope * (bracket[1 - low].length - bracket[low].length) >= 0) {
      bracket[1 - low] = bracket[low];
    }
    bracket[low] = std::move(next);
  }
  return bracket[low];
}

double Lbfgs::step(const std::vector<Parameter>& parameters, const std::function<Array()>& loss,
                   double learning_rate, CallSite site) {
  return located(site, [&] {
    require_non_negative("lbfgs", "learning rate", learning_rate);
    Problem problem(parameters, loss);
    if (gradient_.defined() && !(gradient_.shape() == problem.begin().shape())) {
      throw Error(ErrorCode::shape,
                  "lbfgs: other parameters than before; got " + to_string(problem.begin().shape()) +
                      " elements in all, expected " + to_string(gradient_.shape()));
    }
    Point at = problem.here(0, Array());
    const double first_loss = at.loss;
    const auto is_done = [&] {
      return max(abs(at.gradient)).item() <= options_.tolerance_gradient;
    };
    // From elsewhere no direction leads down.
    const auto is_finite = [&] {
      return std::isfinite(at.loss) && std::isfinite(max(abs(at.gradient)).item());
    };
    if (at.gradient.size() == 0 || !is_finite() || is_done()) return first_loss;
    std::int64_t evaluations = 1;
    for (std::int64_t i = 1; i <= options_.max_iterations; ++i) {
      const bool is_first = iterations_++ == 0;
      if (!is_first) remember(at.gradient);
      direction_ = direction(at.gradient);
      gradient_ = at.gradient;
      length_ = learning_rate;
      if (is_first) length_ *= std::min(1.0, 1 / sum(abs(at.gradient)).item());
      const double slope = dot(at.gradient, direction_);
      if (slope > -options_.tolerance_change) {
        length_ = 0;
        break;
      }
      const double loss_before = at.loss;
      if (options_.strong_wolfe) {
        at = search(problem, at, direction_, slope, length_, &evaluations);
        length_ = at.length;
        problem.settle(length_, direction_);
      } else {
        problem.settle(length_, direction_);
        if (i == options_.max_iterations) break;
        at = problem.here(length_, Array());
        ++evaluations;
      }
      if (evaluations >= options_.max_evaluations || !is_finite() || is_done()) break;
      if (max(abs(direction_)).item() * std::abs(length_) <= options_.tolerance_change) break;
      if (std::abs(at.loss - loss_before) < options_.tolerance_change) break;
    }
    submit();
    return first_loss;
  });
}

NamedArrays Lbfgs::state_dict() const {
  NamedArrays out;
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    const std::string name = std::to_string(i);
    out.push_back({name + ".difference", pairs_[i].difference});
    out.push_back({name + ".move", pairs_[i].move});
  }
  if (direction_.defined()) {
    out.push_back({"direction", direction_});
    out.push_back({"gradient", gradient_});
  }
  out.push_back({"iterations", Array::from_data(std::vector<std::int64_t>{iterations_}, {1})});
  out.push_back({"length", Array::from_data(std::vector<double>{length_}, {1})});
  return out;
}

void Lbfgs::load_state_dict(const NamedArrays& state, CallSite site) {
  located(site, [&] {
    std::map<std::string, Array> left;
    for (const NamedArray& each : state) left[each.name] = each.array.detach();
    const auto take = [&](const std::string& name, DType dtype, const Shape& shape) {
      const auto found = left.find(name);
      if (found == left.end() || found->second.dtype() != dtype ||
          !(found->second.shape() == shape)) {
        throw Error(ErrorCode::invalid_argument,
                    "lbfgs: incomplete state; got no " + name + ", expected " +
                        std::string(hearth::name(dtype)) + " " + to_string(shape));
      }
      return left.extract(found).mapped();
    };
    Lbfgs loaded(options_);
    loaded.iterations_ = take("iterations", DType::i64, {1}).item<std::int64_t>();
    loaded.length_ = take("length", DType::f64, {1}).item();
    if (const auto found = left.find("gradient"); found != left.end()) {
      const DType dtype = found->second.dtype();
      const Shape shape = found->second.shape();
      loaded.gradient_ = take("gradient", dtype, shape);
      loaded.direction_ = take("direction", dtype, shape);
      while (!left.empty()) {
        const std::string number = std::to_string(loaded.pairs_.size());
        const Array difference = take(number + ".difference", dtype, shape);
        const Array move = take(number + ".move", dtype, shape);
        const double product = dot(move, difference);
        loaded.curvature_ = product / dot(difference, difference);
        loaded.pairs_.push_back({move, difference, 1 / product});
      }
    }
    if (!left.empty() || loaded.iterations_ < 0 ||
        loaded.gradient_.defined() != (loaded.iterations_ > 0)) {
      throw Error(ErrorCode::invalid_argument, "lbfgs: state of something else; got " +
                                                   std::to_string(state.size()) +
                                                   " arrays, expected what state_dict() gave");
    }
    *this = std::move(loaded);
  });
}

}  // namespace optim
}  // namespace v0
}  // namespace hearth
