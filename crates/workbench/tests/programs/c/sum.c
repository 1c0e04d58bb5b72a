#include <stdio.h>
int main(void) {
    long long sum = 0, number;
    while (scanf("%lld", &number) == 1) sum += number;
    printf("%lld\n", sum);
    return 0;
}
