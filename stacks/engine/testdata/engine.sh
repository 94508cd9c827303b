#!/bin/sh
# Stands for the engine's process in tests: it notes what it is asked, and says what the test wrote
# for a command into the folder ANSWERS, in the shell's language.
cd "$ANSWERS" || exit 99
shift # --non-interactive
echo "$*" >>asked
case $1 in
stack | state) name="$1${2:+ $2}" ;;
*) name=$1 ;;
esac
[ "$name" != "stack import" ] || cat >imported
[ ! -e "$name" ] || . "./$name"
