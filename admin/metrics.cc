#include "admin/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>

#include "admin/utf8.h"

namespace ravelin::admin {
namespace {

constexpr std::string_view kTypeNames[] = {"counter", "gauge", "histogram"};

// [a-zA-Z_][a-zA-Z0-9_]*; the format also allows colons in names of metrics, but those are for recording rules.
bool is_name(std::string_view text) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return !text.empty() && !is_digit(text.front()) &&
         std::ranges::all_of(text, [&](char c) { return is_letter(c) || is_digit(c); });
}

bool is_label(std::string_view text) {
  return is_name(text) && !text.starts_with("__") && text != "le";
}

std::size_t label_count(const FamilySpec& spec) {
  return static_cast<std::size_t>(std::ranges::find(spec.labels, std::string_view()) - spec.labels.begin());
}

void append_escaped(std::string& text, std::string_view value, bool quotes) {
  for (const char c : value) {
    if (c == '\n') {
      text += "\\n";
    } else {
      if (c == '\\' || (c == '"' && quotes)) text += '\\';
      text += c;
    }
  }
}

std::string number_text(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", number);
}

}  // namespace

std::optional<std::string> problem_of(const FamilySpec& spec) {
  constexpr std::string_view kReservedEndings[] = {"_bucket", "_sum", "_count"};
  const std::size_t labels = label_count(spec);
  const auto used = std::span(spec.labels).first(labels);
  if (!is_name(spec.name)) return fmt::format("'{}' is not a name", spec.name);
  if (spec.help.empty()) return fmt::format("{} has no help", spec.name);
  if (spec.name.ends_with("_total") != (spec.type == MetricType::counter)) {
    return fmt::format("{}: counters, and they alone, end in _total", spec.name);
  }
  for (const auto ending : kReservedEndings) {
    if (spec.name.ends_with(ending)) return fmt::format("{} ends as a part of a histogram does", spec.name);
  }
  for (std::size_t i = 0; i < labels; ++i) {
    if (!is_label(used[i])) return fmt::format("{}: '{}' is not a label", spec.name, used[i]);
    if (std::ranges::count(used, used[i]) > 1) return fmt::format("{}: label {} stands twice", spec.name, used[i]);
  }
  if (std::ranges::any_of(std::span(spec.labels).subspan(labels), [](auto label) { return !label.empty(); })) {
    return fmt::format("{}: a label stands behind an empty one", spec.name);
  }
  if ((spec.type == MetricType::histogram) == spec.bounds.empty()) {
    return fmt::format("{}: histograms, and they alone, have bounds", spec.name);
  }
  if (std::ranges::adjacent_find(spec.bounds, std::greater_equal<>()) != spec.bounds.end() ||
      !std::ranges::all_of(spec.bounds, [](double bound) { return std::isfinite(bound); })) {
    return fmt::format("{}: the bounds do not rise", spec.name);
  }
  return std::nullopt;
}

void Family::sample(std::string_view suffix, LabelValues labels, std::string_view bound, std::string_view number) {
  assert(labels.size() == label_count(spec_));
  text_.append(spec_.name).append(suffix);
  char separator = '{';
  const auto label = [&](std::string_view name, std::string_view value) {
    text_ += separator;
    text_.append(name).append("=\"");
    // A scraper drops the whole scrape for one byte that is not UTF-8.
    append_escaped(text_, valid_utf8(value), true);
    text_ += '"';
    separator = ',';
  };
  for (std::size_t i = 0; i < labels.size(); ++i) label(spec_.labels[i], labels.begin()[i]);
  if (!bound.empty()) label("le", bound);
  if (separator == ',') text_ += '}';
  text_ += ' ';
  text_.append(number);
  text_ += '\n';
}

void Family::integer(LabelValues labels, std::uint64_t number) {
  assert(spec_.type != MetricType::histogram);
  sample("", labels, "", fmt::format_int(number).c_str());
}

void Family::real(LabelValues labels, double number) {
  assert(spec_.type != MetricType::histogram);
  sample("", labels, "", number_text(number));
}

// The count is the sum of the buckets as read here: counts that other threads go on raising still agree with each
// other.
void Family::histogram(LabelValues labels, std::span<const std::uint64_t> counts, double sum) {
  assert(spec_.type == MetricType::histogram && counts.size() == spec_.bounds.size() + 1);
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    seen += counts[i];
    sample("_bucket", labels, i < spec_.bounds.size() ? number_text(spec_.bounds[i]) : "+Inf",
           fmt::format_int(seen).c_str());
  }
  sample("_sum", labels, "", number_text(sum));
  sample("_count", labels, "", fmt::format_int(seen).c_str());
}

void Metrics::add(const FamilySpec& spec, Collect collect) {
  assert(!problem_of(spec));
  assert(std::ranges::none_of(entries_, [&](const Entry& entry) { return entry.spec.name == spec.name; }));
  entries_.push_back({.spec = spec, .collect = std::move(collect)});
}

std::string Metrics::text() const {
  std::string text;
  for (const auto& [spec, collect] : entries_) {
    text.append("# HELP ").append(spec.name).append(" ");
    append_escaped(text, spec.help, false);
    text += fmt::format("\n# TYPE {} {}\n", spec.name, kTypeNames[static_cast<std::size_t>(spec.type)]);
    Family family(spec, text);
    collect(family);
  }
  return text;
}

}  // namespace ravelin::admin
