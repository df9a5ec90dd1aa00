// Pre-tokenizers by the names that GGUF files give them; names and patterns are those of llama.cpp
// and, where it approximates them, of the tokenizer.json of the models.
#include <algorithm>
#include <array>
#include <span>

#include "core/quoted.h"
#include "hearth/error.h"
#include "models/tokenizer/pre_tokenizer.h"

namespace hearth::models::tokens {

// clang-format off
#define HEARTH_SPACES R"(|\s+(?!\S)|\s+)"
#define HEARTH_LINES R"(|\s*[\r\n]+)" HEARTH_SPACES
#define HEARTH_CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define HEARTH_UPPER R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])"
#define HEARTH_LOWER R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])"

const char kGpt2Pattern[] = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+)" HEARTH_SPACES;

namespace {

constexpr char kLlama3Pattern[] =
    HEARTH_CONTRACTIONS R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)" HEARTH_LINES;
constexpr char kQwen2Pattern[] =
    HEARTH_CONTRACTIONS R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)" HEARTH_LINES;
constexpr char kQwen35Pattern[] =
    HEARTH_CONTRACTIONS R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*)" HEARTH_LINES;
constexpr char kGpt4oPattern[] =
    R"([^\r\n\p{L}\p{N}]?)" HEARTH_UPPER "*" HEARTH_LOWER "+" HEARTH_CONTRACTIONS "?"
    R"(|[^\r\n\p{L}\p{N}]?)" HEARTH_UPPER "+" HEARTH_LOWER "*" HEARTH_CONTRACTIONS "?"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*)" HEARTH_LINES;
constexpr char kTekkenPattern[] =
    R"([^\r\n\p{L}\p{N}]?)" HEARTH_UPPER "*" HEARTH_LOWER "+"
    R"(|[^\r\n\p{L}\p{N}]?)" HEARTH_UPPER "+" HEARTH_LOWER "*"
    R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*)" HEARTH_LINES;
constexpr char kDeepseekPattern[] =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*)" HEARTH_LINES;
constexpr char kJais2Pattern[] =
    HEARTH_CONTRACTIONS R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+)"
    R"(|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s)";
constexpr char kBailingPattern[] =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n])" HEARTH_SPACES;
constexpr char kSeedCoderPattern[] =
    HEARTH_CONTRACTIONS R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+)" HEARTH_LINES;
constexpr char kUfakzekaPattern[] =
    R"([^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)" HEARTH_LINES;
constexpr char kExaoneMoePattern[] =
    HEARTH_CONTRACTIONS R"(|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n])" HEARTH_SPACES;
constexpr char kMinicpm5Pattern[] =
    HEARTH_CONTRACTIONS R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*)" HEARTH_LINES;
constexpr char kSparkPattern[] =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+|[\r\n])" HEARTH_SPACES;
constexpr char kYoutuScripts[] =
    R"([\x{ac00}-\x{d7a3}\x{3131}-\x{318e}]+|[\x{ff01}\x{2026}\x{201c}\x{201d}\x{2018}\x{2019}\x{2014}\x{ff1a}\x{ff1b}\x{ff0c}\x{3001}-\x{303f}\x{fe30}-\x{fe4f}]+)"
    R"(|[\x{3105}-\x{312f}]+|[\x{4e00}-\x{9fa5}\x{3040}-\x{309f}\x{30a0}-\x{30ff}]+)";
constexpr char kYoutuPattern[] =
    R"([^\r\n\p{L}\p{N}]?)" HEARTH_UPPER "*" HEARTH_LOWER "+" HEARTH_CONTRACTIONS "?"
    R"(|[^\r\n\p{L}\p{N}]?)" HEARTH_UPPER "+" HEARTH_LOWER "*" HEARTH_CONTRACTIONS "?"
    R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*)" HEARTH_LINES;
