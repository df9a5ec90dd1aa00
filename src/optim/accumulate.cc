#include "hearth/optim/accumulate.h"

#include <string>
#include <vector>

#include "core/compute_class.h"
#include "hearth/ops.h"
#include "optim/moving.h"
#include "optim/require.h"

namespace hearth {
inline namespace v0 {
namespace optim {
namespace {

// Of f32, where losses have it: never 0 or infinity, from which no step leads back.
constexpr const char* kScales = "a number from 2^-126 to 2^127";
bool is_scale(double scale) { return scale >= 0x1p-126 && scale <= 0x1p127; }

}  // namespace

void GradientsAccumulator::add(Gradients gradients, CallSite site) {
  located(site, [&] {
    const NoGrad no_grad;
    std::vector<std::pair<std::uint64_t, Array>> added;
    for (const auto& [id, gradient] : gradients) added.emplace_back(id, gradient.detach());
    gradients = Gradients();
    Gradients next = sums_;
    for (auto& [id, gradient] : added) {
      const Array before = next.get(id);
      next.set(id, before.defined() ? before + gradient : gradient);
    }
    // The last handles of the old sums are gone when the plan is submitted.
    added.clear();
    sums_ = std::move(next);
    ++count_;
    submit();
  });
}

Gradients GradientsAccumulator::take() {
  count_ = 0;
  return std::exchange(sums_, Gradients());
}

LossScaler::LossScaler(const Options& options) : options_(options), scale_(options.scale) {
  require_in_range(is_scale(options.scale), "loss_scaler", "scale", options.scale, kScales);
  require_in_range(options.growth > 1 && std::isfinite(options.growth), "loss_scaler", "growth",
                   options.growth, "a finite number > 1");
  require_in_range(options.backoff > 0 && options.backoff < 1, "loss_scaler", "backoff",
                   options.backoff, "(0, 1)");
  require_in_range(options.interval > 0, "loss_scaler", "interval",
                   static_cast<double>(options.interval), "1 or more");
}

Array LossScaler::scaled(const Array& loss, CallSite site) const {
  return located(site, [&] { return loss * scale_; });
}

bool LossScaler::unscale(Gradients& gradients, CallSite site) {
  return located(site, [&] {
    const NoGrad no_grad;
    Gradients unscaled;
    std::vector<Array> broken;
    for (const auto& [id, gradient] : gradients) {
      optim_detail::require_float("loss_scaler", "gradient", gradient.dtype());
      const Array value = cast(gradient, compute_dtype(gradient.dtype())) * (1 / scale_);
      broken.push_back(any(logical_not(is_finite(value))));
      unscaled.set(id, value);
    }
    const bool is_sound = broken.empty() || !any(stack(broken, 0)).item<bool>();
    gradients = std::move(unscaled);
    if (!is_sound) {
      const double smaller = scale_ * options_.backoff;
      if (is_scale(smaller)) scale_ = smaller;
      good_steps_ = 0;
    } else if (++good_steps_ >= options_.interval) {
      const double larger = scale_ * options_.growth;
      if (is_scale(larger)) scale_ = larger;
      good_steps_ = 0;
    }
    return is_sound;
  });
}

NamedArrays LossScaler::state_dict() const {
  return {{"good_steps", Array::from_data(std::vector<std::int64_t>{good_steps_}, {1})},
          {"scale", Array::from_data(std::vector<double>{scale_}, {1})}};
}

void LossScaler::load_state_dict(const NamedArrays& state, CallSite site) {
  located(site, [&] {
    double scale = 0;
    std::int64_t good_steps = -1;
    for (const NamedArray& each : state) {
      if (each.array.size() != 1) continue;
      if (each.name == "scale" && each.array.dtype() == DType::f64) scale = each.array.item();
      if (each.name == "good_steps" && is_int(each.array.dtype())) {
        good_steps = each.array.item<std::int64_t>();
      }
    }
    if (!is_scale(scale) || good_steps < 0 || state.size() != 2) {
      throw Error(ErrorCode::invalid_argument,
                  "loss_scaler: state of something else; got " + std::to_string(state.size()) +
                      " arrays, expected a scale, " + kScales + ", and good_steps of 0 or more");
    }
    scale_ = scale;
    good_steps_ = good_steps;
  });
}

ParameterMeans::ParameterMeans(double decay) : decay_(decay) {
  optim_detail::require_share("parameter_means", "decay", decay);
}

void ParameterMeans::update(const NamedArrays& parameters, CallSite site) {
  located(site, [&] {
    const NoGrad no_grad;
    // A tensor by itself has no name.
    const auto called = [](const std::string& name) {
      return name.empty() ? std::string("the tensor") : name;
    };
    NamedArrays next;
    std::vector<DType> dtypes;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const auto& [name, value] = parameters[i];
      if (!means_.empty() && (parameters.size() != means_.size() || means_[i].name != name)) {
        throw Error(ErrorCode::invalid_argument,
                    "parameter_means: other parameters than before; got " + called(name) + " of " +
                        std::to_string(parameters.size()) + ", expected the same " +
                        std::to_string(means_.size()) + " in the same order");
      }
      if (!means_.empty() && !(means_[i].array.shape() == value.shape())) {
        throw Error(ErrorCode::shape, "parameter_means: " + called(name) +
                                          " has another shape; got " + to_string(value.shape()) +
                                          ", expected " + to_string(means_[i].array.shape()));
      }
      dtypes.push_back(value.dtype());
      if (!is_float(value.dtype())) {
        next.push_back({name, value.detach()});
        continue;
      }
      const Array now = cast(value.detach(), compute_dtype(value.dtype()));
      next.push_back(
          {name, means_.empty() ? now : optim_detail::moving(means_[i].array, now, decay_)});
    }
    means_ = std::move(next);
    dtypes_ = std::move(dtypes);
    submit();
  });
}

NamedArrays ParameterMeans::values() const {
  NamedArrays out = means_;
  for (std::size_t i = 0; i < out.size(); ++i) out[i].array = cast(out[i].array, dtypes_[i]);
  return out;
}

}  // namespace optim
}  // namespace v0
}  // namespace hearth
