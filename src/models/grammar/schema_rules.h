// The rules of a grammar of JSON texts, as they are made.
#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace hearth::models::grammar {

// Throws Error{unsupported} for more rules than a schema may have.
class SchemaRules {
 public:
  SchemaRules();

  // The name of the rule of this body, a new one where there is none yet.
  std::string rule(const std::string& hint, const std::string& body);
  // The name of a rule without a body, which fill() gives it: for what refers to itself.
  std::string open(const std::string& hint);
  void fill(const std::string& name, const std::string& body) { bodies_[name] = body; }
  // The rule of this very name.
  std::string shared(const std::string& name, const std::string& body);

  // What make() gave for the first of all calls with the same key.
  template <class Make>
  std::string once(const std::string& key, Make make) {
    const auto found = by_key_.find(key);
    if (found != by_key_.end()) return found->second;
    return by_key_[key] = make();
  }

  std::string json_char();
  std::string any_string();
  std::string any_value();

  // All of them in GBNF, the first of which is `root`.
  std::string text(const std::string& root) const;

 private:
  std::string new_name(const std::string& hint);

  std::map<std::string, std::string> bodies_, by_body_, by_key_;
  std::size_t names_ = 0;
};

}  // namespace hearth::models::grammar
