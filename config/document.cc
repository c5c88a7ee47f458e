#include "config/document.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <sstream>
#include <utility>

#include "sys/result.h"
#include "sys/unique_fd.h"

namespace ravelin::config {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// What to do about yaml-cpp's commonest complaints, which name its parser's states.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kAdvice{{
    {"end of map not found", "the next key in line with those above, or quotes around a value like \"[::]:443\""},
    {"illegal map value", "one 'key: value' a line, and quotes around a value that holds ': '"},
    {"unknown token", "quotes around a value that starts with @, ` or %"},
    {"illegal flow end", "brackets that match"},
    {"end of sequence flow not found", "a closing ]"},
    {"end of map flow not found", "a closing }"},
}};

struct Stop {
  Place place;
  std::string what;
};

Place place_of(const YAML::Mark& mark) {
  return {.line = mark.line + 1, .column = mark.column + 1};
}

// Whether the quoted text at the front of `text` has its second quote. yaml-cpp 0.7 takes the end of the file for it.
bool is_closed(std::string_view text) {
  const char quote = text.front();
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      if (quote == '"' || i + 1 >= text.size() || text[i + 1] != quote) return true;
      ++i;  // '' is a quote within quotes
    }
  }
  return false;
}

class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(std::string_view text, const std::string& file, ConfigErrors& errors)
      : text_(text), file_(file), errors_(errors) {}

  [[nodiscard]] Node take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (std::exchange(started_, true))
      throw Stop{place_of(mark), "a second YAML document starts, expected one in a file"};
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {
    // The mark of a missing value is that of whatever comes next.
    Node node{.place = open_.empty()      ? root_.place
                       : open_.back().key ? open_.back().key->place
                                          : open_.back().node.place};
    add(std::move(node));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    refuse(place_of(mark), "a YAML alias, expected the value itself");
    add({.kind = Node::Kind::refused, .place = place_of(mark)});
  }
  void OnAnchor(const YAML::Mark& mark, const std::string& name) override {
    refuse(place_of(mark), fmt::format("a YAML anchor '&{}', expected the value alone", printable(name, 60)));
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t, const std::string& value) override {
    check_tag(mark, tag);
    if (tag == "!") check_quotes(mark);
    if (value.size() > kMostValueBytes) {
      throw Stop{place_of(mark),
                 fmt::format("a value of {} bytes, expected at most {}", value.size(), kMostValueBytes)};
    }
    add({.kind = Node::Kind::scalar, .place = place_of(mark), .text = value});
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    check_tag(mark, tag);
    open({.kind = Node::Kind::list, .place = place_of(mark)});
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t, YAML::EmitterStyle::value) override {
    check_tag(mark, tag);
    open({.kind = Node::Kind::map, .place = place_of(mark)});
  }
  void OnMapEnd() override { close(); }

 private:
  // A list or map whose end has not come yet.
  struct Open {
    Node node;
    std::optional<Member> key;         // the key whose value comes next
    std::map<std::string, int> lines;  // where each key stood first
  };

  void refuse(const Place& place, std::string what) {
    errors_.push_back({file_, place.line, place.column, std::move(what)});
  }

  void check_tag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    refuse(place_of(mark), fmt::format("a YAML tag '{}', expected the value alone", printable(tag, 60)));
  }

  void check_quotes(const YAML::Mark& mark) {
    const auto at = static_cast<std::size_t>(mark.pos);
    if (at >= text_.size() || (text_[at] != '\'' && text_[at] != '"')) return;  // a block of text: | or >
    if (!is_closed(text_.substr(at)))
      throw Stop{place_of(mark), "quoted text without an end, expected a closing quote"};
  }

  void open(Node node) {
    if (open_.size() >= kMostDepth) {
      throw Stop{node.place, fmt::format("nested too deep, expected at most {} levels", kMostDepth)};
    }
    open_.push_back({.node = std::move(node)});
  }

  void close() {
    Node node = std::move(open_.back().node);
    open_.pop_back();
    add(std::move(node));
  }

  void add(Node node) {
    if (++values_ > kMostValues)
      throw Stop{node.place, fmt::format("too many values, expected at most {}", kMostValues)};
    if (open_.empty()) {
      root_ = std::move(node);
    } else if (open_.back().node.kind == Node::Kind::list) {
      open_.back().node.items.push_back(std::move(node));
    } else if (open_.back().key) {
      add_value(open_.back(), std::move(node));
    } else {
      if (node.kind == Node::Kind::map || node.kind == Node::Kind::list) {
        refuse(node.place, fmt::format("{} as a key, expected a name", node.kind_name()));
      }
      open_.back().key = Member{.key = node.text, .place = node.place, .value = std::move(node)};
    }
  }

  void add_value(Open& map, Node value) {
    Member member = std::move(*map.key);
    map.key.reset();
    const Node::Kind key_kind = std::exchange(member.value, std::move(value)).kind;
    if (key_kind == Node::Kind::map || key_kind == Node::Kind::list || key_kind == Node::Kind::refused) return;
    const auto [first, is_new] = map.lines.emplace(member.key, member.place.line);
    if (is_new) {
      map.node.members.push_back(std::move(member));
    } else {
      refuse(member.place, fmt::format("key '{}' stands here again, expected it once, as on line {}",
                                       printable(member.key, 60), first->second));
    }
  }

  std::string_view text_;
  const std::string& file_;
  ConfigErrors& errors_;
  Node root_{.place = {.line = 1, .column = 1}};
  std::vector<Open> open_;
  std::size_t values_ = 0;
  bool started_ = false;
};

