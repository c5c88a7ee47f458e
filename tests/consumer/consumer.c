/* Writes a header and reads it back, through ppv2.h alone. Prints the address that came back. */
#include <ppv2/ppv2.h>
#include <stdio.h>

int main(void) {
  const ppv2_address source = {.family = PPV2_INET, .port = 4000, .bytes = {192, 0, 2, 1}};
  const ppv2_address destination = {.family = PPV2_INET, .port = 443, .bytes = {198, 51, 100, 1}};
  unsigned char header[64];
  const size_t size = ppv2_encode_v2(header, sizeof header, &source, &destination, NULL, 0);
  ppv2_decoded decoded = {.struct_size = sizeof decoded};
  char text[PPV2_ADDRESS_TEXT + 1];
  if (ppv2_decode(header, size, NULL, &decoded) != PPV2_HEADER) return 1;
  ppv2_address_text(&decoded.source, text, sizeof text);
  puts(text);
  return 0;
}
