// What the shared library shows; everything else in it is hidden.
#pragma once

#define PPV2_EXPORT __attribute__((visibility("default")))
