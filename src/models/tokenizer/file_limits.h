// How large the files of text beside a model's weights may be, whoever reads them.
#pragma once

#include <cstdint>

namespace hearth::models {

// config.json, generation_config.json, indices of weights and what else is said of modules.
inline constexpr std::uint64_t kMaxConfigBytes = std::uint64_t{64} << 20;
// tokenizer.json and tokenizer_config.json, which may list all tokens.
inline constexpr std::uint64_t kMaxTokenizerBytes = std::uint64_t{256} << 20;
inline constexpr std::uint64_t kMaxTemplateBytes = std::uint64_t{16} << 20;  // of chats

}  // namespace hearth::models
