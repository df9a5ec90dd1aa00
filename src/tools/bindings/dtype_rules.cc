#include "tools/bindings/dtype_rules.h"

#include <algorithm>
#include <map>
#include <utility>

#include "ops/definition/call.h"
#include "ops/definition/sample_signature.h"

namespace hearth::tools {
namespace {

std::vector<DType> all_dtypes() {
  std::vector<DType> all;
  for (int i = 0; i < kDTypeCount; ++i) all.push_back(static_cast<DType>(i));
  return all;
}

using Answer = std::optional<std::vector<DType>>;

// A call that was accepted: in which dtype, with which parameter, and what it gave.
struct Accepted {
  DType base;
  DType parameter;
  std::vector<DType> results;
};

class Asker {
 public:
  explicit Asker(const DTypeQuestion& question) : question_(question) {
    varying_ = std::count_if(question.inputs.begin(), question.inputs.end(),
                             [](const SampleInput& input) { return input.dtype < 0; });
    const std::vector<DType> any = {DType::f32};
    for (const DType base : varying_ > 0 ? all_dtypes() : any) {
      for (const DType parameter : question.has_parameter ? all_dtypes() : any) {
        if (Answer results = answer(inputs_in(base), parameter)) {
          accepted_.push_back({base, parameter, *std::move(results)});
        } else {
          said_.emplace(varying_ > 0 ? base : parameter, refusal_);
        }
      }
    }
  }

  DTypeRules rules() const {
    if (accepted_.empty()) {
      throw Error(ErrorCode::dtype, "ops: a sample that is refused in each dtype");
    }
    DTypeRules rules;
    for (std::size_t i = 0; i < question_.inputs.size(); ++i) rules.inputs.push_back(input_rule(i));
    if (question_.has_parameter) rules.parameter = values_of(&Accepted::parameter);
    for (std::size_t i = 0; i < accepted_[0].results.size(); ++i) {
      rules.results.push_back(result_rule(i));
    }
    const std::vector<DType> taken =
        values_of(varying_ > 0 ? &Accepted::base : &Accepted::parameter);
    for (const auto& [dtype, text] : said_) {
      if (std::find(taken.begin(), taken.end(), dtype) == taken.end()) {
        rules.refused.emplace_back(dtype, text);
      }
    }
    return rules;
  }

 private:
  std::vector<DType> inputs_in(DType base) const {
    std::vector<DType> dtypes;
    for (const SampleInput& input : question_.inputs) {
      dtypes.push_back(input.dtype < 0 ? base : static_cast<DType>(input.dtype));
    }
    return dtypes;
  }

  Answer answer(const std::vector<DType>& inputs, DType parameter) const {
    try {
      return question_.results(inputs, parameter);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::dtype) throw;
      refusal_ = error.what();
      return std::nullopt;
    }
  }

  // In the order of DType, each once.
  std::vector<DType> values_of(DType Accepted::* member) const {
    std::vector<DType> values;
    for (const DType dtype : all_dtypes()) {
      if (std::any_of(accepted_.begin(), accepted_.end(),
                      [&](const Accepted& one) { return one.*member == dtype; })) {
        values.push_back(dtype);
      }
    }
    return values;
  }

  // An input that takes other dtypes while the call's other inputs and its results keep theirs is
  // free; else it is in the dtype that varies.
  InputRule input_rule(std::size_t i) const {
    const bool has_own = question_.inputs[i].dtype >= 0;
    const Accepted& start = accepted_[0];
    InputRule free;
    for (const DType dtype : all_dtypes()) {
      std::vector<DType> inputs = inputs_in(start.base);
      inputs[i] = dtype;
      const Answer got = answer(inputs, start.parameter);
      if (got && (has_own || got == start.results)) free.dtypes.push_back(dtype);
    }
    if (has_own || (varying_ > 1 && free.dtypes.size() > 1)) return free;
    return {values_of(&Accepted::base), true};
  }

  std::string result_rule(std::size_t i) const {
    const auto is_always = [&](auto expected) {
      return std::all_of(accepted_.begin(), accepted_.end(),
                         [&](const Accepted& one) { return one.results[i] == expected(one); });
    };
    if (varying_ > 0 && is_always([](const Accepted& one) { return one.base; })) return "input";
    if (question_.has_parameter && is_always([](const Accepted& one) { return one.parameter; })) {
      return "parameter";
    }
    const DType first = accepted_[0].results[i];
    if (is_always([&](const Accepted&) { return first; })) return std::string(name(first));
    if (is_always([](const Accepted& one) { return compute_dtype(one.base); })) return "compute";
    return "other";
  }

  const DTypeQuestion& question_;
  std::ptrdiff_t varying_ = 0;
  std::vector<Accepted> accepted_;
  std::map<DType, std::string> said_;  // the first that was said of a dtype
  mutable std::string refusal_;        // what answer() was last told
};

// The static words with the parameter `dtype` replaced.
Params with_dtype(const OpDef& op, const Params& params, DType dtype) {
  ParamReader statics(params.statics().span());
  Params changed;
  for (const ParamSpec& param : op.params) {
    if (param.dynamic) continue;
    if (param.type == ParamType::i64_list) {
      changed.list(statics.list());
    } else {
      const std::int64_t word = statics.i64();
      changed.i64(param.type == ParamType::dtype ? static_cast<std::int64_t>(dtype) : word);
    }
  }
  for (const std::uint64_t word : params.dynamics().span()) {
    changed.dynamic_i64(static_cast<std::int64_t>(word));
  }
  return changed;
}

DTypeQuestion question_of(const OpDef& op, const SampleCase& sample) {
  const bool has_parameter =
      std::any_of(op.params.begin(), op.params.end(),
                  [](const ParamSpec& param) { return param.type == ParamType::dtype; });
  return {sample.inputs, has_parameter,
          [&op, sample, has_parameter](const std::vector<DType>& inputs, DType parameter) {
            SampleCase asked = sample;
            for (std::size_t i = 0; i < inputs.size(); ++i) {
              asked.inputs[i].dtype = static_cast<int>(inputs[i]);
            }
            if (has_parameter) asked.params = with_dtype(op, sample.params, parameter);
            const Signature signature = sample_signature(op, asked, DType::f32);
            std::vector<DType> results;
            for (int i = 0; i < op.outputs; ++i) results.push_back(signature.output_at(i).dtype);
            return results;
          }};
}

}  // namespace

DTypeRules dtype_rules(const DTypeQuestion& question) { return Asker(question).rules(); }

DTypeRules dtype_rules(const OpDef& op) {
  DTypeRules all;
  const auto samples = op.samples == nullptr ? std::vector<SampleCase>() : op.samples();
  for (const SampleCase& sample : samples) {
    const bool is_more = all.results.empty() || sample.inputs.size() > all.inputs.size();
    if (sample.error != SampleCase::kValid || !is_more) continue;
    DTypeRules rules = dtype_rules(question_of(op, sample));
    if (all.results.empty()) {
      all = std::move(rules);
    } else {
      all.inputs = std::move(rules.inputs);
    }
  }
  if (all.results.empty()) all.results.assign(static_cast<std::size_t>(op.outputs), "other");
  if (op.max_inputs >= 0) all.inputs.resize(static_cast<std::size_t>(op.max_inputs));
  return all;
}

}  // namespace hearth::tools
