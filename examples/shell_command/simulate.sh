#!/bin/sh
# A cantilever of rectangular section: simulate.sh WIDTH HEIGHT (metres) prints its weight and its stress.
awk -v width="$1" -v height="$2" 'BEGIN {
    print "solving ..."
    print "weight =", 7850 * width * height * 2.0, "kg"
    print "stress =", 6 * 20000 * 2.0 / (width * height * height) / 1e6, "MPa"
    print "deflection =", 4 * 20000 * 8.0 / (2.1e11 * width * height ^ 3) * 1e3, "mm"
}'
