// A model from a file behind the API: whoever waits for its vectors and grammars may go.
#include "tools/serve/loaded_service.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <future>
#include <stdexcept>
#include <vector>

#include "hearth/io.h"
#include "tools/signs_model.h"
#include "tools/tool_folder.h"

namespace hearth::tools::serve {
namespace {

struct NobodyWaits : std::runtime_error {
  NobodyWaits() : runtime_error("nobody waits any more") {}
};

// Throws at that look, of 1, 2, ...
class Watch {
 public:
  explicit Watch(int last) : last_(last) {}
  void operator()() {
    if (++looks == last_) throw NobodyWaits();
  }
  int looks = 0;

 private:
  int last_;
};

class ServeLoadedService : public ToolFolder {
 protected:
  std::unique_ptr<LoadedService> encoder() {
    write_signs_model(path("encoder.gguf"), "nomic_bert", "",
                      {{"tokenizer.ggml.cls_token_id", std::uint32_t{1}},
                       {"tokenizer.ggml.seperator_token_id", std::uint32_t{2}},
                       {"nomic-bert.context_length", std::uint32_t{512}}});
    return std::make_unique<LoadedService>(models::load_language_model(path("encoder.gguf")), "e",
                                           models::SchedulerOptions{});
  }
  static models::TokenLists texts(std::size_t count, std::size_t length) {
    return {count, std::vector<std::int32_t>(length, 5)};
  }
};

TEST_F(ServeLoadedService, VectorsEndBetweenGroupsOfTexts) {
  const auto service = encoder();
  const auto looks_at = [&](const models::TokenLists& all) {
    Watch watch(0);
    const auto vectors = service->embed(all, std::ref(watch));
    EXPECT_EQ(vectors.size(), all.size());
    for (const auto& vector : vectors) EXPECT_EQ(std::ssize(vector), service->card().width);
    return watch.looks;
  };
  EXPECT_EQ(looks_at(texts(1, 3)), 1);
  EXPECT_EQ(looks_at(texts(600, 3)), 3);
  EXPECT_EQ(looks_at(texts(90, 400)), 2);  // fewer long ones are a group
  Watch watch(2);
  EXPECT_THROW(service->embed(texts(600, 3), std::ref(watch)), NobodyWaits);
  EXPECT_EQ(watch.looks, 2);
  EXPECT_EQ(looks_at(texts(1, 3)), 1);  // what ended leaves its turn to others
}

TEST_F(ServeLoadedService, WhoWaitsForVectorsOfOthersMayGo) {
  const auto service = encoder();
  std::promise<void> has_begun, may_end;
  auto slow = std::async(std::launch::async, [&] {
    return service->embed(texts(1, 3), [&] {
      has_begun.set_value();
      may_end.get_future().wait();
    });
  });
  has_begun.get_future().wait();
  Watch watch(3);
  EXPECT_THROW(service->embed(texts(1, 3), std::ref(watch)), NobodyWaits);
  EXPECT_EQ(watch.looks, 3);
  may_end.set_value();
  EXPECT_EQ(slow.get().size(), 1u);
}

}  // namespace
}  // namespace hearth::tools::serve