Place place_at(std::string_view text, std::size_t offset) {
  const auto before = text.substr(0, offset);
  const auto line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return {.line = 1 + static_cast<int>(std::ranges::count(before, '\n')),
          .column = 1 + static_cast<int>(offset - line_start)};
}

bool is_indented_by_tab(std::string_view text, int line) {
  for (int i = 1; i < line && text.find('\n') != std::string_view::npos; ++i) text.remove_prefix(text.find('\n') + 1);
  const auto indentation = text.substr(0, std::min(text.find_first_not_of(" \t"), text.size()));
  return indentation.find('\t') != std::string_view::npos;
}

std::string explain(std::string_view text, const YAML::Exception& exception) {
  if (is_indented_by_tab(text, exception.mark.line + 1)) return "a tab in the indentation, expected spaces";
  const auto* advice = std::ranges::find(kAdvice, exception.msg, &std::pair<std::string_view, std::string_view>::first);
  return fmt::format("not valid YAML: {}, expected {}", printable(exception.msg),
                     advice == kAdvice.end() ? "key: value" : advice->second);
}

}  // namespace

const Node* Node::find(std::string_view key) const {
  const auto found = std::ranges::find(members, key, &Member::key);
  return found == members.end() ? nullptr : &found->value;
}

Node& Node::member(std::string_view key, const Place& where) {
  kind = Kind::map;
  const auto found = std::ranges::find(members, key, &Member::key);
  if (found != members.end()) return found->value;
  return members.emplace_back(Member{std::string(key), where, Node{.place = where}}).value;
}

std::string_view Node::kind_name() const {
  constexpr std::array<std::string_view, 5> kNames{"nothing", "a single value", "a list", "a section", "refused"};
  return kNames.at(static_cast<std::size_t>(kind));
}

tl::expected<std::string, ConfigError> read_file(const std::string& file) {
  const auto fail = [&](int code, const char* what) {
    return tl::unexpected(ConfigError{.file = file, .what = sys::Error{code, what}.text()});
  };
  const sys::UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail(errno, "cannot open");
  struct stat status {};
  if (::fstat(fd.get(), &status) == 0 && S_ISDIR(status.st_mode))
    return fail(0, "is a directory, expected a YAML file");
  std::string text(kMostFileBytes + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t count = ::read(fd.get(), text.data() + size, text.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(errno, "cannot read");
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  if (size > kMostFileBytes) return fail(0, "is too large, expected at most 1MiB");
  text.resize(size);
  return text;
}

std::optional<Node> parse_yaml(std::string_view text, const std::string& file, ConfigErrors& errors) {
  const auto stop = [&](const Place& place, std::string what) {
    errors.push_back({file, place.line, place.column, std::move(what)});
    return std::nullopt;
  };
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  // Not only for the reader's sake: yaml-cpp takes the byte 0x04 for the end of the file.
  if (const auto at = find_unprintable(text); at != std::string_view::npos) {
    return stop(place_at(text, at),
                fmt::format("byte 0x{:02x}, expected printable UTF-8 text", static_cast<unsigned char>(text[at])));
  }
  TreeBuilder builder(text, file, errors);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
    return builder.take();
  } catch (const Stop& reason) {
    return stop(reason.place, reason.what);
  } catch (const YAML::Exception& exception) {
    return stop(place_of(exception.mark), explain(text, exception));
  } catch (const std::exception& exception) {
    return stop({.line = 1, .column = 1}, fmt::format("cannot be parsed: {}", exception.what()));
  }
}

}  // namespace ravelin::config
