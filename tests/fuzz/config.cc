// Any bytes as a config file end in settings or in errors, and settings survive being printed and read again.
#include <string_view>

#include "tests/fuzz/check.h"
#include "tests/unit/config/sample.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto schema = sample::schema();
  const auto first = ravelin::config::from_text({reinterpret_cast<const char*>(data), size}, schema, "fuzz.yaml");
  if (!first) {
    check(!ravelin::config::text_of(first.error()).empty());
    return 0;
  }
  const auto second = ravelin::config::from_text(ravelin::config::print(*first, schema), schema, "printed.yaml");
  check(second && ravelin::config::diff(first->settings, second->settings, schema).empty());
  return 0;
}
