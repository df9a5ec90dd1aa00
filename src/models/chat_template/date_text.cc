#include "models/chat_template/date_text.h"

#include <cstdint>

namespace hearth::models::chat_template {
namespace {

constexpr std::string_view kMonths[] = {"January",   "February", "March",    "April",
                                        "May",       "June",     "July",     "August",
                                        "September", "October",  "November", "December"};
constexpr std::string_view kDays[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                      "Thursday", "Friday", "Saturday"};

std::string padded_number(std::int64_t value, std::size_t width, char fill = '0') {
  std::string digits = std::to_string(value);
  return digits.size() < width ? std::string(width - digits.size(), fill) + digits : digits;
}

}  // namespace

std::string date_text(std::chrono::local_seconds time, std::string_view format) {
  using std::chrono::days;
  const auto day = std::chrono::floor<days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  const auto year = static_cast<int>(date.year());
  const auto month = static_cast<unsigned>(date.month());
  const std::size_t weekday = std::chrono::weekday(day).c_encoding();
  const std::int64_t hour = clock.hours().count();
  const std::chrono::local_days first(
      std::chrono::year_month_day(date.year(), std::chrono::January, std::chrono::day(1)));
  const auto one = [&](char letter) -> std::string {
    switch (letter) {
      case 'Y':
        return std::to_string(year);
      case 'y':
        return padded_number((year % 100 + 100) % 100, 2);
      case 'm':
        return padded_number(month, 2);
      case 'd':
        return padded_number(static_cast<unsigned>(date.day()), 2);
      case 'e':
        return padded_number(static_cast<unsigned>(date.day()), 2, ' ');
      case 'H':
        return padded_number(hour, 2);
      case 'I':
        return padded_number((hour + 11) % 12 + 1, 2);
      case 'M':
        return padded_number(clock.minutes().count(), 2);
      case 'S':
        return padded_number(clock.seconds().count(), 2);
      case 'f':
        return "000000";
      case 'p':
        return hour < 12 ? "AM" : "PM";
      case 'B':
        return std::string(kMonths[month - 1]);
      case 'b':
      case 'h':
        return std::string(kMonths[month - 1].substr(0, 3));
      case 'A':
        return std::string(kDays[weekday]);
      case 'a':
        return std::string(kDays[weekday].substr(0, 3));
      case 'j':
        return padded_number((day - first).count() + 1, 3);
      case 'w':
        return std::to_string(weekday);
      case 'u':
        return std::to_string(weekday == 0 ? 7 : weekday);
      case 'F':
        return date_text(time, "%Y-%m-%d");
      case 'D':
      case 'x':
        return date_text(time, "%m/%d/%y");
      case 'T':
      case 'X':
        return date_text(time, "%H:%M:%S");
      case 'R':
        return date_text(time, "%H:%M");
      case 'c':
        return date_text(time, "%a %b %e %H:%M:%S %Y");
      case 'Z':
      case 'z':
        return "";
      case 'n':
        return "\n";
      case 't':
        return "\t";
      case '%':
        return "%";
      default:
        return std::string("%") + letter;
    }
  };
  std::string out;
  for (std::size_t i = 0; i < format.size(); ++i) {
    const bool is_letter = format[i] == '%' && i + 1 < format.size();
    out += is_letter ? one(format[++i]) : std::string(1, format[i]);
  }
  return out;
}

}  // namespace hearth::models::chat_template