// Unicode's script Han.
#define HEARTH_HAN \
  R"([\x{2e80}-\x{2e99}\x{2e9b}-\x{2ef3}\x{2f00}-\x{2fd5}\x{3005}\x{3007}\x{3021}-\x{3029})" \
  R"(\x{3038}-\x{303b}\x{3400}-\x{4dbf}\x{4e00}-\x{9fff}\x{f900}-\x{fa6d}\x{fa70}-\x{fad9})" \
  R"(\x{16fe2}-\x{16fe3}\x{16ff0}-\x{16ff1}\x{20000}-\x{2a6df}\x{2a700}-\x{2b739})" \
  R"(\x{2b740}-\x{2b81d}\x{2b820}-\x{2cea1}\x{2ceb0}-\x{2ebe0}\x{2ebf0}-\x{2ee5d})" \
  R"(\x{2f800}-\x{2fa1d}\x{30000}-\x{3134a}\x{31350}-\x{323af}])"
#define HEARTH_UPPER_NOT_HAN "(?:(?!" HEARTH_HAN ")" HEARTH_UPPER ")"
#define HEARTH_LOWER_NOT_HAN "(?:(?!" HEARTH_HAN ")" HEARTH_LOWER ")"
constexpr char kKimiPattern[] =
    HEARTH_HAN R"(+|[^\r\n\p{L}\p{N}]?)" HEARTH_UPPER_NOT_HAN "*" HEARTH_LOWER_NOT_HAN "+" HEARTH_CONTRACTIONS "?"
    R"(|[^\r\n\p{L}\p{N}]?)" HEARTH_UPPER_NOT_HAN "+" HEARTH_LOWER_NOT_HAN "*" HEARTH_CONTRACTIONS "?"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)" HEARTH_LINES;
#undef HEARTH_UPPER_NOT_HAN
#undef HEARTH_LOWER_NOT_HAN
#undef HEARTH_HAN
#undef HEARTH_SPACES
#undef HEARTH_LINES
#undef HEARTH_CONTRACTIONS
#undef HEARTH_UPPER
#undef HEARTH_LOWER
// Letters of Latin, Greek, Cyrillic and a few more.
constexpr char kDeepseekLetters[] =
    R"(\s?[A-Za-z\x{b5}\x{c0}-\x{d6}\x{d8}-\x{f6}\x{f8}-\x{1ba}\x{1bc}-\x{1bf}\x{1c4}-\x{293})"
    R"(\x{295}-\x{2af}\x{370}-\x{373}\x{376}\x{377}\x{37b}-\x{37d}\x{37f}\x{386}\x{388}-\x{38a})"
    R"(\x{38c}\x{38e}-\x{3a1}\x{3a3}-\x{3f5}\x{3f7}-\x{481}\x{48a}-\x{52f}\x{531}-\x{556})"
    R"(\x{10a0}-\x{10c5}\x{13a0}-\x{13f5}\x{13f8}-\x{13fd}\x{1c90}-\x{1cba}\x{1cbd}-\x{1cbf})"
    R"(\x{1d00}-\x{1d2b}\x{1d6b}-\x{1d77}\x{1d79}-\x{1d9a}\x{1e00}-\x{1f15}\x{1f18}-\x{1f1d})"
    R"(\x{1f20}-\x{1f45}\x{1f48}-\x{1f4d}\x{1f50}-\x{1f57}\x{1f59}\x{1f5b}\x{1f5d}\x{1f5f}-)"
    R"(\x{1f7d}\x{1f80}-\x{1fb4}\x{1fb6}-\x{1fbc}\x{1fbe}\x{1fc2}-\x{1fc4}\x{1fc6}-\x{1fcc})"
    R"(\x{1fd0}-\x{1fd3}\x{1fd6}-\x{1fdb}\x{1fe0}-\x{1fec}\x{1ff2}-\x{1ff4}\x{1ff6}-\x{1ffc})"
    R"(\x{2102}\x{2107}\x{210a}-\x{2113}\x{2115}\x{2119}-\x{211d}\x{2124}\x{2126}\x{2128})"
    R"(\x{212a}-\x{212d}\x{212f}-\x{2134}\x{2139}\x{213c}-\x{213f}\x{2145}-\x{2149}\x{214e})"
    R"(\x{2183}\x{2184}\x{2c00}-\x{2c7b}\x{2c7e}-\x{2ce4}\x{2ceb}-\x{2cee}\x{2cf2}\x{2cf3})"
    R"(\x{a640}-\x{a66d}\x{a680}-\x{a69b}\x{a722}-\x{a76f}\x{a771}-\x{a787}\x{a78b}-\x{a78e})"
    R"(\x{ab70}-\x{abbf}\x{fb00}-\x{fb06}\x{fb13}-\x{fb17}\x{ff21}-\x{ff3a}\x{ff41}-\x{ff5a})"
    R"(\x{10400}-\x{1044f}\x{104b0}-\x{104d3}\x{104d8}-\x{104fb}\x{10c80}-\x{10cb2}\x{10cc0}-)"
    R"(\x{10cf2}\x{118a0}-\x{118df}\x{1e900}-\x{1e943}]+)";
