#!/bin/bash
cat > /app/roman.c <<'END'
#include <stdio.h>
#include <string.h>

static const char *const symbols[] = {"M", "CM", "D", "CD", "C", "XC", "L", "XL", "X", "IX", "V", "IV", "I"};
static const int values[] = {1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1};

static void write_roman(int number, char *out)
{
    *out = 0;
    for (int i = 0; i < 13; i++)
        for (; number >= values[i]; number -= values[i]) strcat(out, symbols[i]);
}

int main(void)
{
    char line[256], roman[32];
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        size_t length = strlen(line);
        if (length > 0 && strspn(line, "0123456789") == length) {
            long number = 0;
            for (char *c = line; *c && number < 10000; c++) number = number * 10 + (*c - '0');
            if (number < 1 || number > 3999) { puts("?"); continue; }
            write_roman((int)number, roman);
            puts(roman);
            continue;
        }
        int found = 0;
        for (int number = 1; number < 4000 && !found; number++) {
            write_roman(number, roman);
            if (strcmp(roman, line) == 0) found = number;
        }
        if (found) printf("%d\n", found); else puts("?");
    }
    return 0;
}
END
