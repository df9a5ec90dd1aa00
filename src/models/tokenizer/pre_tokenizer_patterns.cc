#include "models/tokenizer/pre_tokenizer_patterns.h"

namespace hearth::models::tokens {

// clang-format off
#define HEARTH_SPACES R"(|\s+(?!\S)|\s+)"
#define HEARTH_LINES R"(|\s*[\r\n]+)" HEARTH_SPACES
#define HEARTH_CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define HEARTH_UPPER R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])"
#define HEARTH_LOWER R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])"

const char kGpt2Pattern[] = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+)" HEARTH_SPACES;

const char kLlama3Pattern[] =
    HEARTH_CONTRACTIONS R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)" HEARTH_LINES;
const char kQwen2Pattern[] =
    HEARTH_CONTRACTIONS R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)" HEARTH_LINES;
const char kQwen35Pattern[] =
    HEARTH_CONTRACTIONS R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*)" HEARTH_LINES;
const char kGpt4oPattern[] =
    R"([^\r\n\p{L}\p{N}]?)" HEARTH_UPPER "*" HEARTH_LOWER "+" HEARTH_CONTRACTIONS "?"
    R"(|[^\r\n\p{L}\p{N}]?)" HEARTH_UPPER "+" HEARTH_LOWER "*" HEARTH_CONTRACTIONS "?"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*)" HEARTH_LINES;
const char kTekkenPattern[] =
    R"([^\r\n\p{L}\p{N}]?)" HEARTH_UPPER "*" HEARTH_LOWER "+"
    R"(|[^\r\n\p{L}\p{N}]?)" HEARTH_UPPER "+" HEARTH_LOWER "*"
    R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*)" HEARTH_LINES;
const char kDeepseekPattern[] =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*)" HEARTH_LINES;
const char kJais2Pattern[] =
    HEARTH_CONTRACTIONS R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+)"
    R"(|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s)";
const char kBailingPattern[] =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n])" HEARTH_SPACES;
const char kSeedCoderPattern[] =
    HEARTH_CONTRACTIONS R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+)" HEARTH_LINES;
const char kUfakzekaPattern[] =
    R"([^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)" HEARTH_LINES;
const char kExaoneMoePattern[] =
    HEARTH_CONTRACTIONS R"(|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n])" HEARTH_SPACES;
const char kMinicpm5Pattern[] =
    HEARTH_CONTRACTIONS R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*)" HEARTH_LINES;
const char kSparkPattern[] =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+|[\r\n])" HEARTH_SPACES;
const char kYoutuScripts[] =
    R"([\x{ac00}-\x{d7a3}\x{3131}-\x{318e}]+|[\x{ff01}\x{2026}\x{201c}\x{201d}\x{2018}\x{2019}\x{2014}\x{ff1a}\x{ff1b}\x{ff0c}\x{3001}-\x{303f}\x{fe30}-\x{fe4f}]+)"
    R"(|[\x{3105}-\x{312f}]+|[\x{4e00}-\x{9fa5}\x{3040}-\x{309f}\x{30a0}-\x{30ff}]+)";
const char kYoutuPattern[] =
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
const char kKimiPattern[] =
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
const char kDeepseekLetters[] =
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
const char kIdeographsAndKana[] = R"([\x{4e00}-\x{9fa5}\x{3040}-\x{309f}\x{30a0}-\x{30ff}]+)";
const char kDeepseekMarks[] =
    R"(\s?[!-/:-~\x{ff01}-\x{ff0f}\x{ff1a}-\x{ff5e}\x{2018}-\x{201f}\x{3000}-\x{3002}]+)";
const char kDeepseekAsian[] = R"([\x{4e00}-\x{9fa5}\x{800}-\x{4e00}\x{ac00}-\x{d7ff}]+)";
// Groups of three, counted from the end of the digits.
const char kDigitsFromRight[] = R"(\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N})))";
const char kDigitsOfWords[] = R"(\d{1,3}(?=(?:\d{3})*\b))";
const char kBeforeThreeDigits[] = R"((?=(\d{3})+(?!\d)))";
// Ideographs, kana, vowels and digits of Thai, Lao, Khmer, Burmese and Hangul.
const char kAfmoeAsian[] =
    R"([\x{4e00}-\x{9fff}\x{3400}-\x{4dbf}\x{f900}-\x{faff}\x{3040}-\x{309f}\x{30a0}-\x{30ff})"
    R"(\x{ff65}-\x{ff9f}\x{2f00}-\x{2fdf}\x{e40}-\x{e7f}\x{e80}-\x{eff}\x{1780}-\x{17ff})"
    R"(\x{1000}-\x{109f}\x{aa60}-\x{aa7f}\x{a9e0}-\x{a9ff}\x{ac00}-\x{d7af}\x{1100}-\x{11ff}]+)";
// All but the stops of Latin, Chinese, Devanagari and Arabic.
const char kBloomPattern[] =
    R"( ?[^(\s|.,!?\x{2026}\x{3002}\x{ff0c}\x{3001}\x{964}\x{6d4}\x{60c})]+)";
const char kLinesApart[] = R"([^\n]+|[\n]+)";
// clang-format on

}  // namespace hearth::models::tokens