constexpr char kIdeographsAndKana[] = R"([\x{4e00}-\x{9fa5}\x{3040}-\x{309f}\x{30a0}-\x{30ff}]+)";
constexpr char kDeepseekMarks[] =
    R"(\s?[!-/:-~\x{ff01}-\x{ff0f}\x{ff1a}-\x{ff5e}\x{2018}-\x{201f}\x{3000}-\x{3002}]+)";
constexpr char kDeepseekAsian[] = R"([\x{4e00}-\x{9fa5}\x{800}-\x{4e00}\x{ac00}-\x{d7ff}]+)";
// All but the stops of Latin, Chinese, Devanagari and Arabic.
constexpr char kBloomPattern[] =
    R"( ?[^(\s|.,!?\x{2026}\x{3002}\x{ff0c}\x{3001}\x{964}\x{6d4}\x{60c})]+)";

// clang-format on
// One or more of each kind that patterns tell apart: letters by case and script, marks, numbers,
// punctuation, symbols, spaces, ends of lines.
constexpr std::string_view kKinds[] = {
    "a",
    "s",
    "T",
    "\xC3\xA9",
    "\xCA\xB0",
    "\xCC\x81",
    "1",
    "\xC2\xB2",
    " ",
    "\t",
    "\n",
    "\r",
    "'",
    ".",
    "/",
    "$",
    "_",
    "\xC2\xA0",
    "\xE4\xB8\xAD",
    "\xE3\x81\x82",
    "\xED\x95\x9C",
    "\xD0\x96",
    "\xE2\x82\xAC",
    "\xF0\x9F\x99\x82",
};

// Runs of all triples, and of what patterns count.
std::vector<std::string> texts_of_kinds() {
  std::vector<std::string> texts = {"1234567", "can't IT'S we'LL", "\n\n \n", "    four", "end   "};
  for (const std::string_view a : kKinds) {
    for (const std::string_view b : kKinds) {
      std::string& text = texts.emplace_back();
      for (const std::string_view c : kKinds) text.append(a).append(b).append(c);
    }
  }
  return texts;
}

bool cuts_alike(const std::vector<PreTokenizerStep>& a, const std::vector<PreTokenizerStep>& b,
                const std::vector<std::string>& texts) {
  return std::all_of(texts.begin(), texts.end(), [&](const std::string& text) {
    Pieces of_a{text, {{0, text.size()}}}, of_b = of_a;
    pre_tokenize(a, of_a, true);
    pre_tokenize(b, of_b, true);
    return of_a.text == of_b.text &&
           std::equal(
               of_a.spans.begin(), of_a.spans.end(), of_b.spans.begin(), of_b.spans.end(),
               [](const Span& x, const Span& y) { return x.begin == y.begin && x.end == y.end; });
  });
}

// How texts are split, which several names may stand for.
struct Splitting {
  std::array<const char*, 6> patterns;  // each splits the pieces of the one before; null: no more
  bool by_bytes = true, whole_first = false, adds_bos = false;
};

