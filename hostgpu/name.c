/* name.c - a library that is nothing but a name: programs that ask for it get the functions of
 * another one, which it needs because it refers to STANDS_FOR, one of them. */
void STANDS_FOR(void);
__attribute__((used)) static void (*const needed)(void) = STANDS_FOR;
