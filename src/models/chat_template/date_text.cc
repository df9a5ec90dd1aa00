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

// A time by its parts.
struct Moment {
  explicit Moment(std::chrono::local_seconds its_time)
      : time(its_time),
        day(std::chrono::floor<std::chrono::days>(time)),
        date(day),
        clock(time - day),
        weekday(std::chrono::weekday(day).c_encoding()) {}

  std::int64_t day_of_year() const {
    using namespace std::chrono;
    return (day - local_days(year_month_day(date.year(), January, std::chrono::day(1)))).count() +
           1;
  }
  std::string_view month_name() const { return kMonths[static_cast<unsigned>(date.month()) - 1]; }

  std::chrono::local_seconds time;
  std::chrono::local_days day;
  std::chrono::year_month_day date;
  std::chrono::hh_mm_ss<std::chrono::seconds> clock;
  std::size_t weekday;  // from Sunday on
};

// What stands for "%" and the letter; those of other letters are left as they are.
std::string part(const Moment& moment, char letter) {
  const auto year = static_cast<int>(moment.date.year());
  const auto day = static_cast<unsigned>(moment.date.day());
  const std::int64_t hour = moment.clock.hours().count();
  switch (letter) {
    case 'Y':
      return std::to_string(year);
    case 'y':
      return padded_number((year % 100 + 100) % 100, 2);
    case 'm':
      return padded_number(static_cast<unsigned>(moment.date.month()), 2);
    case 'd':
      return padded_number(day, 2);
    case 'e':
      return padded_number(day, 2, ' ');
    case 'H':
      return padded_number(hour, 2);
    case 'I':
      return padded_number((hour + 11) % 12 + 1, 2);
    case 'M':
      return padded_number(moment.clock.minutes().count(), 2);
    case 'S':
      return padded_number(moment.clock.seconds().count(), 2);
    case 'f':
      return "000000";
    case 'p':
      return hour < 12 ? "AM" : "PM";
    case 'B':
      return std::string(moment.month_name());
    case 'b':
    case 'h':
      return std::string(moment.month_name().substr(0, 3));
    case 'A':
      return std::string(kDays[moment.weekday]);
    case 'a':
      return std::string(kDays[moment.weekday].substr(0, 3));
    case 'j':
      return padded_number(moment.day_of_year(), 3);
    case 'w':
      return std::to_string(moment.weekday);
    case 'u':
      return std::to_string(moment.weekday == 0 ? 7 : moment.weekday);
    case 'F':
      return date_text(moment.time, "%Y-%m-%d");
    case 'D':
    case 'x':
      return date_text(moment.time, "%m/%d/%y");
    case 'T':
    case 'X':
      return date_text(moment.time, "%H:%M:%S");
    case 'R':
      return date_text(moment.time, "%H:%M");
    case 'c':
      return date_text(moment.time, "%a %b %e %H:%M:%S %Y");
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
}

}  // namespace

std::string date_text(std::chrono::local_seconds time, std::string_view format) {
  const Moment moment(time);
  std::string out;
  for (std::size_t i = 0; i < format.size(); ++i) {
    const bool is_letter = format[i] == '%' && i + 1 < format.size();
    out += is_letter ? part(moment, format[++i]) : std::string(1, format[i]);
  }
  return out;
}

}  // namespace hearth::models::chat_template
