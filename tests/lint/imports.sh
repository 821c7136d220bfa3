#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# imports.sh LIB.so: a library never ends the process, prints, reads the environment, touches
# signals or the locale, starts programs, or uses what is unsafe or shared between threads.
# Names as the linker sees them, so the fortified forms (__printf_chk) count too. Assertions
# are no part of a release build, so __assert_fail means that NDEBUG was lost.
set -u

forbidden='
abort exit _exit _Exit quick_exit atexit __cxa_atexit __assert_fail __assert_perror_fail raise kill
printf vprintf puts putchar putc fputc fputs fwrite fprintf vfprintf dprintf vdprintf perror psignal
stdout stderr stdin syslog vsyslog err errx warn warnx error
getenv secure_getenv setenv putenv unsetenv clearenv environ __environ
signal sigaction bsd_signal sysv_signal sigprocmask sigaltstack setjmp _setjmp sigsetjmp longjmp siglongjmp
setlocale newlocale uselocale localeconv strtod strtof strtold atof
strerror strtok localtime gmtime asctime ctime rand srand random srandom getpwnam getpwuid tmpnam mktemp
system popen fork vfork execl execle execlp execv execve execvp posix_spawn posix_spawnp
gets scanf sscanf fscanf strcpy stpcpy strcat sprintf vsprintf
'

imports=$(nm -D --undefined-only "$1" | awk '{ print $NF }' | sed 's/@.*//') || exit 2
[ -n "$imports" ] || { echo "$1 imports nothing: not a library?"; exit 2; }

# __printf_chk -> printf, __isoc99_sscanf -> sscanf, __xpg_strerror_r stays itself.
plain=$(printf '%s\n' "$imports" | sed -E 's/^__(.*)_chk$/\1/; s/^__isoc[0-9]+_//; s/^__(sysv_signal|sigsetjmp)$/\1/')
found=$(for name in $forbidden; do printf '%s\n' "$plain" | grep -xF -- "$name"; done)
[ -z "$found" ] && exit 0
printf '%s imports what a library must not use:\n' "$1"
printf '%s\n' "$found" | sed 's/^/    /'
exit 1
