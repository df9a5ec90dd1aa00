// Keys and names that not every writer of a family's files has.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "models/golden_model.h"
#include "models/language/folder/file_layout.h"
#include "models/language/folder/folder_model.h"
#include "models/language/read_config.h"

namespace hearth::models {
namespace {

using testing::GoldenModel;

GgufContents file_of(const std::string& golden) {
  const GoldenModel model = testing::read_golden_model(golden);
  GgufContents contents = gguf_of_folder(model.config, testing::golden_weights(model));
  lay_out_as_file(contents);
  return contents;
}

LanguageConfig read_file(const GgufContents& contents) {
  return read_config(contents.metadata, FileKind::gguf);
}

TEST(OtherWriters, MiniCpmWithoutScales) {
  GgufContents contents = file_of("minicpm");
  for (const char* key : {"embedding_scale", "residual_scale", "logit_scale"}) {
    EXPECT_TRUE(contents.metadata.erase("minicpm." + std::string(key))) << key;
  }
  const LanguageConfig config = read_file(contents);
  EXPECT_EQ(config.embedding_scale, 12);
  EXPECT_DOUBLE_EQ(config.residual_scale, 1.4 / std::sqrt(4.0));
  EXPECT_DOUBLE_EQ(config.logit_scale, 256.0 / 48);
}

}  // namespace
}  // namespace hearth::models
