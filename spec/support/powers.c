/* Prints the powers of ten of number.c, one a line: k, high and low half. */
#include "../../csrc/number.c"

#include <inttypes.h>
#include <stdio.h>

int main(void) {
  for (int k = LOWEST_POWER; k <= 324; k++) {
    wide power = power_of_ten(k);
    printf("%d %016" PRIx64 "%016" PRIx64 "\n", k, power.high, power.low);
  }
  return 0;
}
