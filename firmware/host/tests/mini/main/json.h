// JSON, as much as a small device needs. Nested values are read recursively, so that the stack of
// a task ends where nobody limits their depth: that is what tests of the host build need.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

struct Json {
    enum Kind { null, boolean, number, text, array, object };
    Kind kind = null;
    bool truth = false;
    double value = 0;
    /// The value as it was written; of texts, what they say.
    std::string raw;
    std::vector<std::pair<std::string, Json>> members;

    const Json* find(const std::string& name) const;
    std::string text_of(const std::string& name) const;
    bool is_integer() const;
};

std::optional<Json> parse_json(const std::string& source);
std::string quoted(const std::string& plain);
