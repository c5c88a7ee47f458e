// The table of a program's settings, from which everything else about them is made: reading YAML, flags, --help,
// --print-config and the reference documents. config.h shows one.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "config/report.h"
#include "config/section.h"
#include "config/value.h"

namespace ravelin::config {

// What one setting holds: V itself, or what stands in its optional or vector.
template <class V>
struct Holder {
  using Scalar = V;
  static constexpr Entry::Kind kKind = Entry::Kind::value;
  static void put(V& member, Scalar value) { member = std::move(value); }
  static std::vector<std::string> texts(const V& member) { return {Value<Scalar>::text(member)}; }
};

template <class V>
struct Holder<std::optional<V>> {
  using Scalar = V;
  static constexpr Entry::Kind kKind = Entry::Kind::value;
  static void put(std::optional<V>& member, Scalar value) { member = std::move(value); }
  static std::vector<std::string> texts(const std::optional<V>& member) {
    return member ? std::vector{Value<Scalar>::text(*member)} : std::vector<std::string>{};
  }
};

template <class V>
struct Holder<std::vector<V>> {
  using Scalar = V;
  static constexpr Entry::Kind kKind = Entry::Kind::values;
  static void put(std::vector<V>& member, Scalar value) { member.push_back(std::move(value)); }
  static std::vector<std::string> texts(const std::vector<V>& member) {
    std::vector<std::string> result;
    for (const auto& value : member) result.push_back(Value<Scalar>::text(value));
    return result;
  }
};

template <class V>
using ScalarOf = typename Holder<V>::Scalar;

// The default is what the struct's member initializer says. A sentence of help has no full stop.
template <class V>
struct Option {
  std::string help;
  std::string flag = {};  // "--loops"; within a list each use of it appends an element, so it is given only once there
  std::string placeholder = {};  // how help calls the value, if the type's word is not good enough: "HOST:PORT"
  bool required = false;
  std::optional<V> least = {};  // for numbers, durations and sizes
  std::optional<V> most = {};
};

struct Group {
  std::string help = {};
  bool required = false;  // of a list: at least one element
};

template <class T>
class Schema : public Section {
 public:
  Schema() : Section(std::make_shared<const T>()) {}

  template <class V>
  Schema& option(std::string key, V T::*member, Option<std::type_identity_t<ScalarOf<V>>> option) {
    using Scalar = ScalarOf<V>;
    Entry entry{.key = std::move(key), .kind = Holder<V>::kKind, .help = option.help, .flag = option.flag};
    const std::string range = range_text(option);
    entry.expected = Value<Scalar>::expected() + (range.empty() ? "" : ", " + range);
    entry.placeholder = option.placeholder.empty() ? Value<Scalar>::placeholder() : option.placeholder;
    entry.required = option.required;
    entry.is_switch = std::is_same_v<V, bool>;
    entry.texts = [member](const void* object) { return Holder<V>::texts(self(object).*member); };
    entry.read = [member, limits = std::move(option), range](void* object, std::string_view text) -> sys::Result<void> {
      auto value = Value<Scalar>::parse(text);
      const bool is_too_long = !value && value.error().code == ERANGE && !range.empty();
      if (is_too_long || (value && is_outside(limits, *value))) {
        return sys::fail(ERANGE, "{} is out of range, expected {}", text, range);
      }
      if (!value) return tl::unexpected(value.error());
      Holder<V>::put(self(object).*member, std::move(*value));
      return {};
    };
    if constexpr (Holder<V>::kKind == Entry::Kind::values)
      entry.clear = [member](void* object) { (self(object).*member).clear(); };
    entries_.push_back(std::move(entry));
    return *this;
  }

  template <class S>
  Schema& section(std::string key, S T::*member, const Schema<S>& inner, Group group = {}) {
    Entry& entry = add_group(std::move(key), Entry::Kind::section, inner, std::move(group));
    entry.place = [member](void* object) -> void* { return &(self(object).*member); };
    entry.objects = [member](const void* object) { return std::vector<const void*>{&(self(object).*member)}; };
    return *this;
  }

  // A section that is there only if the file or a flag names it.
  template <class S>
  Schema& section(std::string key, std::optional<S> T::*member, const Schema<S>& inner, Group group = {}) {
    Entry& entry = add_group(std::move(key), Entry::Kind::section, inner, std::move(group));
    entry.place = [member](void* object) -> void* { return &(self(object).*member).emplace(); };
    entry.objects = [member](const void* object) {
      const auto& section = self(object).*member;
      return section ? std::vector<const void*>{&*section} : std::vector<const void*>{};
    };
    return *this;
  }

  template <class S>
  Schema& list(std::string key, std::vector<S> T::*member, const Schema<S>& inner, Group group = {}) {
    Entry& entry = add_group(std::move(key), Entry::Kind::sections, inner, std::move(group));
    entry.place = [member](void* object) -> void* { return &(self(object).*member).emplace_back(); };
    entry.clear = [member](void* object) { (self(object).*member).clear(); };
    entry.objects = [member](const void* object) {
      std::vector<const void*> result;
      for (const S& element : self(object).*member) result.push_back(&element);
      return result;
    };
    return *this;
  }

  // Binds a flag to a path of the root, where a plain Option::flag does not say enough: "listeners[*].policy" is the
  // policy of every listener, "pools[0].origins[].address" a new origin of the first pool.
  Schema& flag(std::string name, std::string path) {
    path_flags_.push_back({std::move(name), std::move(path)});
    return *this;
  }

  // A rule over several settings, asked only when each of them is right in itself:
  //   schema.check([](const Limits& limits, Report& report) {
  //     if (limits.low > limits.high) report.at("low", "above 'high', expected ...");
  //   });
  Schema& check(std::function<void(const T&, Report&)> rule) {
    checks_.push_back([rule = std::move(rule)](const void* object, Report& report) { rule(self(object), report); });
    return *this;
  }

 private:
  static T& self(void* object) { return *static_cast<T*>(object); }
  static const T& self(const void* object) { return *static_cast<const T*>(object); }

  Entry& add_group(std::string key, Entry::Kind kind, const Section& inner, Group group) {
    const bool is_list = kind == Entry::Kind::sections;
    Entry entry{.key = std::move(key), .kind = kind, .help = std::move(group.help), .required = group.required};
    entry.expected = is_list ? "a list of sections" : "a section";
    entry.inner = std::make_shared<const Section>(inner);
    return entries_.emplace_back(std::move(entry));
  }

  template <class V>
  static bool is_outside(const Option<V>& option, const V& value) {
    if constexpr (requires { value < value; }) {
      return (option.least && value < *option.least) || (option.most && *option.most < value);
    } else {
      return false;
    }
  }

  template <class V>
  static std::string range_text(const Option<V>& option) {
    if (!option.least && !option.most) return {};
    std::optional<V> least = option.least;
    std::optional<V> most = option.most;
    if constexpr (std::integral<V> &&
                  sizeof(V) <= sizeof(std::uint16_t)) {  // the ends of larger types tell nobody anything
      if (!least) least = std::numeric_limits<V>::min();
      if (!most) most = std::numeric_limits<V>::max();
    }
    if (least && most) return fmt::format("{} to {}", Value<V>::text(*least), Value<V>::text(*most));
    if (least) return fmt::format("at least {}", Value<V>::text(*least));
    return fmt::format("at most {}", Value<V>::text(*most));
  }
};

}  // namespace ravelin::config