constexpr Splitting kGpt2 = {{kGpt2Pattern}};
constexpr Splitting kDigitsGpt2 = {{R"(\p{N})", kGpt2Pattern}};
constexpr Splitting kLlama3 = {{kLlama3Pattern}, true, true, true};
constexpr Splitting kLlama3Merging = {{kLlama3Pattern}};
constexpr Splitting kLlama3Whole = {{kLlama3Pattern}, true, true, false};
constexpr Splitting kQwen2 = {{kQwen2Pattern}};
constexpr Splitting kQwen35 = {{kQwen35Pattern}};
constexpr Splitting kGpt4o = {{kGpt4oPattern}};
constexpr Splitting kTekken = {{kTekkenPattern}, true, true, true};
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
constexpr Splitting kMinicpm5 = {{R"(\p{N}{1,3})", kMinicpm5Pattern}, true, true, false};
constexpr Splitting kSpark = {{R"(\p{N}{1,3})", kIdeographsAndKana, kSparkPattern, R"(\p{N})"}};
constexpr Splitting kYoutu = {{kYoutuScripts, kYoutuPattern}, true, true, false};
constexpr Splitting kKimi = {{kKimiPattern}};
constexpr Splitting kGpt4oWhole = {{kGpt4oPattern}, true, true, false};
constexpr Splitting kLaguna = {{R"([^\n]+|[\n]+)", kQwen2Pattern}};
constexpr Splitting kChameleon = {{"<sentinel:[0-9]+>", "IMGIMG[A-I]{1,4}Z", R"([\t\n]|    |  )",
                                   R"(\p{N})", R"([\p{P}!-/:-@\[-`{-~])", kGpt2Pattern},
                                  true,
                                  false,
                                  true};
constexpr Splitting kGemma4 = {{R"([^\n]+|[\n]+)"}, false, false, true};
constexpr Splitting kSarvam = {{R"([^\n]+|[\n]+)"}, false, false, false};

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
    {"chameleon", &kChameleon},
    {"gemma4", &kGemma4},
    {"granite-embed-multi-311m", &kGemma4},
    {"sarvam-moe", &kSarvam},
};

}  // namespace

void add_bert_pre_tokenizer(std::vector<PreTokenizerStep>& steps) {
  const auto pattern = [](const char* text) {
    return std::make_shared<const Pattern>(text, "bert");
  };
  steps.push_back(SplitStep{pattern(R"(\s+)"), SplitStep::Behavior::removed});
  steps.push_back(SplitStep{pattern(R"([\p{P}$+<=>^`|~])")});
}

std::string_view name_of_pre_tokenizer(const std::vector<PreTokenizerStep>& steps,
                                       bool whole_first) {
  const std::vector<std::string> texts = texts_of_kinds();
  const Splitting* seen = nullptr;
  for (const NamedSplitting& each : kNamed) {
    if (each.splitting == seen || !each.splitting->by_bytes) continue;
    seen = each.splitting;
    if (each.splitting->whole_first != whole_first) continue;
    if (cuts_alike(steps, named_pre_tokenizer(each.name, "").steps, texts)) return each.name;
  }
  return {};
}

NamedPreTokenizer named_pre_tokenizer(std::string_view name, const std::string& source) {
  for (const NamedSplitting& each : kNamed) {
    if (each.name != name) continue;
    NamedPreTokenizer out;
    out.by_bytes = each.splitting->by_bytes;
    out.whole_first = each.splitting->whole_first;
    out.adds_bos = each.splitting->adds_bos;
    for (const char* pattern : each.splitting->patterns) {
      if (pattern == nullptr) break;
      out.steps.push_back(SplitStep{std::make_shared<const Pattern>(pattern, source)});
    }
    return out;
  }
  throw Error(ErrorCode::unsupported,
              source + ": tokenizer.ggml.pre names a pre-tokenizer that is not known; got " +
                  hearth::quoted(name));
}

}  // namespace hearth::models::tokens
