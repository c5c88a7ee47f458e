#include "ppv2/tool/command_line.h"

#include <CLI/CLI.hpp>

namespace ravelin::ppv2_tool {
namespace {

constexpr char kFooter[] = R"(
Examples:
  ppv2 decode --hex '0d0a0d0a 000d0a515549540a 21 11 000c c0000201 c6336401 0fa0 01bb'
  nc -l 8443 | ppv2 sniff -          # what does my proxy send first?
  xxd -r -p dump.txt | ppv2 decode --json -
  ppv2 encode --source 192.0.2.1:4000 --destination 198.51.100.1:443 --crc32c --hex
  (ppv2 encode --v1 --source 192.0.2.1:4000 --destination 198.51.100.1:80; cat request) | nc origin 80

Exit codes: 0 a whole, valid header (sniff: or a stream without one, which would be passed on); 1 no valid header, not
a whole one, or nothing could be read; 2 usage.)";

void add_look(CLI::App& command, Asked& asked) {
  auto* const hex = command.add_option("--hex", asked.input.hex, "The bytes as hex digits")->type_name("HEX");
  command.add_option("FILE", asked.input.file, "Where the bytes are; - is standard input")->excludes(hex);
  command.add_flag("--json", asked.json, "One object in one line");
}

void add_encode(CLI::App& command, Asked& asked) {
  HeaderWords& words = asked.words;
  command.add_flag("--v1", words.v1, "A line of version 1; without it version 2");
  command.add_flag("--local", words.local, "LOCAL: the proxy speaks for itself");
  command.add_option("--source", words.source, "ADDRESS:PORT, [V6]:PORT or unix:PATH")->type_name("END");
  command.add_option("--destination", words.destination, "The same; families may differ")->type_name("END");
  command.add_option("--alpn", words.alpn, "ALPN, such as h2");
  command.add_option("--authority", words.authority, "The host name that the client asked for");
  command.add_option("--unique-id", words.unique_id, "At most 128 bytes");
  command.add_option("--tlv", words.tlvs, "Any other field; may be given again")
      ->type_name("TYPE=HEX")
      ->allow_extra_args(false);
  command.add_flag("--crc32c", words.crc32c, "A checksum");
  command.add_option("--pad", words.pad, "Pad the header's size to a multiple of this")->type_name("BYTES");
  command.add_flag("--hex", asked.as_hex, "Hex digits instead of bytes");
}

}  // namespace

std::variant<Asked, Exit> read_command_line(int argc, char** argv) {
  CLI::App app("Reads and writes PROXY protocol headers, v1 and v2.", "ppv2");
  app.footer(kFooter);
  app.set_version_flag("--version", "ppv2 " RAVELIN_VERSION);
  app.require_subcommand(1);
  Asked asked;
  auto* const decode = app.add_subcommand("decode", "Say what a header says, or where and why it is wrong");
  auto* const sniff =
      app.add_subcommand("sniff", "The same for a stream that may have no header; reads no more of it than that takes");
  auto* const encode = app.add_subcommand("encode", "Write a header to standard output");
  add_look(*decode, asked);
  add_look(*sniff, asked);
  add_encode(*encode, asked);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kOk : kUsage;
  }
  asked.input.has_hex = decode->count("--hex") + sniff->count("--hex") != 0;
  if (sniff->parsed()) asked.command = Asked::Command::sniff;
  if (encode->parsed()) asked.command = Asked::Command::encode;
  return asked;
}

}  // namespace ravelin::ppv2_tool
