// GGUF's keys for tokens with a role.
#pragma once

#include <string>
#include <string_view>

#include "models/tokenizer/tokenizer.h"

namespace hearth::models::tokens {

inline const std::string kKeyPrefix = "tokenizer.ggml.";

struct RoleKey {
  std::int32_t SpecialTokens::* role;
  std::string_view key;  // behind kKeyPrefix
};

// Of two keys of one role the first is what files are written with.
inline constexpr RoleKey kRoleKeys[] = {
    {&SpecialTokens::bos, "bos_token_id"},
    {&SpecialTokens::eos, "eos_token_id"},
    {&SpecialTokens::eot, "eot_token_id"},
    {&SpecialTokens::eom, "eom_token_id"},
    {&SpecialTokens::unknown, "unknown_token_id"},
    {&SpecialTokens::separator, "seperator_token_id"},  // as llama.cpp writes it
    {&SpecialTokens::separator, "separator_token_id"},
    {&SpecialTokens::padding, "padding_token_id"},
    {&SpecialTokens::cls, "cls_token_id"},
    {&SpecialTokens::mask, "mask_token_id"},
    {&SpecialTokens::fim_prefix, "fim_pre_token_id"},
    {&SpecialTokens::fim_suffix, "fim_suf_token_id"},
    {&SpecialTokens::fim_middle, "fim_mid_token_id"},
    {&SpecialTokens::fim_pad, "fim_pad_token_id"},
    {&SpecialTokens::fim_repository, "fim_rep_token_id"},
    {&SpecialTokens::fim_separator, "fim_sep_token_id"},
};

// Tokens that end a text and have no role, an array of ids: what no other program writes.
inline constexpr std::string_view kEndsKey = "end_token_ids";  // behind kKeyPrefix

}  // namespace hearth::models::tokens
