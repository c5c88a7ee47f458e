// ppv2: reads and writes PROXY protocol headers for people and scripts.

#include <cstdio>
#include <exception>

#include "ppv2/tool/command_line.h"
#include "ppv2/tool/escape.h"
#include "ppv2/tool/report.h"

namespace {

using namespace ravelin::ppv2_tool;

int fail(int code, const std::string& what) {
  std::fprintf(stderr, "ppv2: %s\n", what.c_str());
  return code;
}

int print(const std::string& out, int code) {
  const bool written = std::fwrite(out.data(), 1, out.size(), stdout) == out.size() && std::fflush(stdout) == 0;
  return written ? code : fail(kFailed, "cannot write to standard output");
}

int look(const InputChoice& choice, bool sniff, bool json) {
  const Input input = sniff ? read_until_decided(choice) : read_whole(choice);
  if (const auto* wrong = std::get_if<InputError>(&input)) return fail(wrong->usage ? kUsage : kFailed, wrong->what);
  const auto& bytes = std::get<std::string>(input);
  const ppv2::Decoded decoded = ppv2::decode(bytes_of(bytes));
  const bool good = decoded.outcome == ppv2::Outcome::header || (sniff && decoded.outcome == ppv2::Outcome::not_proxy);
  return print(json ? json_report(bytes, decoded) : text_report(bytes, decoded), good ? kOk : kFailed);
}

int encode(const HeaderWords& words, bool as_hex) {
  const auto built = build_header(words);
  if (const auto* wrong = std::get_if<HeaderError>(&built)) return fail(kUsage, wrong->what);
  const auto& header = std::get<std::string>(built);
  return print(as_hex ? hex(bytes_of(header)) + "\n" : header, kOk);
}

int run(int argc, char** argv) {
  const auto command_line = read_command_line(argc, argv);
  if (const auto* exit = std::get_if<Exit>(&command_line)) return *exit;
  const auto& asked = std::get<Asked>(command_line);
  if (asked.command == Asked::Command::encode) return encode(asked.words, asked.as_hex);
  return look(asked.input, asked.command == Asked::Command::sniff, asked.json);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    return fail(kFailed, error.what());
  }
}
