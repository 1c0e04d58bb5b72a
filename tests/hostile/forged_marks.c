/* Puts the marks by which an overlay hides, replaces and moves files onto its own files, in the folder of its first argument: `file`
   says that it stands for a deletion, `folder` that it replaces another, `moved` that it lies elsewhere, `part` that its content does.
   Must happen: the marks are refused or mean nothing: every file stays what it is, for the sandbox and for those who list what changed. */
#include "attempt.h"
#include <sys/xattr.h>

static void mark(const char *name, const char *kind, const char *value) {
    static const char *const spaces[] = {"user.overlay.", "user.overlay.overlay.", "trusted.overlay."};
    for (size_t index = 0; index < 3; index++) {
        char attribute[64];
        snprintf(attribute, sizeof attribute, "%s%s", spaces[index], kind);
        int error = setxattr(name, attribute, value, strlen(value), 0) ? errno : 0;
        printf("%s %s: %s\n", name, attribute, error ? strerrorname_np(error) : "taken");
    }
}

int main(int count, char **words) {
    if (count != 2 || (mkdir(words[1], 0755) && errno != EEXIST) || chdir(words[1])) return 2;
    close(open("file", O_WRONLY | O_CREAT, 0644));
    mkdir("folder", 0755);
    mkdir("moved", 0755);
    close(open("folder/inner", O_WRONLY | O_CREAT, 0644));
    close(open("part", O_WRONLY | O_CREAT, 0644));
    mark("file", "whiteout", "y");
    mark("folder", "opaque", "y");
    mark("folder", "opaque", "x");
    mark(".", "opaque", "x");
    mark("moved", "redirect", "/etc");
    mark("part", "metacopy", "");
    mark("part", "redirect", "/etc/shadow");
    mark("file", "origin", "x");
    mark("folder", "impure", "y");
    mark("file", "nlink", "x");
    mark("file", "upper", "x");
    return 0;
}
