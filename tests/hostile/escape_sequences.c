/* Prints what terminals act on (titles, clipboards, reports, device queries, alternate screens, endless numbers), bytes that
   are no UTF-8, NULs, and a line of 4 MB.
   Must happen: output arrives byte for byte, nothing is answered to the program, text that is made of it is valid UTF-8. */
#include "attempt.h"

int main(int count, char **words) {
    static const char sequences[] =
        "\x1b]0;taken\x07\x1b]52;c;ZXZpbA==\x07\x1b[6n\x1b[c\x1b[>c\x1bP$q\"p\x1b\\\x1b[?1049h\x1b[?1000h\x1b[999999999;999999999H\x1b[99999999999b"
        "\x1b[8;9999;9999t\x1b[21t\x1b#8\x1b]8;;http://example.com\x07link\x1b]8;;\x07\x1b_app\x1b\\\x1b^pm\x1b\\\x9b" "31m\xff\xfe\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80\0\x08\x08\r\x7f";
    fwrite(sequences, 1, sizeof sequences - 1, stdout);
    if (count > 1 && !strcmp(words[1], "short")) return 0;
    for (int part = 0; part < 4 << 20; part++) putchar('l');
    putchar('\n');
    return 0;
}
