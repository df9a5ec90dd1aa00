#include "models/tokenizer/named_pre_tokenizer.h"

#include <array>

#include "core/quoted.h"
#include "hearth/error.h"
#include "models/tokenizer/pre_tokenizer_patterns.h"

namespace hearth::models::tokens {
namespace {

// How texts are split, which several names may stand for.
struct Splitting {
  std::array<const char*, 6> patterns;  // each splits the pieces of the one before; null: no more
  bool whole_first = false, adds_bos = false;
  SpacesOfPieces spaces = SpacesOfPieces::as_bytes;
};

constexpr Splitting kGpt2 = {{kGpt2Pattern}};
constexpr Splitting kDigitsGpt2 = {{R"(\p{N})", kGpt2Pattern}};
constexpr Splitting kLlama3 = {{kLlama3Pattern}, true, true};
constexpr Splitting kLlama3Merging = {{kLlama3Pattern}};
constexpr Splitting kLlama3Whole = {{kLlama3Pattern}, true, false};
constexpr Splitting kQwen2 = {{kQwen2Pattern}};
constexpr Splitting kQwen35 = {{kQwen35Pattern}};
constexpr Splitting kGpt4o = {{kGpt4oPattern}};
constexpr Splitting kTekken = {{kTekkenPattern}, true, true};
constexpr Splitting kDeepseekV3 = {{R"(\p{N}{1,3})", kIdeographsAndKana, kDeepseekPattern}};
constexpr Splitting kDeepseekLlm = {
    {R"([\r\n])", kDeepseekLetters, kDeepseekMarks, R"(\s+$)", kDeepseekAsian, R"(\p{N}+)"}};
constexpr Splitting kDeepseekCoder = {
    {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)", kDeepseekAsian, R"(\p{N})"}};
constexpr Splitting kFalcon = {{R"([\p{P}\$\+<=>\^~\|`]+)", kGpt2Pattern, "[0-9][0-9][0-9]"}};
constexpr Splitting kDefault = {
    {R"([\p{P}\$\+<=>\^~\|]+)", kGpt2Pattern, R"(\p{N}+)", "[0-9][0-9][0-9]"}};
constexpr Splitting kBloom = {{kBloomPattern}};
constexpr Splitting kViking = {{kBloomPattern, R"(\p{N})"}};
constexpr Splitting kJais2 = {{kJais2Pattern}};
constexpr Splitting kBailing = {{kBailingPattern}};
constexpr Splitting kSeedCoder = {{kSeedCoderPattern}};
constexpr Splitting kUfakzeka = {{kUfakzekaPattern}};
constexpr Splitting kExaoneMoe = {{kExaoneMoePattern}};
constexpr Splitting kMinicpm5 = {{R"(\p{N}{1,3})", kMinicpm5Pattern}, true, false};
constexpr Splitting kSpark = {{R"(\p{N}{1,3})", kIdeographsAndKana, kSparkPattern, R"(\p{N})"}};
constexpr Splitting kYoutu = {{kYoutuScripts, kYoutuPattern}, true, false};
constexpr Splitting kKimi = {{kKimiPattern}};
constexpr Splitting kGpt4oWhole = {{kGpt4oPattern}, true, false};
constexpr Splitting kLaguna = {{kLinesApart, kQwen2Pattern}};
constexpr Splitting kTinyAya = {{kDigitsOfWords, kGpt4oPattern}};
constexpr Splitting kSuperBpe = {{R"(\p{N}+)", kBeforeThreeDigits}};
constexpr Splitting kAfmoe = {{kDigitsFromRight, kAfmoeAsian, kDeepseekPattern}};
constexpr Splitting kWhitespace = {{R"(\s+)"}, false, false, SpacesOfPieces::dropped};
constexpr Splitting kChameleon = {{"<sentinel:[0-9]+>", "IMGIMG[A-I]{1,4}Z", R"([\t\n]|    |  )",
                                   R"(\p{N})", R"([\p{P}!-/:-@\[-`{-~])", kGpt2Pattern},
                                  false,
                                  true};
constexpr Splitting kGemma4 = {{kLinesApart}, false, true, SpacesOfPieces::marked};
constexpr Splitting kSarvam = {{kLinesApart}, false, false, SpacesOfPieces::marked};
constexpr Splitting kMmbert = {{kLinesApart}, false, false, SpacesOfPieces::marked_before_each};

struct NamedSplitting {
  std::string_view name;
  const Splitting* splitting;
};

constexpr NamedSplitting kNamed[] = {
    {"gpt-2", &kGpt2},
    {"gpt2", &kGpt2},
    {"phi-2", &kGpt2},
    {"olmo", &kGpt2},
    {"jais", &kGpt2},
    {"mpt", &kGpt2},
    {"modern-bert", &kGpt2},
    {"exaone4", &kGpt2},
    {"trillion", &kGpt2},
    {"roberta-bpe", &kGpt2},
    {"jina-es", &kGpt2},
    {"jina-de", &kGpt2},
    {"jina-v1-en", &kGpt2},
    {"jina-v2-es", &kGpt2},
    {"jina-v2-de", &kGpt2},
    {"jina-v2-code", &kGpt2},
    {"mellum", &kGpt2},
    {"gigachat", &kGpt2},
    {"a.x-4.0", &kGpt2},
    {"granite-docling", &kGpt2},
    {"starcoder", &kDigitsGpt2},
    {"refact", &kDigitsGpt2},
    {"command-r", &kDigitsGpt2},
    {"smollm", &kDigitsGpt2},
    {"codeshell", &kDigitsGpt2},
    {"exaone", &kDigitsGpt2},
    {"minerva-7b", &kDigitsGpt2},
    {"mellum2", &kDigitsGpt2},
    {"llama-bpe", &kLlama3},
    {"llama3", &kLlama3},
    {"llama-v3", &kLlama3},
    {"falcon3", &kLlama3},
    {"pixtral", &kLlama3},
    {"lfm2", &kLlama3},
    {"falcon-h1", &kLlama3},
    {"midm-2.0", &kLlama3},
    {"jina-v5-nano", &kLlama3},
    {"dbrx", &kLlama3Merging},
    {"smaug-bpe", &kLlama3Merging},
    {"chatglm-bpe", &kLlama3Merging},
    {"glm4", &kLlama3Whole},
    {"glm5", &kLlama3Whole},
    {"qwen2", &kQwen2},
    {"stablelm2", &kQwen2},
    {"megrez", &kQwen2},
    {"hunyuan", &kQwen2},
    {"solar-open", &kQwen2},
    {"grok-2", &kQwen2},
    {"deepseek-r1-qwen", &kQwen2},
    {"kormo", &kQwen2},
    {"f2llmv2", &kQwen2},
    {"qwen35", &kQwen35},
    {"gpt-4o", &kGpt4o},
    {"llama4", &kGpt4o},
    {"kanana2", &kGpt4o},
    {"minimax-m2", &kGpt4o},
    {"talkie", &kGpt4o},
    {"granite-embed-multi-97m", &kGpt4oWhole},
    {"tekken", &kTekken},
    {"deepseek-v3", &kDeepseekV3},
    {"hunyuan-dense", &kDeepseekV3},
    {"joyai-llm", &kDeepseekV3},
    {"hy_v4", &kDeepseekV3},
    {"deepseek-llm", &kDeepseekLlm},
    {"deepseek-coder", &kDeepseekCoder},
    {"falcon", &kFalcon},
    {"default", &kDefault},
    {"", &kDefault},
    {"bloom", &kBloom},
    {"poro-chat", &kBloom},
    {"gpt3-finnish", &kBloom},
    {"viking", &kViking},
    {"jais-2", &kJais2},
    {"bailingmoe", &kBailing},
    {"bailingmoe2", &kBailing},
    {"llada-moe", &kBailing},
    {"seed-coder", &kSeedCoder},
    {"ufakzeka", &kUfakzeka},
    {"exaone-moe", &kExaoneMoe},
    {"minicpm5", &kMinicpm5},
    {"spark2_5", &kSpark},
    {"youtu", &kYoutu},
    {"kimi-k2", &kKimi},
    {"laguna", &kLaguna},
    {"tiny_aya", &kTinyAya},
    {"cohere2moe", &kTinyAya},
    {"superbpe", &kSuperBpe},
    {"afmoe", &kAfmoe},
    {"whitespace", &kWhitespace},
    {"chameleon", &kChameleon},
    {"gemma4", &kGemma4},
    {"granite-embed-multi-311m", &kGemma4},
    {"sarvam-moe", &kSarvam},
    {"mmbert", &kMmbert},
};

}  // namespace

std::vector<std::string_view> ways_to_split() {
  std::vector<std::string_view> names;
  const Splitting* seen = nullptr;
  for (const NamedSplitting& each : kNamed) {
    if (each.splitting != seen) names.push_back(each.name);
    seen = each.splitting;
  }
  return names;
}

NamedPreTokenizer named_pre_tokenizer(std::string_view name, const std::string& source) {
  for (const NamedSplitting& each : kNamed) {
    if (each.name != name) continue;
    NamedPreTokenizer out;
    out.spaces = each.splitting->spaces;
    out.whole_first = each.splitting->whole_first;
    out.adds_bos = each.splitting->adds_bos;
    const auto behavior = out.spaces == SpacesOfPieces::dropped ? SplitStep::Behavior::removed
                                                                : SplitStep::Behavior::isolated;
    for (const char* pattern : each.splitting->patterns) {
      if (pattern == nullptr) break;
      out.steps.push_back(SplitStep{std::make_shared<const Pattern>(pattern, source), behavior});
    }
    if (out.spaces == SpacesOfPieces::marked_before_each) {
      MetaspaceStep step;
      step.replacement = kSpaceMark;
      step.keeps_lines = true;
      out.steps.push_back(step);
    }
    return out;
  }
  std::string known;
  for (const NamedSplitting& each : kNamed) {
    known += (known.empty() ? "" : ", ") + std::string(each.name);
  }
  throw Error(ErrorCode::unsupported,
              source + ": tokenizer.ggml.pre names a pre-tokenizer that is not known; got " +
                  hearth::quoted(name) + ", expected one of " + known);
}

}  // namespace hearth::models::tokens
