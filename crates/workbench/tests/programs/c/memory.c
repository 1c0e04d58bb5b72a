#include <stdlib.h>
#include <string.h>
int main(void) {
    for (int i = 0; i < 1024; i++) {
        char *part = malloc(1 << 20);
        if (part == NULL) abort();
        memset(part, i + 1, 1 << 20);
    }
    return 0;
}
