#include "models/chat_template/context.h"

#include "core/whole_message.h"
#include "hearth/error.h"

namespace hearth::models::chat_template {

void fail_at(int line, const std::string& what) {
  throw Error(ErrorCode::invalid_argument,
              whole_message("chat template: " + what + ", at line " + std::to_string(line)));
}

void Context::fail(const std::string& what) const { fail_at(line_, what); }

void Context::fail_limit(const char* what, std::int64_t limit) const {
  fail(std::string("the limit of ") + what + " is reached; expected at most " +
       std::to_string(limit));
}

void Context::charge_steps(std::size_t count) {
  steps_ += count;
  if (steps_ > static_cast<std::size_t>(limits_.steps)) fail_limit("steps", limits_.steps);
}

void Context::expect_bytes(std::size_t count) const {
  if (count > limits_.bytes - bytes_) {
    fail_limit("bytes", static_cast<std::int64_t>(limits_.bytes));
  }
}

void Context::charge_bytes(std::size_t count) {
  expect_bytes(count);
  bytes_ += count;
  charge_steps(count / 256);
}

void Context::check_output(std::size_t size) {
  if (size > limits_.output_bytes) {
    fail_limit("output bytes", static_cast<std::int64_t>(limits_.output_bytes));
  }
}

Context::Level::Level(Context& context) : context_(context) {
  if (context.depth_ >= context.limits_.depth) context.fail_limit("depth", context.limits_.depth);
  ++context.depth_;
}

}  // namespace hearth::models::chat_template
