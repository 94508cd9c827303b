#!/bin/sh
# Receives a file on a machine: part by part beside its place, and only whole and right
# in its place. Used with cat, sha256sum and what every system has: no sftp, no Python.
#
#   state  PATH SHA256 MODE SIZE    "there", or how many bytes are here, and KiB free
#   append PATH SHA256 MODE OFFSET  appends standard input
#   place  PATH SHA256 MODE         compares the digest and moves the file into place
set -eu
verb=$1 path=$2 sha=$3 mode=$4
dir=$(dirname "$path")
part=$dir/.$(basename "$path").$sha.part

size() { wc -c <"$1"; }
digest() { sha256sum <"$1" | cut -c 1-64; }

case $verb in
state)
	if [ -f "$path" ] && [ "$(size "$path")" -eq "$5" ] && [ "$(digest "$path")" = "$sha" ]; then
		chmod "$mode" "$path"
		echo there
		exit 0
	fi
	mkdir -p "$dir"
	# Halves of what is not wanted any more.
	for old in "$dir/.$(basename "$path")".*.part; do
		[ ! -f "$old" ] || [ "$old" = "$part" ] || rm -f "$old" "$old.writer"
	done
	# The cat of a lost connection may still run: sshd may not know of the loss yet.
	if [ -f "$part.writer" ]; then
		writer=$(cat "$part.writer")
		[ -z "$writer" ] || [ ! "/proc/$writer/fd/1" -ef "$part" ] || kill -9 "$writer"
		rm -f "$part.writer"
	fi
	# shellcheck disable=SC2046 # the words of df's last line
	set -- $(df -Pk "$dir" | tail -n 1)
	free=$4
	if [ -f "$part" ]; then
		echo "$(size "$part") $free"
	else
		echo "0 $free"
	fi
	;;
append)
	umask 077
	touch "$part"
	# 75 is EX_TEMPFAIL of sysexits(3): ask again where to go on.
	[ "$(size "$part")" -eq "$5" ] || exit 75
	echo $$ >"$part.writer"
	exec cat >>"$part"
	;;
place)
	touch "$part" # an empty file was never appended to
	if [ "$(digest "$part")" != "$sha" ]; then
		rm -f "$part" "$part.writer"
		exit 65 # EX_DATAERR
	fi
	chmod "$mode" "$part"
	chown 0:0 "$part"
	sync "$part" 2>/dev/null || sync
	mv -f "$part" "$path"
	rm -f "$part.writer"
	if command -v restorecon >/dev/null; then
		restorecon -F "$path" || true # a system without SELinux may have the program
	fi
	;;
esac
