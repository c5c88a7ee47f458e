// What the shared library shows; everything else in it is hidden.
#pragma once

// In front of what the library shows.
#define PPV2_EXPORT __attribute__((visibility("default")))
