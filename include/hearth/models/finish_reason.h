// Why a text that a model writes has ended.
#pragma once

#include <cstdint>

namespace hearth {
inline namespace v0 {

enum class FinishReason : std::uint8_t {
  none,       // not yet
  stop,       // the model ended the text, or one of the stops did
  length,     // as many tokens as were asked for, or the context is full
  cancelled,  // by the one who asked
  failed,     // by an Error
};

}  // namespace v0
}  // namespace hearth
