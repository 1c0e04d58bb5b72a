#include <stdio.h>
#include <stdlib.h>
static int order(const void *a, const void *b) {
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}
int main(void) {
    int count;
    if (scanf("%d", &count) != 1) return 1;
    int *numbers = malloc(sizeof(int) * count);
    for (int i = 0; i < count; i++) if (scanf("%d", &numbers[i]) != 1) return 1;
    qsort(numbers, count, sizeof(int), order);
    for (int i = 0; i < count; i++) printf("%d\n", numbers[i]);
    return 0;
}
