#include "ppv2/tool/command_line.h"

#include <CLI/CLI.hpp>

namespace ravelin::ppv2_tool {
namespace {

constexpr char kSummary[] = "Reads and writes PROXY protocol headers, v1 and v2.";

constexpr char kExamples[] =
    R"(  ppv2 decode --hex '0d0a0d0a 000d0a515549540a 21 11 000c c0000201 c6336401 0fa0 01bb'
  nc -l 8443 | ppv2 sniff -          # what does my proxy send first?
  xxd -r -p dump.txt | ppv2 decode --json -
  ppv2 encode --source 192.0.2.1:4000 --destination 198.51.100.1:443 --crc32c --hex
  (ppv2 encode --v1 --source 192.0.2.1:4000 --destination 198.51.100.1:80; cat request) | nc origin 80)";

struct ExitText {
  Exit code;
  const char* text;
};
constexpr ExitText kExitTexts[] = {
    {kOk, "a whole, valid header; for sniff also a stream without one, which would be passed on"},
    {kFailed, "no valid header, not a whole one, or nothing could be read"},
    {kUsage, "wrong use"},
};

std::string footer() {
  std::string text = "\nExamples:\n" + std::string(kExamples) + "\n\nExit codes:\n";
  for (const ExitText& exit : kExitTexts) text += "  " + std::to_string(exit.code) + "  " + exit.text + "\n";
  text.pop_back();
  return text;
}

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

void add_commands(CLI::App& app, Asked& asked) {
  app.footer(footer());
  app.set_version_flag("--version", "ppv2 " RAVELIN_VERSION);
  app.require_subcommand(1);
  add_look(*app.add_subcommand("decode", "Say what a header says, or where and why it is wrong"), asked);
  add_look(*app.add_subcommand("sniff",
                               "The same for a stream that may have no header; reads no more of it than that takes"),
           asked);
  add_encode(*app.add_subcommand("encode", "Write a header to standard output"), asked);
}

// man(7): a backslash and a hyphen are written out, and a line may not begin with a dot or a quote.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) out += "\\&";
    if (c == '-' || c == '\\') out += '\\';
    out += c == '\\' ? 'e' : c;
  }
  return out;
}

std::string option_entry(const CLI::Option& option) {
  const std::string name = option.get_positional() ? option.get_name(true) : option.get_name(false, true);
  std::string entry = ".TP\n\\fB" + roff(name) + "\\fR";
  if (!option.get_positional() && option.get_items_expected_max() != 0)
    entry += " \\fI" + roff(option.get_type_name()) + "\\fR";
  return entry + "\n" + roff(option.get_description()) + "\n";
}

}  // namespace

std::string manual_page() {
  CLI::App app(kSummary, "ppv2");
  Asked asked;
  add_commands(app, asked);
  std::string page = ".TH PPV2 1 \"\" \"ravelin " RAVELIN_VERSION "\" \"User Commands\"\n";
  page += ".SH NAME\nppv2 \\- reads and writes PROXY protocol headers\n.SH SYNOPSIS\n";
  const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* const command : commands)
    page += ".B ppv2 " + command->get_name() + "\n[\\fIoptions\\fR]" +
            (command->get_option_no_throw("FILE") != nullptr ? " [\\fIFILE\\fR]" : "") + "\n.br\n";
  page += ".SH DESCRIPTION\n" + roff(kSummary) +
          "\nA wrong header is told with the reason and the byte at fault, which is marked in a dump.\n";
  for (const CLI::App* const command : commands) {
    page += ".SH \"PPV2 " + command->get_name() + "\"\n" + roff(command->get_description()) + ".\n";
    for (const CLI::Option* const option : command->get_options()) page += option_entry(*option);
  }
  page += ".SH EXIT STATUS\n";
  for (const ExitText& exit : kExitTexts)
    page += ".TP\n.B " + std::to_string(exit.code) + "\n" + roff(exit.text) + "\n";
  return page + ".SH EXAMPLES\n.nf\n" + roff(kExamples) + "\n.fi\n";
}

std::variant<Asked, Exit> read_command_line(int argc, char** argv) {
  CLI::App app(kSummary, "ppv2");
  Asked asked;
  add_commands(app, asked);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kOk : kUsage;
  }
  const CLI::App& chosen = *app.get_subcommands().front();
  const auto* const hex = chosen.get_option_no_throw("--hex");
  if (chosen.get_name() == "sniff") asked.command = Asked::Command::sniff;
  if (chosen.get_name() == "encode") asked.command = Asked::Command::encode;
  asked.input.has_hex = asked.command != Asked::Command::encode && hex != nullptr && hex->count() != 0;
  return asked;
}

}  // namespace ravelin::ppv2_tool
