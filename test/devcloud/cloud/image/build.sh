#!/bin/sh
# Makes the devcloud's root file system: build.sh FOLDER LISTS UNPACKED [MIRROR]
# LISTS are the files with the names of packages, separated by spaces; UNPACKED those with
# the names of packages of which only the files are wanted.
# MIRROR is Debian's main archive, such as http://deb.debian.org/debian; the
# security archive is expected beside it, at MIRROR-security.
set -eu
here=$(dirname "$0")
target=$1
lists=$2
unpacked=$3
mirror=${4:-http://deb.debian.org/debian}
names() { for list; do grep -v '^#' "$here/$list"; done | tr '\n' ' '; }
export UNPACKED="$(names $unpacked)"
# Python modules are compiled when they are first imported; compiling all of
# them at installation would be most of the time that this takes.
mmdebstrap --mode=root --variant=apt --format=directory --skip=output/dev \
	--include="ca-certificates $(names $lists)" \
	--aptopt='Acquire::Languages "none"' --aptopt='APT::Install-Recommends "false"' --aptopt='APT::Sandbox::User "root"' \
	--dpkgopt=force-unsafe-io --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
	--dpkgopt='path-exclude=/usr/share/locale/*' \
	--essential-hook='printf "#!/bin/sh\nexit 101\n" >"$1/usr/sbin/policy-rc.d"; chmod 755 "$1/usr/sbin/policy-rc.d"' \
	--essential-hook='for f in py3compile py3clean; do chroot "$1" dpkg-divert --local --rename --divert /usr/bin/$f.real --add /usr/bin/$f; ln -s true "$1/usr/bin/$f"; done' \
	--customize-hook='chroot "$1" sh -ec "cd /var/tmp; apt-get download -q $UNPACKED; for deb in *.deb; do dpkg-deb -x \$deb /; done; rm *.deb"' \
	trixie "$target" \
	"deb $mirror trixie main" "deb $mirror trixie-updates main" "deb $mirror-security trixie-security main"
