// Messages of errors: of each thread, in whatever state it is.
#include <thread>

#include "c_api/c_arrays.h"

namespace hearth::c_api::testing {
namespace {

TEST(CErrors, EachThreadHasItsOwn) {
  ASSERT_EQ(hearth_array_release({7}), HEARTH_ERROR_INVALID_HANDLE);
  std::thread([] {
    EXPECT_STREQ(hearth_error_message(), "");
    expect_refused(hearth_no_grad_end(), HEARTH_ERROR_INVALID_ARGUMENT, "nothing has begun");
  }).join();
  EXPECT_NE(std::string(hearth_error_message()).find("got 7"), std::string::npos);
}

TEST(CErrors, AreLongerThanTheirRoomAndCutBetweenCharacters) {
  for (std::size_t more = 0; more < 4; ++more) {
    std::string name(1900 + more, 'x');
    for (int i = 0; i < 200; ++i) name += "ä";
    EXPECT_EQ(hearth_archive_load((name + "/none").c_str(), HEARTH_DEFAULT_DEVICE, nullptr),
              HEARTH_ERROR_INVALID_ARGUMENT);
    hearth_archive archive = {0};
    EXPECT_NE(hearth_archive_load((name + "/none").c_str(), HEARTH_DEFAULT_DEVICE, &archive),
              HEARTH_OK);
    const std::string text = hearth_error_message();
    EXPECT_GE(text.size(), 2040u);
    EXPECT_LE(text.size(), 2047u);
    EXPECT_EQ(text.substr(text.size() - 2), "ä");
  }
}

// Destroyed after what the thread's later calls made.
struct Last {
  std::string* message;
  hearth_status* status;
  ~Last() {
    *status = hearth_array_release({7});
    *message = hearth_error_message();
  }
};

TEST(CErrors, AThreadThatEndsIsToldToo) {
  std::string message;
  hearth_status status = HEARTH_OK;
  std::thread([&] {
    thread_local const Last last{&message, &status};
    EXPECT_NE(last.message, nullptr);
    EXPECT_EQ(hearth_array_release({9}), HEARTH_ERROR_INVALID_HANDLE);
    EXPECT_EQ(values_of(floats({1, 2}, {2})), (std::vector<float>{1, 2}));
  }).join();
  EXPECT_EQ(status, HEARTH_ERROR_INVALID_HANDLE);
  EXPECT_NE(message.find("got 7"), std::string::npos) << message;
}

}  // namespace
}  // namespace hearth::c_api::testing
