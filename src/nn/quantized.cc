#include "hearth/nn/quantized.h"

#include <unordered_map>

namespace hearth {
inline namespace v0 {
namespace nn {
namespace {

bool is_taken(const Parameter& parameter, const Quantizer& quantizer) {
  const Array& value = *parameter.array;
  return is_float(value.dtype()) && (!quantizer.takes || quantizer.takes(parameter.name, value));
}

// `one` of the value of each parameter that is taken; of tied ones once.
template <class One>
auto of_taken(const char* op, const std::vector<Parameter>& parameters, const Quantizer& quantizer,
              One&& one) {
  using Result = decltype(one(Array()));
  std::vector<std::pair<const Parameter*, Result>> results;
  std::unordered_map<const void*, Result> of_values;
  for (const Parameter& parameter : parameters) {
    if (!is_taken(parameter, quantizer)) continue;
    const auto [result, is_new] = of_values.try_emplace(parameter.array->identity());
    try {
      if (is_new) result->second = one(*parameter.array);
    } catch (const Error& error) {
      const std::string text = error.what();
      throw Error(error.code(),
                  std::string(op) + ": of " + parameter.name + text.substr(text.find(": ")));
    }
    results.emplace_back(&parameter, result->second);
  }
  return results;
}

}  // namespace

bool of_matrices(const std::string&, const Array& value) { return value.rank() >= 2; }

namespace quantizer_detail {

std::vector<NamedQuantizedArray> take(const std::vector<Parameter>& parameters,
                                      const Quantizer& quantizer) {
  const auto taken = of_taken("quantize_weights", parameters, quantizer, [&](const Array& value) {
    return quantize_dynamic(value, quantizer.scheme, quantizer.calibration);
  });
  std::vector<NamedQuantizedArray> codes;
  std::vector<Array> stored;
  for (const auto& [parameter, array] : taken) {
    codes.push_back({parameter->name, array});
    for (const Array* part : {&array.payload(), &array.scales(), &array.global()}) {
      if (part->defined()) stored.push_back(*part);
    }
  }
  eval(stored);
  for (const auto& [parameter, array] : taken) *parameter->array = Array(0.0);
  return codes;
}

void fake(const std::vector<Parameter>& parameters, const Quantizer& quantizer) {
  const auto taken = of_taken("fake_quantized", parameters, quantizer, [&](const Array& value) {
    return fake_quantize(value, quantizer.scheme, quantizer.calibration);
  });
  for (const auto& [parameter, array] : taken) *parameter->array = array;
}

}  // namespace quantizer_detail
}  // namespace nn
}  // namespace v0
}  // namespace hearth
