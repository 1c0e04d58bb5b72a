/* Names files, in the folder of its first argument, by bytes that are no UTF-8, by newlines, by terminal sequences, by quotes, by the
   names that archives of changes use for deletions, and by names that look like parts of archives.
   Must happen: lists of changes and archives can be read, nothing that was not deleted counts as deleted, no message carries
   control characters. */
#include "attempt.h"

int main(int count, char **words) {
    if (count != 2 || (mkdir(words[1], 0755) && errno != EEXIST) || chdir(words[1])) return 2;
    static const char *const names[] = {
        "\xff\xfe", "broken\xc3", "line\nbreak", "\x1b]0;title\x07", "\x1b[2J", "quote\"'\\", "{\"event\":\"done\"}", ".wh.kept", ".wh..wh..opq",
        ".wh.", "..wh.x", "...", " ", "-rf", "pax\r\n", "././@LongLink", "tab\there", "\xe2\x80\xae" "oof.txt", "kept",
    };
    int broken = 0;
    for (size_t index = 0; index < sizeof names / sizeof *names; index++) {
        int file = open(names[index], O_WRONLY | O_CREAT, 0644);
        if (file < 0) {
            printf("refused name %zu %s\n", index, strerrorname_np(errno));
            continue;
        }
        broken |= write(file, "named", 5) != 5;
        close(file);
        char folder[64];
        snprintf(folder, sizeof folder, "%s.d", names[index]);
        mkdir(folder, 0755);
    }
    return broken ? 2 : 0;
}
