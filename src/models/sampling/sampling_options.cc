#include "models/sampling/sampling_options.h"

#include <cmath>
#include <string>
#include <variant>

#include "core/number_text.h"
#include "models/sampling/sampling_fields.h"

namespace hearth::models {
namespace {

[[noreturn]] void refuse(std::string_view option, const std::string& got,
                         std::string_view expected) {
  throw Error(ErrorCode::invalid_argument, "sampling: " + std::string(option) +
                                               " out of range; got " + got + ", expected " +
                                               std::string(expected));
}

void check_order(const std::vector<SamplingStep>& steps) {
  unsigned seen = 0;
  bool has_dropped = false;
  for (const SamplingStep step : steps) {
    const auto bit = 1u << static_cast<unsigned>(step);
    if ((seen & bit) != 0) refuse("steps", std::string(name(step)) + " twice", "each once");
    seen |= bit;
    if (step == SamplingStep::penalties || step == SamplingStep::dry) {
      if (has_dropped) {
        refuse("steps", std::string(name(step)) + " behind others",
               "penalties and dry before all others");
      }
    } else if (step != SamplingStep::adaptive_p) {
      has_dropped = true;
    }
  }
}

}  // namespace

void check_sampling_options(const SamplingOptions& options, std::int64_t vocabulary) {
  const SamplingOptions& o = options;
  for (const SamplingField& field : sampling_fields()) {
    const auto check = [&](auto member) {
      const auto value = o.*member;
      if (!allows(field, static_cast<double>(value))) {
        refuse(field.name, number_text(value), range_text(field));
      }
    };
    std::visit(check, field.member);
  }
  const auto check_token = [&](std::string_view option, std::int32_t token) {
    if (token < 0 || token >= vocabulary) {
      refuse(option, "token " + std::to_string(token),
             "tokens of 0 to " + std::to_string(vocabulary - 1));
    }
  };
  for (const LogitBias& bias : o.logit_bias) {
    check_token("logit_bias", bias.token);
    if (std::isnan(bias.value) || bias.value == std::numeric_limits<float>::infinity()) {
      refuse("logit_bias", number_text(static_cast<double>(bias.value)), "a number or -infinity");
    }
  }
  for (const std::int32_t token : o.suppressed) check_token("suppressed", token);
  for (const auto& breaker : o.dry_breakers) {
    if (breaker.empty()) refuse("dry_breakers", "no tokens", "at least one of each");
    for (const std::int32_t token : breaker) check_token("dry_breakers", token);
  }
  if (o.adaptive_target >= 0 && o.mirostat != Mirostat::off) {
    throw Error(ErrorCode::invalid_argument,
                "sampling: adaptive_target and mirostat each draw by themselves; got " +
                    number_text(o.adaptive_target) + " and " +
                    std::to_string(static_cast<int>(o.mirostat)) +
                    ", expected mirostat 0 or adaptive_target -1");
  }
  check_order(o.steps);
}

}  // namespace hearth::models
