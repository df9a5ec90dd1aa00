// What fields are called by who asked, where a request is read as one of another form.
#pragma once

#include <map>
#include <string>

namespace hearth::tools::serve {

class FieldNames {
 public:
  // The field `read`, and what is within it, is `given`, and what is within that.
  void add(const std::string& read, const std::string& given) { given_[read] = given; }

  // Of the field `read` the name that was given: by the nearest field around it that was added. A
  // field within none of these keeps its name.
  std::string name_of(const std::string& read) const;

 private:
  std::map<std::string, std::string> given_;
};

}  // namespace hearth::tools::serve
