// How each type of setting is written: from text, to text, and what to call it. A type that a schema can hold is one
// for which Value<T> stands here; enums join by naming their values next to themselves:
//
//   enum class Policy { sniff, require };
//   constexpr auto names_of(config::EnumOf<Policy>) {
//     return std::to_array<config::Named<Policy>>({{"sniff", Policy::sniff}, {"require", Policy::require}});
//   }
#pragma once

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <concepts>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include "sys/address.h"
#include "sys/result.h"
#include "sys/source_address.h"
#include "sys/units.h"

namespace ravelin::config {

template <class E>
struct EnumOf {};

template <class E>
struct Named {
  std::string_view name;
  E value;
};

// parse() says what is wrong and what was expected, with ERANGE if the value is right in kind and only too large or
// small.
template <class T>
struct Value;

template <>
struct Value<bool> {
  static std::string expected() { return "true or false"; }
  static std::string placeholder() { return "BOOL"; }
  static sys::Result<bool> parse(std::string_view text);
  static std::string text(bool value) { return value ? "true" : "false"; }
};

template <std::integral T>
struct Value<T> {
  static std::string expected() { return "a whole number"; }
  static std::string placeholder() { return "N"; }
  static sys::Result<T> parse(std::string_view text) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_number =
        !text.empty() && text.find_first_not_of("0123456789", text[0] == '-' ? 1 : 0) == text.npos && text != "-";
    if (!is_number) return sys::fail(0, "'{}' is not a whole number, expected digits", text);
    if (error != std::errc{} || end != text.data() + text.size()) {
      using Limits = std::numeric_limits<T>;
      return sys::fail(ERANGE, "{} is out of range, expected {} to {}", text, Limits::min(), Limits::max());
    }
    return value;
  }
  static std::string text(T value) { return fmt::format("{}", value); }
};

// Text for people, names and paths: printable UTF-8.
template <>
struct Value<std::string> {
  static std::string expected() { return "text"; }
  static std::string placeholder() { return "TEXT"; }
  static sys::Result<std::string> parse(std::string_view text);
  static std::string text(const std::string& value) { return value; }
};

template <>
struct Value<sys::Duration> {
  static std::string expected() { return "a duration such as 250ms, 10s or 1h30m"; }
  static std::string placeholder() { return "DURATION"; }
  static sys::Result<sys::Duration> parse(std::string_view text) { return sys::parse_duration(text); }
  static std::string text(sys::Duration value) { return sys::to_text(value); }
};

template <>
struct Value<sys::ByteCount> {
  static std::string expected() { return "a size such as 64KiB"; }
  static std::string placeholder() { return "SIZE"; }
  static sys::Result<sys::ByteCount> parse(std::string_view text) { return sys::parse_byte_count(text); }
  static std::string text(sys::ByteCount value) { return sys::to_text(value); }
};

template <>
struct Value<sys::Endpoint> {
  static std::string expected() { return "an address: HOST:PORT, [V6]:PORT, :PORT or unix:PATH"; }
  static std::string placeholder() { return "ADDR"; }
  static sys::Result<sys::Endpoint> parse(std::string_view text);
  static std::string text(const sys::Endpoint& value) { return value.text(); }
};

template <>
struct Value<sys::Cidr> {
  static std::string expected() { return "an address range such as 203.0.113.0/24"; }
  static std::string placeholder() { return "CIDR"; }
  static sys::Result<sys::Cidr> parse(std::string_view text);
  static std::string text(const sys::Cidr& value) { return value.text(); }
};

template <>
struct Value<sys::SourceAddress> {
  static std::string expected() { return "an address such as 127.0.0.2"; }
  static std::string placeholder() { return "IP"; }
  static sys::Result<sys::SourceAddress> parse(std::string_view text);
  static std::string text(const sys::SourceAddress& value) { return value.text(); }
};

template <class E>
requires std::is_enum_v<E>
struct Value<E> {
  static std::string expected() { return "one of " + joined(", "); }
  static std::string placeholder() { return joined("|"); }
  static sys::Result<E> parse(std::string_view text) {
    for (const auto& [name, value] : names_of(EnumOf<E>{})) {
      if (name == text) return value;
    }
    return sys::fail(0, "'{}' is not known, expected {}", text, expected());
  }
  static std::string text(E wanted) {
    for (const auto& [name, value] : names_of(EnumOf<E>{})) {
      if (value == wanted) return std::string(name);
    }
    return "unknown";
  }

 private:
  static std::string joined(std::string_view separator) {
    std::string text;
    for (const auto& [name, value] : names_of(EnumOf<E>{}))
      text += (text.empty() ? "" : std::string(separator)) + std::string(name);
    return text;
  }
};

}  // namespace ravelin::config
